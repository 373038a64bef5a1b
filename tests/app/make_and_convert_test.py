"""generate, import, info and export as a user runs them."""

import json
import re

import h5py
import numpy as np
import pytest

from tests.problems import add_potential, add_solve, open_problem_file

PQR = "ATOM 1 X ION 1 {:.3f} {:.3f} {:.3f} {:.3f} 1.000\n"


def write_pqr(path, atoms):
    path.write_text("".join(PQR.format(*atom) for atom in atoms))


def potential(path, name="molecules"):
    with h5py.File(path) as file:
        return file[f"potential/{name}/V"][...].astype(np.float64)


@pytest.mark.parametrize("storage", ["dense", "packed", "packed_upper"])
def test_generated_systems_have_the_condition_that_was_asked_for(smallbatch, tmp_path, storage):
    smallbatch("generate", "spd", "-o", "p.h5", "--batch", 5, "--n", 12, "--condition", 1e4, "--type", "float64",
               "--storage", storage, "--nrhs", 2)
    with h5py.File(tmp_path / "p.h5") as file:
        a, b = file["solve/systems/A"][...], file["solve/systems/b"][...]
    assert b.shape == (5, 12, 2)
    if storage != "dense":
        rows, columns = np.tril_indices(12) if storage == "packed" else np.triu_indices(12)
        full = np.zeros((5, 12, 12))
        full[:, rows, columns] = full[:, columns, rows] = a
        a = full
    assert np.array_equal(a, a.transpose(0, 2, 1))
    assert np.linalg.cond(a) == pytest.approx(1e4, rel=1e-6)


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("n", [129, 200, 256])
def test_large_systems_are_made_shown_solved_and_verified(smallbatch, tmp_path, n, device):
    smallbatch("generate", "spd", "-o", "p.h5", "--batch", 7, "--n", n, "--type", "float64", "--storage", "packed_upper",
               "--nrhs", 2)
    (shown,) = json.loads(smallbatch("info", "p.h5", "--json").stdout)["sets"]
    assert shown["n"] == n and shown["nrhs"] == 2 and shown["batch"] == 7
    smallbatch("run", "p.h5", "-o", "r.h5", "--device", device, "--verify", "all")
    smallbatch("verify", "p.h5", "r.h5")
    with h5py.File(tmp_path / "p.h5") as file:
        a = np.zeros((7, n, n))
        a[:, *np.triu_indices(n)] = file["solve/systems/A"]
        a += np.triu(a, 1).transpose(0, 2, 1)
        expected = np.linalg.solve(a, file["solve/systems/b"][...])
    with h5py.File(tmp_path / "r.h5") as file:
        np.testing.assert_allclose(file["solve/systems/x"], expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("uplo", ["lower", "upper"])
def test_generated_sets_say_what_is_read_and_wanted(smallbatch, tmp_path, uplo):
    smallbatch("generate", "spd", "-o", "p.h5", "--batch", 3, "--n", 64, "--uplo", uplo, "--compute",
               "log_determinant", "--type", "float64")
    with h5py.File(tmp_path / "p.h5") as file:
        group = file["solve/systems"]
        assert group["A"].shape == (3, 64, 64) and "b" not in group
        assert group.attrs["uplo"] == uplo.encode() and group.attrs["compute"] == b"log_determinant"
        expected = np.linalg.slogdet(group["A"][...])[1]
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "r.h5") as file:
        np.testing.assert_allclose(file["solve/systems/log_determinant"], expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["float32", "int8", "int4"])
def test_generated_signals_have_the_visibilities_of_their_sources(smallbatch, tmp_path, kind):
    """Visibilities are sum_s exp(2 pi i nu tau_s (i - j)) + [i = j], within the noise of the samples. Flags are as
    frequent as asked for."""
    smallbatch("generate", "signal", "-o", "p.h5", "--channels", 3, "--inputs", 4, "--times", 20000, "--type", kind,
               "--mean", "--delays", "-0.2,0.31", "--flagged", 0.25, "--first-frequency", 1e9, "--channel-width", 1e8)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "r.h5") as file:
        group = file["correlation/array"]
        assert group.attrs["sample_time"] == 1e-8 and group["frequency"][...].tolist() == [1e9, 1.1e9, 1.2e9]
        v, weight, (i, j) = group["visibility"][0], group["weight"][0] / 20000, np.tril_indices(4)
    turns = np.array([1.0, 1.1, 1.2])[:, None] * (i - j)
    expected = np.exp(-2j * np.pi * 0.2 * turns) + np.exp(2j * np.pi * 0.31 * turns) + (i == j)
    scale = v[:, i == j].real.mean() / 3
    np.testing.assert_allclose(v / scale, expected, atol=0.15)
    np.testing.assert_allclose(weight, np.where(i == j, 0.75, 0.75**2) * np.ones((3, 1)), atol=0.02)


