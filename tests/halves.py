"""`make test-fast`: what needs no broker and no patience, in two processes that share nothing.

    make test-fast
    make test-fast ARGS="-k static -x"

Decides: which half a file of tests is in: its name says it, so that two processes need not tell
each other. A third that hands out tests one by one, and hears of each, costs as much as many of
these tests do, and has both collect the whole.
The second half is heard when the first has ended. What is given goes to both; the status is the
worst; a half for which nothing was selected counts only if the other had nothing either.
Never: leaves a half out because a test of the other failed; Ctrl-C or a wrong option ends both.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final
from zlib import crc32

from pytest import ExitCode  # noqa: PT013 - the only name of it that is used

__all__ = ["HALVES", "command", "half_of", "main", "worst"]

HALVES: Final = (1, 2)

_NOTHING: Final = ExitCode.NO_TESTS_COLLECTED
_FAST: Final = "not real and not docker and not slow"
_ELSEWHERE: Final = ("tests/house", "tests/consumer/marshal")
"""Folders whose tests are not fast: they need not be read to know it."""


def half_of(path: PurePath) -> int:
    """Return which half a file is in, 1 or 2.

    Args:
        path: from the root of the repository.
    """
    return HALVES[crc32(path.as_posix().encode()) % len(HALVES)]


def command(half: int, arguments: Sequence[str]) -> list[str]:
    """Return the command of a half.

    Args:
        half: 1 or 2.
        arguments: of pytest, for both.
    """
    ignored = [f"--ignore={folder}" for folder in _ELSEWHERE]
    own = ["--half", str(half), "-o", f"cache_dir=.pytest_cache/half-{half}", *ignored]
    chosen = ["-m", _FAST, "-k", "not trio", "--hypothesis-profile", "fast"]
    return [sys.executable, "-m", "pytest", *own, *chosen, *arguments]


def worst(statuses: Sequence[int]) -> int:
    """Return the status of all runs together: that of no tests only if none had any.

    Args:
        statuses: of each; below 0 for one that a signal ended, as `subprocess` has it.
    """
    heard = [abs(status) for status in statuses if status != _NOTHING]
    return max(heard, default=int(_NOTHING))


def main(arguments: Sequence[str]) -> int:
    """Run both halves side by side and return the status.

    Args:
        arguments: of pytest, for both.
    """
    first, second = (command(half, arguments) for half in HALVES)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        other = subprocess.Popen(second, stdout=said, stderr=subprocess.STDOUT)
        try:
            status = subprocess.call(first)
            others = other.wait()
        finally:
            other.terminate()
            other.wait()
            said.seek(0)
            sys.stdout.write(said.read())
            sys.stdout.flush()
    return worst((status, others))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(int(ExitCode.INTERRUPTED))
