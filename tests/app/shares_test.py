"""Shares of a run, by `--shard` and `merge` or by mpirun. Together they write the same file as one run of the whole
problem file, byte for byte. Files that do not belong together are refused."""

import itertools
import json
import os
import shutil
import subprocess

import h5py
import numpy as np
import pytest

from tests.problems import (add_correlation, add_pair_energy, add_potential, add_solve, open_problem_file,
                            results_to_change)


def add_targets(file, name, targets, offset, rng, **attributes):
    """Adds a set without a lattice."""
    group = add_potential(file, name, position=rng.uniform(0, 8, (offset[-1], 3)), charge=rng.uniform(-1, 1, offset[-1]),
                          offset=offset, targets=targets, **attributes)
    del group.attrs["shape"], group["origin"], group["spacing"]
    return group


def fill(path, one_lattice):
    """Writes every kind of set. Some have fewer problems than there are shares, some have none, and some problems have
    nothing to compute."""
    rng = np.random.default_rng(11)
    with open_problem_file(path) as file:
        add_solve(file, "dense", batch=23, n=8)
        add_solve(file, "packed", batch=5, n=13, dtype=np.float64, nrhs=3, store_packed=True)
        add_solve(file, "inverse", batch=4, n=6, nrhs="inverse")
        add_solve(file, "determinant", batch=6, n=17, dtype=np.float64, nrhs="log_determinant")
        add_solve(file, "lower", batch=2, n=33, nrhs=2, lower=True)
        add_solve(file, "empty", batch=0)
        add_solve(file, "failing", batch=12, n=8)
        failing = file["solve/failing/A"]
        failing[1, 2, 2], failing[3, 0, 7], failing[11, 6, 6] = -5, np.nan, -1
        chunked = file.create_group("solve/chunked")
        for name in ("A", "b"):
            values = file[f"solve/dense/{name}"][...]
            chunked.create_dataset(name, data=values, chunks=(5, *values.shape[1:]), compression="gzip")

        ragged = [0, 0, 3, 4, 9, 9, 20, 50]
        lattices = add_potential(
            file, "all_lattices", position=rng.uniform(0, 3, (50, 3)), charge=rng.uniform(-1, 1, 50), offset=ragged,
            shape=(5, 4, 3), field=1, output_unit="kT/e", temperature=310.0, dielectric=4.0,
            origin=np.ones(3) if one_lattice else rng.uniform(5, 6, (7, 3)), spacing=rng.uniform(0.5, 1, 3))
        lattices["group"] = rng.integers(0, 3, 50).astype(np.int8)
        lattices["width"] = rng.uniform(0, 2, 50)
        add_potential(file, "one_lattice", position=[[0, 0, 0]], charge=[1], shape=(9, 8, 7))  # on a lattice point
        points = add_targets(file, "points", "points", ragged, rng, field=1, softening=0.25, cutoff=9.0, screening_length=4.0)
        points["group"] = rng.integers(0, 3, 50).astype(np.int8)
        points["point_offset"] = np.array([0, 0, 0, 7, 8, 30, 30, 31])
        points["points"] = rng.uniform(0, 8, (31, 3))
        add_targets(file, "shared_points", "points", ragged, rng)["points"] = rng.uniform(0, 8, (11, 3))
        add_targets(file, "at_charges", "charges", ragged, rng, field=1)["position"][4, 1] = np.nan
        for targets in ("lattice", "points", "charges"):
            group = add_potential(file, f"no_{targets}", position=np.empty((0, 3)), charge=[], offset=[0],
                                  origin=np.empty((0, 3)), spacing=np.empty((0, 3)), targets=targets, field=1)
            if targets != "lattice":
                del group.attrs["shape"], group["origin"], group["spacing"]
        file["potential/no_points/points"] = np.empty((0, 3))

        ions = file.create_group("particles/ions")
        ions["position/value"], ions["charge"] = rng.uniform(-0.5, 0.5, (5, 12, 3)), np.tile([1.0, -1.0], 6)
        ions["position/value"].attrs["unit"], ions["charge"].attrs["unit"] = "nm", "e"
        trajectory = file.create_group("potential/trajectory")
        trajectory.attrs.update({"particles": "ions", "targets": "charges", "field": 1})
        trajectory["group"] = np.repeat([1, 2], 6).astype(np.int8)

        of_charges = {"position": rng.uniform(0, 8, (50, 3)), "charge": rng.uniform(-1, 1, 50), "offset": ragged}
        of_charges["position"][[7, 30, 31]] = np.nan, 1, 1
        add_pair_energy(file, "all", **of_charges, per_charge=1, cutoff=7.0, output_unit="kcal/mol/e")
        add_pair_energy(file, "groups", **of_charges, group=rng.integers(0, 3, 50), width=0.75)
        add_pair_energy(file, "none", np.empty((0, 3)), [], [0], per_charge=1)
        pairs = file.create_group("pair_energy/trajectory")
        pairs.attrs["particles"] = "ions"

        signal = (rng.standard_normal((9, 70, 5)) + 1j * rng.standard_normal((9, 70, 5))).astype(np.complex64)
        signal[4, 50, 1] = np.nan
        floats = add_correlation(file, "floats", signal, rng.random(signal.shape) < 0.1, integrate=32, output="mean",
                                 sample_time=0.5)
        floats["frequency"] = 1e9 + 1e6 * np.arange(9)
        add_correlation(file, "integers", rng.integers(-128, 128, (5, 70, 4, 2)).astype(np.int8), integrate=16)
        add_correlation(file, "packed", rng.integers(0, 256, (1, 70, 3)).astype(np.uint8))
        add_correlation(file, "no_channels", signal[:0])


