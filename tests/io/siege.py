"""A siege gives the command many thousands of damaged files. It must read or refuse each of them.

    SMALLBATCH_BIN=build/bin/smallbatch python -m tests.io.siege --mutants 100000 --seed 1 --keep /tmp/found

Mutant number k of seed S is always the same. It is a good file with changed bits, bytes or words, or it is cut short.
Some mutants have a piece of themselves or of another file copied into them. In 60 % of the files with checksums of
HDF5's metadata, the siege corrects these checksums afterwards. HDF5 then believes the change.

Each call must end by itself, with a documented exit code, within limits of processor time and memory. A refusal must be
a sentence. Nothing that is printed may control a terminal. Each violation is printed, and its file is kept.

One file, because the mutants, the checksums of HDF5 and the demands belong together.
"""

import argparse
import collections
import json
import os
import re
import resource
import select
import signal
import struct
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np

from tests.problems import add_correlation, add_pair_energy, add_potential, add_solve

MOST_SECONDS = 10  # processor time of a call and its children
MOST_WALL_SECONDS = 120  # the machine may be loaded
MOST_BYTES = 1200 << 20  # limit of the process of HDF5, plus the program's own memory
LARGEST_RUN = {"result_bytes": 1 << 24, "memory_bytes": 1 << 28, "pairs": 1e7, "multiply_adds": 1e8, "systems": 1e5}
DOCUMENTED = {0, 1, 2, 3, 4, 6, 7}
SENTENCE = re.compile(r"\d\d:\d\d:\d\d error .*(\S\.| --resume)\n\Z", re.DOTALL)  # ends in a full stop or --resume
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


# --- checksums of HDF5 ------------------------------------------------------------------------------------------------


def lookup3(data):
    """Returns Jenkins's hash of bytes, which HDF5 stores as the checksum of its metadata."""
    mask = 0xFFFFFFFF
    length = len(data)
    a = b = c = (0xDEADBEEF + length) & mask
    if length == 0:
        return c
    padded = data + bytes(-length % 12)
    words = struct.unpack(f"<{len(padded) // 4}I", padded)
    for i in range(0, len(words) - 3, 3):
        a, b, c = (a + words[i]) & mask, (b + words[i + 1]) & mask, (c + words[i + 2]) & mask
        a = (a - c & mask) ^ (c << 4 | c >> 28) & mask
        c = c + b & mask
        b = (b - a & mask) ^ (a << 6 | a >> 26) & mask
        a = a + c & mask
        c = (c - b & mask) ^ (b << 8 | b >> 24) & mask
        b = b + a & mask
        a = (a - c & mask) ^ (c << 16 | c >> 16) & mask
        c = c + b & mask
        b = (b - a & mask) ^ (a << 19 | a >> 13) & mask
        a = a + c & mask
        c = (c - b & mask) ^ (b << 4 | b >> 28) & mask
        b = b + a & mask
    a, b, c = (a + words[-3]) & mask, (b + words[-2]) & mask, (c + words[-1]) & mask
    rotated = lambda x, k: (x << k | x >> (32 - k)) & mask  # noqa: E731
    c = (c ^ b) - rotated(b, 14) & mask
    a = (a ^ c) - rotated(c, 11) & mask
    b = (b ^ a) - rotated(a, 25) & mask
    c = (c ^ b) - rotated(b, 16) & mask
    a = (a ^ c) - rotated(c, 4) & mask
    b = (b ^ a) - rotated(a, 14) & mask
    return (c ^ b) - rotated(b, 24) & mask


SIGNATURES = [b"OHDR", b"OCHK", b"FRHP", b"FHDB", b"FHIB", b"BTHD", b"BTIN", b"BTLF", b"FAHD", b"FADB", b"EAHD", b"EAIB",
              b"EASB", b"EADB", b"SMTB", b"FSHD", b"FSSE"]
FIXED = {b"FRHP": 142, b"BTHD": 34, b"FAHD": 24, b"EAHD": 68}


