"""Names of molecules, and steps and times of frames. They pass from PQR files and trajectories into problem files,
results, messages and exports. VTK and xarray can read them."""

import h5py
import numpy as np
import pytest
import xarray

from tests.problems import add_pair_energy, add_potential, open_problem_file

CHARGE = np.array([-0.8, 0.4, 0.4, 1.0])
TIMES = np.array([0, 2, 4, 6, 8], "f4")
ATOMS = [("O", "SOL"), ("H1", "SOL"), ("H2", "SOL"), ("NA", "NA")]


def write_mdanalysis(path, charge="charge", unit="ps"):
    """Five frames in a box, as MDAnalysis 2.11's coordinates.H5MD.H5MDWriter writes them. `charge` names an entry of
    Timestep.data, which becomes an observable."""
    position = np.random.default_rng(3).uniform(-3, 3, (5, 4, 3)).astype("f4")
    with h5py.File(path, "w") as file:
        file.create_group("h5md").attrs["version"] = np.array([1, 1])
        file.create_group("h5md/author").attrs["name"] = "N/A"
        trajectory = file.create_group("particles/trajectory")
        box = trajectory.create_group("box")
        box.attrs["dimension"] = 3
        box.attrs["boundary"] = 3 * ["periodic"]
        edges = box.create_group("edges")
        edges.create_dataset("value", data=np.tile(20 * np.eye(3, dtype="f4"), (5, 1, 1)), maxshape=(None, 3, 3))
        edges["value"].attrs["unit"] = "Angstrom"
        edges.create_dataset("step", data=np.arange(0, 500, 100, "i4"), maxshape=(None,))
        edges.create_dataset("time", data=TIMES, maxshape=(None,))
        edges["time"].attrs["unit"] = unit
        positions = trajectory.create_group("position")
        positions.create_dataset("value", data=position, maxshape=(None, 4, 3), chunks=(1, 4, 3))
        positions["value"].attrs["unit"] = "Angstrom"
        groups = [positions]
        if charge:
            groups.append(file.create_group(f"observables/{charge}"))
            groups[1].create_dataset("value", data=np.tile(CHARGE, (5, 1)), maxshape=(None, 4))
        for group in groups:
            group["step"], group["time"] = edges["step"], edges["time"]
    return position


def write_pqr(path, atoms=ATOMS, charge=CHARGE):
    lines = [f"ATOM {i + 1} {name} {residue} 1 {i}.5 0.25 0.125 {q} 1.5"
             for i, ((name, residue), q) in enumerate(zip(atoms, charge))]
    path.write_text("\n".join(lines) + "\n")


def vtk_times(path):
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
    from vtkmodules.vtkIOHDF import vtkHDFReader

    reader = vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    return list(reader.GetOutputInformation(0).Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS()))


@pytest.mark.parametrize("where", ["charge", "charges", "trajectory/charge", "pqr"])
def test_a_trajectory_of_mdanalysis(smallbatch, tmp_path, where):
    position = write_mdanalysis(tmp_path / "t.h5md", charge=None if where == "pqr" else where)
    write_pqr(tmp_path / "topology.pqr")
    given = ["--charges", "topology.pqr"] if where == "pqr" else []
    smallbatch("import", "t.h5md", *given, "-o", "p.h5", "--shape", "3,4,5", "--set", "md")
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "p.h5") as problems, h5py.File(tmp_path / "r.h5") as results:
        group = problems["potential/md"]
        assert np.array_equal(group["position"][...].reshape(5, 4, 3), position)
        assert np.array_equal(group["charge"][...].reshape(5, 4), np.tile(CHARGE, (5, 1)))
        assert ("atomic_number" in group) == (where == "pqr")
        for found in (group, results["potential/md"]):
            assert found["step"][...].tolist() == [0, 100, 200, 300, 400]
            assert found["time"][...].tolist() == TIMES.tolist() and found["time"].attrs["unit"] == b"ps"
    assert vtk_times(tmp_path / "r.h5") == TIMES.tolist()
    with xarray.open_dataset(tmp_path / "r.h5", group="potential/md", engine="h5netcdf") as opened:
        assert opened["V"].dims == ("problem", "z", "y", "x")
        assert opened.coords["time"].dims == ("problem",) and opened.coords["time"].attrs["units"] == "ps"
        by_time = opened.swap_dims(problem="time")
        assert np.array_equal(by_time["V"].sel(time=4).values, opened["V"][2].values)
    if where == "pqr":
        smallbatch("export", "r.h5", "--problems", "p.h5", "--index", 3, "-o", "map.cube")
        lines = (tmp_path / "map.cube").read_text().splitlines()
        assert "problem 3 (step 300, time 6 ps), volt" in lines[0]
        assert [int(line.split()[0]) for line in lines[6:10]] == [8, 1, 1, 11]


