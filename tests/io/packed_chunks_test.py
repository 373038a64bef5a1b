"""Chunks that other programs have compressed with LZF (h5py) and Zstandard (hdf5plugin) are read correctly.

Damaged chunks are refused. Other filters are refused by name."""

import h5py
import hdf5plugin
import numpy as np
import pytest

from tests.problems import open_problem_file

PACKINGS = {"lzf": {"compression": "lzf"}, "zstandard": dict(hdf5plugin.Zstd())}
MORE = {"lzf with others": {"compression": "lzf", "shuffle": True, "fletcher32": True},
        "zstandard with others": {**hdf5plugin.Zstd(clevel=19), "shuffle": True, "fletcher32": True},
        "zstandard, quick": dict(hdf5plugin.Zstd(clevel=-5))}


def write(path, packing):
    """Writes numbers that repeat, because random numbers would not be compressed."""
    a = np.eye(6, dtype="f4") * (2 + np.arange(50, dtype="f4") % 3)[:, None, None] + 0.25
    b = np.tile(np.arange(6, dtype="f4"), (50, 1))
    with open_problem_file(path) as file:
        for name, values, chunk in [("A", a, (7, 6, 4)), ("b", b, (50, 6))]:
            file.create_dataset(f"solve/systems/{name}", data=values, **({"chunks": chunk, **packing} if packing else {}))


@pytest.mark.parametrize("packing", {**PACKINGS, **MORE}.values(), ids={**PACKINGS, **MORE})
def test_packed_numbers_are_those_that_were_packed(smallbatch, tmp_path, packing):
    write(tmp_path / "p.h5", packing)
    write(tmp_path / "plain.h5", None)
    with h5py.File(tmp_path / "p.h5") as file:
        chunk = file["solve/systems/A"].id.get_chunk_info(0)
        assert chunk.filter_mask == 0 and chunk.size < 7 * 6 * 4 * 4
    for name in ["p", "plain"]:
        smallbatch("run", f"{name}.h5", "-o", f"{name}_r.h5")
    with h5py.File(tmp_path / "p_r.h5") as packed, h5py.File(tmp_path / "plain_r.h5") as plain:
        assert np.array_equal(packed["solve/systems/x"], plain["solve/systems/x"])


@pytest.mark.parametrize("packing", PACKINGS.values(), ids=PACKINGS)
def test_what_packs_best_is_read(smallbatch, tmp_path, packing):
    """Zstandard packs thousands of zeros into a byte, so a file may declare thousands of times what it stores."""
    with open_problem_file(tmp_path / "p.h5") as file:
        file.create_dataset("correlation/zeros/signal", data=np.zeros((1, 1 << 20, 16, 2), "i1"),
                            chunks=(1, 1 << 18, 16, 2), **packing)
    if packing is PACKINGS["zstandard"]:
        assert (tmp_path / "p.h5").stat().st_size * 2000 < 1 << 25
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "r.h5") as file:
        assert (file["correlation/zeros/weight"][...] == 1 << 20).all()
        assert (file["correlation/zeros/visibility"][...] == 0).all()


@pytest.mark.parametrize("packing", PACKINGS, ids=PACKINGS)
def test_damaged_chunks_are_refused_or_read(smallbatch, tmp_path, packing):
    write(tmp_path / "p.h5", PACKINGS[packing])
    with h5py.File(tmp_path / "p.h5") as file:
        chunk = file["solve/systems/A"].id.get_chunk_info(0)
    good, refused = np.frombuffer((tmp_path / "p.h5").read_bytes(), np.uint8), 0
    rng = np.random.default_rng(2)
    for trial in range(40):
        damaged = good.copy()
        offsets = chunk.byte_offset + rng.integers(0, min(chunk.size, 40), 2)
        damaged[offsets] = rng.integers(0, 256, 2)
        (tmp_path / "p.h5").write_bytes(damaged.tobytes())
        done = smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", expect=None)
        assert done.returncode in (0, 1, 3), done.stderr
        if done.returncode == 3:
            assert "/solve/systems/A" in done.stderr and "p.h5" in done.stderr
            refused += ("LZF" if packing == "lzf" else "Zstandard") in done.stderr
    assert refused > 5


@pytest.mark.parametrize("packing, says", [(hdf5plugin.Blosc(), ["32001", "blosc"]), (hdf5plugin.LZ4(), ["32004", "lz4"]),
                                           ({"scaleoffset": 3}, ["scaleoffset"])], ids=["blosc", "lz4", "scaleoffset"])
def test_other_filters_are_refused_by_name(smallbatch, tmp_path, packing, says):
    write(tmp_path / "p.h5", dict(packing))
    done = smallbatch("info", "p.h5", expect=3)
    assert all(word in done.stderr.lower() for word in [*says, "/solve/systems/a", "p.h5", "zstandard"]), done.stderr
