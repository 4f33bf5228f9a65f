"""Leaders and coordinators when brokers of an in-process cluster die, stop and come back."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.cluster.cluster import OFFSETS_TOPIC, Topic
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    MetadataRequest,
)
from kgroup.wire.schema import encode
from tests.testing.broker.clusters import coordinator, named, partition
from tests.testing.broker.driver import Call, Raw, asking


def places(raw: Raw, topic: str = "a") -> list[tuple[int | None, int, tuple[int, ...]]]:
    """Return leader, epoch and replicas in sync of each partition."""
    found = raw.core.cluster.topic(topic)
    assert found is not None
    return [(each.leader, each.epoch, each.isr) for each in found.partitions]


def parked_join(raw: Raw, node: int, group: str) -> Call[JoinGroupResponse]:
    """Let one member hold a group's first round open, and return its parked JoinGroup."""
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=(JoinGroupRequestProtocol(name="range", metadata=b""),),
    )
    return raw.ask(node, request, version=3)


# -- brokers that go ---------------------------------------------------------------------------


def test_without_delay_a_killed_brokers_partitions_have_other_leaders_at_once() -> None:
    raw = asking(nodes=3)
    raw.core.cluster.create_topic("a", 3)
    raw.core.cluster.kill(1)
    assert places(raw) == [(2, 1, (2, 3)), (2, 0, (2, 3)), (3, 0, (3, 2))]


def test_a_stopped_broker_hands_over_at_once_whatever_the_delay() -> None:
    raw = asking(nodes=3, settings=BrokerSettings(election_delay=9.0))
    raw.core.cluster.create_topic("a")
    raw.core.cluster.stop(1)
    assert places(raw) == [(2, 1, (2, 3))]


def test_a_killed_broker_closes_connections_instead_of_answering() -> None:
    raw = asking(nodes=2)
    raw.core.cluster.kill(1)
    assert raw.ask(1, MetadataRequest(topics=None)).hung_up
    assert not raw.ask(2, MetadataRequest(topics=None)).hung_up


def test_the_last_replica_stays_in_sync_without_a_leader() -> None:
    raw = asking(nodes=2)
    raw.core.cluster.create_topic("a")
    raw.core.cluster.kill(1)
    raw.core.cluster.kill(2)
    assert places(raw) == [(None, 2, (2,))]


def test_a_replica_that_missed_records_does_not_lead_when_it_comes_back_first() -> None:
    raw = asking(nodes=2)
    raw.core.cluster.create_topic("a")
    raw.core.cluster.kill(1)
    raw.core.cluster.kill(2)
    raw.core.cluster.start(1)
    assert places(raw) == [(None, 2, (2,))]
    raw.core.cluster.start(2)
    assert places(raw) == [(2, 3, (2,))]


def test_a_broker_that_comes_back_follows() -> None:
    raw = asking(nodes=2)
    raw.core.cluster.create_topic("a")
    raw.core.cluster.stop(1)
    raw.core.cluster.start(1)
    assert places(raw) == [(2, 1, (2, 1))]
    assert [row.node_id for row in named(raw).brokers] == [1, 2]


def test_a_broker_that_restarts_before_anybody_noticed_has_lost_its_partitions() -> None:
    raw = asking(nodes=2, settings=BrokerSettings(election_delay=9.0))
    raw.core.cluster.create_topic("a")
    raw.core.cluster.kill(1)
    raw.run(1.0)
    raw.core.cluster.start(1)
    assert places(raw) == [(2, 1, (2, 1))]
    raw.run(20.0)
    assert places(raw) == [(2, 1, (2, 1))]


def test_killing_starting_and_stopping_twice_changes_nothing() -> None:
    raw = asking(nodes=2)
    raw.core.cluster.create_topic("a")
    for verb in (raw.core.cluster.kill, raw.core.cluster.start, raw.core.cluster.stop):
        verb(2)
        before = places(raw)
        verb(2)
        assert places(raw) == before


