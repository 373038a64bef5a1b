"""Measures the memory and the waits of a command.

The reported peak memory of a process also counts the memory of its parent. Earlier tests may have made this process
large, so a small process starts the command.
"""

import collections
import json
import subprocess
import sys

# bytes: peak memory of the largest process. waits: voluntary context switches of all threads.
Measured = collections.namedtuple("Measured", "bytes waits")

STARTER = """import json, os, sys
nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
_, status, used = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=nowhere), 0)
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_maxrss << 10, used.ru_nvcsw]))"""


def measured(*words, **options):
    """Runs a command, which must succeed, and returns what it used. `options` go to subprocess.run()."""
    words = [sys.executable, "-I", "-S", "-c", STARTER, *map(str, words)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, **options)
    code, size, waits = json.loads(done.stdout)
    assert code == 0, done.stderr
    return Measured(size, waits)
