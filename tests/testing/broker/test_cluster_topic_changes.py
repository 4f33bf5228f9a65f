"""How topics of an in-process cluster get wider and end, and how both are refused."""

from collections.abc import Iterable

import pytest

from kgroup.codes import ErrorCode
from kgroup.wire.messages import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kgroup.wire.schema import decode, encode
from tests.testing.broker.clusters import NO_ID, all_topics, by_id, create, named, wanted
from tests.testing.broker.driver import Raw, asking

UNKNOWN = "This server does not host this topic-partition."


def widen(
    raw: Raw,
    name: str,
    count: int,
    by_hand: Iterable[tuple[int, ...]] | None = None,
    *,
    validate_only: bool = False,
) -> CreatePartitionsTopicResult:
    """Ask for one topic to be made wider."""
    rows = None
    if by_hand is not None:
        rows = tuple(CreatePartitionsAssignment(broker_ids=nodes) for nodes in by_hand)
    topic = CreatePartitionsTopic(name=name, count=count, assignments=rows)
    request = CreatePartitionsRequest(topics=(topic,), timeout_ms=1, validate_only=validate_only)
    return raw.ask(1, request).now.results[0]


def delete(raw: Raw, *states: DeleteTopicState) -> list[tuple[str | None, int, str | None]]:
    """Ask for topics to be deleted; returns name, code and text of each."""
    answer = raw.ask(1, DeleteTopicsRequest(topics=states, timeout_ms=1), version=6).now
    return [(row.name, row.error_code, row.error_message) for row in answer.responses]


def called(name: str | None, topic_id: bytes = NO_ID) -> DeleteTopicState:
    """Name a topic that shall be deleted."""
    return DeleteTopicState(name=name, topic_id=topic_id)


# -- CreatePartitions --------------------------------------------------------------------------


def test_a_topic_can_get_more_partitions() -> None:
    raw = asking(nodes=3)
    create(raw, wanted("a", 1, 2))
    assert widen(raw, "a", 3).error_code == ErrorCode.NONE
    described = named(raw, "a").topics[0].partitions
    assert [each.replica_nodes for each in described] == [(1, 2), (2, 3), (3, 1)]


def test_new_partitions_can_be_placed_by_hand() -> None:
    raw = asking(nodes=3)
    create(raw, wanted("a", 1, 1))
    assert widen(raw, "a", 2, [(3,)]).error_code == ErrorCode.NONE
    assert named(raw, "a").topics[0].partitions[1].leader_id == 3


def test_validation_alone_adds_no_partition() -> None:
    raw = asking()
    create(raw, wanted("a", 1))
    assert widen(raw, "a", 2, validate_only=True).error_code == ErrorCode.NONE
    assert len(named(raw, "a").topics[0].partitions) == 1


@pytest.mark.parametrize(
    ("name", "count", "by_hand", "code", "text"),
    [
        ("b", 9, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None),
        ("a", 2, None, ErrorCode.INVALID_PARTITIONS, "Topic already has 2 partition(s)."),
        (
            "a",
            1,
            None,
            ErrorCode.INVALID_PARTITIONS,
            "The topic a currently has 2 partition(s); 1 would not be an increase.",
        ),
        (
            "a",
            4,
            [(1, 2)],
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        (
            "a",
            3,
            [(1,)],
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            (
                "The manual partition assignment includes a partition with 1 replica(s), but this "
                "is not consistent with previous partitions, which have 2 replica(s)."
            ),
        ),
        (
            "__consumer_offsets",
            9,
            None,
            ErrorCode.INVALID_REQUEST,
            "Internal topic __consumer_offsets cannot get more partitions here.",
        ),
    ],
)
def test_more_partitions_are_refused_in_the_words_of_real_controllers(
    name: str,
    count: int,
    by_hand: list[tuple[int, ...]] | None,
    code: ErrorCode,
    text: str | None,
) -> None:
    raw = asking(nodes=2)
    create(raw, wanted("a", 2))
    row = widen(raw, name, count, by_hand)
    assert (row.error_code, row.error_message) == (code, text)
    assert len(named(raw, "a").topics[0].partitions) == 2


def test_a_topic_named_twice_gets_no_partitions() -> None:
    raw = asking()
    create(raw, wanted("a"))
    row = CreatePartitionsTopic(name="a", count=2, assignments=None)
    request = CreatePartitionsRequest(topics=(row, row), timeout_ms=1, validate_only=False)
    results = raw.ask(1, request).now.results
    assert [(each.name, each.error_code) for each in results] == [("a", ErrorCode.INVALID_REQUEST)]


# -- DeleteTopics ------------------------------------------------------------------------------


def test_topics_are_deleted_by_name_and_by_id() -> None:
    raw = asking()
    create(raw, wanted("a"), wanted("b"))
    topic_id = named(raw, "b").topics[0].topic_id
    assert delete(raw, called("a"), called(None, topic_id)) == [("a", 0, None), ("b", 0, None)]
    assert list(all_topics(raw)) == ["__consumer_offsets"]
    assert by_id(raw, topic_id).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_older_clients_delete_by_a_list_of_names() -> None:
    raw = asking()
    create(raw, wanted("a"))
    request = DeleteTopicsRequest(topic_names=("a", "b"), timeout_ms=1)
    answer = raw.ask(1, request, version=5).now
    again = decode(DeleteTopicsResponse, 5, encode(answer, 5))
    rows = [(row.name, row.error_code, row.error_message) for row in again.responses]
    assert rows == [("a", 0, None), ("b", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN)]


@pytest.mark.parametrize(
    ("state", "code", "text"),
    [
        (called("b"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN),
        (
            called(None, b"x" * 16),
            ErrorCode.UNKNOWN_TOPIC_ID,
            "This server does not host this topic ID.",
        ),
        (
            called(None),
            ErrorCode.INVALID_REQUEST,
            "Neither topic name nor id were specified.",
        ),
        (
            called("a", b"x" * 16),
            ErrorCode.INVALID_REQUEST,
            "You may not specify both topic name and topic id.",
        ),
        (
            called("__consumer_offsets"),
            ErrorCode.INVALID_REQUEST,
            "Deletion of internal topic __consumer_offsets is prohibited.",
        ),
    ],
)
def test_deletions_are_refused_in_the_words_of_real_controllers(
    state: DeleteTopicState, code: ErrorCode, text: str
) -> None:
    raw = asking()
    create(raw, wanted("a"))
    assert delete(raw, state) == [(state.name, code, text)]
    assert list(all_topics(raw)) == ["__consumer_offsets", "a"]


def test_a_topic_named_twice_in_one_request_stays() -> None:
    raw = asking()
    create(raw, wanted("a"))
    topic_id = named(raw, "a").topics[0].topic_id
    assert delete(raw, called("a"), called("a")) == [
        ("a", ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    ]
    twice = delete(raw, called("a"), called(None, topic_id))
    assert {code for _, code, _ in twice} == {ErrorCode.INVALID_REQUEST}
    assert "a" in all_topics(raw)
