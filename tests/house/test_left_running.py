"""A failure names the threads that an earlier test left running: any of them may be its cause."""

from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"

TESTS = """
import threading

over = threading.Event()

def test_leaves_one():
    threading.Thread(target=over.wait, name="left").start()

def test_fails():
    over.set() if {ends} else None
    [each.join() for each in threading.enumerate() if {ends} and each.name == "left"]
    assert False

def test_ends_it():
    over.set()
"""


@pytest.mark.parametrize("ends", [False, True])
def test_a_failure_names_the_threads_that_still_run(pytester: pytest.Pytester, ends: bool) -> None:
    pytester.makeconftest(CONFTEST.read_text(encoding="utf-8"))
    pytester.makepyfile(TESTS.format(ends=ends))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:anyio")
    result.assert_outcomes(passed=2, failed=1)
    assert ("<Thread(left, started" in result.stdout.str()) is not ends
