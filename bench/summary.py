#!/usr/bin/env python3
"""Writes bench/SUMMARY.md, the figures that matter, from bench/RESULTS.md, and draws two of them for the README:

    bench/summary.py [--charts docs/pictures]        # the charts need Matplotlib

Each figure has peers beside it. Peers that scripts/gpu measures come from the same table. All others were measured once,
on another H200, with the named versions.
"""

import argparse
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIZES = "Every size: solve, one right-hand side, dense, "

# Each entry has the case, the title of the table in RESULTS.md, the row, the column, unit, divisor and peers. A peer
# has a name and a value: its row in the same table, or (row, column) there, or a figure.
CUSOLVER, CUBLAS = "cuSOLVER", "cuBLAS"
FIGURES = [
    *[(f"solve, n = {n}, {type_}, x", SIZES + type_, str(n), "automatic", "million systems/s", 1,
       {"cuSolverDx 0.6": dx, CUSOLVER: (str(n), "cusolver_potrf_potrs")})
      for type_, peers in (("float32", {8: 6078, 16: 1277, 32: 388, 64: 77.7, 80: 36.5, 96: 14.0, 128: 6.2}),
                           ("float64", {8: 3024, 16: 832, 32: 207, 64: 30.0, 80: 11.3, 96: 7.7, 128: 2.0})) for n, dx in peers.items()],
    ("solve, n = 32, float32, x and its backward error", SIZES + "float32", "32", "automatic_judged", "million systems/s", 1,
     {"MAGMA, x alone": 87.3}),
    ("2^20 packed lower triangles, n = 32, float32, x and its backward error", "solve, one right-hand side, n=32, packed lower triangle, float32, batch 1048576", "automatic_judged",
     "10^6 systems/s", "million systems/s", 1, {}),
    ("solve, 16 right-hand sides, n = 32, float32", "solve, 16 right-hand sides, n=32, dense, float32, batch 524288",
     "automatic", "10^6 systems/s", "million systems/s", 1, {CUBLAS: "cublas_getrf_getrs"}),
    ("inverse, n = 32, float32", "inverse, n=32, dense, float32, batch 524288", "automatic", "10^6 systems/s",
     "million systems/s", 1, {"cuSolverDx 0.6": 144, CUBLAS: "cublas_getrf_getri"}),
    ("log-determinant, n = 32, float32", "determinant, n=32, dense, float32, batch 1048576", "automatic",
     "10^6 systems/s", "million systems/s", 1, {CUBLAS: "cublas_getrf"}),
    ("one call of 8192 systems, n = 32, float32", "Single calls: solve, n=32, one right-hand side, dense, float32", "8192",
     "automatic", "microseconds", 1, {"cuSolverDx 0.6": 30, CUBLAS: ("8192", "cublas_getrf_getrs")}),
    ("potential, 256^3 lattice, 16384 charges", "Potentials by the production call, by size",
     "256^3 lattice, 16384 charges", "10^12 pairs/s", "x 10^12 pairs/s", 1, {"KTT's tuned CoulombSum3d": 3.98}),
    ("energy of two groups, 131072 x 131072 charges",
     "From a host to production: energy of two groups, 131072 x 131072 charges, float32", "pair_energies",
     "10^12 pairs/s", "x 10^12 pairs/s", 1, {}),
    ("correlation, 256 inputs, float32", "correlation, 256 inputs, 1024 channels of 1024 samples, float32", "tensor_cores",
     "Gflop/s (8 per complex multiply-add, i >= j)", "Tflop/s", 1000, {"xGPU": 36.7, CUBLAS: "cublas_cgemm_batched"}),
    ("correlation, 256 inputs, int8", "correlation, 256 inputs, 2048 channels of 1024 samples, int8", "tensor_cores",
     "Gflop/s (8 per complex multiply-add, i >= j)", "Tflop/s", 1000,
     {"Tensor-Core Correlator": 446, CUBLAS: "cublas_gemm_int8"}),
]
WHOLE = "Whole runs"
FROM_FILE = "the same, `--device auto --verify none`: whole process"  # also has the time of h5py and PyTorch
ON_GPU, VERIFIED = "the same, whole process", "the same, verified by default"
ON_CPU = "the same, `--device cpu --verify none`"
PYTHON = "From Python on two cores"


def tables(text):
    """Returns {title: rows} of all tables, with each row as {column: cell}, and {title: line about the machine}."""
    found, machines = {}, {}
    for part in re.split(r"(?m)^## ", text)[1:]:
        title, _, body = part.partition("\n")
        lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in body.split("\n") if line.startswith("|")]
        found[title] = [dict(zip(lines[0], line)) for line in lines[2:]]
        machines[title] = body.strip().split("\n")[0]
    return found, machines


def row_of(table, key):
    return next(row for row in table if next(iter(row.values())) == key)


