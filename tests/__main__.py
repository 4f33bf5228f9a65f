"""`make test`: everything, in three runs of pytest.

    make test
    make test ARGS="-k static -x"

Decides: what needs no real broker goes first, on two processes; then what needs one, one test after
the other, for there is one cluster at a time and times are measured. Those tests wait more than
they work, so the long searches run beside them, on what processor time they leave. What is given
goes to all; `-m` narrows each. The status is the worst; a run for which nothing was selected counts
only if no other had anything.
A few tests that failed on real brokers get a second look, when nothing runs beside them any more:
three times each, and one failure more is a failure. They are named at the end in any case, and what
they said the first time stands above. Nothing else is asked twice: in virtual time and in this
process a machine that stood still is no excuse.
Never: leaves a run out because a test of another failed; Ctrl-C or a wrong option ends all.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Final, NamedTuple

from pytest import ExitCode  # noqa: PT013 - the only name of it that is used

from tests.halves import worst

__all__ = [
    "ALONE",
    "BESIDE",
    "REAL",
    "Pass",
    "beside",
    "command",
    "failed_in",
    "main",
]

_REAL: Final = "real or docker"


class Pass(NamedTuple):
    """One run of pytest.

    Args:
        title: said before it begins.
        marks: which tests are in it.
        options: of pytest.
    """

    title: str
    marks: str
    options: tuple[str, ...] = ()


_TWO: Final = ("-n", "2", "--dist", "worksteal")

ALONE: Final = Pass(
    "tests without a real broker, on two processes", f"not ({_REAL} or spare)", _TWO
)
REAL: Final = Pass("tests on real brokers and containers, one by one", _REAL)
BESIDE: Final = Pass("searches, on the processor time that those left", "spare", _TWO)

_POLITE: Final = ("nice", "-n", "19")
_OVER: Final = frozenset({ExitCode.INTERRUPTED, ExitCode.USAGE_ERROR})

_LOOKS: Final = 3
_FEW: Final = 3
"""Most failures that may be the machine's; more are looked at by somebody."""


def command(part: Pass, arguments: Sequence[str]) -> list[str]:
    """Return the command of a pass.

    Args:
        part: which one.
        arguments: of pytest, for all passes.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-m", dest="marks")
    known, others = parser.parse_known_args(arguments)
    marks = f"({part.marks}) and ({known.marks})" if known.marks else part.marks
    return [sys.executable, "-m", "pytest", "-m", marks, *part.options, *others]


Start = Callable[[Sequence[str]], AbstractContextManager[Callable[[], int]]]


@contextmanager
def beside(words: Sequence[str]) -> Iterator[Callable[[], int]]:
    """Have a command run at the lowest priority, and end it when nobody has waited for it.

    Args:
        words: the command.

    Yields:
        What waits for it, passes on what it said, and returns its status.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        process = subprocess.Popen([*_POLITE, *words], stdout=said, stderr=subprocess.STDOUT)
        try:
            yield lambda: _heard(process, said)
        finally:
            process.terminate()
            process.wait()


def main(
    arguments: Sequence[str],
    call: Callable[[list[str]], int] = subprocess.call,
    start: Start = beside,
) -> int:
    """Run all passes and return the status.

    Args:
        arguments: of pytest, for all passes.
        call: runs a command and returns its status.
        start: has a command run meanwhile.
    """
    _say(ALONE.title)
    first = call(command(ALONE, arguments))
    if first in _OVER:
        return first
    with tempfile.TemporaryDirectory() as kept:
        with start(command(BESIDE, arguments)) as searches:
            _say(REAL.title)
            second = call([*command(REAL, arguments), "-o", f"cache_dir={kept}"])
            if second in _OVER:
                return worst((first, second))
            _say(BESIDE.title)
            third = searches()
        if second == ExitCode.TESTS_FAILED:
            second = _second_look(failed_in(Path(kept)), call)
    return worst((first, second, third))


def failed_in(cache: Path) -> list[str]:
    """Return the names of the tests that failed in a run, in order.

    Args:
        cache: where pytest kept what it knew of that run.
    """
    found = cache / "v" / "cache" / "lastfailed"
    return sorted(json.loads(found.read_text("utf-8"))) if found.exists() else []


def _second_look(names: Sequence[str], call: Callable[[list[str]], int]) -> int:
    """Run some tests three times more; return the status that counts."""
    if not 0 < len(names) <= _FEW:
        return ExitCode.TESTS_FAILED
    listed = "".join(f"\n  {name}" for name in names)
    _say(f"a second look at what failed on real brokers, with nothing beside it:{listed}")
    for _ in range(_LOOKS):
        status = call([sys.executable, "-m", "pytest", *names])
        if status != ExitCode.OK:
            return status
    _say(f"UNSTEADY: failed once and passed {_LOOKS} times; somebody should find out why:{listed}")
    return ExitCode.OK


def _heard(process: subprocess.Popen[bytes], said: IO[str]) -> int:
    status = process.wait()
    said.seek(0)
    sys.stdout.write(said.read())
    sys.stdout.flush()
    return status


def _say(words: str) -> None:
    sys.stderr.write(f"\n{words}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(int(ExitCode.INTERRUPTED))