def checksums(data):
    """Returns (begin, length, offset of the checksum) of all checksummed parts of a good file.

    The checksum of a heap's block lies inside the block. The hash takes the checksum's own bytes as 0."""
    found = []
    if data[8] in (2, 3):
        found.append((0, 44, 44))
    for offset in (m.start() for m in re.finditer(b"|".join(SIGNATURES), data)):
        kind = data[offset : offset + 4]
        lengths = [FIXED[kind]] if kind in FIXED else range(8, 1200)
        if kind == b"OHDR":
            flags = data[offset + 5]
            head = 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
            width = 1 << (flags & 3)
            lengths = [head + width + int.from_bytes(data[offset + head : offset + head + width], "little")]
        if kind == b"FHDB":
            for block, at in ((size, at) for size in (512, 1024, 2048) for at in (17, 18)):
                whole = bytearray(data[offset : offset + block])
                whole[at : at + 4] = bytes(4)
                if data[offset + at : offset + at + 4] == struct.pack("<I", lookup3(bytes(whole))):
                    found.append((offset, block, offset + at))
            continue
        for length in lengths:
            stored = data[offset + length : offset + length + 4]
            if stored != bytes(4) and stored == struct.pack("<I", lookup3(data[offset : offset + length])):
                found.append((offset, length, offset + length))
                break
    return found


def believed(data, changed, sums):
    """Returns the data with corrected checksums for the parts that were changed."""
    data = bytearray(data)
    for begin, length, at in sums:
        if not (changed[0] < begin + length + 4 and begin < changed[1]) or at + 4 > len(data):
            continue
        if begin <= at < begin + length:
            data[at : at + 4] = bytes(4)
        data[at : at + 4] = struct.pack("<I", lookup3(bytes(data[begin : begin + length])))
    return bytes(data)


# --- good files -------------------------------------------------------------------------------------------------------


def fill_with_problems(file):
    file.attrs["smallbatch_format"] = np.array([1, 0], np.int32)
    add_solve(file, "dense", batch=3, n=4)
    add_solve(file, "packed", batch=2, n=3, dtype=np.float64, nrhs="inverse", store_packed=True)
    add_solve(file, "sized", batch=3, n=3)
    file["solve/sized/size"] = np.array([1, 2, 3], np.int32)
    a = file["solve/dense/A"][...]
    file.create_dataset("solve/chunked/A", data=np.repeat(a, 4, axis=0), chunks=(2, 4, 2), compression="gzip",
                        shuffle=True, fletcher32=True)
    group = add_potential(file, position=[[0, 0, 0], [1, 1, 1], [2, 2, 2]], charge=[1, -1, 2], offset=[0, 1, 3],
                          cutoff=9.0, field=1)
    group["width"] = np.array([0.5, 0, 2], np.float32)
    group.attrs["output_unit"] = "kcal/mol/e"  # a string of variable length
    for name in ("position", "origin", "spacing"):
        group[name].attrs["unit"] = "nm"
    group["name"] = np.array([b"first", b"second"])
    points = add_potential(file, "points", position=[[0, 0, 0]], charge=[1], screening_length=8.0)
    del points.attrs["shape"], points["origin"], points["spacing"]
    points.attrs["targets"] = "points"
    points.create_dataset("points", data=np.ones((9, 3)), chunks=(2, 3), maxshape=(None, 3))
    add_pair_energy(file, position=np.eye(3), charge=np.ones(3), group=np.arange(3), per_charge=True)
    add_correlation(file, "packed", np.full((1, 4, 2), 0x3C, np.uint8))
    array = file.create_group("correlation/array")
    array.create_dataset("signal", data=np.full((2, 5, 3), 1 + 2j, np.complex64), chunks=(1, 2, 3), compression="gzip")
    array["flag"] = np.zeros((2, 5, 3), bool)
    array["frequency"] = [1e9, 2e9]
    array["input_position"] = 10 * np.eye(3)
    array.attrs.update({"integrate": 2, "sample_time": 0.5, "start_time": 2460000.5})


def fill_with_particles(file):
    file.attrs["smallbatch_format"] = np.array([1, 0], np.int32)
    file.create_group("h5md").attrs["version"] = np.array([1, 1], np.int32)
    particles = file.create_group("particles/water")
    for name, values in {"position": np.arange(36.0).reshape(3, 4, 3), "charge": np.ones((3, 4))}.items():
        element = particles.create_group(name)
        element.create_dataset("value", data=values, chunks=(1, *values.shape[1:]), maxshape=(None, *values.shape[1:]),
                               compression="gzip")
        element["step"] = np.arange(3)
        element["time"] = np.arange(3.0)
        element["value"].attrs["unit"] = "nm" if name == "position" else "e"
    particles.create_group("box").attrs["boundary"] = ["none", "none", "periodic"]
    water = add_potential(file, "water")
    del water["position"], water["charge"]
    water.attrs["particles"] = "water"


