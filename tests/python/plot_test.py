"""Pictures of result files show the numbers of the files. The tests compare drawn objects with closed forms. They
compare no pixels.

All kinds of pictures are in one file, because they share the result files that are drawn.
"""

import doctest
import io
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

from tests.problems import (
    add_correlation,
    add_pair_energy,
    add_potential,
    add_solve,
    open_problem_file,
    replace_dataset,
    results_to_change,
)

matplotlib = pytest.importorskip("matplotlib")
plot = pytest.importorskip("smallbatch.plot", reason="this Python has no Matplotlib, h5py or xxhash")

VOLT = 14.399645478425672  # V of one e at one angstrom, in volts
PER_KT = 8.617333262e-5 * 298.15  # kT/e at 298.15 K, in volts


def drawn(figure, name):
    """Returns those artists of a figure that have the id `name`."""
    return figure.findobj(lambda artist: artist.get_gid() == name)


def texts(figure):
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_text()]


def run(smallbatch, tmp_path, fill, *options, expect=0):
    with open_problem_file(tmp_path / "p.h5") as file:
        fill(file)
    smallbatch("run", "p.h5", "-o", "r.h5", *options, expect=expect)
    return tmp_path / "r.h5"


def program(tmp_path, *words):
    """Runs `python -m smallbatch.plot` in the test's folder."""
    paths = {"PYTHONPATH": ":".join(filter(None, sys.path)), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    words = [sys.executable, "-m", "smallbatch.plot", *map(str, words)]
    return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=paths, timeout=120)


@pytest.fixture
def one_charge(smallbatch, tmp_path):
    """Returns results for a unit charge near the middle of a lattice with three different spacings."""
    return run(
        smallbatch,
        tmp_path,
        lambda file: add_potential(
            file,
            "ion",
            [[0.01, 0.02, 0.03]],
            [1],
            shape=(61, 41, 31),
            origin=(-6, -6, -6),
            spacing=(0.2, 0.3, 0.4),
            field=1,
        ),
    )


def test_a_map_has_square_pixels_and_the_values_of_coulomb(one_charge):
    figure = plot.slice_map(one_charge, axis="z", place=0.0, value_range="300 kT/e", field="none")
    (image,) = drawn(figure, "potential")
    values = image.get_array()
    left, right, bottom, top = image.get_extent()
    assert (left, right, bottom, top) == pytest.approx((-6, 6, -6, 6), abs=0.3)
    assert values.shape[1] >= 800 and (right - left) / values.shape[1] == pytest.approx(
        (top - bottom) / values.shape[0], rel=0.01
    )
    assert image.get_clim() == (-300, 300)
    negative, positive = image.cmap(0.0), image.cmap(1.0)
    assert negative[0] > 2 * negative[2] and positive[2] > 2 * positive[0]  # red and blue, as in viewers of molecules
    x, y = (
        low + (np.arange(count) + 0.5) / count * (high - low)
        for low, high, count in ((left, right, values.shape[1]), (bottom, top, values.shape[0]))
    )
    r = np.sqrt((x - 0.01) ** 2 + (y[:, None] - 0.02) ** 2 + 0.03**2)
    far = r > 1
    np.testing.assert_allclose(values[far], (VOLT / PER_KT / r)[far], rtol=0.02)
    (contours,) = drawn(figure, "contours")
    for level, segments in zip(contours.levels, contours.allsegs):
        radius = VOLT / PER_KT / level if level else np.inf
        for points in segments if 2 < radius < 5 else ():
            np.testing.assert_allclose(np.hypot(points[:, 0] - 0.01, points[:, 1] - 0.02), radius, rtol=0.02)
    assert "V (kT/e)" in texts(figure) and "x (Å)" in texts(figure) and "y (Å)" in texts(figure)
    file = io.BytesIO()
    figure.savefig(file, format="png")
    with Image.open(file) as picture:
        assert figure.axes[0].get_position().width * picture.width >= 800


