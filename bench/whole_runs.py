#!/usr/bin/env python3
"""Times whole runs of the program, from its start to its end with its files, and prints tables for bench/collect.py.

    bench/whole_runs.py build/bin [--package build/python/package] | bench/collect.py bench/RESULTS.md

Each file is in the page cache, and each figure is the best of several runs. Figures are compared with other ways to process
the same bytes:

- reading with all threads, or reading and copying to the GPU (smallbatch_bench --file);
- HDF5's own reading of compressed chunks;
- a script with h5py and PyTorch.
"""

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

USERS_SCRIPT = """
import sys, h5py, torch
with h5py.File(sys.argv[1]) as f:
    a = torch.from_numpy(f["solve/systems/A"][:]).cuda()
    b = torch.from_numpy(f["solve/systems/b"][:]).cuda()
x = torch.cholesky_solve(b[..., None], torch.linalg.cholesky(a))[..., 0].cpu().numpy()
with h5py.File(sys.argv[2], "w") as f:
    f["x"] = x
"""


class Bench:
    def __init__(self, programs, folder, repeats):
        self.program = str(Path(programs) / "smallbatch")
        self.bench = str(Path(programs) / "smallbatch_bench")
        self.folder = Path(folder)
        self.repeats = repeats
        self.cores = len(os.sched_getaffinity(0))
        self.dense_rate = 0  # systems per second; 0 until dense() has measured it
        self.torch = importlib.util.find_spec("torch") is not None
        self.problems, self.results = str(self.folder / "p.h5"), str(self.folder / "r.h5")

    def generate(self, *words):
        subprocess.run([self.program, "-q", "generate", *map(str, words), "-o", self.problems, "--overwrite"], check=True,
                       stdout=subprocess.DEVNULL)

    def run(self, *words, command=None):
        """Returns the report of the fastest run, the seconds of its whole process and its peak memory in bytes."""
        best = None
        for _ in range(self.repeats):
            Path(self.results).unlink(missing_ok=True)
            line = command or [self.program, "-q", "run", self.problems, "-o", self.results, "--json", *map(str, words)]
            start = time.perf_counter()
            process = subprocess.Popen(line, stdout=subprocess.PIPE)
            said = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - start
            if os.waitstatus_to_exitcode(status) != 0:
                raise RuntimeError(f"{line} failed")
            if best is None or seconds < best[1]:
                best = (json.loads(said) if command is None else None, seconds, 1024 * usage.ru_maxrss)
        return best

    def file_rates(self):
        """Returns the bytes per second of reading the problem file, and of reading and copying it to the GPU."""
        read, to_device = subprocess.run([self.bench, "--file", self.problems], check=True, capture_output=True,
                                         text=True).stdout.split()
        return float(read), float(to_device)


def compress(problems):
    """Stores A and b of the file in shuffled and deflated chunks. Returns the seconds that HDF5 takes to read them."""
    import h5py

    compressed = problems + ".z"
    with h5py.File(problems) as source, h5py.File(compressed, "w") as target:
        for key, value in source.attrs.items():
            target.attrs[key] = value
        for name in ("solve/systems/A", "solve/systems/b"):
            target.create_dataset(name, data=source[name][:], chunks=(1024, *source[name].shape[1:]), shuffle=True,
                                  compression="gzip", compression_opts=1)
    os.replace(compressed, problems)
    start = time.perf_counter()
    with h5py.File(problems) as source:
        for name in ("solve/systems/A", "solve/systems/b"):
            source[name][:]
    return time.perf_counter() - start


def row(case, figure, beside, share=""):
    print(f"| {case} | {figure} | {beside} | {share} |", flush=True)


SYSTEMS = 1 << 20


def memory(bench):
    # This case runs first, because the peak memory of a child process includes what this process has at the fork().
    for batch in (1 << 18, SYSTEMS, *([10 << 20] if bench.large else [])):
        bench.generate("spd", "--batch", batch, "--n", 32)
        size = os.path.getsize(bench.problems)
        cpu, cuda = (bench.run("--device", device, "--verify", "none")[2] for device in ("cpu", "cuda"))
        row(f"peak of memory, a file of {size / 1e9:.1f} GB", f"cpu {cpu / 2**20:.0f} MiB, cuda {cuda / 2**20:.0f} MiB", "")