def fill_with_many(file):
    """Fills a file with more links and attributes than fit in a header, and with every kind of chunk index.

    So the file has heaps, trees and arrays."""
    file.attrs["smallbatch_format"] = np.array([1, 0], np.int32)
    for k in range(20):
        add_solve(file, f"set_{k}", batch=1, n=2)
    for k in range(12):
        file["solve/set_0"].attrs[f"unknown_{k}"] = k
    del file["solve/set_0"]
    for name, chunks, most in (("fixed", (2, 3, 3), None), ("open", (1, 3, 3), (None, 3, 3)),
                               ("tree", (2, 2, 3), (None, None, 3))):
        a = np.broadcast_to(np.eye(3), (9, 3, 3))
        file.create_dataset(f"solve/{name}/A", data=a, chunks=chunks, maxshape=most, compression=4 if most else None)


PQR = """REMARK made for a siege
ATOM      1  N   ALA A   1      -0.677  -1.230  -0.491  0.1414 1.8240
ATOM      2  CA  ALA A   1      -0.001   0.064  -0.491  0.0962 1.9080
HETATM    3  O   HOH     2       1.499  -0.110  -0.491 -0.8340 1.6612
END
"""
SHARES = ("1/2", "2/2")


def good_files(command, folder):
    """Writes good files. Returns their names with their kinds, which decide the commands for the mutants."""
    kinds = {}
    for libver in ("earliest", "v110"):
        for name, fill in (("problems", fill_with_problems), ("particles", fill_with_particles), ("many", fill_with_many)):
            path = folder / f"{name}_{libver}.h5"
            with h5py.File(path, "w", libver=(libver, "v110")) as file:
                fill(file)
            command.expect("info", path)
            kinds[path.name] = "problems"
    for problems in ("problems_v110.h5", "particles_earliest.h5"):
        path = folder / f"results_{problems}"
        command.expect("run", folder / problems, "-o", path, "--device", "cpu", "--threads", 1)
        kinds[path.name] = "results"
    for k, share in enumerate(SHARES):
        command.expect("run", folder / "problems_v110.h5", "-o", folder / f"share_{k}.h5", "--shard", share, "--device",
                       "cpu", "--threads", 1)
    kinds["share_0.h5"] = "share"
    command.expect("export", folder / "results_problems_v110.h5", "--set", "array", "-o", folder / "array.uvh5")
    kinds["array.uvh5"] = "uvh5"
    (folder / "molecule.pqr").write_text(PQR)
    kinds["molecule.pqr"] = "pqr"
    np.arange(480, dtype=np.int8).tofile(folder / "raw.dat")
    kinds["raw.dat"] = "raw"
    return kinds


def calls(kind, good, path, folder, rng):
    """Returns the commands for a mutant of that kind at `path`."""
    out = ["-o", folder / "out.h5", "--overwrite"]
    if kind == "results":
        problems = folder / good.removeprefix("results_")
        is_lattice_there = rng.choice(["water", "charges", "points", "array", "packed"])
        return [["info", path], [
            ["verify", problems, path],
            ["export", path, "--set", is_lattice_there, "-o", folder / f"out.{rng.choice(['dx', 'cube', 'png', 'uvh5'])}",
             "--overwrite", "--problems", problems][: 7 if rng.random() < 0.5 else 9]][rng.integers(2)]]
    if kind == "share":
        return [["merge", *rng.permutation([str(path), str(folder / "share_1.h5")]), *out]]
    if kind == "raw":
        return [["import", path, "--inputs", 3, "--channels", rng.integers(1, 5), "--samples",
                 rng.choice(["float32", "int8", "int4"]), *out]]
    if kind in ("uvh5", "pqr"):
        return [["import", path, "--shape", "5,4,3", *out][: 2 if kind == "uvh5" else 4] + out]
    return []


# --- mutants ----------------------------------------------------------------------------------------------------------


