"""The examples of "Test your consumer" run as their readers run them, with every client."""

import shutil

import pytest

from tests.typing.checkers import ROOT, mypy

EXAMPLES = ROOT / "docs" / "examples" / "testing"

# kafka-python leaves sockets to the garbage collector, and imports what Python has deprecated.
CARELESS = ("ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "tests", "forgiven"),
    [
        ("test_orders.py", 9, ()),
        ("test_orders_kafka_python.py", 5, CARELESS),
        ("test_orders_confluent.py", 5, ()),
        ("test_orders_kgroup.py", 4, ()),
    ],
)
def test_an_example_passes(
    pytester: pytest.Pytester, name: str, tests: int, forgiven: tuple[str, ...]
) -> None:
    shutil.copytree(EXAMPLES, pytester.path, dirs_exist_ok=True)
    options = [word for each in ("error", *forgiven) for word in ("-W", each)]
    ran = pytester.runpytest_subprocess("--strict-markers", *options, name)
    ran.assert_outcomes(passed=tests)


def test_the_tests_of_the_examples_are_typed_for_the_strictest() -> None:
    assert not mypy(EXAMPLES.glob("test_*.py"))
