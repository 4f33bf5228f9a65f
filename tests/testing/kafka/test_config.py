"""What a cluster looks like on paper."""

import socket
from itertools import islice
from pathlib import PurePath

import pytest

from kgroup.errors import ConfigError
from kgroup.testing.kafka.config import (
    ClusterPlan,
    NodePlan,
    free_ports,
    new_cluster_id,
    plan_cluster,
    server_properties,
)

DATA = PurePath("data")


def properties(plan: ClusterPlan, node: NodePlan) -> dict[str, str]:
    text = server_properties(plan, node, DATA)
    return dict(line.split("=", 1) for line in text.splitlines())


def test_one_broker_is_its_own_controller() -> None:
    plan = plan_cluster("4.3.1", 1)
    (node,) = plan.nodes
    lines = properties(plan, node)
    assert lines["process.roles"] == "broker,controller"
    assert lines["controller.quorum.voters"] == f"1@127.0.0.1:{node.controller_port}"
    assert plan.bootstrap == f"127.0.0.1:{node.client_port}"


def test_three_brokers_have_a_controller_of_their_own() -> None:
    plan = plan_cluster("4.3.1", 3)
    assert [node.node_id for node in plan.brokers] == [1, 2, 3]
    roles = [properties(plan, node)["process.roles"] for node in plan.nodes]
    assert roles == ["controller", "broker", "broker", "broker"]
    assert plan.controller.client_port is None
    assert plan.bootstrap.count(",") == 2


def test_a_controller_advertises_nothing_to_clients() -> None:
    plan = plan_cluster("4.3.1", 3)
    lines = properties(plan, plan.controller)
    assert lines["listeners"] == f"CONTROLLER://127.0.0.1:{plan.controller.controller_port}"
    assert "advertised.listeners" not in lines


@pytest.mark.parametrize("brokers", [1, 3])
def test_nothing_listens_beyond_the_loopback_address(brokers: int) -> None:
    plan = plan_cluster("4.3.1", brokers)
    for node in plan.nodes:
        listeners = properties(plan, node)["listeners"].split(",")
        assert all("://127.0.0.1:" in listener for listener in listeners)


@pytest.mark.parametrize(("brokers", "copies", "in_sync"), [(1, "1", "1"), (3, "3", "2")])
def test_internal_topics_are_copied_to_every_broker(
    brokers: int, copies: str, in_sync: str
) -> None:
    plan = plan_cluster("4.3.1", brokers)
    lines = properties(plan, plan.brokers[0])
    assert lines["offsets.topic.replication.factor"] == copies
    assert lines["transaction.state.log.replication.factor"] == copies
    assert lines["min.insync.replicas"] == in_sync


def test_a_broker_starts_the_first_round_at_once_and_allows_short_sessions() -> None:
    plan = plan_cluster("3.9.1", 1)
    lines = properties(plan, plan.nodes[0])
    assert lines["group.initial.rebalance.delay.ms"] == "0"
    assert lines["group.min.session.timeout.ms"] == "1000"
    assert lines["auto.create.topics.enable"] == "false"


def test_settings_of_the_caller_win() -> None:
    plan = plan_cluster("4.3.1", 1, settings={"num.partitions": "7", "my.own": "x"})
    lines = properties(plan, plan.nodes[0])
    assert (lines["num.partitions"], lines["my.own"]) == ("7", "x")


def test_another_number_of_brokers_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected 1 or 3"):
        plan_cluster("4.3.1", 2)


def test_a_cluster_id_never_begins_with_a_dash() -> None:
    made = {new_cluster_id() for _ in range(2_000)}
    assert len(made) == 2_000
    assert not any(one.startswith("-") for one in made)
    assert {len(one) for one in made} == {22}


def test_ports_lie_below_those_of_outgoing_connections_and_differ() -> None:
    ports = list(islice(free_ports(), 50))
    assert len(set(ports)) == 50
    assert all(20_000 <= port < 32_000 for port in ports)


def test_a_port_that_is_listened_on_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", next(free_ports()))) as server:
        taken = server.getsockname()[1]
        assert taken not in set(free_ports())


def test_a_port_whose_server_has_just_ended_is_free() -> None:
    with socket.create_server(("127.0.0.1", next(free_ports()))) as server:
        left = server.getsockname()[1]
        with socket.create_connection(server.getsockname()) as client:
            accepted, _ = server.accept()
            accepted.close()  # the server closes first: its side stays behind in TIME_WAIT
            client.recv(1)
    assert left in set(free_ports())
