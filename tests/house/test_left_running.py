"""A failure names the threads that an earlier test left running: any of them may be its cause."""

from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"

LEAVES_ONE = """
import threading

over = threading.Event()
left = threading.Thread(target=over.wait, args=(30,), name="left", daemon=True)

def test_leaves_one():
    left.start()
"""

FAILS = """
def test_fails():
    assert False
"""

ENDS_IT = """
def test_ends_it():
    over.set()
    left.join()
"""


def said_by(pytester: pytest.Pytester, *tests: str) -> str:
    """Run tests of which one fails."""
    pytester.makeconftest(CONFTEST.read_text(encoding="utf-8"))
    pytester.makepyfile("".join(tests))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:anyio")
    result.assert_outcomes(passed=2, failed=1)
    return result.stdout.str()


def test_a_failure_names_the_threads_that_still_run(pytester: pytest.Pytester) -> None:
    assert "<Thread(left, started" in said_by(pytester, LEAVES_ONE, FAILS, ENDS_IT)


def test_a_failure_names_no_thread_that_is_over(pytester: pytest.Pytester) -> None:
    assert "<Thread(left, " not in said_by(pytester, LEAVES_ONE, ENDS_IT, FAILS)
