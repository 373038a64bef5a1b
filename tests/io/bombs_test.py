"""Small files that could make a reader take much memory or time: by compression, counts, repetition or nesting.

The command reads each file or refuses it with a sentence, within 10 s of processor time and 1 GiB."""

import os
import re
import struct
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.io.siege import MOST_SECONDS, Command, complaint
from tests.problems import add_potential, add_solve, open_problem_file

MOST_BYTES = 1 << 30


def add_zeros(file, name, shape, chunk, dtype, filters=(h5py.h5z.FILTER_DEFLATE,)):
    """Adds a dataset of zeros. Each chunk is stored as the same few compressed bytes."""
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_chunk(chunk)
    data = bytes(int(np.prod(chunk)) * np.dtype(dtype).itemsize)
    for filter_ in filters:
        creation.set_filter(filter_, h5py.h5z.FLAG_OPTIONAL, (9,) if filter_ == h5py.h5z.FILTER_DEFLATE else ())
        data = zlib.compress(data, 9) if filter_ == h5py.h5z.FILTER_DEFLATE else data
    link = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    link.set_create_intermediate_group(True)
    made = h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(np.dtype(dtype)), h5py.h5s.create_simple(shape),
                           creation, link)
    for origin in np.ndindex(*[-(-length // size) for length, size in zip(shape, chunk)]):
        made.write_direct_chunk(tuple(np.multiply(origin, chunk)), data)


def with_large_chunk(file):
    add_zeros(file, "solve/bomb/A", (40_000, 64, 64), (40_000, 64, 64), np.float32)


def with_two_that_compress(file):
    add_zeros(file, "solve/bomb/A", (1000, 64, 64), (1000, 64, 64), np.float32, (32000, h5py.h5z.FILTER_DEFLATE))


def with_many_problems(file):
    add_potential(file)
    add_zeros(file, "potential/charges/offset", (1 << 29,), (1 << 24,), np.int64)


def with_many_frames(file):
    add_potential(file)
    for name in ("position", "charge"):
        del file[f"potential/charges/{name}"]
    file["potential/charges"].attrs["particles"] = "bomb"
    file.create_group("particles/bomb/position")
    add_zeros(file, "particles/bomb/position/value", (1 << 28, 1, 3), (1 << 22, 1, 3), np.float32)
    file["particles/bomb/charge"] = np.ones(1)


def with_long_names_of_problems(file):
    add_potential(file)
    file["potential/charges/name"] = np.array([b""], "S8")
    del file["potential/charges/name"]
    file.create_dataset("potential/charges/name", (1 << 22,), "S64", chunks=(1 << 18,), compression="gzip")[:1] = b"x"


def with_huge_claims(file):
    add_potential(file, shape=(1 << 20, 1 << 20, 1 << 20))


def with_many_attributes(file):
    add_solve(file)
    for k in range(20_000):
        file["solve/systems"].attrs.create(f"a{k}", np.zeros(64))


def with_one_string_for_all(file):
    """Writes attributes with 64 references to one string of 4000 bytes: 1 kB each in the file, 256 kB when read."""
    add_solve(file)
    name = file.filename
    file.close()
    with h5py.File(name, "r+", libver=("earliest", "v110")) as file:
        group = file.create_group("solve/bomb")
        group.attrs["long"] = "x" * 4000
        for k in range(1500):
            group.attrs.create(f"a{k}", ["x"] * 64, dtype=h5py.string_dtype())
    data = Path(name).read_bytes()
    is_reference = lambda found: data[found : found + 4] == b"GCOL"  # noqa: E731
    to_long = next(m.group() for m in re.finditer(re.escape(struct.pack("<I", 4000)) + b".{12}", data, re.DOTALL)
                   if is_reference(*struct.unpack("<Q", m.group()[4:12])))
    Path(name).write_bytes(re.sub(b"\x01\0\0\0(.{8}).\0\0\0", lambda m: to_long if is_reference(
        *struct.unpack("<Q", m.group(1))) else m.group(), data, flags=re.DOTALL))


def with_deep_groups(file):
    add_solve(file)
    file.create_group("/".join(["solve/systems"] + ["g"] * 5000))


def with_deep_type(file):
    add_solve(file)
    kind = np.dtype(np.int8)
    for _ in range(30):
        kind = np.dtype([("x", kind)])
    file["solve/systems"].attrs.create("deep", np.zeros((), kind))


def with_many_small_chunks(file):
    add_solve(file, batch=1, n=1)
    file.create_dataset("solve/systems/unused", data=np.zeros(60_000, np.int8), chunks=(1,))
    a = np.ones((60_000, 1, 1), np.float32)
    del file["solve/systems"]
    file.create_dataset("solve/systems/A", data=a, chunks=(1, 1, 1), maxshape=(None, 1, None))


REFUSED = [with_large_chunk, with_two_that_compress, with_many_problems, with_many_frames, with_long_names_of_problems,
           with_huge_claims, with_many_attributes, with_one_string_for_all, with_deep_type]
READ = [with_deep_groups, with_many_small_chunks]


@pytest.mark.parametrize("fill", REFUSED + READ)
def test_a_bomb_takes_little(smallbatch, tmp_path, fill):
    with open_problem_file(tmp_path / "p.h5") as file:
        fill(file)
    command = Command(smallbatch.program, tmp_path)
    for words in (["info", tmp_path / "p.h5"],
                  ["run", tmp_path / "p.h5", "-o", tmp_path / "r.h5", "--memory", "64MiB", "--threads", 1, "--dry-run"]):
        done = command(*words)
        status, seconds, size = done[:3]
        assert complaint(words, done) is None, done
        assert seconds < MOST_SECONDS and size < MOST_BYTES, (seconds, size >> 20)
        code = os.waitstatus_to_exitcode(status)
        assert code == (3 if fill in REFUSED and fill is not with_huge_claims else 0 if fill in READ else code), done