def dense(bench):
    bench.generate("spd", "--batch", SYSTEMS, "--n", 32)
    read, to_device = bench.file_rates()
    told, none, _ = bench.run("--device", "cuda", "--verify", "none")
    seconds = told["seconds"]
    bench.dense_rate = SYSTEMS / (seconds["total"] - seconds["start"])
    after_start = told["problem_bytes"] / (seconds["total"] - seconds["start"])
    row("2^20 dense 32x32 float32, `--device cuda --verify none`: bytes / (time after the start of the GPU)",
        f"{after_start / 1e9:.1f} GB/s; start {seconds['start']:.2f} s of {seconds['total']:.2f} s",
        f"with all threads: reading {read / 1e9:.1f} GB/s, reading and copying to the GPU {to_device / 1e9:.1f} GB/s",
        f"{after_start / to_device:.2f}")
    row("the same, whole process", f"{none:.2f} s", f"its end takes {none - seconds['total']:.2f} s after the report")
    _, default, _ = bench.run("--device", "cuda")
    row("the same, verified by default", f"{default:.2f} s", f"`--verify none`: {none:.2f} s", f"{default / none:.2f}")
    told, on_cpu, _ = bench.run("--device", "cpu", "--verify", "none")
    rate, solver = SYSTEMS / told["seconds"]["total"], SYSTEMS / told["seconds"]["compute"]
    reader = read * SYSTEMS / told["problem_bytes"]
    both = 1 / (1 / solver + 1 / reader)
    row("the same, `--device cpu --verify none`", f"{on_cpu:.2f} s, {rate / 1e6:.2f} million systems/s",
        f"solving alone {solver / 1e6:.2f}, reading alone {reader / 1e6:.1f}, one after the other on the same cores "
        f"{both / 1e6:.2f}", f"{rate / min(solver, reader):.2f} of the slower, {rate / both:.2f} of both")
    if bench.torch:
        _, ours, _ = bench.run("--verify", "none")
        _, theirs, _ = bench.run(command=[sys.executable, "-c", USERS_SCRIPT, bench.problems, bench.results])
        row("the same, `--device auto --verify none`: whole process", f"{ours:.2f} s",
            f"h5py and PyTorch on the GPU {theirs:.2f} s", f"{theirs / ours:.1f}")


