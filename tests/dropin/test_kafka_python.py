"""The plug-in for kafka-python's tests: what its suite finds in its environment."""

import os
from pathlib import Path

import pytest

from tests.dropin.conftest import write

TESTS = """
    import os
    from peerlib import Consumer
    from test.service import ExternalService
    from test.testutil import env_kafka_version

    def test_private():
        raise AssertionError("left out")

    def test_version():
        assert env_kafka_version() == (3, 9, 1)
        assert os.path.isdir(os.environ["KAFKA_ROOT"])

    def test_address():
        assert os.environ["KAFKA_URI"] == "kafka://somewhere:9092"
        assert ExternalService("somewhere", 9092).host == "somewhere"

    def test_class():
        assert Consumer("t").name() == "facade"
"""

TESTUTIL = """
    import os

    def env_kafka_version():
        return tuple(map(int, os.environ["KAFKA_VERSION"].split(".")))
"""


@pytest.fixture
def archive(tree: Path) -> Path:
    """A tree as kafka-python's released archive has it: `test` is no package there."""
    write(tree / "test" / "testutil.py", TESTUTIL)
    write(tree / "suite" / "test_consumer.py", TESTS)
    (tree / "suite" / "conftest.py").unlink()
    write(tree / "pytest.ini", "[pytest]\naddopts = --timeout=300 --timeout-method=thread")
    return tree


def test_its_suite_gets_the_kafka_that_was_named(
    pytester: pytest.Pytester, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_URI", "kafka://somewhere:9092")
    for name in ("KAFKA_VERSION", "KAFKA_ROOT"):
        monkeypatch.delenv(name, raising=False)
    ran = pytester.runpytest_inprocess(
        "-p", "tests.dropin.kafka_python_plugin", "-p", "no:cacheprovider",
        "--dropin-list", str(archive / "list.toml"), "--dropin-kafka", "3.9.1",
    )  # fmt: skip
    ran.stdout.fnmatch_lines(["* with facades.Good (*Kafka 3.9.1*)", "portable: 3 of 3"])
    assert "KAFKA_VERSION" not in os.environ
