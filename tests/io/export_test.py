"""Other programs read exported maps: GridDataFormats reads OpenDX, VTK reads cube files, and Pillow reads PNG.

The expected values are Coulomb's sum, computed here. SMALLBATCH_BIN names the command.
"""
import os
import subprocess

import h5py
import numpy as np
import pytest
from gridData import Grid
from PIL import Image
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOChemistry import vtkGaussianCubeReader2

VOLT = 14.399645478425672  # potential of one e at one angstrom, in volt
BOHR = 0.529177210903  # angstrom
POINTS = (7, 5, 6)
ORIGIN = np.array([[0.0, 0.0, 0.0], [-2.0, 1.0, 3.0]])
SPACING = np.array([[1.0, 1.0, 1.0], [0.5, 0.25, 0.75]])
POSITION = np.array([[2.3, 1.4, 2.6], [2.0, 1.0, 3.0], [-1.3, 1.6, 5.1], [0.2, 1.4, 5.3], [-0.4, 2.1, 4.2]])
CHARGE = np.array([1.0, -2.0, 1.5, -0.5, -1.0])
OFFSET = np.array([0, 2, 5])


def command(*arguments, expect=(0,)):
    done = subprocess.run([os.environ["SMALLBATCH_BIN"], *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode in expect, f"exit code {done.returncode}: {done.stderr}"
    return done


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Returns results of two problems. In the first, a charge of -2 lies on the lattice point (2, 1, 3)."""
    folder = tmp_path_factory.mktemp("export")
    with h5py.File(folder / "in.h5", "w", libver=("v110", "v110")) as file:
        file.attrs["smallbatch_format"] = np.array([1, 0], "i4")
        group = file.create_group("potential/pair")
        group["position"], group["charge"], group["offset"] = POSITION, CHARGE, OFFSET
        group["origin"], group["spacing"] = ORIGIN, SPACING
        group.attrs["shape"] = np.array(POINTS)
    command("run", folder / "in.h5", "-o", folder / "out.h5", "--device", "cpu", expect=(0, 1))
    return folder / "out.h5"


def coulomb(problem):
    """Returns V (nx, ny, nz) in volt, and the sum of the magnitudes of its terms, which scales the rounding errors."""
    axes = [ORIGIN[problem][a] + SPACING[problem][a] * np.arange(POINTS[a]) for a in range(3)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    charges = slice(OFFSET[problem], OFFSET[problem + 1])
    distance = np.linalg.norm(points[..., None, :] - POSITION[charges], axis=-1)
    with np.errstate(divide="ignore"):
        terms = VOLT * CHARGE[charges] / distance
    return terms.sum(-1), np.abs(terms).sum(-1)


def assert_is_coulomb(values, problem):
    """Finite values may be wrong by 1e-5 times the sum of magnitudes: single precision, and six printed digits."""
    expected, magnitude = coulomb(problem)
    finite = np.isfinite(expected)
    assert values.shape == expected.shape
    assert (np.abs(values - expected)[finite] <= 1e-5 * magnitude[finite]).all()


def export(results, tmp_path, name, *arguments):
    command("export", results, "--set", "pair", "-o", tmp_path / name, *arguments)
    return tmp_path / name


def test_opendx_by_griddata(results, tmp_path):
    grid = Grid(str(export(results, tmp_path, "map.dx", "--index", 1)))
    assert grid.grid.shape == POINTS
    np.testing.assert_allclose(grid.origin, ORIGIN[1], rtol=1e-12)
    np.testing.assert_allclose(grid.delta, SPACING[1], rtol=1e-12)
    assert_is_coulomb(grid.grid, 1)
    with h5py.File(results) as file:  # V has the axes (z, y, x)
        np.testing.assert_allclose(grid.grid.transpose(), file["potential/pair/V"][1], rtol=6e-9)


def test_opendx_has_no_infinity(results, tmp_path):
    grid = Grid(str(export(results, tmp_path, "map.dx", "--index", 0))).grid
    assert np.argwhere(~np.isfinite(coulomb(0)[0])).tolist() == [[2, 1, 3]]
    assert grid[2, 1, 3] == -1e30
    assert_is_coulomb(grid, 0)


def test_cube_by_vtk(results, tmp_path):
    reader = vtkGaussianCubeReader2()
    reader.SetFileName(str(export(results, tmp_path, "map.cube", "--index", 1, "--problems", results.parent / "in.h5")))
    reader.Update()
    image = reader.GetGridOutput()
    assert image.GetDimensions() == POINTS
    values = vtk_to_numpy(image.GetPointData().GetScalars()).reshape(POINTS, order="F")  # VTK has x fastest
    assert_is_coulomb(values, 1)
    molecule = reader.GetOutput()
    assert molecule.GetNumberOfAtoms() == 3
    # VTK gives the positions of atoms in units of the lattice, so this checks origin and spacing, too.
    positions = np.array([list(molecule.GetAtom(i).GetPosition()) for i in range(3)])
    np.testing.assert_allclose(ORIGIN[1] + positions * SPACING[1], POSITION[2:], atol=1e-5)


def test_cube_lengths_are_in_bohr(results, tmp_path):
    path = export(results, tmp_path, "map.cube", "--index", 1, "--problems", results.parent / "in.h5")
    lines = path.read_text().splitlines()
    assert "pair" in lines[0] and "volt" in lines[0]
    numbers = np.array([[float(word) for word in line.split()] for line in lines[2:6]])
    assert numbers[:, 0].tolist() == [3, *POINTS]  # a positive count of points means bohr
    np.testing.assert_allclose(numbers[0, 1:] * BOHR, ORIGIN[1], atol=1e-6)
    np.testing.assert_allclose(numbers[1:, 1:] * BOHR, np.diag(SPACING[1]), atol=1e-6)
    atoms = np.array([[float(word) for word in line.split()] for line in lines[6:9]])
    assert atoms[:, 1].tolist() == CHARGE[2:].tolist()
    np.testing.assert_allclose(atoms[:, 2:] * BOHR, POSITION[2:], atol=1e-6)


def slice_colours(path, columns, rows):
    """Returns the colour in the middle of each point's block, by (column, row from the bottom), and the PNG's texts."""
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB")).astype(int)
        texts = dict(image.text)
    left, top, width, height = map(int, texts["Map"].split(","))
    pixels = pixels[top : top + height, left : left + width]
    assert width >= 512 and width % columns == 0 and height % rows == 0
    middle = pixels[height // rows // 2 :: height // rows, width // columns // 2 :: width // columns][::-1]
    return middle.transpose(1, 0, 2), texts


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_png_by_pillow(results, tmp_path, axis):
    index = 3
    path = export(results, tmp_path, "map.png", "--index", 1, "--axis", "xyz"[axis], "--slice", index)
    plane = np.take(coulomb(1)[0], index, axis=axis)
    colours, texts = slice_colours(path, *plane.shape)
    limit = float(texts["Colour limit"])
    assert np.isclose(np.abs(plane), limit, rtol=1e-5).any()
    assert (np.abs(plane) <= limit * 1.00001).mean() >= 0.98
    assert texts["Axis"] == "xyz"[axis] and texts["Index"] == str(index)
    assert "pair" in texts["Title"] and "volt" in texts["Title"]
    blueness = colours[..., 2] - colours[..., 0]
    strong = np.abs(plane) > limit / 5
    assert strong.any()
    assert (np.sign(blueness) == np.sign(plane))[strong].all()
    # A larger |V| is darker.
    order = np.argsort(np.abs(plane), axis=None)
    brightness = (colours @ [2, 5, 1]).ravel()[order]
    assert brightness[0] > brightness[-1] + 400


def test_png_takes_the_middle_plane_by_default(results, tmp_path):
    default = export(results, tmp_path, "default.png", "--index", 1)
    middle = export(results, tmp_path, "middle.png", "--index", 1, "--axis", "z", "--slice", POINTS[2] // 2)
    assert default.read_bytes() == middle.read_bytes()


@pytest.mark.parametrize(
    "name, arguments, words",
    [
        ("map.dx", ("--index", 2), "--index"),
        ("map.dx", ("--set", "no"), "no"),
        ("map.png", ("--slice", 6), "6"),
        ("map.txt", (), ".cube"),
    ],
)
def test_calls_without_sense_leave_nothing(results, tmp_path, name, arguments, words):
    done = command("export", results, "-o", tmp_path / name, *arguments, expect=(2,))
    assert words in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_not_overwritten(results, tmp_path):
    (tmp_path / "map.dx").write_text("mine")
    done = command("export", results, "-o", tmp_path / "map.dx", expect=(7,))
    assert "map.dx" in done.stderr
    assert (tmp_path / "map.dx").read_text() == "mine"