def test_an_election_may_choose_a_dead_broker_before_its_death_is_noticed() -> None:
    raw = asking(nodes=3, settings=BrokerSettings(election_delay=9.0))
    raw.core.cluster.create_topic("a")
    raw.core.cluster.kill(1)
    raw.run(4.0)
    raw.core.cluster.kill(2)
    raw.run(5.0)
    assert places(raw) == [(2, 1, (2, 3))]
    raw.run(4.0)
    assert places(raw) == [(3, 2, (3,))]


def test_listeners_hear_of_leaders_and_of_brokers_that_are_down() -> None:
    raw = asking(nodes=2)
    raw.core.cluster.create_topic("a")
    led: list[TopicPartition] = []
    down: list[int] = []
    raw.core.cluster.on_leader_changed.append(lambda each: led.append(each.tp))
    raw.core.cluster.on_node_down.append(down.append)
    raw.core.cluster.kill(1)
    assert TopicPartition("a", 0) in led
    assert down == [1]


# -- leaders by hand ---------------------------------------------------------------------------


def test_a_leader_can_be_chosen() -> None:
    raw = asking(nodes=3)
    raw.core.cluster.create_topic("a")
    rings: list[str] = []
    partition(raw, "a").log.bell.listen(1, lambda: rings.append("a"))
    raw.core.cluster.elect(TopicPartition("a", 0), 3)
    assert places(raw) == [(3, 1, (1, 2, 3))]
    assert rings


def test_a_partition_can_be_left_without_a_leader() -> None:
    raw = asking()
    raw.core.cluster.create_topic("a")
    rings: list[str] = []
    partition(raw, "a").log.bell.listen(1, lambda: rings.append("a"))
    raw.core.cluster.elect(TopicPartition("a", 0), None)
    assert places(raw) == [(None, 1, (1,))]
    assert rings
    raw.core.cluster.elect(TopicPartition("a", 0), 1)
    assert places(raw) == [(1, 2, (1,))]


def test_a_leaders_epoch_is_known_before_its_first_record() -> None:
    raw = asking(nodes=2)
    raw.core.cluster.create_topic("a")
    log = partition(raw, "a").log
    assert log.end_of_epoch(0) == (0, 0)
    assert log.end_of_epoch(1) is None
    raw.core.cluster.elect(TopicPartition("a", 0), 2)
    assert log.end_of_epoch(1) == (1, 0)


def test_a_broker_without_a_replica_takes_the_former_leaders_place() -> None:
    raw = asking(nodes=4)
    raw.core.cluster.create_topic("a")
    raw.core.cluster.elect(TopicPartition("a", 0), 4)
    assert places(raw) == [(4, 1, (2, 3, 4))]
    assert partition(raw, "a").replicas == (4, 2, 3)


@pytest.mark.parametrize(
    ("tp", "node", "text"),
    [
        (TopicPartition("a", 1), 1, "no partition a-1"),
        (TopicPartition("a", 0), 9, "no broker 9; there are"),
        (TopicPartition("a", 0), 2, "broker 2 is down"),
    ],
)
def test_an_impossible_leader_is_refused(tp: TopicPartition, node: int, text: str) -> None:
    raw = asking(nodes=2)
    raw.core.cluster.create_topic("a")
    raw.core.cluster.kill(2)
    with pytest.raises(ValueError, match=text):
        raw.core.cluster.elect(tp, node)


# -- coordinators ------------------------------------------------------------------------------


def test_the_leader_of_a_groups_partition_is_its_coordinator() -> None:
    raw = asking(nodes=3)
    shard = raw.core.coordinators.shard_of("g")
    led = partition(raw, OFFSETS_TOPIC, shard.partition)
    assert coordinator(raw, "g") == (ErrorCode.NONE, led.leader)
    raw.core.cluster.elect(led.tp, 3)
    assert coordinator(raw, "g") == (ErrorCode.NONE, 3)
    codes = [
        raw.ask(node, HeartbeatRequest(group_id="g", generation_id=1, member_id="m")).now.error_code
        for node in (1, 2, 3)
    ]
    assert codes == [ErrorCode.NOT_COORDINATOR] * 2 + [ErrorCode.UNKNOWN_MEMBER_ID]