def test_atoms_of_another_problem_file_are_refused(smallbatch, tmp_path):
    write_pqr(tmp_path / "one.pqr")
    write_pqr(tmp_path / "other.pqr", charge=[1, -1, 0.5, -0.5])
    for name in ("one", "other"):
        smallbatch("import", f"{name}.pqr", "-o", f"{name}.h5", "--shape", 3)
    smallbatch("run", "one.h5", "-o", "r.h5")
    smallbatch("export", "r.h5", "--problems", "one.h5", "-o", "one.cube")
    assert "hash differs" in smallbatch("export", "r.h5", "--problems", "other.h5", "-o", "other.cube", expect=3).stderr
    assert not (tmp_path / "other.cube").exists()
    assert "hash differs" not in smallbatch("verify", "one.h5", "r.h5").stderr
    assert "hash differs" in smallbatch("verify", "other.h5", "r.h5", expect=None).stderr


def test_molecules_of_one_name_are_warned_of(smallbatch, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write_pqr(tmp_path / folder / "one.pqr")
    write_pqr(tmp_path / "other.pqr")
    for second, is_warned in (("b/one.pqr", True), ("other.pqr", False)):
        done = smallbatch("import", "a/one.pqr", second, "-o", "p.h5", "--shape", 3, "--overwrite")
        assert ("Several molecules are called one" in done.stderr) == is_warned


def test_times_have_their_unit_where_the_first_share_is_empty(smallbatch, tmp_path):
    write_mdanalysis(tmp_path / "t.h5md")
    smallbatch("import", "t.h5md", "-o", "p.h5", "--shape", 2)
    for k in range(1, 7):  # there are 5 frames, so one share is empty
        smallbatch("run", "p.h5", "-o", f"{k}.h5", "--shard", f"{k}/6")
    smallbatch("merge", *(f"{k}.h5" for k in range(1, 7)), "-o", "m.h5")
    with h5py.File(tmp_path / "m.h5") as file:
        time = file["potential/molecules/time"]
        assert time[...].tolist() == TIMES.tolist() and time.attrs["unit"] == b"ps"


def test_charges_of_a_topology_must_fit(smallbatch, tmp_path):
    write_mdanalysis(tmp_path / "bare.h5md", charge=None)
    write_mdanalysis(tmp_path / "charged.h5md")
    write_pqr(tmp_path / "topology.pqr")
    write_pqr(tmp_path / "less.pqr", ATOMS[:3], CHARGE[:3])
    for arguments, code, says in [
        (["bare.h5md"], 3, ["/particles/trajectory of bare.h5md", '"charge"', "/observables", "PQR"]),
        (["bare.h5md", "--charges", "less.pqr"], 3, ["/particles/trajectory", "4 particles", "less.pqr has 3 charges"]),
        (["charged.h5md", "--charges", "topology.pqr"], 3, ["/observables/charge", "already has charges", "topology.pqr"]),
        (["bare.h5md", "--charges", "none.pqr"], 4, ["none.pqr"]),
        (["topology.pqr", "--charges", "topology.pqr"], 2, ["--charges", "topology.pqr is not one"]),
    ]:
        done = smallbatch("import", *arguments, "-o", "p.h5", expect=code)
        assert all(word in done.stderr for word in says), done.stderr
    assert not (tmp_path / "p.h5").exists()


def test_steps_and_times_at_intervals_and_wrong_ones(smallbatch, tmp_path):
    def imported(change):
        write_mdanalysis(tmp_path / "t.h5md")
        with h5py.File(tmp_path / "t.h5md", "a") as file:
            group = file["particles/trajectory/position"]
            del group["step"], group["time"], file["observables/charge/step"]  # charges must not have other steps
            change(group)
        done = smallbatch("import", "t.h5md", "-o", "p.h5", "--shape", 2, "--overwrite")
        with h5py.File(tmp_path / "p.h5") as file:
            group = file["potential/molecules"]
            return [group[name][...].tolist() if name in group else None for name in ("step", "time")], done.stderr

    def at_intervals(group):  # H5MD 1.1: a scalar, and an offset
        group["step"], group["time"] = 50, 0.5
        group["step"].attrs["offset"] = 1000

    assert imported(at_intervals)[0] == [[1000, 1050, 1100, 1150, 1200], [0, 0.5, 1, 1.5, 2]]
    assert imported(lambda group: None)[0] == [None, None]
    for interval, offset in [(50, np.nan), (50, 1e300), (50, 2.0**63), (2**62, 0), (1, 2.0**63 - 1024)]:

        def beyond_integers(group, interval=interval, offset=offset):
            group["step"] = np.int64(interval)
            group["step"].attrs["offset"] = offset

        found, said = imported(beyond_integers)
        last = 4 * interval + (int(offset) if np.isfinite(offset) else 2**64)
        assert found == [None if last >= 2**63 else [int(offset) + k * interval for k in range(5)], None]
        assert ("position/step" in said) == (last >= 2**63)

    def of_another_kind(group):
        group["step"], group["time"] = np.arange(4), np.array(["a"] * 5, "S")

    found, said = imported(of_another_kind)
    assert found == [None, None]
    assert "/particles/trajectory/position/step" in said and "(5)" in said and "(4)" in said and "position/time" in said


def test_a_set_of_particles_has_their_times(smallbatch, tmp_path):
    write_mdanalysis(tmp_path / "p.h5")
    with h5py.File(tmp_path / "p.h5", "a") as file:
        file.attrs["smallbatch_format"] = np.array([1, 6], "int32")
        file.create_group("pair_energy/md").attrs["particles"] = "trajectory"
        file["pair_energy/md/name"] = np.array([f"frame {k}" for k in range(5)], "S")
    smallbatch("run", "p.h5", "-o", "r.h5")
    with xarray.open_dataset(tmp_path / "r.h5", group="pair_energy/md", engine="h5netcdf") as opened:
        assert opened["energy"].dims == ("problem",) and opened["energy"].attrs["units"] == "volt*e"
        assert set(opened.coords) == {"problem", "name", "step", "time"}
        assert opened["name"].values.astype(str).tolist() == [f"frame {k}" for k in range(5)]
        assert opened["step"].values.tolist() == [0, 100, 200, 300, 400]
    with h5py.File(tmp_path / "p.h5", "a") as file:
        file["pair_energy/md/time"] = np.zeros(5)
    assert "/pair_energy/md/time" in smallbatch("info", "p.h5", expect=3).stderr


@pytest.mark.parametrize("unit", ["ps since the start", "days since 2000-01-01"])
def test_times_since_something_stay_numbers(smallbatch, tmp_path, unit):
    write_mdanalysis(tmp_path / "t.h5md", unit=unit)
    smallbatch("import", "t.h5md", "-o", "p.h5", "--shape", "3,4,5", "--set", "md")
    smallbatch("run", "p.h5", "-o", "r.h5")
    with xarray.open_dataset(tmp_path / "r.h5", group="potential/md", engine="h5netcdf") as opened:
        assert opened["time"].values.tolist() == TIMES.tolist()
        assert opened["time"].attrs["unit"] in (unit, unit.encode())


def test_molecules_have_the_names_of_their_files(smallbatch, tmp_path):
    (tmp_path / "set").mkdir()
    names = ["water", "1abc.min", "Zürich"]
    for name in names:
        write_pqr(tmp_path / "set" / f"{name}.pqr")
    smallbatch("import", *[f"set/{name}.pqr" for name in names], "-o", "p.h5", "--shape", "3")
    smallbatch("run", "p.h5", "-o", "r.h5")
    for path in ("p.h5", "r.h5"):
        with h5py.File(tmp_path / path) as file:
            assert [name.decode() for name in file["potential/molecules/name"][...]] == names
    smallbatch("export", "r.h5", "--index", 1, "-o", "map.dx")
    assert "problem 1 (1abc.min), volt" in (tmp_path / "map.dx").read_text()
    for k in (1, 2, 3):  # also through shares
        smallbatch("run", "p.h5", "-o", f"s{k}.h5", "--shard", f"{k}/3")
    smallbatch("merge", "s1.h5", "s2.h5", "s3.h5", "-o", "m.h5")
    with h5py.File(tmp_path / "m.h5") as file:
        assert [name.decode() for name in file["potential/molecules/name"][...]] == names


def test_messages_name_the_problem(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        group = add_potential(file, position=np.zeros((3, 3)), charge=[1, np.nan, 1], offset=[0, 1, 2, 3], origin=(1, 0, 0))
        group["name"] = np.array(["good", "bad", "fine"], "S")
        pairs = add_pair_energy(file, position=np.arange(12).reshape(4, 3), charge=[1, 1, np.inf, 1], offset=[0, 2, 4])
        pairs["time"] = np.array([0.5, 1.5])
        pairs["time"].attrs["unit"] = "ns"
    done = smallbatch("run", "p.h5", "-o", "r.h5", expect=1)
    assert "(at index 1 (bad))" in done.stdout and "(at index 1 (time 1.5 ns))" in done.stdout
    done = smallbatch("verify", "p.h5", "r.h5", expect=None)
    assert "(at index 1 (bad))" in done.stdout


@pytest.mark.parametrize("name, values, says", [
    ("name", np.array(["one"], "S"), ["/potential/charges/name", "(1)", "(2)"]),
    ("name", np.array([1, 2]), ["/potential/charges/name", "strings of fixed length", "int64"]),
    ("name", np.array(["one", "two"], h5py.string_dtype()), ["/potential/charges/name", "variable-length string"]),
    ("step", np.array([1.0, 2.0]), ["/potential/charges/step", "int64", "float64"]),
    ("time", np.array([1.0, 2.0, 3.0]), ["/potential/charges/time", "(2)", "(3)"]),
    ("atomic_number", np.array([1, 2]), ["/potential/charges/atomic_number", "(1)", "(2)"]),
    ("names", np.array(["one", "two"], "S"), ['"names" is unknown: did you mean "name"?']),
])
def test_wrong_labels_are_refused(smallbatch, tmp_path, name, values, says):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_potential(file, offset=[0, 1, 1])[name] = values
    done = smallbatch("info", "p.h5", expect=3)
    assert all(word in done.stderr for word in says), done.stderr


def test_times_that_do_not_rise_are_no_steps_of_vtk(smallbatch, tmp_path):
    for time, step, expected in [([3, 1, 2], [10, 20, 40], [10, 20, 40]), ([1, 1, 2], [5, 5, 6], [0, 1, 2]),
                                 ([1, 3, np.nan], None, [0, 1, 2]), ([-1.5, 0, 3], [3, 2, 1], [-1.5, 0, 3])]:
        with open_problem_file(tmp_path / "p.h5") as file:
            group = add_potential(file, position=np.ones((3, 3)), charge=[1, 1, 1], offset=[0, 1, 2, 3], shape=(2, 2, 2),
                                  origin=(3, 3, 3))
            group["time"] = np.array(time, float)
            if step:
                group["step"] = np.array(step)
        smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite")
        assert vtk_times(tmp_path / "r.h5") == expected
