"""What `tests/conftest.py` adds to a run.

Where a real broker is required, a skip is a failure. A failure names the threads that an earlier
test left running: any of them may be its cause.
"""

from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"

TESTS = """
import pytest

@pytest.mark.real
def test_skips_itself():
    pytest.skip("no broker")

@pytest.mark.real
@pytest.mark.skip(reason="not today")
def test_is_skipped():
    pass

@pytest.fixture
def nothing():
    pytest.skip("the three ways")

@pytest.mark.real
def test_has_no_fixture(nothing):
    pass

@pytest.mark.real
def test_runs():
    pass

@pytest.mark.real
@pytest.mark.xfail(strict=True)
def test_is_known_to_fail():
    assert False

def test_needs_no_broker():
    pytest.skip("an ordinary reason")
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST.read_text(encoding="utf-8"))
    pytester.makeini("[pytest]\nmarkers =\n    real: on a real broker\n    docker: in a container")
    return pytester


def run(project: pytest.Pytester, tests: str) -> pytest.RunResult:
    project.makepyfile(tests)
    return project.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:anyio")


def test_a_real_test_that_would_be_skipped_fails_under_the_flag(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGROUP_REQUIRE_REAL", "1")
    result = run(project, TESTS)
    result.assert_outcomes(passed=1, failed=1, errors=2, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(["*must run on a real broker here, but: the three ways*"])


def test_a_real_test_may_be_skipped_without_the_flag(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KGROUP_REQUIRE_REAL", raising=False)
    result = run(project, TESTS)
    result.assert_outcomes(passed=1, skipped=4, xfailed=1)


def test_a_module_that_skips_itself_as_a_whole_fails_under_the_flag(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGROUP_REQUIRE_REAL", "1")
    result = run(project, "import pytest; pytest.skip('no broker', allow_module_level=True)")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*skipped itself before its tests could be seen*"])


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
    result = run(pytester, "".join(tests))
    result.assert_outcomes(passed=2, failed=1)
    return result.stdout.str()


def test_a_failure_names_the_threads_that_still_run(pytester: pytest.Pytester) -> None:
    assert "<Thread(left, started" in said_by(pytester, LEAVES_ONE, FAILS, ENDS_IT)


def test_a_failure_names_no_thread_that_is_over(pytester: pytest.Pytester) -> None:
    assert "<Thread(left, " not in said_by(pytester, LEAVES_ONE, ENDS_IT, FAILS)
