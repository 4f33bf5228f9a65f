"""Where a real broker is required, a skip is a failure."""

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
