"""A broker in a container: what runs in it, and, where an engine runs, that it serves groups."""

from pathlib import Path

import pytest

from kgroup.testing.kafka.config import plan_cluster
from kgroup.testing.kafka.container import container_script, engine_runs, start_container
from kgroup.testing.kafka.ready import Probe, parse_bootstrap
from kgroup.wire.messages import MetadataRequest


def test_the_container_formats_its_data_once_and_then_becomes_the_broker() -> None:
    plan = plan_cluster("4.3.1", 1)
    lines = container_script(plan).splitlines()
    assert "node.id=1" in lines
    assert "format --ignore-formatted" in lines[-1]
    assert f"--cluster-id {plan.cluster_id} " in lines[-1]
    assert "&& exec " in lines[-1]


def test_without_an_engine_behind_its_socket_none_runs(tmp_path: Path) -> None:
    assert not engine_runs({"DOCKER_HOST": f"unix://{tmp_path}/nothing.sock"})


@pytest.mark.docker
def test_a_broker_in_a_container_answers_on_this_machine_and_comes_back() -> None:
    kafka = start_container("4.3.1")
    try:
        kafka.kill(1)
        kafka.restart(1)
        with Probe(parse_bootstrap(kafka.bootstrap)[0]) as probe:
            (broker,) = probe.ask(MetadataRequest(topics=())).brokers
        assert f"{broker.host}:{broker.port}" == kafka.bootstrap
    finally:
        kafka.close()