def referee(bench):
    for name, batch in (("float32", SYSTEMS), ("float64", SYSTEMS // 2)):
        bench.generate("spd", "--batch", batch, "--n", 32, "--type", name)
        told, _, _ = bench.run("--device", "cuda", "--verify", "all")
        seconds = told["seconds"]
        rate = batch / (seconds["total"] - seconds["start"]) / bench.cores
        bench.generate("spd", "--batch", batch // 16, "--n", 32, "--type", name)
        alone, _, _ = bench.run("--device", "cuda", "--verify", "all", "--threads", 1)
        row(f"{batch} dense 32x32 {name}, `--device cuda --verify all`, after the start",
            f"{rate / 1e3:.0f} thousand systems/s and core",
            f"the referee on {bench.cores} cores {batch / seconds['verify'] / bench.cores / 1e3:.0f}, on one "
            f"{batch / 16 / alone['seconds']['verify'] / 1e3:.0f}")
    bench.generate("charges", "--batch", 1, "--charges", 8279, "--shape", "65,65,65")
    told, seconds_of_process, _ = bench.run()
    alone, _, _ = bench.run("--device", "cuda", "--verify", "all", "--threads", 1)
    pairs = sum(one["pairs"] for one in told["sets"])
    row("one lattice 65^3, 8279 charges, by default", f"{seconds_of_process:.2f} s",
        f"the referee {pairs / told['seconds']['verify'] / bench.cores / 1e9:.2f} billion pairs/s and core on "
        f"{bench.cores} cores, {pairs / alone['seconds']['verify'] / 1e9:.2f} on one")


def packed(bench):
    bench.generate("spd", "--batch", SYSTEMS, "--n", 32, "--storage", "packed")
    told, seconds_of_process, _ = bench.run("--device", "cuda", "--verify", "none")
    rate = SYSTEMS / (told["seconds"]["total"] - told["seconds"]["start"])
    row("2^20 packed, `--device cuda --verify none`: systems/s after the start", f"{rate / 1e6:.1f} million",
        f"dense {bench.dense_rate / 1e6:.1f} million; whole process {seconds_of_process:.2f} s",
        f"{rate / bench.dense_rate:.2f}" if bench.dense_rate else "")


def compressed(bench):
    bench.generate("spd", "--batch", SYSTEMS // 8, "--n", 32)
    by_hdf5 = compress(bench.problems)
    told, seconds_of_process, _ = bench.run("--device", "cuda", "--verify", "none")
    row("2^17 shuffled and deflated, `--device cuda --verify none`: reading", f"{told['seconds']['read']:.3f} s",
        f"H5Dread {by_hdf5:.3f} s; whole process {seconds_of_process:.2f} s", f"{by_hdf5 / told['seconds']['read']:.1f}")


def lattices(bench):
    bench.generate("charges", "--batch", 10000, "--charges", 200, "--shape", "32,32,32")
    told, seconds_of_process, _ = bench.run("--device", "cuda", "--verify", "none")
    row("10,000 lattices 32^3, 200 charges, `--device cuda --verify none`", f"{seconds_of_process:.2f} s",
        f"writing {told['result_bytes'] / 1e9:.2f} GB takes {told['seconds']['write']:.2f} s of it, "
        f"{told['result_bytes'] / told['seconds']['write'] / 1e9:.1f} GB/s; start {told['seconds']['start']:.2f} s")
    _, seconds_of_process, _ = bench.run("--device", "cuda", "--verify", "sample=10000")
    row("the same, `--verify sample=10000`", f"{seconds_of_process:.2f} s", "")


def auto(bench):
    worst = ("", 0)
    for power in range(8, 21, 2):
        bench.generate("spd", "--batch", 1 << power, "--n", 32)
        for verify in ("none", "auto"):
            times = {device: bench.run("--device", device, "--verify", verify)[1] for device in ("auto", "cpu", "cuda")}
            over = times["auto"] / min(times["cpu"], times["cuda"])
            if over > worst[1]:
                worst = (f"2^{power}, {verify}: " + ", ".join(f"{k} {v:.3f} s" for k, v in times.items()), over)
    row("--device auto, 2^8 to 2^20 systems 32x32, verified or not: worst", worst[0], "the better of cpu and cuda",
        f"{worst[1]:.2f}")


def gpus(bench):
    count = len(subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout.strip().splitlines())
    if count < 2:
        return
    for words, what in ((["spd", "--batch", SYSTEMS, "--n", 32], "2^20 dense 32x32 float32"),
                        (["charges", "--batch", 2000, "--charges", 100000, "--shape", "32,32,32"],
                         "2000 lattices 32^3, 100,000 charges")):
        bench.generate(*words)
        told = {device: bench.run("--device", device, "--verify", "none")[0] for device in ("cuda", "cuda:all")}
        one, all_of_them = (told[device]["seconds"]["total"] - told[device]["seconds"]["start"] for device in told)
        row(f"{what}, {count} GPUs, `--verify none`: time after the start",
            f"{all_of_them:.3f} s, bound by {told['cuda:all']['bound_by']}", f"one GPU {one:.3f} s",
            f"{one / all_of_them:.2f}")


CASES = [memory, dense, packed, compressed, referee, lattices, auto, gpus]

PYTHON_SCRIPT = """
import os, sys, time
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # must precede the imports, because libraries count the cores
sys.path.insert(0, sys.argv[1])
import numpy as np, smallbatch
rng = np.random.default_rng(1)

def seconds(call, repeats=5):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)

for name in ("float32", "float64"):
    for n in (4, 8, 16, 32, 48, 64):
        batch = (1 << 26) // n**2
        g = rng.standard_normal((batch, n, n), dtype=name)
        a = g @ np.swapaxes(g, 1, 2) + n * np.eye(n, dtype=name)
        b = rng.standard_normal((batch, n), dtype=name)
        del g
        x = smallbatch.solve(a, b).raise_for_status().x
        assert np.abs(x - np.linalg.solve(a, b[..., None])[..., 0]).max() < 1e-3
        theirs = seconds(lambda: np.linalg.solve(a, b[..., None]))
        ours = seconds(lambda: smallbatch.solve(a, b))
        print(f"| {name} | {n} | {batch} | {batch / theirs / 1e6:.3g} | {batch / ours / 1e6:.3g} | {theirs / ours:.1f} |", flush=True)
"""


def python_on_two_cores(package):
    print("\n## From Python on two cores\n\n"
          "10^6 systems/s of whole calls, arrays of NumPy, the quickest of 5 calls on the same two cores. `smallbatch.solve` "
          "returns x, statuses and backward errors.\n\n"
          "| type | n | batch | numpy.linalg.solve | smallbatch.solve | ratio |\n|---|---|---|---|---|---|", flush=True)
    subprocess.run([sys.executable, "-c", PYTHON_SCRIPT, package], check=True, env=dict(os.environ, CUDA_VISIBLE_DEVICES=""))


def machine(commit, cores):
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    gpu = shutil.which("nvidia-smi") and subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
                                                        capture_output=True, text=True).stdout.strip().split("\n")[0]
    print(f"Commit {commit} on {cores} cores of an {model.group(1) if model else 'unknown CPU'}"
          + (f" with an {gpu}." if gpu else "."), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", help="folder with smallbatch and smallbatch_bench")
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="also a file of 40 GB")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--package", help="folder with the Python package: solving from Python is timed, too")
    parser.add_argument("--only", default=",".join(case.__name__ for case in CASES), help="cases, by name")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(dir=options.folder)
    bench = Bench(options.programs, folder, options.repeats)
    bench.large = options.large
    machine(options.commit, bench.cores)
    print("\n## Whole runs\n\n"
          "From the start of the process to its end, files in the page cache, the quickest of "
          f"{bench.repeats} runs, {bench.cores} cores. GB/s are of the problem file.\n\n"
          "| case | measured | beside it, on the same machine | share |\n|---|---|---|---|")
    try:
        for case in CASES:
            if case.__name__ in options.only.split(","):
                case(bench)
    finally:
        shutil.rmtree(folder)
    if options.package:
        python_on_two_cores(options.package)


if __name__ == "__main__":
    main()
