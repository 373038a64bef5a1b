"""A surface that turns in a browser. One page holds the surface and the viewer vtk.js from the package trame-vtk.

vtk.js is the smallest viewer that is maintained and that a package contains completely. It has 1 MB. plotly.js has
4.8 MB, and K3D has 2.6 MB. py3Dmol loads 3Dmol.js from a network. The scene is a ZIP file with ``index.json``. That
file holds a tree of vtk.js's objects, and a table with the name and the numbers of each array.
"""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import pathlib
import re
import zipfile
from typing import Any

import numpy as np

from ._html import policy
from ._result_file import Refused


def _array(arrays: dict[str, Any], values: np.ndarray, kind: str, **more: Any) -> dict[str, Any]:
    """Adds the numbers of an array to `arrays`. Returns the description by which a node of the scene refers to them."""
    types = {"float32": "Float32Array", "uint32": "Uint32Array", "uint8": "Uint8Array"}
    name = f"a{len(arrays)}"
    data_type = types[str(values.dtype)]
    content = base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
    arrays[name] = {"hash": name, "type": data_type, "vtk": kind, "content": content}
    components = values.shape[1] if values.ndim == 2 else 1
    return {
        "hash": name,
        "vtkClass": kind,
        "name": name,
        "dataType": data_type,
        "numberOfComponents": components,
        "size": int(values.size),
        "ranges": [],
        **more,
    }


def _node(
    parent: str, name: str, kind: str, properties: dict[str, Any], *children: Any, calls: Any = ()
) -> dict[str, Any]:
    node: dict[str, Any] = {"parent": parent, "id": name, "type": kind, "properties": properties}
    if children:
        node["dependencies"] = list(children)
    if calls:
        node["calls"] = [[method, [f"instance:${{{one}}}"]] for method, one in calls]
    return node


def scene(
    vertices: np.ndarray, triangles: np.ndarray, normals: np.ndarray, colours: np.ndarray, view: np.ndarray
) -> bytes:
    """Returns a ZIP file for vtk.js. `colours` are (vertices, 3), 0 to 255. The rows of `view` point to the right, up,
    and to the eye."""
    arrays: dict[str, Any] = {}
    vertices = vertices - (vertices.max(0) + vertices.min(0)) / 2  # the viewer turns the surface around the origin
    # Seen from outside, the corners of a triangle must run counter-clockwise, because vtk.js lights that side.
    corner = vertices[triangles]
    turn = np.einsum(
        "ij,ij->i", np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), normals[triangles[:, 0]]
    )
    cells = np.where(turn[:, None] < 0, triangles[:, ::-1], triangles).astype(np.uint32)
    cells = np.insert(cells, 0, 3, axis=1).ravel()
    data = _node(
        "mapper",
        "data",
        "vtkPolyData",
        {
            "points": _array(arrays, vertices.astype(np.float32), "vtkPoints"),
            "polys": _array(arrays, cells, "vtkCellArray"),
            "fields": [
                _array(
                    arrays, colours.astype(np.uint8), "vtkDataArray", location="pointData", registration="setScalars"
                ),
                _array(
                    arrays, normals.astype(np.float32), "vtkDataArray", location="pointData", registration="setNormals"
                ),
            ],
        },
    )
    mapper = _node(
        "actor",
        "mapper",
        "vtkMapper",
        {"scalarVisibility": 1, "colorMode": 2, "scalarMode": 1},
        data,
        calls=[("setInputData", "data")],
    )
    look = {"ambient": 0.25, "diffuse": 0.75, "specular": 0.15, "specularPower": 20, "interpolation": 1}
    actor = _node(
        "renderer",
        "actor",
        "vtkActor",
        {"visibility": 1, "pickable": 0},
        mapper,
        _node("actor", "property", "vtkProperty", look),
        calls=[("setMapper", "mapper"), ("setProperty", "property")],
    )
    away = 2.2 * float(np.linalg.norm(vertices, axis=1).max()) / np.tan(np.radians(30))
    camera = _node(
        "renderer",
        "camera",
        "vtkCamera",
        {
            "focalPoint": [0, 0, 0],
            "position": (away * view[2]).tolist(),
            "viewUp": view[1].tolist(),
            "clippingRange": [0.2 * away, 3 * away],
        },
    )
    light = _node(
        "renderer", "light", "vtkLight", {"lightType": "HeadLight", "intensity": 1, "color": [1, 1, 1], "switch": 1}
    )
    renderer = _node(
        "window",
        "renderer",
        "vtkRenderer",
        {"background": [1, 1, 1], "twoSidedLighting": 1},
        camera,
        actor,
        light,
        calls=[("setActiveCamera", "camera"), ("addViewProp", "actor"), ("addLight", "light")],
    )
    window = _node(
        "0", "window", "vtkRenderWindow", {"numberOfLayers": 1}, renderer, calls=[("addRenderer", "renderer")]
    )
    window["mtime"] = 1
    window["extra"] = {"vtkRefId": "window", "centerOfRotation": [0, 0, 0], "camera": "camera"}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as whole:
        whole.writestr(
            zipfile.ZipInfo("index.json"), json.dumps({"scene": window, "hashes": arrays}), zipfile.ZIP_DEFLATED
        )
    return file.getvalue()


def page(scene_file: bytes, nonce: str) -> str:
    """Returns the page of a viewer with its scene. Its Content-Security-Policy allows only scripts with the nonce."""
    found = importlib.util.find_spec("trame_vtk")
    if found is None or not found.submodule_search_locations:
        raise Refused(
            "no surface can be turned",
            "the package trame-vtk, which has the viewer, is missing",
            "Install it: in a clone of smallbatch, pip install '.[report]'.",
            2,
        )
    viewer = pathlib.Path(found.submodule_search_locations[0], "tools", "static_viewer.html").read_text("utf-8")
    content = base64.b64encode(scene_file).decode()
    # The viewer's messages to the console are of no use to a reader, so they are dropped.
    start = "window.console.log = () => {};\n"
    start += f'window.loadDataSet = () => OfflineLocalView.load(document.body, {{ base64Str: "{content}" }});'
    # The viewer would load its icon from a network, so the icon's address becomes empty.
    viewer = viewer.replace("https://kitware.github.io/vtk-js/icon/", "data:,")
    head = f'<head><meta http-equiv="Content-Security-Policy" content="{policy(nonce)}">'
    html = viewer.replace("<head>", head, 1).replace("<body>", f"<body><script>{start}</script>", 1)
    return re.sub(r"<script(?=[ >])", f'<script nonce="{nonce}"', html)