def test_a_dead_coordinator_is_named_until_the_election_and_the_others_answer_16() -> None:
    raw = asking(nodes=2, settings=BrokerSettings(election_delay=3.0, load_time=0.5))
    _, home = coordinator(raw, "g")
    other = 3 - home
    raw.core.cluster.kill(home)
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert coordinator(raw, "g") == (ErrorCode.NONE, home)
    assert raw.ask(other, beat).now.error_code == ErrorCode.NOT_COORDINATOR
    raw.run(3.0)
    assert coordinator(raw, "g") == (ErrorCode.NONE, other)
    loading = parked_join(raw, other, "g").now.error_code
    assert loading == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    raw.run(0.5)
    assert raw.ask(other, beat).now.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_coordinator_that_dies_while_it_loads_leaves_the_whole_load_to_the_next() -> None:
    raw = asking(nodes=3, settings=BrokerSettings(load_time=1.0))
    _, first = coordinator(raw, "g")
    raw.core.cluster.kill(first)
    raw.run(0.5)
    _, second = coordinator(raw, "g")
    raw.core.cluster.kill(second)
    _, third = coordinator(raw, "g")
    raw.run(0.75)
    code = parked_join(raw, third, "g").now.error_code
    assert code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    raw.run(0.25)
    assert parked_join(raw, third, "g").parked


def test_what_a_coordinator_had_in_memory_dies_with_it_not_with_the_election() -> None:
    raw = asking(nodes=2, settings=BrokerSettings(election_delay=60.0))
    _, home = coordinator(raw, "g")
    parked_join(raw, home, "g")
    shard = raw.core.coordinators.shard_of("g")
    assert "g" in shard.groups
    raw.core.cluster.kill(home)
    assert not shard.groups


def test_a_group_without_any_broker_has_no_coordinator() -> None:
    raw = asking(nodes=2)
    shard = raw.core.coordinators.shard_of("g")
    raw.core.cluster.elect(TopicPartition(OFFSETS_TOPIC, shard.partition), None)
    assert coordinator(raw, "g") == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)


def test_the_coordinator_of_a_new_cluster_is_not_available_until_its_topic_is_made() -> None:
    raw = asking(settings=BrokerSettings(offsets_topic_creation=1.0, load_time=0.25))
    raw.run(5.0)
    assert coordinator(raw, "g") == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    raw.run(0.5)
    assert coordinator(raw, "g") == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    raw.run(0.5)
    assert coordinator(raw, "g") == (ErrorCode.NONE, 1)
    loading = parked_join(raw, 1, "g").now.error_code
    assert loading == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_an_internal_topic_that_found_no_broker_is_made_at_the_next_request() -> None:
    raw = asking(settings=BrokerSettings(offsets_topic_creation=1.0))
    coordinator(raw, "g")
    raw.core.cluster.kill(1)
    raw.run(1.0)
    raw.core.cluster.start(1)
    assert coordinator(raw, "g") == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    raw.run(1.0)
    assert coordinator(raw, "g") == (ErrorCode.NONE, 1)


@pytest.mark.parametrize("version", [1, 3, 4, 6])
def test_an_unknown_kind_of_key_is_refused(version: int) -> None:
    keys = {"coordinator_keys": ("g",)} if version > 3 else {"key": "g"}
    answer = asking().ask(1, FindCoordinatorRequest(key_type=7, **keys), version=version).now
    row = answer.coordinators[0] if version > 3 else answer
    assert (row.error_code, row.node_id, row.host, row.port) == (42, -1, "", -1)
    assert (row.error_message or "").startswith("This most likely occurs because of a request")
    assert encode(answer, version)


# -- copies ------------------------------------------------------------------------------------


def test_listeners_hear_of_deleted_topics() -> None:
    raw = asking()
    made = raw.core.cluster.create_topic("a")
    gone: list[Topic] = []
    rings: list[str] = []
    raw.core.cluster.on_topic_deleted.append(gone.append)
    made.partitions[0].log.bell.listen(1, lambda: rings.append("a"))
    raw.core.cluster.delete_topic("a")
    assert gone == [made]
    assert rings == ["a"]
    find = raw.core.cluster.find
    assert find("a", bytes(16), 0) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert find("", made.topic_id, 0) is ErrorCode.UNKNOWN_TOPIC_ID