def test_a_recording_is_generated_in_any_parts(smallbatch, tmp_path):
    """With equal seeds, a longer recording begins with the samples of a shorter one. The longer recording is generated
    in several blocks."""
    options = ["--inputs", 64, "--channels", 2, "--type", "int8", "--flagged", 0.1, "--seed", 5]
    for times in (1000, 700000):
        smallbatch("generate", "signal", "-o", f"{times}.h5", "--times", times, *options)
    with h5py.File(tmp_path / "1000.h5") as short, h5py.File(tmp_path / "700000.h5") as long:
        for name in ("signal", "flag"):
            dataset = long[f"correlation/array/{name}"]
            np.testing.assert_array_equal(short[f"correlation/array/{name}"][...], dataset[:, :1000])
            assert dataset[:, -1000:].any(axis=(0, 1)).all()


def test_generated_pairs_are_those_of_generated_charges(smallbatch, tmp_path):
    options = ["--batch", 3, "--charges", 7, "--seed", 2]
    smallbatch("generate", "charges", "-o", "v.h5", *options)
    smallbatch("generate", "charges", "-o", "p.h5", "--pair-energy", "--per-charge", "--groups", "--cutoff", 9, *options)
    with h5py.File(tmp_path / "v.h5") as potentials, h5py.File(tmp_path / "p.h5") as pairs:
        group = pairs["pair_energy/charges"]
        for name in ("position", "charge", "offset"):
            np.testing.assert_array_equal(group[name], potentials[f"potential/charges/{name}"])
        assert group["group"][...].tolist() == [1, 1, 1, 2, 2, 2, 2] * 3
        assert group.attrs["per_charge"] == 1 and group.attrs["cutoff"] == 9
    smallbatch("run", "p.h5", "-o", "r.h5")
    for wrong in (["--groups"], ["--per-charge"], ["--pair-energy", "--field"], ["--pair-energy", "--targets", "charges"]):
        smallbatch("generate", "charges", "-o", "x.h5", *wrong, expect=2)
    smallbatch("generate", "signal", "-o", "x.h5", "--delays", "1,x", expect=2)