@pytest.mark.parametrize("axis, right, up", [("x", 1, 2), ("y", 0, 2), ("z", 0, 1)])
def test_cells_are_the_numbers_of_the_file(one_charge, axis, right, up):
    figure = plot.slice_map(one_charge, axis=axis, place=1.2, cells=True)
    with h5py.File(one_charge) as file:
        v = file["potential/ion/V"][0]
        assert figure.axes[0].get_title(loc="left").endswith(f"{axis} = 1.2 Å, field lines")
    across = "xyz".index(axis)
    plane = np.take(v, round((1.2 + 6) / (0.2, 0.3, 0.4)[across]), 2 - across)
    (image,) = drawn(figure, "potential")
    limit = image.get_clim()[1]
    np.testing.assert_allclose(image.get_array(), np.clip(plane, -2 * limit, 2 * limit), rtol=1e-6, equal_nan=False)
    assert np.mean(np.abs(plane) > limit) < 0.02
    assert figure.axes[0].get_xlabel() == f"{'xyz'[right]} (Å)" and figure.axes[0].get_ylabel() == f"{'xyz'[up]} (Å)"


def test_arrows_point_away_from_a_positive_charge(one_charge):
    (arrows,) = drawn(plot.slice_map(one_charge, field="arrows"), "field")
    x, y = arrows.XY.T
    away = np.stack([x - 0.01, y - 0.02]) / np.hypot(x - 0.01, y - 0.02)
    assert len(x) > 200
    np.testing.assert_allclose(np.stack([arrows.U, arrows.V]), away, atol=0.02)
    assert drawn(plot.slice_map(one_charge, field="lines"), "field") and not drawn(
        plot.slice_map(one_charge, field="none"), "field"
    )


def water(count, rng):
    """Returns positions, charges and atomic numbers of molecules on a grid, each turned at random."""
    centers = 3.2 * np.stack(np.meshgrid(*[np.arange(count)] * 3, indexing="ij"), -1).reshape(-1, 3)
    shape = np.array([[0, 0, 0], [0.9572, 0, 0], [-0.24, 0.9266, 0]])
    turns = np.linalg.qr(rng.standard_normal((len(centers), 3, 3)))[0]
    return (
        (centers[:, None] + shape @ turns).reshape(-1, 3),
        np.tile([-0.8, 0.4, 0.4], len(centers)),
        np.tile([8, 1, 1], len(centers)),
    )


def test_all_atoms_and_bonds_near_the_plane_are_drawn(smallbatch, tmp_path):
    place, charge, number = water(16, np.random.default_rng(1))

    def fill(file):
        group = add_potential(
            file, "water", place / 10, charge, shape=(12, 12, 12), origin=(-0.4,) * 3, spacing=(0.5,) * 3
        )
        group["position"].attrs["unit"] = np.bytes_("nm")
        group["atomic_number"] = number.astype(np.int8)

    results = run(smallbatch, tmp_path, fill)
    figure = plot.slice_map(results, axis="y", place=24.0, problems=tmp_path / "p.h5")
    height = -4 + 5 * round((24 + 4) / 5)
    near = np.abs(place[:, 1] - height) < np.where(number == 1, 1.2, 1.52)
    (atoms,) = drawn(figure, "atoms")
    assert len(atoms.get_offsets()) == near.sum() > 500
    assert {tuple(xy) for xy in np.round(atoms.get_offsets(), 6)} == {
        tuple(xy) for xy in np.round(place[near][:, [0, 2]], 6)
    }
    (sticks,) = drawn(figure, "bonds")
    ends = np.where(near[0::3, None] & np.stack([near[1::3], near[2::3]], 1), 1, 0).sum()
    assert len(sticks.get_segments()) == ends > 200
    assert {"H", "O"} <= set(texts(figure)) and any(f"{near.sum()} atoms" in text for text in texts(figure))
    (outline,) = drawn(figure, "outline")
    lines = np.concatenate(outline.allsegs[0])
    radius = np.where(number == 1, 1.2, 1.52)[near]
    gap = (np.linalg.norm(np.insert(lines, 1, height, 1)[:, None] - place[near], axis=-1) - radius).min(1)
    assert np.abs(gap).max() < 0.15  # each point is on the surface of an atom, and inside no atom