def mutant(good, others, sums, rng):
    """Returns the bytes of a mutant, and a word for the change."""
    data = bytearray(good)
    telling = np.flatnonzero(np.frombuffer(good, np.uint8))  # most zeros are padding
    is_believed = len(sums) > 0 and rng.random() < 0.6
    how = rng.choice(["bits", "bytes", "word", "text", "splice", "cut", "repeat"], p=[0.2, 0.25, 0.25, 0.08, 0.12, 0.05, 0.05])
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        offset = int(rng.choice(telling) if rng.random() < 0.8 else rng.integers(len(good)))
        if is_believed:  # change checksummed metadata rather than numbers
            begin, length, _ = sums[rng.integers(len(sums))]
            offset = min(begin + int(rng.integers(4, length)), len(good) - 1)
        if offset >= len(data):
            continue
        width = 1
        if how == "bits":
            data[offset] ^= 1 << int(rng.integers(8))
        elif how == "bytes":
            data[offset] = int(rng.choice([0, 1, 2, 4, 127, 128, 255, rng.integers(256)]))
        elif how == "word":
            width = int(rng.choice([2, 4, 8]))
            value = int(rng.choice([0, 1, 2, 16, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1,
                                    len(good), rng.integers(len(good)), offset], p=None))
            value = -1 if rng.random() < 0.1 else value
            data[offset : offset + width] = (value % 2 ** (8 * width)).to_bytes(width, "little")
        elif how == "text":
            text = [b"\x1b]0;x\x07", b"\n", "\u202e".encode(), b"\xff\xfe", b"%s%n", b"/../", b"\x00"][rng.integers(7)]
            width = len(text)
            data[offset : offset + width] = text
        elif how == "splice":
            other = others[rng.integers(len(others))]
            width = int(rng.integers(1, 64))
            source = int(rng.integers(max(1, len(other) - width)))
            piece = other[source : source + width]
            data[offset : offset + len(piece)] = piece
        elif how == "cut":
            del data[offset:]
            width = 0
        elif how == "repeat":
            data[offset:offset] = data[offset : offset + int(rng.integers(1, 600))]
        if is_believed and how not in ("cut", "repeat"):
            data = bytearray(believed(data, (offset, offset + width), sums))
    return bytes(data), how + (", believed" if is_believed else "")


# --- calls ------------------------------------------------------------------------------------------------------------


class Command:
    def __init__(self, program, folder):
        self.program, self.folder, self.count, self.seconds = str(program), folder, 0, 0.0

    def __call__(self, *words):
        """Returns (exit status of wait4, or None if the call had to be ended; CPU seconds; bytes; stdout; stderr)."""
        self.count += 1
        words = [self.program, *map(str, words)]
        streams = [self.folder / "stdout", self.folder / "stderr"]
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        actions = [(os.POSIX_SPAWN_OPEN, k + 1, str(path), flags, 0o600) for k, path in enumerate(streams)]
        child = os.posix_spawn(self.program, words, dict(os.environ, OMP_NUM_THREADS="1"), file_actions=actions)
        watched = os.pidfd_open(child)
        poll = select.poll()
        poll.register(watched, select.POLLIN)
        is_ended = bool(poll.poll(1000 * MOST_WALL_SECONDS))
        if not is_ended:
            os.kill(child, signal.SIGKILL)
        _, status, usage = os.wait4(child, 0)
        os.close(watched)
        self.seconds += usage.ru_utime + usage.ru_stime
        out, err = (path.read_bytes() for path in streams)
        return (status if is_ended else None, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10, out, err)

    def expect(self, *words):
        done = self(*words)
        assert done[0] == 0, (words, done)


def complaint(words, done):
    """Returns the demand that a call violated, or nothing."""
    status, seconds, size, out, err = done
    if status is None:
        return f"no end after {MOST_WALL_SECONDS} s"
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    code = os.WEXITSTATUS(status)
    if code not in DOCUMENTED:
        return f"exit code {code}"
    if seconds > MOST_SECONDS:
        return f"{seconds:.1f} s of the processor"
    if size > MOST_BYTES:
        return f"{size >> 20} MiB"
    try:
        out, err = out.decode(), err.decode()
    except UnicodeDecodeError:
        return "what is printed is no UTF-8"
    if found := OBEYED.search(out + err):
        return f"a terminal obeys {found.group()!r}"
    if code > 1 and (not SENTENCE.search(err) or (out and "--json" not in words)):
        return f"exit code {code} without a sentence"
    if "--json" in words:
        json.loads(out)
    return None