def test_positions_without_a_unit_are_noted_once(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        for name in ["one", "two", "three"]:
            add_potential(file, name=name)
    note = "/potential/one/position and 2 more of p.h5 have no unit: read as angstrom."
    assert note in smallbatch("info", "p.h5").stdout
    described = json.loads(smallbatch("info", "p.h5", "--json").stdout)
    assert described["notes"] == [note] and described["warnings"] == []
    lines = smallbatch("run", "p.h5", "-o", "r.h5").stderr.splitlines()
    assert [line.split(" ", 1)[1] for line in lines if "unit" in line] == [f"info {note}"]
    assert smallbatch("-q", "run", "p.h5", "-o", "r.h5", "--overwrite").stderr == ""


def test_the_seed_makes_the_numbers_and_is_printed(smallbatch, tmp_path):
    files = []
    for name, seed in [("a", 3), ("b", 3), ("c", 4)]:
        done = smallbatch("generate", "spd", "-o", f"{name}.h5", "--batch", 7, "--seed", seed)
        assert f"seed {seed}" in done.stdout
        with h5py.File(tmp_path / f"{name}.h5") as file:
            files.append(file["solve/systems/A"][...])
    assert np.array_equal(files[0], files[1]) and not np.array_equal(files[0], files[2])


def test_generated_charges_are_neutral_and_run(smallbatch, tmp_path):
    smallbatch("generate", "charges", "-o", "p.h5", "--batch", 3, "--charges", 50, "--shape", "6,5,4", "--spacing", 2)
    with h5py.File(tmp_path / "p.h5") as file:
        assert file["potential/charges/offset"][...].tolist() == [0, 50, 100, 150]
        assert abs(file["potential/charges/charge"][:50].sum()) < 1e-12
    smallbatch("run", "p.h5", "-o", "r.h5")
    assert potential(tmp_path / "r.h5", "charges").shape == (3, 4, 5, 6)


def test_potentials_of_parts_add_up(smallbatch, tmp_path):
    first, second = [(0, 0, 0, 1), (1.5, 0, 0, -0.5)], [(0, 4, 0, 0.25)]
    write_pqr(tmp_path / "one.pqr", first)
    write_pqr(tmp_path / "two.pqr", second)
    write_pqr(tmp_path / "both.pqr", first + second)
    smallbatch("import", "both.pqr", "one.pqr", "two.pqr", "-o", "p.h5", "--shape", "9,8,7", "--margin", 2.7)
    smallbatch("run", "p.h5", "-o", "r.h5")
    v = potential(tmp_path / "r.h5")
    np.testing.assert_allclose(v[0], v[1] + v[2], rtol=0, atol=1e-5, equal_nan=False)


def test_the_lattice_is_laid_as_asked(smallbatch, tmp_path):
    write_pqr(tmp_path / "one.pqr", [(0, 0, 0, 1), (10, 4, 2, 1)])
    write_pqr(tmp_path / "two.pqr", [(20, 0, 0, 1)])

    def lattice(*arguments):
        smallbatch("import", "one.pqr", "two.pqr", "-o", "p.h5", "--overwrite", *arguments)
        with h5py.File(tmp_path / "p.h5") as file:
            group = file["potential/molecules"]
            return tuple(group.attrs["shape"]), group["origin"][...], group["spacing"][...]

    shape, origin, spacing = lattice("--spacing", 0.5, "--margin", 3)  # one lattice around both molecules
    assert shape == (53, 21, 17)
    assert origin.tolist() == [[-3, -3, -3]] * 2 and (spacing == 0.5).all()
    shape, origin, spacing = lattice("--lattice", "each", "--shape", "5", "--margin", 1)  # a lattice around each
    assert shape == (5, 5, 5)
    assert origin.tolist() == [[-1, -1, -1], [19, -1, -1]] and spacing.tolist() == [[3, 1.5, 1], [0.5, 0.5, 0.5]]
    shape, origin, spacing = lattice("--origin", "1,2,3", "--shape", "2,3,4", "--spacing", 0.25)
    assert shape == (2, 3, 4) and origin.tolist() == [[1, 2, 3]] * 2 and (spacing == 0.25).all()


def test_a_born_ion_is_q_over_r(smallbatch, tmp_path):
    write_pqr(tmp_path / "ion.pqr", [(0, 0, 0, 1)])
    smallbatch("import", "ion.pqr", "-o", "p.h5", "--origin", "3,0,4", "--spacing", 1, "--shape", 1)
    smallbatch("run", "p.h5", "-o", "r.h5")
    assert potential(tmp_path / "r.h5")[0, 0, 0, 0] == pytest.approx(14.399645478425672 / 5, rel=2e-7)


def test_an_h5md_trajectory_becomes_a_batch_and_a_time_series(smallbatch, tmp_path):
    rng = np.random.default_rng(2)
    with h5py.File(tmp_path / "t.h5", "w") as file:
        ions = file.create_group("particles/ions")
        ions["position/value"] = rng.uniform(-0.5, 0.5, (4, 6, 3))
        ions["position/value"].attrs["unit"] = "nm"
        ions["charge"] = np.tile([1.0, -1.0], 3)
        ions["charge"].attrs["unit"] = "e"
        file.create_group("h5md").attrs["version"] = np.array([1, 1])
    smallbatch("import", "t.h5", "-o", "p.h5", "--shape", 5, "--set", "ions")
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "p.h5") as file, h5py.File(tmp_path / "t.h5") as source:
        np.testing.assert_allclose(file["potential/ions/position"][...].reshape(4, 6, 3),
                                   10 * source["particles/ions/position/value"][...], rtol=1e-15)
    with h5py.File(tmp_path / "r.h5") as file:
        assert file["VTKHDF/Steps"].attrs["NSteps"] == 4
        assert file["VTKHDF/PointData/V"] == file["potential/ions/V"]
    smallbatch("import", "t.h5", "t.h5", "-o", "q.h5", expect=2)


