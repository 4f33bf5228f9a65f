"""Each combination of a test belongs to `make test` or to `make test-faults`."""

from pathlib import Path

import pytest

from tests.combinations import chosen

CONFTEST = Path(__file__).parent / "conftest.py"
MARKERS = ("real", "faults", "search", "slow", "docker")

TESTS = """
import pytest

both = pytest.mark.parametrize("backend", ["asyncio", "trio"])

@pytest.mark.real
@both
@pytest.mark.parametrize("version", ["3.9.1", "4.3.1"])
@pytest.mark.parametrize("kind", ["eager", "cooperative"])
def test_group(backend, version, kind):
    pass

@both
def test_without_a_broker(backend):
    pass
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST.read_text(encoding="utf-8"))
    pytester.makeini("[pytest]\nmarkers =\n" + "".join(f"    {name}\n" for name in MARKERS))
    pytester.makepyfile(TESTS)
    return pytester


def names(project: pytest.Pytester, marks: str) -> set[str]:
    result = project.runpytest_inprocess("-m", marks, "--co", "-q", "-p", "no:anyio")
    return {line.partition("::")[2] for line in result.outlines if "::" in line}


def test_one_combination_of_each_test_is_in_make_test(project: pytest.Pytester) -> None:
    kept = names(project, "real and not faults")
    assert len(kept) == 2
    assert {name.rpartition("-")[2].rstrip("]") for name in kept} <= {"asyncio", "trio"}


def test_all_other_combinations_are_in_make_test_faults(project: pytest.Pytester) -> None:
    kept, others = names(project, "real and not faults"), names(project, "real and faults")
    assert len(others) == 6
    assert not kept & others


def test_of_a_test_without_a_broker_one_async_backend_is_in_make_test(
    project: pytest.Pytester,
) -> None:
    assert len(names(project, "not real and not faults")) == 1
    assert len(names(project, "not real and faults")) == 1


def test_the_choice_meets_every_combination_over_many_tests() -> None:
    found = {chosen(f"tests/real/test_{number}.py::test_it", 4) for number in range(40)}
    assert found == {0, 1, 2, 3}
