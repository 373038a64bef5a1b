"""Kills runs at random system calls and random moments, resumes each until it ends, and compares the result with that
of an uninterrupted run:

    python -m tests.app.kill_campaign --kills 1000 --seed 1

Equal seeds kill at the same system calls; the random moments depend on the clock. The program prints the outcome. It
exits with 1 if a run's final file, summary or exit code was wrong, or if a block in the journal was lost."""

import argparse
import collections
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py

from tests.app.resume_test import CALL, JOURNAL, PART, contents, summary
from tests.app.unfinished_runs import build_killer, write_problems

ROOT = Path(__file__).resolve().parents[2]


def records_of(journal):
    """Returns the number of records about finished blocks in a journal."""
    data = journal.read_bytes() if journal.exists() else b""
    count, at = -1, 0  # the first record identifies the run
    while len(data) >= at + 32 and len(data) >= at + 32 + int(data[at : at + 16], 16):
        at += 32 + int(data[at : at + 16], 16)
        count += 1
    return max(count, 0)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--kills", type=int, default=1000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--device", default="cpu")
    options.add_argument("--memory", nargs="+", default=["1MiB", "2MiB", "5MiB"])
    asked = options.parse_args()
    program = Path(os.environ.get("SMALLBATCH_BIN", ROOT / "build" / "bin" / "smallbatch")).resolve()
    chance = random.Random(asked.seed)
    kept = collections.Counter()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kill_campaign") as name:
        folder = Path(name)
        killer = build_killer(folder)
        write_problems(folder / "p.h5")

        def run(memory, limit=None, **environment):
            call = [program, *CALL, "--resume"]
            call[call.index("1MiB")] = memory
            call[call.index("cpu")] = asked.device
            process = subprocess.Popen(call, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       env=dict(os.environ, LD_PRELOAD=str(killer), **environment))
            try:
                output, errors = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                process.kill()
                output, errors = process.communicate()
            return process.returncode, output, errors

        whole = {}
        for memory in asked.memory:
            start = time.monotonic()
            code, output, errors = run(memory, COUNT_TO=str(folder / "calls"))
            assert code == 1, errors
            whole[memory] = (contents(folder / "r.h5"), summary(output), int((folder / "calls").read_text()),
                             time.monotonic() - start)
            os.remove(folder / "r.h5")

        while kept["kills"] < asked.kills:
            memory = chance.choice(asked.memory)
            expected, said, calls, seconds = whole[memory]
            taken = 0
            while True:
                before = records_of(folder / JOURNAL)
                how = chance.choice(["call", "moment", "end"]) if kept["kills"] < asked.kills else "end"
                if how == "call":
                    code, output, errors = run(memory, KILL_AT=str(chance.randrange(1, calls + 1)))
                elif how == "moment":
                    code, output, errors = run(memory, chance.uniform(0, seconds))
                else:
                    code, output, errors = run(memory)
                if code == -signal.SIGKILL:
                    kept["kills"] += 1
                    kept["kills before the first block"] += records_of(folder / JOURNAL) == 0
                    kept["kills of runs that went on"] += taken > 0
                    taken += 1
                    kept["finished blocks lost"] += max(0, before - records_of(folder / JOURNAL)) * (folder / PART).exists()
                    if not (folder / "r.h5").exists():
                        continue
                    kept["kills after the results were in place"] += 1
                elif code != 1:
                    kept["wrong exit codes"] += 1
                    print(code, errors, file=sys.stderr)
                elif summary(output) != said:
                    kept["wrong summaries"] += 1
                break
            if not (folder / "r.h5").exists() or contents(folder / "r.h5") != expected:
                kept["wrong final files"] += 1
            else:
                with h5py.File(folder / "r.h5") as file:
                    found = int(file["provenance"].attrs.get("resumed_after_blocks", 0))
                kept["finished blocks lost"] += max(0, before - found)
                kept["blocks taken over"] += found
                kept["right final files"] += 1
            for left in ("r.h5", PART, JOURNAL):
                (folder / left).unlink(missing_ok=True)
    print(f"seed {asked.seed}, --device {asked.device}, --memory {' '.join(asked.memory)}, {time.monotonic() - began:.0f} s:")
    for what in ("kills", "kills before the first block", "kills of runs that went on",
                 "kills after the results were in place", "blocks taken over", "right final files", "wrong final files",
                 "wrong summaries", "wrong exit codes", "finished blocks lost"):
        print(f"{kept[what]:8} {what}")
    return 1 if kept["wrong final files"] + kept["wrong summaries"] + kept["wrong exit codes"] + kept["finished blocks lost"] else 0


if __name__ == "__main__":
    sys.exit(main())
