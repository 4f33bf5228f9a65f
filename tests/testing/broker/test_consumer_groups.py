"""Groups of KIP-848, message by message: what a recording does not show."""

from kgroup.codes import ErrorCode
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    AlterableConfig,
    AlterConfigsResource,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DeleteGroupsRequest,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    IncrementalAlterConfigsRequest,
    ListGroupsRequest,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.testing.broker.table import SESSION, Table

_GROUP = 32


def text(answer: ConsumerGroupHeartbeatResponse) -> tuple[int, str]:
    return answer.error_code, answer.error_message or ""


def test_uniform_moves_no_more_than_it_must() -> None:
    table = Table()
    table.join("a")
    table.join("b")
    table.settle("a", "b")
    assert (table.numbers("a"), table.numbers("b")) == ([0, 1], [2, 3])
    table.join("c")
    table.settle("a", "b", "c")
    assert (table.numbers("a"), table.numbers("b"), table.numbers("c")) == ([0], [2, 3], [1])


def test_uniform_shares_among_those_who_ask() -> None:
    table = Table({"t": 2, "u": 4})
    table.join("a", "t", "u")
    table.join("b", "u")
    table.settle("a", "b")
    assert {tp.topic for tp in table.has["b"]} == {"u"}
    assert (len(table.has["a"]), len(table.has["b"])) == (3, 3)


def test_range_gives_neighbours_topic_by_topic() -> None:
    table = Table({"t": 3, "u": 3})
    for member in ("b", "a"):
        table.join(member, "t", "u", server_assignor="range")
    table.settle("a", "b")
    assert table.has["a"] == {TopicPartition(topic, n) for topic in "tu" for n in (0, 1)}
    assert table.has["b"] == {TopicPartition(topic, 2) for topic in "tu"}


def test_a_session_ends_and_the_others_take_over() -> None:
    table = Table()
    table.join("a")
    table.join("b")
    table.settle("a", "b")
    for _ in range(3):
        table.raw.run(SESSION / 2)
        table.own("b")
    table.settle("b")
    assert table.numbers("b") == [0, 1, 2, 3]
    assert table.own("a").error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_has_its_own_session_and_heartbeats() -> None:
    table = Table()
    rows = (("consumer.session.timeout.ms", "7000"), ("consumer.heartbeat.interval.ms", "400"))
    changes = tuple(
        AlterableConfig(name=name, config_operation=0, value=value) for name, value in rows
    )
    resource = AlterConfigsResource(resource_type=_GROUP, resource_name="g", configs=changes)
    request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    assert table.raw.ask(1, request).now.responses[0].error_code == 0
    asked = DescribeConfigsResource(
        resource_type=_GROUP, resource_name="g", configuration_keys=None
    )
    told = table.raw.ask(1, DescribeConfigsRequest(resources=(asked,))).now.results[0]
    assert {row.name: row.value for row in told.configs} == dict(sorted(rows))
    assert table.join("a").heartbeat_interval_ms == 400
    table.raw.run(7.1)
    assert table.own("a").error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_topic_that_grows_is_divided_anew() -> None:
    table = Table()
    table.join("a")
    table.own("a")
    table.raw.core.cluster.add_partitions("t", 6)
    table.settle("a")
    assert table.numbers("a") == [0, 1, 2, 3, 4, 5]


def test_a_pattern_is_matched_by_the_coordinator() -> None:
    table = Table({"t-a": 1, "u": 1})
    table.join("a", subscribed_topic_names=None, subscribed_topic_regex="t-.*")
    table.own("a")
    table.raw.core.cluster.create_topic("t-b", 1)
    table.settle("a")
    assert {tp.topic for tp in table.has["a"]} == {"t-a", "t-b"}


def test_a_pattern_that_is_none_is_refused() -> None:
    answer = Table().join("a", subscribed_topic_names=None, subscribed_topic_regex="[")
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_a_full_group_turns_newcomers_away() -> None:
    table = Table(consumer_max_size=1)
    table.join("a")
    assert table.join("b").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert table.join("a").error_code == 0


def test_a_static_member_comes_back_to_what_it_had() -> None:
    table = Table()
    table.join("a", instance_id="one")
    table.join("b")
    table.settle("a", "b")
    had = table.has["a"]
    table.beat("a", member_epoch=-2, instance_id="one")
    table.join("c", instance_id="one")
    assert table.has["c"] == had
    assert table.numbers("b") == [2, 3]


def test_a_move_of_the_coordinator_loses_nothing_and_begins_sessions_anew() -> None:
    table = Table(nodes=2)
    table.join("a")
    table.own("a")
    table.raw.run(SESSION - 1)
    tp = TopicPartition("__consumer_offsets", table.raw.core.coordinators.shard_of("g").partition)
    before = table.node
    table.raw.core.cluster.elect(tp, 3 - before)
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id="a", member_epoch=2)
    assert table.raw.ask(before, request).now.error_code == ErrorCode.NOT_COORDINATOR
    table.raw.run(SESSION - 1)
    assert table.own("a").error_code == 0
    assert table.numbers("a") == [0, 1, 2, 3]


def test_administrators_see_the_group_and_cannot_delete_it_while_it_has_members() -> None:
    table = Table()
    table.join("a")
    describe = ConsumerGroupDescribeRequest(group_ids=("g",), include_authorized_operations=False)
    (listed,) = table.raw.ask(table.node, ListGroupsRequest(types_filter=("consumer",))).now.groups
    assert (listed.group_type, listed.group_state) == ("consumer", "Stable")
    (described,) = table.raw.ask(table.node, describe).now.groups
    assert [each.member_id for each in described.members] == ["a"]
    topics = (
        OffsetDeleteRequestTopic(
            name="t", partitions=(OffsetDeleteRequestPartition(partition_index=0),)
        ),
    )
    kept = table.raw.ask(table.node, OffsetDeleteRequest(group_id="g", topics=topics)).now
    assert kept.topics[0].partitions[0].error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    delete = DeleteGroupsRequest(groups_names=("g",))
    assert table.raw.ask(table.node, delete).now.results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    table.beat("a", member_epoch=-1)
    assert table.raw.ask(table.node, delete).now.results[0].error_code == 0
    (described,) = table.raw.ask(table.node, describe).now.groups
    assert described.error_code == ErrorCode.GROUP_ID_NOT_FOUND
