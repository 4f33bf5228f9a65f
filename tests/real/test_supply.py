"""The brokers themselves: ready when they say so, and alive after they were killed."""

import pytest

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError
from kgroup.testing.kafka import (
    Acl,
    AclOperation,
    AclResource,
    RealKafka,
    add_acls,
    create_topic,
    read_bounds,
    remove_acls,
)
from kgroup.testing.kafka.ready import Probe, group_on_partition, parse_bootstrap
from kgroup.testing.kafka.secured import acls_stand
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    MetadataRequest,
)
from tests.real.ground import eventually, fresh

pytestmark = pytest.mark.real


def coordinator(kafka: RealKafka, group_id: str) -> tuple[str, int]:
    with Probe(parse_bootstrap(kafka.bootstrap)[0]) as probe:
        (found,) = probe.ask(FindCoordinatorRequest(coordinator_keys=(group_id,))).coordinators
    assert found.error_code == ErrorCode.NONE
    return found.host, found.port


def join(address: tuple[str, int], group_id: str) -> int:
    """Return the code a new member gets; a ready broker gives it an id to come back with."""
    request = JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=6_000,
        rebalance_timeout_ms=6_000,
        member_id="",
        protocol_type="consumer",
        protocols=(JoinGroupRequestProtocol(name="range", metadata=b""),),
    )
    with Probe(address) as probe:
        return probe.ask(request).error_code


def all_groups_are_served(kafka: RealKafka) -> None:
    for partition in range(3):
        group_id = group_on_partition(partition, 3)
        assert join(coordinator(kafka, group_id), group_id) == ErrorCode.MEMBER_ID_REQUIRED


def test_a_new_broker_says_what_it_speaks(kafka: RealKafka) -> None:
    with Probe(parse_bootstrap(kafka.bootstrap)[0]) as probe:
        spoken = {row.api_key for row in probe.api_versions().api_keys}
    assert {ApiKey.JOIN_GROUP, ApiKey.FETCH, ApiKey.PRODUCE} <= spoken


def test_the_first_join_of_a_new_broker_is_served(kafka: RealKafka) -> None:
    all_groups_are_served(kafka)


def test_the_first_join_of_the_old_coordinator_is_served(kafka_391: RealKafka) -> None:
    assert kafka_391.version == "3.9.1"
    all_groups_are_served(kafka_391)


@pytest.mark.faults
def test_every_broker_of_a_cluster_serves_its_groups(kafka_cluster: RealKafka) -> None:
    assert kafka_cluster.nodes == (1, 2, 3)
    all_groups_are_served(kafka_cluster)


@pytest.mark.parametrize("ending", ["kill", "stop"])
def test_a_node_comes_back_on_its_old_address(kafka_cluster: RealKafka, ending: str) -> None:
    getattr(kafka_cluster, ending)(2)
    kafka_cluster.restart(2)
    for address in parse_bootstrap(kafka_cluster.bootstrap):
        with Probe(address) as probe:
            brokers = probe.ask(MetadataRequest(topics=())).brokers
        assert {broker.node_id for broker in brokers} == {1, 2, 3}
    all_groups_are_served(kafka_cluster)


def test_a_new_topic_is_empty_and_known_to_every_broker(kafka_cluster: RealKafka) -> None:
    create_topic(kafka_cluster.bootstrap, "supply-new", 5, settings={"retention.ms": "60000"})
    for address in kafka_cluster.bootstrap.split(","):
        bounds = read_bounds(address, ["supply-new"])
        assert bounds == {TopicPartition("supply-new", p): (0, 0) for p in range(5)}


def test_a_topic_that_exists_is_not_made_again(kafka: RealKafka) -> None:
    create_topic(kafka.bootstrap, "supply-twice", 1)
    with pytest.raises(BrokerError, match="TOPIC_ALREADY_EXISTS"):
        create_topic(kafka.bootstrap, "supply-twice", 1)


def test_a_topic_that_does_not_exist_has_no_bounds_and_is_not_made(kafka: RealKafka) -> None:
    for _ in range(2):
        with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            read_bounds(kafka.bootstrap, ["supply-unknown"])


# -- acls -----------------------------------------------------------------------------------------
#
# Rules of access on a secured Kafka: when a broker carries out what was added or removed.


async def test_a_rule_that_was_added_stands_soon_and_one_that_was_removed_no_more(
    kafka_secure: RealKafka,
) -> None:
    bootstrap, name = kafka_secure.bootstrap, fresh("group")
    denial = Acl("alice", AclResource.GROUP, name, AclOperation.READ, allowed=False)
    grant = Acl("alice", AclResource.GROUP, name, AclOperation.READ)
    assert not acls_stand(bootstrap, denial)
    add_acls(bootstrap, denial)
    await eventually(lambda: acls_stand(bootstrap, denial), "the rule stands")
    assert not acls_stand(bootstrap, denial, grant)
    remove_acls(bootstrap, denial)
    await eventually(lambda: not acls_stand(bootstrap, denial), "it stands no more")
