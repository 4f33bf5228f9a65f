"""`make test`: everything, in two runs of pytest.

    make test
    make test ARGS="-k static -x"

Decides: what needs no real broker goes first, on two processes; then what needs one, one test after
the other, for there is one cluster at a time and times are measured. What is given goes to both;
`-m` narrows each. The status is the worst of the two; a run for which nothing was selected counts
only if both had nothing.
Never: leaves the second out because a test of the first failed; Ctrl-C or a wrong option ends both.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from pytest import ExitCode  # noqa: PT013 - the only name of it that is used

__all__ = ["PASSES", "Pass", "command", "main", "worst"]

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


PASSES: Final = (
    Pass(
        "tests without a real broker, on two processes",
        f"not ({_REAL})",
        ("-n", "2", "--dist", "worksteal"),
    ),
    Pass("tests on real brokers and containers, one by one", _REAL),
)

_OVER: Final = frozenset({ExitCode.INTERRUPTED, ExitCode.USAGE_ERROR})
_NOTHING: Final = ExitCode.NO_TESTS_COLLECTED


def command(part: Pass, arguments: Sequence[str]) -> list[str]:
    """Return the command of a pass.

    Args:
        part: which one.
        arguments: of pytest, for both passes.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-m", dest="marks")
    known, others = parser.parse_known_args(arguments)
    marks = f"({part.marks}) and ({known.marks})" if known.marks else part.marks
    return [sys.executable, "-m", "pytest", "-m", marks, *part.options, *others]


def worst(statuses: Sequence[int]) -> int:
    """Return the status of all passes together: that of no tests only if none had any."""
    return max((status for status in statuses if status != _NOTHING), default=int(_NOTHING))


def main(arguments: Sequence[str], call: Callable[[list[str]], int] = subprocess.call) -> int:
    """Run both passes and return the status.

    Args:
        arguments: of pytest.
        call: runs a command and returns its status.
    """
    statuses: list[int] = []
    for part in PASSES:
        sys.stderr.write(f"\n{part.title}\n")
        statuses.append(call(command(part, arguments)))
        if statuses[-1] in _OVER:
            break
    return worst(statuses)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(int(ExitCode.INTERRUPTED))