def test_info_says_what_a_file_holds_and_needs(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=5, n=8, nrhs=3, store_packed=True)
        add_solve(file, name="triangles", batch=2, n=64, dtype=np.float64, nrhs="log_determinant", lower=True)
        add_potential(file, shape=(4, 3, 2), output_unit="kT/e")
    told = json.loads(smallbatch("info", "p.h5", "--json").stdout)
    assert told["kind"] == "problems"
    systems, triangles, charges = told["sets"]
    assert (systems["uplo"], systems["compute"]) == ("lower", "solution")
    assert (triangles["uplo"], triangles["compute"], triangles["storage"]) == ("lower", "log_determinant", "dense")
    assert "2 dense 64x64 float64, lower triangles, log determinant" in smallbatch("info", "p.h5").stdout
    assert (systems["batch"], systems["n"], systems["nrhs"], systems["storage"]) == (5, 8, 3, "packed_lower")
    assert charges["lattice"] == [4, 3, 2] and charges["output_unit"] == "kT/e" and charges["charges"] == 1
    assert told["needs"]["systems"] == 7 and told["needs"]["pairs"] == 24
    smallbatch("run", "p.h5", "-o", "r.h5")
    # The datasets take as many bytes as info has predicted.
    with h5py.File(tmp_path / "r.h5") as file:
        sizes = []
        file.visititems(lambda name, item: sizes.append(item.nbytes)
                        if isinstance(item, h5py.Dataset) and not name.startswith(("VTKHDF", "checksums"))
                        and (not item.is_scale or name.endswith("charges/problem") and name.startswith("potential")) else None)
    assert told["needs"]["result_bytes"] == sum(sizes)
    told = json.loads(smallbatch("info", "r.h5", "--json").stdout)
    assert told["kind"] == "results"
    assert [s["verification"]["agreed"] for s in told["sets"]] == [5, 2, 1]
    assert told["sets"][1]["compute"] == "log_determinant" and told["sets"][1]["n"] == 64
    assert "kriging" not in smallbatch("info", "r.h5").stdout