def test_charges_without_elements_are_drawn_by_their_signs(smallbatch, tmp_path):
    run(
        smallbatch, tmp_path, lambda file: add_potential(file, "pair", [[1, 1, 1], [2, 1, 1]], [1, -1], shape=(5, 5, 5))
    )
    figure = plot.slice_map(tmp_path / "r.h5", place=1, problems=tmp_path / "p.h5")
    assert len(drawn(figure, "atoms")[0].get_offsets()) == 2 and {"charge above 0", "below 0"} <= set(texts(figure))
    assert any("2 charges" in text for text in texts(figure)) and not drawn(figure, "outline")


def test_another_problem_file_is_refused(smallbatch, tmp_path, one_charge):
    with open_problem_file(tmp_path / "other.h5") as file:
        add_potential(file, "ion")
    with pytest.raises(plot.Refused, match="is not the problem file of"):
        plot.slice_map(one_charge, problems=tmp_path / "other.h5")


def test_shares_take_their_own_atoms(smallbatch, tmp_path):
    rng = np.random.default_rng(2)
    counts = [3, 40, 1, 7, 20, 2]
    with open_problem_file(tmp_path / "p.h5") as file:
        place = rng.uniform(0, 3, (sum(counts), 3))
        add_potential(file, "some", place, np.ones(len(place)), offset=np.cumsum([0, *counts]), shape=(4, 4, 4))
    seen = []
    for k in (1, 2, 3):
        smallbatch("run", "p.h5", "-o", f"{k}.h5", "--shard", f"{k}/3")
        with h5py.File(tmp_path / f"{k}.h5") as file:
            batch = len(file["potential/some/info"])
        for index in range(batch):
            found = plot.slice_map(tmp_path / f"{k}.h5", problem=index, place=1.5, problems=tmp_path / "p.h5")
            seen.append(len(drawn(found, "atoms")[0].get_offsets()) if drawn(found, "atoms") else 0)
    edges = np.cumsum([0, *counts])
    assert seen == [(np.abs(place[a:b, 2] - 2) < 1.5).sum() for a, b in zip(edges, edges[1:])]


def test_the_surface_of_an_ion_is_a_sphere_of_its_potential(smallbatch, tmp_path, monkeypatch):
    surfaces = pytest.importorskip("smallbatch._surfaces")
    pytest.importorskip("skimage")
    center = np.array([0.3, -0.2, 0.1])

    def fill(file):
        add_potential(file, "ion", [center], [1], shape=(81, 81, 81), origin=(-4, -4, -4), spacing=(0.1,) * 3)[
            "atomic_number"
        ] = np.int8([8])

    results = run(smallbatch, tmp_path, fill)
    with plot.File(results) as file:
        mesh = surfaces.potential_on_surface(file, file.choose(None), 0, tmp_path / "p.h5", "10 volt")
    radius = np.linalg.norm(mesh.vertices - center, axis=1)
    np.testing.assert_allclose(radius, 1.52, rtol=0.01)
    np.testing.assert_allclose(mesh.values, VOLT / radius, rtol=0.01)
    assert (mesh.limit, mesh.unit) == (10, "volt")
    np.testing.assert_allclose(np.einsum("ij,ij->i", mesh.normals, mesh.vertices - center) / radius, 1, atol=0.02)
    edges, times = np.unique(
        np.sort(
            np.concatenate([mesh.triangles[:, [0, 1]], mesh.triangles[:, [1, 2]], mesh.triangles[:, [2, 0]]]), axis=1
        ),
        axis=0,
        return_counts=True,
    )
    assert (times == 2).all() and len(mesh.vertices) - len(edges) + len(mesh.triangles) == 2  # closed, like a sphere
    monkeypatch.chdir(tmp_path)
    figure = plot.surface_map(results, value_range="10 volt")  # the results name the problem file
    assert {"V on the surface (V)", "10 Å"} <= set(texts(figure))
    assert all(len(drawn(figure, f"surface-{side}")[0].get_paths()) > 0.45 * len(mesh.triangles) for side in (0, 1))


