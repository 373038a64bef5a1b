"""Result files with a strange attribute or dataset are drawn, or refused in one sentence, without a traceback. Attributes
and datasets of small result files are changed in several ways."""

import h5py
import numpy as np
import pytest

from tests.problems import add_correlation, add_potential, add_solve, open_problem_file, replace_dataset, results_to_change

pytest.importorskip("matplotlib")
plot = pytest.importorskip("smallbatch.plot", reason="this Python has no Matplotlib, h5py or xxhash")
report = pytest.importorskip("smallbatch.report")

ATTRIBUTES = [-1.0, np.nan, "‮<b>", np.zeros((2, 2)), h5py.Empty("f")]
DATASETS = {
    "removed": None,
    "shorter": lambda values: values[:-1],
    "a table": lambda values: values[:, None],
    "flat": lambda values: values.reshape(-1),
    "empty": lambda values: values[:0],
    "text": lambda values: np.full(values.shape, b"x"),
    "complex": lambda values: np.zeros(values.shape, "c16"),
    "large": lambda values: np.full(values.shape, 2**62),
    "not finite": lambda values: np.full(values.shape, np.nan),
}
def add_named(file):
    group = add_potential(file, "ion", [[0.1, 0, 0], [0.2, 0, 0]], [1, 1], offset=[0, 1, 2], shape=(5, 4, 3), field=1,
                          temperature=300.0)
    group["name"], group["step"], group["time"] = np.array([b"a", b"b"]), np.array([1, 2]), np.array([0.5, 1.5])


FILLS = {
    "potential": add_named,
    "solve": lambda file: add_solve(file, batch=4),
    "correlation": lambda file: add_correlation(file, signal=np.ones((3, 40, 4), np.complex64)),
}
CALLS = {
    "potential": [lambda path: plot.slice_map(path, value_range="5 kT/e", problems=path.parent / "p.h5"), plot.over_time],
    "solve": [plot.histogram],
    "correlation": [lambda path: plot.correlation(path, part="real"), plot.baselines_over_time],
}


def changes(path):
    """Yields functions that each change one attribute or one dataset of a result file."""
    found = []
    with h5py.File(path) as file:
        file.visititems(lambda name, node: found.append((name, isinstance(node, h5py.Dataset), sorted(node.attrs))))
    for name, is_dataset, attributes in found:
        if name.startswith("checksums"):
            continue
        for attribute in attributes:
            for value in ATTRIBUTES:
                yield f"{name}@{attribute} = {value!r}", lambda file, a=(name, attribute, value): file[a[0]].attrs.__setitem__(*a[1:])
        for what, change in DATASETS.items() if is_dataset else ():
            yield f"{name} {what}", lambda file, a=(name, change): replace(file, *a)


def replace(file, name, change):
    if change is None:
        del file[name]
    else:
        replace_dataset(file, name, change(np.atleast_1d(file[name][()])))


@pytest.mark.parametrize("kind", FILLS)
def test_what_is_strange_is_drawn_or_refused(smallbatch, tmp_path, kind):
    with open_problem_file(tmp_path / "p.h5") as file:
        FILLS[kind](file)
    smallbatch("run", "p.h5", "-o", "r.h5")
    whole, count = (tmp_path / "r.h5").read_bytes(), {"drawn": 0, "refused": 0}
    for what, change in list(changes(tmp_path / "r.h5"))[:: 13 if kind == "potential" else 5]:  # pictures take time
        (tmp_path / "m.h5").write_bytes(whole)
        with results_to_change(tmp_path / "m.h5") as file:
            change(file)
        for draw in CALLS[kind]:
            try:
                figure = draw(tmp_path / "m.h5")
                figure.set_dpi(20)
                figure.canvas.draw()
                count["drawn"] += 1
            except plot.Refused as refusal:
                assert "\n" not in str(refusal), what
                count["refused"] += 1
            except Exception as error:
                pytest.fail(f"{what}: {error!r}")
    assert min(count.values()) > 0


def test_a_strange_status_is_refused_by_the_page(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        FILLS["solve"](file)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with results_to_change(tmp_path / "r.h5") as file:
        replace(file, "solve/systems/info", DATASETS["large"])
    assert report.main([str(tmp_path / "r.h5"), "-o", str(tmp_path / "o.html")]) == 3


def test_linked_verdicts_are_refused_by_the_page(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        FILLS["solve"](file)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with results_to_change(tmp_path / "r.h5") as file, h5py.File(tmp_path / "other.h5", "w") as other:
        file.copy("verification/solve/systems", other, "verdicts")
        del file["verification/solve/systems"]
        file["verification/solve/systems"] = h5py.ExternalLink("other.h5", "/verdicts")
    assert report.main([str(tmp_path / "r.h5"), "-o", str(tmp_path / "o.html")]) == 3