def test_export_refuses_what_is_not_there(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_potential(file)
        add_potential(file, name="more")
    smallbatch("run", "p.h5", "-o", "r.h5")
    assert "--set" in smallbatch("export", "r.h5", "-o", "v.dx", expect=2).stderr
    assert "nowhere" in smallbatch("export", "r.h5", "--set", "nowhere", "-o", "v.dx", expect=2).stderr
    assert "7" in smallbatch("export", "r.h5", "--set", "more", "--index", 7, "-o", "v.dx", expect=2).stderr
    assert "99" in smallbatch("export", "r.h5", "--set", "more", "--slice", 99, "-o", "v.png", expect=2).stderr
    assert ".tiff" in smallbatch("export", "r.h5", "--set", "more", "-o", "v.tiff", expect=2).stderr
    assert "p.h5" in smallbatch("export", "p.h5", "-o", "v.dx", expect=3).stderr
    for output, *option in (("v.dx", "--axis", "x"), ("v.cube", "--slice", 0), ("v.dx", "--problems", "p.h5"),
                            ("v.png", "--problems", "p.h5"), ("v.uvh5", "--index", 0)):
        assert option[0] in smallbatch("export", "r.h5", "--set", "more", "-o", output, *option, expect=2).stderr
        assert not (tmp_path / output).exists()


def test_import_refuses_options_that_would_do_nothing(smallbatch, tmp_path):
    (tmp_path / "ion.pqr").write_text("ATOM 1 NA NA 1 0.0 0.0 0.0 1.0 1.0\n")
    extent = ("--shape", 5, "--spacing", 1)
    for name, *more in (("--group", "ions"), ("--temperature", 310), ("--margin", 3, *extent), ("--margin", 5, *extent),
                        ("--lattice", "each", *extent, "--origin", "0,0,0")):
        assert f"{name} " in smallbatch("import", "ion.pqr", "-o", "p.h5", name, *more, expect=2).stderr
        assert not (tmp_path / "p.h5").exists()
    smallbatch("import", "ion.pqr", "-o", "p.h5", "--unit", "kT/e", "--temperature", 310, "--margin", 3, "--shape", 5)
    smallbatch("import", "ion.pqr", "-o", "q.h5", "--margin", 3, "--spacing", 1, "--origin", "0,0,0")
    smallbatch("import", "ion.pqr", "-o", "r.h5", "--lattice", "each", *extent)


def test_import_of_visibilities_refuses_what_is_of_charges_or_samples(smallbatch, tmp_path):
    smallbatch("generate", "signal", "-o", "p.h5", "--channels", 2, "--inputs", 2, "--times", 8)
    smallbatch("run", "p.h5", "-o", "r.h5")
    smallbatch("export", "r.h5", "-o", "v.uvh5")
    for option in (("--group", "a"), ("--charges", "a.pqr"), ("--shape", 5), ("--spacing", 1), ("--origin", "0,0,0"),
                   ("--margin", 5), ("--lattice", "common"), ("--unit", "volt"), ("--unit", "kT/e", "--temperature", 300),
                   ("--targets", "charges"), ("--field",), ("--softening", 0), ("--cutoff", 0), ("--dielectric", 1)):
        assert f"{option[0]} applies to" in smallbatch("import", "v.uvh5", "-o", "i.h5", *option, expect=2).stderr
        assert not (tmp_path / "i.h5").exists()
    smallbatch("import", "v.uvh5", "-o", "i.h5")
    smallbatch("import", "v.uvh5", "-o", "j.h5", "--set", "molecules")  # another name of the set
    with h5py.File(tmp_path / "i.h5") as one, h5py.File(tmp_path / "j.h5") as other:
        assert list(one["correlation"]) == ["visibilities"] and list(other["correlation"]) == ["molecules"]


def test_pictures_and_pages_refuse_options_that_would_do_nothing(smallbatch, tmp_path):
    smallbatch("generate", "signal", "-o", "p.h5", "--channels", 2, "--inputs", 2, "--times", 8)
    smallbatch("run", "p.h5", "-o", "r.h5")
    for option in (("--axis", "z"), ("--slice", 0)):
        assert f"{option[0]} applies to" in smallbatch("export", "r.h5", "-o", "v.png", *option, expect=2).stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.h5", "r.h5"]
    smallbatch("export", "r.h5", "-o", "v.png")


def test_generated_systems_refuse_what_their_family_does_not_take(smallbatch, tmp_path):
    families = re.findall(r"^  (\w+)  +\S", smallbatch("generate", "spd", "--help").stdout.split("Families:")[1], re.M)
    assert len(families) == 19
    own = {"gram", "lehmer", "min_ij", "moler"}
    for family in families:
        expect = 2 if family in own else 0
        done = smallbatch("generate", "spd", "-o", f"{family}.h5", "--family", family, "--condition", 100, "--batch", 2,
                          "--n", 4, expect=expect)
        assert ("--condition " in done.stderr) == (family in own) and (tmp_path / f"{family}.h5").exists() != (family in own)
    assert "condition" not in smallbatch("generate", "spd", "-o", "p.h5", "--family", "lehmer", "--batch", 2).stdout
    made = ("generate", "spd", "-o", "s.h5", "--family", "diagonal", "--batch", 2, "--n", 4, "--seed", 3)
    assert "--seed " in smallbatch(*made, "--nrhs", 0, expect=2).stderr
    assert not (tmp_path / "s.h5").exists()
    smallbatch(*made)  # the seed is for the right-hand sides
    smallbatch(*made, "--nrhs", 0, "--sizes", "2:4", "--overwrite")


def test_a_terminal_gets_a_progress_bar_and_a_log_does_not(smallbatch, tmp_path):
    import os
    import pty
    import subprocess

    smallbatch("generate", "spd", "-o", "p.h5", "--batch", 3000)
    for no_color in [False, True]:
        leader, follower = pty.openpty()
        environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        if no_color:
            environment["NO_COLOR"] = "1"
        environment["TERM"] = "xterm"
        process = subprocess.Popen([smallbatch.program, "run", "p.h5", "-o", "r.h5", "--overwrite", "--memory", "4MiB"],
                                   cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=follower)
        os.close(follower)
        shown = b""
        try:
            while piece := os.read(leader, 4096):
                shown += piece
        except OSError:  # the terminal is closed
            pass
        assert process.wait() == 0
        assert b"solve/systems [" in shown and b"%" in shown
        assert (b"\x1b[32m" in shown) is not no_color
    assert "[#" not in smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite").stderr