DELAY, FREQUENCY = 13.7e-9, 1.4e9 + 2e5 * np.arange(32)


@pytest.fixture
def fringes(smallbatch, tmp_path):
    """Returns results for one source in front of six inputs in a row, and the positions of the inputs. Delays grow with
    time, as if the row turned. Input 4 is flagged in channel 3."""
    rng = np.random.default_rng(4)
    place = np.array([0.0, 30, 10, 70, 20, 5])
    when = np.arange(40)
    source = rng.standard_normal((32, 40)) + 1j * rng.standard_normal((32, 40))
    path = place / 10 * DELAY * (1 + 0.0005 * (when // 10)[:, None])
    signal = source[:, :, None] * np.exp(-2j * np.pi * FREQUENCY[:, None, None] * path)
    flag = np.zeros(signal.shape, np.uint8)
    flag[3, :, 4] = 1

    def fill(file):
        group = add_correlation(file, "array", signal.astype(np.complex64), flag, integrate=10, sample_time=0.05)
        group["frequency"] = FREQUENCY
        group["input_position"] = np.stack([place, 0 * place, 0 * place], 1)

    return run(smallbatch, tmp_path, fill), place


def expected_phase(i, j, place, integration):
    return np.angle(
        np.exp(-2j * np.pi * FREQUENCY * DELAY * (place[i] - place[j]) / 10 * (1 + 0.0005 * integration)), deg=True
    )


@pytest.mark.parametrize("order, integration", [("index", 0), ("length", 3)])
def test_a_single_source_shows_its_fringe(fringes, order, integration):
    path, place = fringes
    figure = plot.correlation(path, integration=integration, part="all", order=order)
    (phase,), (magnitude,), (real,), (imaginary,) = (
        drawn(figure, part) for part in ("phase", "magnitude", "real", "imaginary")
    )
    i, j = np.tril_indices(6, -1)
    if order == "length":
        sorting = np.argsort(np.abs(place[i] - place[j]), kind="stable")
        i, j = i[sorting], j[sorting]
    found = phase.get_array()
    assert found.shape == (32, 15)
    for b in range(15):
        channels = np.arange(32) != (3 if 4 in (i[b], j[b]) else -1)
        turn = found[channels, b] - expected_phase(i[b], j[b], place, integration)[channels]
        assert np.abs((turn + 180) % 360 - 180).max() < 0.1
        assert np.ma.getmaskarray(found)[~channels, b].all()
        if order == "index":
            assert phase.axes.xaxis.get_major_formatter()(b, 0) == f"({i[b]}, {j[b]})"
        else:
            assert float(phase.axes.xaxis.get_major_formatter()(b, 0)) == abs(place[i[b]] - place[j[b]])
    np.testing.assert_allclose(
        real.get_array() + 1j * imaginary.get_array(), magnitude.get_array() * np.exp(1j * np.radians(found)), rtol=1e-5
    )
    # The colours of phases are cyclic: -180 and 180 degrees have the same colour.
    ends = phase.cmap([0.0, 1.0])
    assert phase.get_clim() == (-180, 180) and np.abs(ends[0] - ends[1]).max() < 0.02 and drawn(figure, "wheel")
    bottom, top = phase.get_extent()[2:]
    assert (bottom, top) == pytest.approx((FREQUENCY[0] / 1e6 - 0.1, FREQUENCY[-1] / 1e6 + 0.1))
    assert any(f"integration {integration} of 4" in text for text in texts(figure))


def test_chosen_baselines_turn_over_time(fringes):
    path, place = fringes
    figure = plot.baselines_over_time(path, baselines=[(3, 0), (1, 3)], channel=7)
    for name, i, j in (("(3, 0)", 3, 0), ("(1, 3)", 1, 3)):
        (line,) = drawn(figure, f"phase {name}")
        np.testing.assert_allclose(line.get_xdata(), [0.25, 0.75, 1.25, 1.75])
        turn = line.get_ydata() - [expected_phase(i, j, place, k)[7] for k in range(4)]
        assert np.abs((turn + 180) % 360 - 180).max() < 0.1
        with h5py.File(path) as file:
            v = file["correlation/array/visibility"][:, 7, 3 * 4 // 2 + min(i, j)]
        np.testing.assert_allclose(drawn(figure, f"amplitude {name}")[0].get_ydata(), np.abs(v), rtol=1e-6, equal_nan=False)
    assert "time (s)" in texts(figure) and any("channel 7, 1401.4 MHz" in text for text in texts(figure))


def test_lengths_need_positions_and_integers_are_read(smallbatch, tmp_path):
    signal = np.random.default_rng(3).integers(-100, 100, (4, 6, 3, 2)).astype(np.int8)
    results = run(smallbatch, tmp_path, lambda file: add_correlation(file, "counts", signal))
    (real,) = drawn(plot.correlation(results, part="real", autos=True), "real")
    x = signal[..., 0] + 1j * signal[..., 1].astype(float)
    i, j = np.tril_indices(3)
    np.testing.assert_allclose(real.get_array(), np.einsum("ctb,ctb->cb", x[..., i], x[..., j].conj()).real)
    with pytest.raises(plot.Refused, match="no positions"):
        plot.correlation(results, order="length")
    with pytest.raises(plot.Refused, match="no integration 1"):
        plot.correlation(results, integration=1)


def test_curves_have_the_times_of_the_trajectory(smallbatch, tmp_path):
    frames = np.arange(9)

    def fill(file):
        place = np.stack([np.zeros((9, 3)), np.stack([2 + 0.1 * frames, 0 * frames, 0 * frames], 1)], 1).reshape(-1, 3)
        for add, name in ((add_potential, "maps"), (add_pair_energy, "pairs")):
            group = add(file, name, place, np.tile([1.0, -1.0], 9), offset=2 * np.arange(10), output_unit="kcal/mol/e")
            group["time"] = 0.5 * frames
            group["time"].attrs["unit"] = np.bytes_("ps")

    results = run(smallbatch, tmp_path, fill, "--singular", "skip", expect=None)
    figure = plot.over_time(results, "pairs")
    (line,) = drawn(figure, "energy")
    np.testing.assert_allclose(line.get_xdata(), 0.5 * frames)
    np.testing.assert_allclose(line.get_ydata(), -332.06371329919225 / (2 + 0.1 * frames), rtol=1e-6)
    assert {"time (ps)", "energy (kcal/mol)"} <= set(texts(figure))
    with h5py.File(results) as file:
        for name in ("V_min", "V_mean", "V_max"):
            np.testing.assert_array_equal(
                drawn(plot.over_time(results, "maps"), name)[0].get_ydata(), file[f"potential/maps/{name}"][:]
            )


@pytest.mark.parametrize("number", ["backward_error", "rcond", "log_determinant"])
def test_histograms_count_every_solved_system(smallbatch, tmp_path, number):
    def fill(file):
        add_solve(file, batch=3000, n=6)
        for k in range(0, 3000, 7):
            file["solve/systems/A"][k, 0, 0] = -1

    results = run(smallbatch, tmp_path, fill, expect=1)
    figure = plot.histogram(results, number=number)
    bars = sorted(drawn(figure, "bar"), key=lambda bar: bar.get_x())
    with h5py.File(results) as file:
        values = file[f"solve/systems/{number}"][:][file["solve/systems/info"][:] == 0].astype(float)
    assert (
        sum(bar.get_height() for bar in bars)
        == len(values)
        == 3000 - len(range(0, 3000, 7)) - (number == "backward_error") * (values == 0).sum()
    )
    for bar in bars:
        assert bar.get_height() == ((values >= bar.get_x()) & (values < bar.get_x() + bar.get_width())).sum()
    assert any(f"{len(values):,} solved".replace(",", " ") in text for text in texts(figure))


def test_problems_have_names(smallbatch, tmp_path):
    def fill(file):
        add_potential(file, "maps", [[0.1, 0, 0], [0.2, 0, 0]], [1, -1], offset=[0, 1, 2])["name"] = np.array(
            [b"lysozyme", b"water"]
        )

    results = run(smallbatch, tmp_path, fill)
    (image,) = drawn(plot.slice_map(results, problem="water", cells=True), "potential")
    assert (image.get_array() < 0).all()
    with pytest.raises(plot.Refused, match="no problem called 'salt'"):
        plot.slice_map(results, problem="salt")


STRANGE = r"$\frac{a}$ <b>&amp; $x$ %s" + "\u202e\x1b[31m"


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_names_of_a_file_are_text(smallbatch, tmp_path, ending):
    results = run(smallbatch, tmp_path, add_potential)
    with results_to_change(results) as file:
        file["potential"].move("charges", STRANGE)
    done = program(tmp_path, results, "-o", f"m.{ending}")
    assert done.returncode == 0, done.stderr
    data = (tmp_path / f"m.{ending}").read_bytes()
    assert b"\x1b[31m" not in data or ending == "png"
    if ending == "svg":
        root = xml.etree.ElementTree.fromstring(data)
        words = ["".join(element.itertext()).strip() for element in root.iter("{http://www.w3.org/2000/svg}text")]
        assert any(r"$\frac{a}$ <b>&amp; $x$ %s\xe2\x80\xae\x1b[31m" in word for word in words)
        assert "V (V)" in words and "x (Å)" in words


def test_what_is_asked_for_wrongly_is_refused(tmp_path, one_charge, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "no.h5").write_bytes(b"no HDF5")
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["x"] = 1
    (tmp_path / "there.png").write_bytes(b"")
    (tmp_path / "cut.h5").write_bytes(one_charge.read_bytes()[:20000])
    (tmp_path / "p.h5").rename(tmp_path / "q.h5")
    for words, code, told in (
        (["r.h5", "-o", "m.gif"], 2, "none of .png"),
        (["r.h5", "-o", "there.png"], 7, "--overwrite"),
        (["none.h5", "-o", "m.png"], 4, "no such file"),
        (["no.h5", "-o", "m.png"], 3, "cannot be read"),
        (["foreign.h5", "-o", "m.png"], 3, "is no file of smallbatch"),
        (["cut.h5", "-o", "m.png"], 3, "cannot be read"),
        (["r.h5", "-o", "m.png", "--range", "5 furlong"], 2, "no unit of a potential"),
        (["r.h5", "-o", "m.png", "--range", "-5"], 2, "number above 0"),
        (["r.h5", "-o", "m.png", "--set", "x"], 2, "potential/ion"),
        (["r.h5", "-o", "m.png", "--problem", "1"], 2, "there are 1"),
        (["q.h5", "-o", "m.png"], 3, "run them first"),
        (["r.h5", "-o", "m.png", "--kind", "surface"], 2, "p.h5 is not there). Name it: --problems"),
        (["r.h5", "-o", "no/m.png"], 7, "cannot be written"),
    ):
        assert plot.main(words) == code
        errors = capsys.readouterr().err
        assert told in errors and len(errors.splitlines()) == 1, (words, errors)
    assert not (tmp_path / "m.png").exists() and not list(tmp_path.glob("*.smallbatch-part"))


def test_links_into_other_files_are_not_followed(tmp_path, one_charge):
    with results_to_change(one_charge) as file:
        v = file["potential/ion/V"][:]
        with h5py.File(tmp_path / "other.h5", "w") as other:
            other["V"] = v
        del file["potential/ion/V"]
        file["potential/ion/V"] = h5py.ExternalLink("other.h5", "/V")
    with pytest.raises(plot.Refused, match="it is a link"):
        plot.slice_map(one_charge)


def test_old_results_are_read(one_charge):
    before = drawn(plot.slice_map(one_charge), "potential")[0].get_array()
    with results_to_change(one_charge) as file:
        file.attrs["smallbatch_format"] = np.int32([1, 0])
        for name in ("V_min", "V_max", "V_mean", "problem", "E"):
            del file[f"potential/ion/{name}"]
    np.testing.assert_array_equal(drawn(plot.slice_map(one_charge), "potential")[0].get_array(), before)
    with h5py.File(one_charge, "r+") as file:
        file.attrs["smallbatch_format"] = np.int32([2, 0])
    with pytest.raises(plot.Refused, match="newer format"):
        plot.slice_map(one_charge)


def test_what_is_no_number_is_grey(smallbatch, tmp_path):
    results = run(
        smallbatch, tmp_path, lambda file: add_potential(file, "none", [[np.nan] * 3], [1], shape=(6, 5, 4)), expect=1
    )
    (image,) = drawn(plot.slice_map(results), "potential")
    assert np.isnan(np.ma.filled(image.get_array(), np.nan)).all() and image.cmap(np.nan)[:3] == pytest.approx(
        (0x90 / 255,) * 3
    )


def test_units_are_those_of_the_product():
    from smallbatch import _result_file

    factors = {
        "volt": VOLT,
        "kT/e": 560.45932214753453,
        "kcal/mol/e": 332.06371329919225,
        "kJ/mol/e": 1389.3545764438204,
        "hartree/e": 0.529177210903,
        "e/angstrom": 1,
    }
    assert set(factors) == set(_result_file.POTENTIAL_UNITS)
    for unit, factor in factors.items():
        assert _result_file.unit_factor("e/angstrom", unit, 298.15) == pytest.approx(factor, rel=1e-14)
        assert _result_file.unit_factor(unit, "V", 298.15) == pytest.approx(VOLT / factor, rel=1e-14)
    assert [_result_file.length_factor(name) for name in ("angstrom", "Å", "nm", "nanometers", "bohr", "m")] == [
        1,
        1,
        10,
        10,
        0.529177210903,
        1e10,
    ]


def test_the_help_has_the_options():
    words = re.sub(r"\s+", " ", plot.parser().format_help())
    for option in ("--range", "--problems", "--axis", "--integration", "--baselines", "--order", "--number"):
        assert option in words


def test_examples_in_docstrings(smallbatch, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    shutil.copy(Path(__file__).resolve().parents[2] / "data" / "demo.h5", tmp_path / "data")
    for words in re.findall(r"^    smallbatch (.+)$", plot.__doc__, re.M):
        smallbatch(*words.split())
    monkeypatch.chdir(tmp_path)
    find = doctest.DocTestFinder(recurse=False).find
    for example_of in (plot, *(getattr(plot, name) for name in plot.__all__)):
        (test,) = find(example_of, example_of.__name__, globs=dict(vars(plot)))
        assert test.examples and doctest.SKIP not in {flag for example in test.examples for flag in example.options}
        assert doctest.DocTestRunner().run(test).failed == 0, test.name
    assert {path.name for path in tmp_path.iterdir()} > {"map.svg", "surface.png", "histogram.svg"}


@pytest.mark.parametrize(
    "change",
    [
        lambda group: group.attrs.__setitem__("temperature", "warm"),
        lambda group: group["V"].attrs.__setitem__("unit", 5.0),
        lambda group: replace(group, "info", np.float64),
        lambda group: replace(group, "info", np.int64),
        lambda group: replace(group, "V", np.complex128),
        lambda group: replace(group, "spacing", "S8"),
    ],
)
def test_strange_types_are_refused_not_guessed(one_charge, change):
    with results_to_change(one_charge) as file:
        change(file["potential/ion"])
    with pytest.raises(plot.Refused):
        plot.slice_map(one_charge, value_range="5 kT/e")


def replace(group, name, dtype):
    replace_dataset(group, name, group[name][()].astype(dtype))
