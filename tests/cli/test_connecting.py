"""Which cluster a verb means, and where that may be said."""

import json
import logging
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kgroup.cli import main
from kgroup.cli.connecting import Common, consumer_config
from kgroup.config import ConsumerConfig
from kgroup.errors import ConfigError
from kgroup.net.security import Secret
from kgroup.types import IsolationLevel


@pytest.fixture
def nowhere(tmp_path: Path) -> dict[str, str]:
    """An environment in which no broker is known."""
    return {"KGROUP_CACHE": str(tmp_path)}


def servers(config: ConsumerConfig) -> tuple[str, ...]:
    return tuple(config.bootstrap_servers)


def test_without_a_word_it_is_the_usual_port_of_this_machine(nowhere: dict[str, str]) -> None:
    assert servers(consumer_config(Common(), nowhere)) == ("localhost:9092",)


def test_the_environment_goes_before_that(nowhere: dict[str, str]) -> None:
    found = consumer_config(Common(), {**nowhere, "KGROUP_BOOTSTRAP": "given:1"})
    assert servers(found) == ("given:1",)


def test_a_file_goes_before_the_environment(tmp_path: Path, nowhere: dict[str, str]) -> None:
    path = tmp_path / "client.properties"
    path.write_text("bootstrap.servers=filed:2\n")
    found = consumer_config(Common(config=path), {**nowhere, "KGROUP_BOOTSTRAP": "given:1"})
    assert servers(found) == ("filed:2",)


def test_the_command_line_goes_before_all(tmp_path: Path, nowhere: dict[str, str]) -> None:
    path = tmp_path / "client.properties"
    path.write_text("bootstrap.servers=filed:2\nclient.id=mine\n")
    found = consumer_config(Common(config=path, bootstrap="typed:3", timeout=4.0), nowhere)
    assert servers(found) == ("typed:3",)
    assert (found.client_id, found.patience) == ("mine", 4.0)


def test_a_broker_of_this_machine_counts_only_while_it_runs(nowhere: dict[str, str]) -> None:
    process = {"node_id": 1, "pid": 2**22, "log": "x"}
    state = {
        "version": "4.3.1",
        "brokers": 1,
        "bootstrap": "127.0.0.1:5",
        "folder": "gone",
        "processes": [process],
    }
    Path(nowhere["KGROUP_CACHE"], "broker.json").write_text(json.dumps(state))
    assert servers(consumer_config(Common(), nowhere)) == ("localhost:9092",)


def test_a_file_makes_nobody_join_a_group(tmp_path: Path, nowhere: dict[str, str]) -> None:
    path = tmp_path / "client.properties"
    path.write_text("group.id=billing\ngroup.instance.id=till-7\n")
    alone = consumer_config(Common(config=path), nowhere)
    assert (alone.group_id, alone.group_instance_id) == (None, None)
    member = consumer_config(Common(config=path), nowhere, group_id="audit")
    assert (member.group_id, member.group_instance_id) == ("audit", "till-7")


def test_options_of_the_verb_go_before_the_file(tmp_path: Path, nowhere: dict[str, str]) -> None:
    path = tmp_path / "client.properties"
    path.write_text("isolation.level=read_uncommitted\n")
    more = {"isolation_level": "read_committed"}
    found = consumer_config(Common(config=path), nowhere, more=more)
    assert found.isolation_level is IsolationLevel.READ_COMMITTED


def test_a_password_comes_from_the_environment_and_is_shown_nowhere(
    tmp_path: Path, nowhere: dict[str, str]
) -> None:
    path = tmp_path / "client.properties"
    path.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\nsasl.username=ada\n"
    )
    environ = {**nowhere, "KGROUP_SASL_PASSWORD": "hunter2"}
    found = consumer_config(Common(config=path), environ)
    sasl = found.net().security.sasl
    assert sasl is not None
    assert (sasl.username, sasl.password) == ("ada", Secret("hunter2"))
    assert "hunter2" not in repr(found) + repr(found.net())


def test_a_password_without_a_name_beside_it_is_somebody_elses(nowhere: dict[str, str]) -> None:
    found = consumer_config(Common(), {**nowhere, "KGROUP_SASL_PASSWORD": "hunter2"})
    assert found.net().security.sasl is None


def test_the_error_of_a_missing_password_lists_the_places_it_may_come_from(
    tmp_path: Path, nowhere: dict[str, str]
) -> None:
    path = tmp_path / "client.properties"
    path.write_text("sasl.mechanism=PLAIN\nsasl.username=ada\n")
    with pytest.raises(ConfigError, match=r"client\.properties, or KGROUP_SASL_PASSWORD"):
        consumer_config(Common(config=path), nowhere)


@pytest.mark.parametrize("words", [["groups"], ["consume", "t"], ["topics"]])
def test_that_nothing_listens_is_said_long_before_the_time_is_up(
    words: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    began = time.time()
    assert main([*words, "--bootstrap", "127.0.0.1:1", "--timeout", "2"]) == 1
    (line,) = caplog.records
    assert (line.name, line.levelno) == ("kgroup.net.pool", logging.WARNING)
    assert "127.0.0.1:1" in line.getMessage()
    assert line.created < began + 1


def test_what_is_logged_reaches_standard_error() -> None:
    words = [sys.executable, "-m", "kgroup.cli", "groups", "--bootstrap", "127.0.0.1:1"]
    done = subprocess.run(
        [*words, "--timeout", "0.5"], capture_output=True, text=True, check=False, timeout=60
    )
    first, last = done.stderr.splitlines()
    assert first.startswith("no connection to 127.0.0.1:1: ")
    assert "nothing listens there" in first
    assert last.startswith("error: no broker reachable within 0.5 s: 127.0.0.1:1 (")