def contents(path):
    """Returns every group, dataset and attribute as bytes, without /provenance."""
    found = {}

    def attributes(item):
        return {name: (str(item.attrs.get_id(name).dtype), np.asarray(value).tobytes())
                for name, value in item.attrs.items() if name not in ("DIMENSION_LIST", "REFERENCE_LIST")}

    def axes(dataset):
        """Returns the names of a dataset's axes. HDF5 stores them in two attributes that hold addresses."""
        return [axis[0].name.split("/")[-1] for axis in dataset.dims if len(axis)]

    def take(name, item):
        if name.split("/")[0] == "provenance" or name == "checksums/rest":  # depends on /provenance too
            return
        values = (str(item.dtype), item.shape, item[...].tobytes(), axes(item)) if isinstance(item, h5py.Dataset) else ()
        found[name] = (attributes(item), *values)

    with h5py.File(path) as file:
        take("/", file)
        file.visititems(take)
        vtk = file["VTKHDF"]
        for name in ("V", "E"):  # links, which are visited under one name only
            take(f"VTKHDF/{name}", vtk["PointData"][name])
    return found


def expect_same_contents(path, expected):
    found = contents(path)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name] == values, name


def summary(done):
    """Returns the summary about the sets, without times."""
    sets = json.loads(done.stdout)["sets"]
    for one in sets:
        one.pop("compute_seconds", None)
    return sets


@pytest.mark.parametrize("one_lattice", [False, True])
def test_merged_shares_are_the_undivided_run(smallbatch, tmp_path, one_lattice):
    fill(tmp_path / "p.h5", one_lattice)
    undivided = summary(smallbatch("run", "p.h5", "-o", "r.h5", "--json", expect=1))
    expected = contents(tmp_path / "r.h5")
    assert len(expected) > 150
    totals = {(one["kind"], one["name"]): one["batch"] for one in undivided}
    for count in (1, 2, 3, 7):
        names = [f"{count}_{k + 1}.h5" for k in range(count)]
        batches = dict.fromkeys(totals, 0)
        for k, name in enumerate(names):
            done = smallbatch("run", "p.h5", "-o", name, "--shard", f"{k + 1}/{count}", "--json", expect=None)
            assert done.returncode in (0, 1), done.stderr
            sets = summary(done)
            for one in sets:
                batches[one["kind"], one["name"]] += one["batch"]
                assert one["verification"]["checked"] == one["verification"]["agreed"] == one["batch"]
            again = smallbatch("verify", "p.h5", name, expect=done.returncode)
            assert "DISAGREE" not in again.stdout
            with h5py.File(tmp_path / name) as file:
                note = file["provenance"].attrs
                assert ("share" in note) == (count > 1) and (count == 1 or note["share"] == f"{k + 1}/{count}".encode())
        assert batches == totals
        if count == 1:
            expect_same_contents(tmp_path / names[0], expected)
            continue
        orders = itertools.permutations(names) if count <= 3 else [names[3:] + names[2::-1]]
        for order in orders:
            smallbatch("merge", *order, "-o", "m.h5", "--overwrite", expect=1)
            expect_same_contents(tmp_path / "m.h5", expected)
            with h5py.File(tmp_path / "m.h5") as file:
                assert file["provenance"].attrs["merged_shares"] == count and "share" not in file["provenance"].attrs
        again = summary(smallbatch("verify", "p.h5", "m.h5", "--json", expect=1))
        assert again == summary(smallbatch("verify", "p.h5", "r.h5", "--json", expect=1))