class Siege:
    def __init__(self, program, folder, seed, keep=None):
        self.folder, self.seed, self.keep = folder, seed, keep
        self.command = Command(program, folder)
        self.kinds = good_files(self.command, folder)
        self.names = sorted(self.kinds)
        self.good = {name: (folder / name).read_bytes() for name in self.names}
        self.sums = {name: checksums(data) if name.endswith("h5") else [] for name, data in self.good.items()}
        self.codes, self.found, self.worst = collections.Counter(), [], {"seconds": 0.0, "bytes": 0}

    def try_call(self, number, how, words):
        done = self.command(*words)
        wrong = complaint(words, done)
        if done[0] is not None:
            self.codes[words[0], os.waitstatus_to_exitcode(done[0])] += 1
        self.worst["seconds"], self.worst["bytes"] = max(self.worst["seconds"], done[1]), max(self.worst["bytes"], done[2])
        if wrong:
            self.found.append((number, wrong))
            print(f"mutant {number} ({how}): {wrong}: {' '.join(map(str, words))}\n{done[4][-300:]}", flush=True)
            if self.keep:
                (self.keep / f"{number}_{words[0]}{Path(self.mutant).suffix}").write_bytes(Path(self.mutant).read_bytes())
        return done

    def problems(self, number, how, path, rng):
        done = self.try_call(number, how, ["info", "--json", path])
        if done[0] != 0 and rng.random() < 0.95:  # run would refuse it, too
            return
        try:
            needs = json.loads(done[3])["needs"] if done[0] == 0 else {}
        except ValueError:
            self.found.append((number, "no JSON"))
            print(f"mutant {number} ({how}): no JSON\n{done[3][:300]}", flush=True)
            return
        if any(needs.get(name, 0) > most for name, most in LARGEST_RUN.items()):
            return  # a valid file, but it takes too long here
        out = self.folder / "out.h5"
        done = self.try_call(number, how, ["run", path, "-o", out, "--overwrite", "--device", "cpu", "--threads", 1,
                                           "--memory", "64MiB"])
        if done[0] == 0 and rng.random() < 0.1:
            self.try_call(number, how, ["verify", path, out, "--threads", 1])

    def attack(self, number):
        rng = np.random.default_rng([self.seed, number])
        name = self.names[number % len(self.names)]
        data, how = mutant(self.good[name], [self.good[name], self.good[self.names[rng.integers(len(self.names))]]],
                           self.sums[name], rng)
        path = self.mutant = self.folder / ("mutant" + Path(name).suffix)
        path.write_bytes(data)
        if self.kinds[name] == "problems":
            return self.problems(number, f"{name}, {how}", path, rng)
        for words in calls(self.kinds[name], name, path, self.folder, rng):
            self.try_call(number, f"{name}, {how}", words)


def besiege(program, folder, mutants, seed, first=0, keep=None, seconds=None):
    """Tries mutants [first, first + mutants), as many as the seconds allow, and prints a summary."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    siege = Siege(program, folder, seed, keep)
    start = last = time.monotonic()
    done = 0
    for number in range(first, first + mutants):
        siege.attack(number)
        done += 1
        now = time.monotonic()
        if now - last > 60:
            last = now
            print(f"{done} mutants, {siege.command.count} calls in {now - start:.0f} s ({done / (now - start):.0f} a second), "
                  f"found {len(siege.found)}", flush=True)
        if seconds and now - start > seconds:
            break
    print(f"{done} mutants of seed {seed}, {siege.command.count} calls, {siege.command.seconds:.0f} s of the processor; "
          f"worst call {siege.worst['seconds']:.1f} s, {siege.worst['bytes'] >> 20} MiB")
    for (word, code), count in sorted(siege.codes.items()):
        print(f"  {word}: {count} times exit {code}")
    print(f"  found: {dict(collections.Counter(wrong for _, wrong in siege.found))}", flush=True)
    return siege


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--mutants", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="end after these")
    parser.add_argument("--keep", type=Path, help="folder for the files that something was found with")
    options = parser.parse_args()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    program = Path(os.environ.get("SMALLBATCH_BIN", "build/bin/smallbatch")).resolve()
    with tempfile.TemporaryDirectory() as folder:
        siege = besiege(program, Path(folder), options.mutants, options.seed, options.first, options.keep, options.seconds)
    return 1 if siege.found else 0


if __name__ == "__main__":
    raise SystemExit(main())