def number(cell):
    return float(re.match(r"[\d.]+", cell).group())


def three_digits(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def lines_of(found, cores):
    for what, title, key, column, unit, divisor, peers in FIGURES:
        table = found[title]
        beside = []
        for name, peer in peers.items():
            if isinstance(peer, str):
                peer = number(row_of(table, peer)[column]) / divisor
            elif isinstance(peer, tuple):
                cell = row_of(table, peer[0]).get(peer[1])
                if not cell:
                    continue
                peer = number(cell) / divisor
            beside.append(f"{name} {three_digits(peer)}")
        yield what, f"{three_digits(number(row_of(table, key)[column]) / divisor)} {unit}", ", ".join(beside)
    whole = found[WHOLE]
    yield ("2^20 systems of n = 32, file to file, on the GPU", row_of(whole, ON_GPU)["measured"],
           row_of(whole, FROM_FILE)["beside it, on the same machine"])
    yield "the same, verified by default", row_of(whole, VERIFIED)["measured"], ""
    yield f"the same on {cores} cores, not verified", row_of(whole, ON_CPU)["measured"].split(",")[0], ""
    for row in found[PYTHON]:
        if row["n"] == "32":
            yield (f"smallbatch.solve, n = 32, {row['type']}, two cores", f"{row['smallbatch.solve']} million systems/s",
                   f"numpy.linalg.solve {row['numpy.linalg.solve']}")


def bars(axes, names, values, labels):
    colours = ["#9aa5b1"] + ["#1f6fb4"] * (len(names) - 1)
    axes.bar_label(axes.barh(names, values, color=colours), labels, padding=3)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.18)


def draw(found, cores, folder):
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    plt.rcParams.update({"svg.hashsalt": "smallbatch", "svg.fonttype": "none", "font.size": 10})
    whole = found[WHOLE]
    theirs = re.search(r"[\d.]+ s$", row_of(whole, FROM_FILE)["beside it, on the same machine"]).group()
    values = [number(cell) for cell in (theirs, *(row_of(whole, row)["measured"] for row in (VERIFIED, ON_GPU, ON_CPU)))]
    figure, axes = plt.subplots(figsize=(7.2, 2.2), layout="constrained")
    bars(axes, ["h5py and PyTorch on the GPU", "smallbatch on the GPU, verified", "smallbatch on the GPU",
                f"smallbatch on {cores} cores"], values, [f"{value:.2f} s" for value in values])
    figure.suptitle("2^20 systems of 32 x 32, from HDF5 file to HDF5 file")
    axes.set(xlabel="seconds of the whole process (shorter is better)")
    figure.savefig(folder / "file_to_file.svg", metadata={"Date": None})

    figure, axes = plt.subplots(figsize=(7.2, 2.6), layout="constrained")
    for offset, (type_, colour) in enumerate((("float32", "#1f6fb4"), ("float64", "#8fbce6"))):
        rows = [row for row in found[PYTHON] if row["type"] == type_]
        places = [i + 0.4 * offset for i in range(len(rows))]
        ratios = [float(row["ratio"]) for row in rows]
        axes.bar_label(axes.bar(places, ratios, width=0.38, color=colour, label=type_), fmt="{:.0f}x")
        axes.set_xticks([i + 0.2 for i in range(len(rows))], [f"n = {row['n']}" for row in rows])
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    axes.margins(y=0.12)
    axes.set(title="smallbatch.solve against numpy.linalg.solve, two cores", ylabel="times as fast")
    figure.savefig(folder / "from_python.svg", metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--charts", type=Path, help="folder for the two charts")
    options = parser.parse_args()
    found, machines = tables((HERE / "RESULTS.md").read_text())
    cores = re.search(r"on (\d+) cores", machines[WHOLE]).group(1)
    rows = "".join(f"| {what} | {ours} | {peers} |\n" for what, ours, peers in lines_of(found, cores))
    about = "\n".join(dict.fromkeys(machines[title] for title in (*(figure[1] for figure in FIGURES), WHOLE)))
    (HERE / "SUMMARY.md").write_text(f"""# The figures that matter

`bench/summary.py` writes this page. Our figures are from [RESULTS.md](RESULTS.md), and so are those of cuBLAS, cuSOLVER,
PyTorch and NumPy. Rates of kernels have their data on the device. "solve" has 1 GiB of matrices, unless it says otherwise.

{about}

cuSolverDx, MAGMA, KTT, xGPU and the Tensor-Core Correlator were measured once, on another H200. cuSolverDx is the best of
2,200 variants.

| case | smallbatch | peers |
|---|---|---|
{rows}""")
    if options.charts:
        options.charts.mkdir(parents=True, exist_ok=True)
        draw(found, cores, options.charts)


if __name__ == "__main__":
    main()
