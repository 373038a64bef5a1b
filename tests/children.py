"""What a command takes by itself. A process counts as its own the memory of the one that started it, which tests that ran before
may have made large: so a small one starts it."""

import collections
import json
import subprocess
import sys

Measured = collections.namedtuple("Measured", "bytes waits")  # the largest process; how often one of its threads waited

STARTER = """import json, os, sys
nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
_, status, used = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=nowhere), 0)
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_maxrss << 10, used.ru_nvcsw]))"""


def measured(*words, **options):
    """Of a command that succeeds; `options` are those of subprocess.run()."""
    words = [sys.executable, "-I", "-S", "-c", STARTER, *map(str, words)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, **options)
    code, size, waits = json.loads(done.stdout)
    assert code == 0, done.stderr
    return Measured(size, waits)
