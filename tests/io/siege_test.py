"""A short siege (tests/io/siege.py) finds nothing, and it would notice a command that fails."""

import signal

import numpy as np

from tests.io.siege import SENTENCE, believed, besiege, checksums, complaint, lookup3

DEFAULT_MUTANTS = 2000


def test_mutants_are_read_or_refused(smallbatch, tmp_path, pytestconfig):
    mutants = pytestconfig.getoption("random_files") or DEFAULT_MUTANTS
    siege = besiege(smallbatch.program, tmp_path, mutants, pytestconfig.getoption("random_seed"))
    assert siege.found == []
    assert siege.codes["info", 0] > mutants / 20 and siege.codes["info", 3] > mutants / 20
    for word in ("run", "verify", "export", "merge", "import"):
        assert siege.codes[word, 0] > 0, word
        assert siege.codes[word, 3] > 0, word


def test_the_hash_is_hdf5s():
    # These values are in driver5() of Jenkins's lookup3.c.
    assert lookup3(b"") == 0xDEADBEEF
    assert lookup3(b"Four score and seven years ago") == 0x17770551


def test_metadata_that_is_changed_is_believed(tmp_path):
    import h5py

    with h5py.File(tmp_path / "f.h5", "w", libver=("v110", "v110")) as file:
        file.attrs["number"] = np.int64(0x1122334455667788)
    data = (tmp_path / "f.h5").read_bytes()
    sums = checksums(data)
    place = data.index((0x1122334455667788).to_bytes(8, "little"))
    other = data[:place] + b"\x01" + data[place + 1 :]
    (tmp_path / "f.h5").write_bytes(believed(other, (place, place + 1), sums))
    with h5py.File(tmp_path / "f.h5") as file:
        assert file.attrs["number"] == 0x1122334455667701


def test_what_must_not_be_is_noticed():
    refusal = b"12:00:00 error cannot use x.h5 (it is empty, 0 bytes). Write it anew.\n"
    done = lambda status=0, seconds=0.1, size=1 << 20, out=b"", err=b"": (status, seconds, size, out, err)  # noqa: E731
    refused = 3 << 8
    assert complaint(["info"], done(out=b"x.h5: a problem file\n")) is None
    assert complaint(["info"], done(refused, err=refusal)) is None
    assert SENTENCE.search(refusal.decode())
    for wrong in (done(None), done(signal.SIGSEGV), done(70 << 8, err=refusal), done(255 << 8, err=refusal),
                  done(seconds=10.5), done(size=2 << 30), done(refused), done(refused, err=b"Aborted\n"),
                  done(refused, out=b"half", err=refusal), done(out=b"\x1b[31m"), done(out="\u202e".encode()),
                  done(refused, err=refusal.replace(b"empty", b"\xff"))):
        assert complaint(["info"], wrong), wrong
