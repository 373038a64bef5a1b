"""Result files use the words of the file format, whichever synonym was given on the command line."""

import h5py
import pytest


def provenance(path):
    with h5py.File(path) as file:
        return {name: value.decode() if isinstance(value, bytes) else value for name, value in file["provenance"].attrs.items()}


@pytest.mark.parametrize("option,words", [("precision", {"float32": ["float32", "single"], "float64": ["float64", "double"]}),
                                          ("singular", {"inf": ["inf", "infinite", "infinity"], "skip": ["skip"]})])
def test_results_say_the_word_of_files(smallbatch, tmp_path, option, words):
    smallbatch("generate", "charges", "-o", "p.h5", "--batch", 2, "--charges", 3, "--shape", "3,3,3")
    for meaning, spellings in words.items():
        for word in spellings:
            smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", f"--{option}", word)
            assert provenance(tmp_path / "r.h5")[option] == meaning
    refused = smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", f"--{option}", "quad", expect=2).stderr
    assert all(meaning in refused for meaning in words)


def test_numbers_and_storages(smallbatch, tmp_path):
    shapes = {}
    for storage in ("dense", "packed", "packed_lower"):
        for dtype, word in (("float32", "float32"), ("float32", "single"), ("float64", "double")):
            smallbatch("generate", "spd", "-o", "p.h5", "--overwrite", "--batch", 2, "--n", 3, "--storage", storage,
                       "--type", word)
            with h5py.File(tmp_path / "p.h5") as file:
                (a,) = [found for found in (file["solve"][name].get("A") for name in file["solve"])]
                assert a.dtype == dtype
                shapes[storage] = a.shape
    assert shapes == {"dense": (2, 3, 3), "packed": (2, 6), "packed_lower": (2, 6)}


def test_sizes_are_called_as_in_files(smallbatch, tmp_path):
    made = []
    for option in ("--size", "--sizes"):
        smallbatch("generate", "spd", "-o", "p.h5", "--overwrite", "--batch", 9, option, "2:4")
        with h5py.File(tmp_path / "p.h5") as file:
            made.append(next(iter(file["solve"].values()))["size"][...].tolist())
    assert made[0] == made[1] and min(made[0]) >= 2 and max(made[0]) <= 4