def test_large_lattices_are_merged_plane_by_plane(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:  # 79 MB a lattice, more than a block
        group = add_potential(file, position=[[0.25, 0, 0], [2, 1, 0.5]], charge=[1, -1], offset=[0, 1, 2], field=1,
                              shape=(128, 128, 300), origin=np.zeros((2, 3)), spacing=np.full((2, 3), 0.1))
        group["group"] = np.array([1, 2], np.int8)
    smallbatch("run", "p.h5", "-o", "r.h5", "--verify", "none", "--singular", "skip")
    for k in (1, 2):
        smallbatch("run", "p.h5", "-o", f"{k}.h5", "--verify", "none", "--singular", "skip", "--shard", f"{k}/2")
    smallbatch("merge", "1.h5", "2.h5", "-o", "m.h5")
    expect_same_contents(tmp_path / "m.h5", contents(tmp_path / "r.h5"))


def refused(done, tmp_path, before, *words):
    assert done.stdout == ""
    sentences = [line for line in done.stderr.splitlines() if " error " in line]
    assert len(sentences) == 1, done.stderr
    for word in words:
        assert word in sentences[0], f"'{word}' is not in: {sentences[0]}"
    assert set(os.listdir(tmp_path)) == before, "something was left behind"


@pytest.mark.parametrize("text", ["0/3", "4/3", "x", "1", "1/0", "-1/3", "1/3/5", ""])
def test_what_is_no_share_is_refused(smallbatch, tmp_path, text):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    refused(smallbatch("run", "p.h5", "-o", "r.h5", "--shard", text, expect=2), tmp_path, {"p.h5"}, "--shard")


def test_shares_that_do_not_belong_together_are_not_merged(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=9, n=4)
        add_potential(file)
    (tmp_path / "other").mkdir()
    with open_problem_file(tmp_path / "other/p.h5") as file:
        add_solve(file, batch=9, n=5)
        add_potential(file)
    (tmp_path / "longer").mkdir()
    with open_problem_file(tmp_path / "longer/p.h5") as file:
        add_solve(file, batch=14, n=4)
        add_potential(file)

    def run(name, share, *options, problems="p.h5", folder=tmp_path):
        smallbatch("run", problems, "-o", tmp_path / name, *share, *options)

    for k in (1, 2, 3):
        run(f"{k}.h5", ["--shard", f"{k}/3"])
    run("of_two.h5", ["--shard", "2/2"])
    run("undivided.h5", [])
    run("ldlt.h5", ["--shard", "2/3"], "--method", "ldlt")
    run("skip.h5", ["--shard", "2/3"], "--singular", "skip")
    run("double.h5", ["--shard", "2/3"], "--precision", "double")
    for floor in ("1e-9", "2e-9"):
        for k in (1, 2, 3):
            run(f"{floor}_{k}.h5", ["--shard", f"{k}/3"], "--pivot-floor", floor)
    run("other.h5", ["--shard", "2/3"], problems="other/p.h5")
    for folder in ("other", "longer"):  # another file of the same name
        subprocess.run([smallbatch.program, "run", "p.h5", "-o", tmp_path / f"{folder}_p.h5", "--shard", "2/3"],
                       cwd=tmp_path / folder, check=True, capture_output=True)
    before = set(os.listdir(tmp_path))

    def refuse(code, words, *shares, output="m.h5", options=()):
        done = smallbatch("merge", *shares, "-o", output, *options, expect=code)
        refused(done, tmp_path, before, *words)

    refuse(3, ["share 3/3 is missing"], "1.h5", "2.h5")
    refuse(3, ["share 1/3 is missing"], "3.h5", "2.h5")
    refuse(3, ["share 2/3 is missing"], "3.h5", "1.h5")
    refuse(3, ["2.h5", "share 2/3 is given twice"], "1.h5", "2.h5", "3.h5", "2.h5")
    refuse(3, ["share 1/3 is given twice"], "1.h5", "1.h5", "2.h5")
    refuse(3, ["of_two.h5", "number of shares is 2"], "1.h5", "of_two.h5", "3.h5")
    refuse(3, ["undivided.h5", "not a share"], "1.h5", "undivided.h5", "3.h5")
    refuse(3, ["p.h5", "not a result file"], "1.h5", "p.h5", "3.h5")
    refuse(3, ["ldlt.h5", "method is ldlt"], "1.h5", "ldlt.h5", "3.h5")
    refuse(3, ["skip.h5", "singular is skip"], "1.h5", "skip.h5", "3.h5")
    refuse(3, ["double.h5", "precision is float64"], "1.h5", "double.h5", "3.h5")
    refuse(3, ["2e-9_2.h5", "pivot_floor is 2e-09"], "1e-9_1.h5", "2e-9_2.h5", "1e-9_3.h5")
    refuse(3, ["other.h5", "problems is other/p.h5"], "1.h5", "other.h5", "3.h5")
    refuse(3, ["other_p.h5", "sets"], "1.h5", "other_p.h5", "3.h5")
    refuse(3, ["longer_p.h5", "systems"], "1.h5", "longer_p.h5", "3.h5")
    refuse(4, ["none.h5"], "1.h5", "none.h5", "3.h5")
    refuse(7, ["of_two.h5", "exists"], "1.h5", "2.h5", "3.h5", output="of_two.h5")
    refuse(2, ["output 2.h5 is the input"], "1.h5", "2.h5", "3.h5", output="2.h5", options=["--overwrite"])
    smallbatch("merge", "2e-9_3.h5", "2e-9_1.h5", "2e-9_2.h5", "-o", "m.h5")


def test_shares_without_channels_are_merged(smallbatch, tmp_path):
    signal = np.random.default_rng(4).standard_normal((2, 20, 3, 2)).astype("float32") @ [1, 1j]
    with open_problem_file(tmp_path / "p.h5") as file:
        array = add_correlation(file, "array", signal.astype(np.complex64))
        array["frequency"] = np.array([1e9, 2e9])
        array["input_position"] = np.arange(9.0).reshape(3, 3)
    smallbatch("run", "p.h5", "-o", "whole.h5")
    for k in (1, 2, 3):
        smallbatch("run", "p.h5", "-o", f"s{k}.h5", "--shard", f"{k}/3")
    smallbatch("merge", "s1.h5", "s2.h5", "s3.h5", "-o", "m.h5")
    with h5py.File(tmp_path / "m.h5") as merged, h5py.File(tmp_path / "whole.h5") as whole:
        found, expected = merged["correlation/array"], whole["correlation/array"]
        assert set(found) == set(expected) >= {"visibility", "frequency", "input_position"}
        for name in expected:
            assert found[name][...].tobytes() == expected[name][...].tobytes(), name


def test_results_with_other_positions_are_not_those_of_the_problems(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        array = add_correlation(file, "array", np.ones((2, 20, 3), np.complex64))
        array["input_position"] = np.arange(9.0).reshape(3, 3)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with results_to_change(tmp_path / "r.h5") as file:
        file["correlation/array/input_position"][1, 1] = 5
    done = smallbatch("verify", "p.h5", "r.h5", expect=3)
    assert "input_position" in done.stderr


def test_a_share_is_verified_with_its_own_problems_alone(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=8)
    for k in (1, 2):
        smallbatch("run", "p.h5", "-o", f"{k}.h5", "--shard", f"{k}/2")
    with h5py.File(tmp_path / "2.h5", "r+") as file:
        file["provenance"].attrs["share"] = np.bytes_("1/2")
    refused = smallbatch("verify", "p.h5", "2.h5", expect=3).stderr
    assert "/solve/systems of p.h5" in refused and "hash" in refused
    with h5py.File(tmp_path / "2.h5", "r+") as file:
        file["provenance"].attrs["share"] = np.bytes_("3/2")
    assert "share" in smallbatch("verify", "p.h5", "2.h5", expect=3).stderr


def test_processes_that_do_not_know_each_other_are_refused(smallbatch, tmp_path):
    """Without MPI, each process would compute the whole run and write the same file."""
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    environment = {**os.environ, "OMPI_COMM_WORLD_SIZE": "2"}
    done = smallbatch("run", "p.h5", "-o", "r.h5", expect=2, env=environment)
    refused(done, tmp_path, {"p.h5"}, "several processes were started for one run", "--shard")


@pytest.fixture
def mpirun(smallbatch, tmp_path):
    """Returns a function that starts several processes of the command. Skips the test if there is no mpirun, or no MPI
    in the program."""
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun here")
    options = []
    if "Open MPI" in subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout:
        options = ["--oversubscribe", "--bind-to", "none"] + ["--allow-run-as-root"] * (os.geteuid() == 0)

    def start(count, *arguments, expect=0, before_last=()):
        """Starts `count` processes. The words `before_last` precede the command of the last process."""
        command = [str(smallbatch.program), *map(str, arguments)]
        processes = ["-n", str(count), *command]
        if before_last:
            processes = ["-n", str(count - 1), *command, ":", "-n", "1", *before_last, *command]
        done = subprocess.run(["mpirun", *options, *processes], cwd=tmp_path, capture_output=True, text=True, timeout=300,
                              env={**os.environ, "OMP_NUM_THREADS": "1"})
        if "this build has no MPI" in done.stderr:
            pytest.skip("the program has no MPI")
        assert done.returncode == expect, f"exit code {done.returncode}, not {expect}\n{done.stdout}\n{done.stderr}"
        return done

    return start


@pytest.mark.parametrize("one_lattice", [False, True])
def test_ranks_write_what_one_process_does(smallbatch, mpirun, tmp_path, one_lattice):
    fill(tmp_path / "p.h5", one_lattice)
    one = smallbatch("run", "p.h5", "-o", "r.h5", "--json", expect=1)
    expected, said = contents(tmp_path / "r.h5"), summary(one)
    for count in (1, 2, 3):
        done = mpirun(count, "run", "p.h5", "-o", f"{count}.h5", "--json", expect=1)
        assert summary(done) == said  # only the first rank reports
        expect_same_contents(tmp_path / f"{count}.h5", expected)
        assert "DISAGREE" not in smallbatch("verify", "p.h5", f"{count}.h5", expect=1).stdout
        with h5py.File(tmp_path / f"{count}.h5") as file:
            assert file["provenance"].attrs.get("ranks", 1) == count and "share" not in file["provenance"].attrs
    mpirun(2, "run", "p.h5", "-o", "2.h5", "--overwrite", expect=1)
    expect_same_contents(tmp_path / "2.h5", expected)
    assert set(os.listdir(tmp_path)) == {"p.h5", "r.h5", "1.h5", "2.h5", "3.h5"}


def test_ranks_end_together(smallbatch, mpirun, tmp_path):
    """If one rank fails, all end with its exit code and one sentence, and leave no file."""
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=1000, n=16)
    shutil.copy(tmp_path / "p.h5", tmp_path / "damaged.h5")
    with h5py.File(tmp_path / "damaged.h5", "r+") as file:
        values = file["solve/systems/A"][...]
        del file["solve/systems/A"]
        stored = file["solve/systems"].create_dataset("A", data=values, chunks=(10, 16, 16), compression="gzip")
        chunk = stored.id.get_chunk_info(99)
    with open(tmp_path / "damaged.h5", "r+b") as file:
        file.seek(chunk.byte_offset + chunk.size // 2)
        file.write(bytes(64))
    (tmp_path / "there.h5").write_text("precious")
    before = set(os.listdir(tmp_path))

    def refuse(code, words, *arguments, **options):
        refused(mpirun(3, "run", *arguments, expect=code, **options), tmp_path, before, *words)

    refuse(3, ["rank 2: ", "damaged.h5", "/solve/systems/A"], "damaged.h5", "-o", "r.h5")
    refuse(2, ["--shard", "launcher"], "p.h5", "-o", "r.h5", "--shard", "1/3")
    refuse(7, ["there.h5", "exists"], "p.h5", "-o", "there.h5")
    refuse(2, ["p.h5 is the input"], "p.h5", "-o", "p.h5", "--overwrite")
    refuse(7, ["none/r.h5"], "p.h5", "-o", "none/r.h5")
    # The last rank may write only the first kilobytes of the file, and its share is behind them.
    refuse(7, ["rank 2: ", "r.h5"], "p.h5", "-o", "r.h5", before_last=["sh", "-c", 'ulimit -f 16; exec "$@"', "sh"])
    assert (tmp_path / "there.h5").read_text() == "precious"
    # Only the first rank exits with the code of the run, and the others with 0. A launcher that sees another code ends
    # the remaining ranks before they have reported.
    keep_code = ["sh", "-c", 'trap : TERM; "$@"; echo $? > code', "sh"]
    mpirun(2, "run", "damaged.h5", "-o", "r.h5", expect=3, before_last=keep_code)
    assert (tmp_path / "code").read_text() == "0\n"
    with h5py.File(tmp_path / "p.h5", "r+") as file:
        file["solve/systems/A"][999, 0, 0] = -1
    mpirun(2, "run", "p.h5", "-o", "r.h5", expect=1, before_last=keep_code)
    assert (tmp_path / "code").read_text() == "0\n"
