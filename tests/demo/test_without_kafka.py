"""The demo on a machine that has Python and nothing else."""

import json
from pathlib import Path

import pytest

from kgroup.cli import main

pytestmark = pytest.mark.slow


@pytest.fixture
def only_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide every way to a real Kafka that this machine may have."""
    for name in ("KGROUP_BOOTSTRAP", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")  # nobody listens there


def test_the_demo_runs_on_the_in_process_broker_says_so_and_is_clean(
    only_python: None, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--seconds", "10", "--members", "2", "--no-tty"]) == 0
    printed = capfd.readouterr().out
    assert "no real Kafka can be had here" in printed
    assert "KGROUP_BOOTSTRAP=host:port" in printed
    assert "Kafka: in-process broker in place of Kafka 4.3.1" in printed
    assert "CLEAN: " in printed.splitlines()[-1]


def test_a_run_for_programs_is_json_and_demo_and_audit_count_from_one_moment(
    capfd: pytest.CaptureFixture[str],
) -> None:
    words = ["demo", "--seconds", "10", "--members", "2", "--kafka", "in-process", "--json"]
    assert main(words) == 0
    printed = capfd.readouterr()
    found = json.loads(printed.out)
    assert "Kafka: in-process broker" in printed.err
    verdict, happenings = found["verdict"], found["happenings"]
    assert (verdict["clean"], found["logs"]) == (True, None)
    assert happenings[-1]["at"] <= verdict["seconds"] <= happenings[-1]["at"] + 3
    (killed,) = [each["at"] for each in happenings if "(SIGKILL)" in each["text"]]
    assert any(killed <= each["began_at"] < killed + 5 for each in verdict["rebalances"])


def test_a_demo_that_is_to_be_on_a_real_kafka_says_how_to_have_one(
    only_python: None, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--kafka", "real", "--no-tty"]) == 1
    assert "no real Kafka can be had here" in capfd.readouterr().err
