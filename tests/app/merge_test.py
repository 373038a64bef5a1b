"""Messages of `merge` about the shares that it has merged."""

import resource

import h5py
import numpy as np

from tests.problems import add_solve, open_problem_file


def test_what_many_shares_say_together_is_cut_as_readers_want_it(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=4, n=3)
    for k in (1, 2):
        smallbatch("run", "p.h5", "-o", f"{k}.h5", "--shard", f"{k}/2")
        with h5py.File(tmp_path / f"{k}.h5", "r+") as file:
            file["provenance"].attrs["host"] = np.bytes_(f"{k}" * 3000)
    smallbatch("merge", "1.h5", "2.h5", "-o", "m.h5")
    with h5py.File(tmp_path / "m.h5") as file:
        assert file["provenance"].attrs["host"].decode() == ("1" * 3000 + "; " + "2" * 3000)[:4092] + " ..."
    assert "1111" in smallbatch("info", "m.h5").stdout


def test_more_shares_are_merged_than_files_may_be_open_at_first(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=40, n=2)
    shares = [f"{k}.h5" for k in range(1, 41)]
    for k, share in enumerate(shares):
        smallbatch("run", "p.h5", "-o", share, "--shard", f"{k + 1}/40", "--device", "cpu", "--threads", 1)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    smallbatch("merge", *shares, "-o", "m.h5",
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (32, most)))
    smallbatch("verify", "p.h5", "m.h5")


def test_merging_what_failed_ends_as_the_run_did(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=6, n=3)
        a = file["solve/systems/A"]
        a[1], a[5] = -a[1], -a[5]
    for k in (1, 2):
        smallbatch("run", "p.h5", "-o", f"{k}.h5", "--shard", f"{k}/2", expect=1)
    done = smallbatch("merge", "1.h5", "2.h5", "-o", "m.h5", expect=1)
    assert done.stdout == "m.h5: 2 shares merged, 2 failed\n"
    smallbatch("merge", "1.h5", "2.h5", "-o", "m.h5", "--overwrite", "--fail-on", "disagreement")


def test_a_run_of_one_share_is_merged(smallbatch, tmp_path):
    """`merge` accepts a single share 1/1, so scripts need no special line for it."""
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=4, n=3)
    smallbatch("run", "p.h5", "-o", "1.h5", "--shard", "1/1")
    assert smallbatch("merge", "1.h5", "-o", "m.h5").stdout == "m.h5: 1 share merged\n"
    smallbatch("verify", "p.h5", "m.h5")
    with h5py.File(tmp_path / "1.h5") as one, h5py.File(tmp_path / "m.h5") as merged:
        assert np.array_equal(one["solve/systems/x"], merged["solve/systems/x"])
    done = smallbatch("merge", "1.h5", "m.h5", "-o", "n.h5", expect=3)
    assert "it is not a share of a run" in done.stderr
