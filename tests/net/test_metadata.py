"""What a metadata answer changes in a view, and what of it is not believed."""

from typing import Any

import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import DecodeError
from kgroup.net.metadata import (
    EMPTY_VIEW,
    ClusterView,
    Lack,
    lacking,
    merge_brokers,
    merge_metadata,
)
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ID_1, ID_2 = b"1" * 16, b"2" * 16
TP = TopicPartition("t", 0)


def broker(node_id: int = 1, **given: Any) -> MetadataResponseBroker:
    return MetadataResponseBroker(
        **{"node_id": node_id, "host": f"b{node_id}", "port": 9092, **given}
    )


def partition(index: int = 0, leader: int = 1, epoch: int = 5, **given: Any):
    row = {
        "partition_index": index,
        "leader_id": leader,
        "leader_epoch": epoch,
        "replica_nodes": (1, 2),
        "isr_nodes": (1,),
        **given,
    }
    return MetadataResponsePartition(**row)


def topic(*rows: MetadataResponsePartition, **given: Any) -> MetadataResponseTopic:
    return MetadataResponseTopic(**{"name": "t", "topic_id": ID_1, "partitions": rows, **given})


def answer(*topics: MetadataResponseTopic, **given: Any) -> MetadataResponse:
    return MetadataResponse(**{"brokers": (broker(1), broker(2)), "topics": topics, **given})


def merged(old: ClusterView, *topics: MetadataResponseTopic, **given: Any) -> ClusterView:
    return merge_metadata(old, answer(*topics, **given))[0]


KNOWN = merged(EMPTY_VIEW, topic(partition(0, leader=2, epoch=5), partition(1)))


def test_the_first_answer_is_the_view() -> None:
    found = KNOWN.partition(TP)
    assert found is not None
    assert (found.leader, found.leader_epoch, found.replicas) == (2, 5, (1, 2))
    assert KNOWN.partitions_of("t") == (TP, TopicPartition("t", 1))
    assert KNOWN.topic_id("t") == ID_1


def test_an_unknown_partition_or_topic_is_none() -> None:
    assert KNOWN.partition(TopicPartition("t", 9)) is None
    assert KNOWN.leader(TopicPartition("x", 0)) is None
    assert KNOWN.partitions_of("x") == ()
    assert KNOWN.topic_named(ID_2) is None


def test_an_older_epoch_does_not_replace_a_newer_one() -> None:
    assert merged(KNOWN, topic(partition(0, leader=1, epoch=4), partition(1))).leader(TP) == 2


def test_an_equal_or_newer_epoch_replaces() -> None:
    for epoch in (5, 6):
        assert merged(KNOWN, topic(partition(0, leader=1, epoch=epoch))).leader(TP) == 1


def test_an_answer_without_epochs_is_believed() -> None:
    assert merged(KNOWN, topic(partition(0, leader=1, epoch=-1))).leader(TP) == 1


def test_a_topic_made_anew_begins_with_any_epoch() -> None:
    view = merged(KNOWN, topic(partition(0, leader=1, epoch=0), topic_id=ID_2))
    assert view.leader(TP) == 1
    assert view.topic_id("t") == ID_2


def test_another_cluster_begins_with_any_epoch() -> None:
    old = merged(EMPTY_VIEW, topic(partition(0, leader=2, epoch=5)), cluster_id="a")
    view = merged(old, topic(partition(0, leader=1, epoch=0)), cluster_id="b")
    assert view.leader(TP) == 1


def test_an_equal_answer_returns_the_old_view_itself() -> None:
    again = merged(KNOWN, topic(partition(0, leader=2, epoch=5), partition(1)))
    assert again is KNOWN


def test_a_topic_that_is_not_answered_is_forgotten() -> None:
    assert not merged(KNOWN).topics


def test_a_leader_that_no_broker_is_leads_nothing() -> None:
    assert merged(EMPTY_VIEW, topic(partition(leader=9))).leader(TP) is None


def test_a_topic_of_which_a_broker_wants_all_to_begin_anew_keeps_what_was_known() -> None:
    """Only a whole answer can ask that; a topic was forgotten for as long as metadata is good."""
    view = merged(KNOWN, topic(error_code=ErrorCode.REBOOTSTRAP_REQUIRED))
    assert view.topics["t"].partitions == KNOWN.topics["t"].partitions
    assert lacking(view, frozenset({"t"})) is Lack.LEADER


def test_a_topic_whose_error_says_nothing_is_taken_as_it_is() -> None:
    view = merged(KNOWN, topic(partition(epoch=6), error_code=ErrorCode.REPLICA_NOT_AVAILABLE))
    assert view.leader_epoch(TP) == 6
    assert view.topics["t"].error == 0


@pytest.mark.parametrize("code", [ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.UNKNOWN_SERVER_ERROR])
def test_an_error_that_says_nothing_about_the_topic_keeps_what_was_known(code: int) -> None:
    view = merged(KNOWN, topic(error_code=code))
    assert view.topics["t"].error == code
    assert not view.topics["t"].is_refused
    assert view.leader(TP) == 2


@pytest.mark.parametrize(
    "code", [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.TOPIC_AUTHORIZATION_FAILED]
)
def test_a_topic_that_is_gone_or_hidden_keeps_its_error_and_nothing_else(code: int) -> None:
    view = merged(KNOWN, topic(error_code=code))
    assert view.topics["t"].error == code
    assert not view.partitions_of("t")


def test_a_partition_keeps_its_own_error() -> None:
    code = ErrorCode.REPLICA_NOT_AVAILABLE
    found = merged(EMPTY_VIEW, topic(partition(error_code=code))).partition(TP)
    assert found is not None
    assert found.error == code


def test_racks_of_replicas_come_from_their_brokers() -> None:
    brokers = (broker(1, rack="a"), broker(2))
    assert merged(EMPTY_VIEW, topic(partition()), brokers=brokers).replica_racks(TP) == {"a"}


# -- what is not believed (N12) ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (broker(2, port=0), "port 0"),
        (broker(2, port=70_000), "port 70000"),
        (broker(2, host=""), "the host is empty"),
    ],
)
def test_an_impossible_broker_leaves_the_one_known_before(
    row: MetadataResponseBroker, words: str
) -> None:
    view, rejected = merge_metadata(KNOWN, answer(brokers=(broker(1), row)))
    assert view.brokers[2].endpoint == KNOWN.brokers[2].endpoint
    assert words in rejected[0]


def test_a_node_id_given_twice_leaves_the_broker_known_before() -> None:
    rows = (broker(1), broker(2, host="x"), broker(2, host="y"))
    view, rejected = merge_metadata(KNOWN, answer(brokers=rows))
    assert view.brokers[2].endpoint.host == "b2"
    assert len(rejected) == 2


def test_an_impossible_broker_nobody_knew_is_left_out() -> None:
    view, _ = merge_metadata(EMPTY_VIEW, answer(brokers=(broker(1), broker(-3))))
    assert list(view.brokers) == [1]


@pytest.mark.parametrize("rows", [(), (broker(1, port=0),), (broker(),) * 100_001])
def test_an_answer_without_usable_brokers_is_refused_whole(
    rows: tuple[MetadataResponseBroker, ...],
) -> None:
    with pytest.raises(DecodeError, match="broker"):
        merge_metadata(EMPTY_VIEW, answer(brokers=rows))


@pytest.mark.parametrize(
    "rows",
    [
        (partition(0, leader=1, epoch=9), partition(0, leader=1, epoch=9)),
        (partition(0, leader=-2, epoch=9),),
    ],
)
def test_an_impossible_partition_leaves_the_one_known_before(
    rows: tuple[MetadataResponsePartition, ...],
) -> None:
    view, rejected = merge_metadata(KNOWN, answer(topic(*rows)))
    assert view.leader(TP) == 2
    assert rejected


def test_a_negative_partition_is_left_out() -> None:
    view, rejected = merge_metadata(EMPTY_VIEW, answer(topic(partition(-1), partition(0))))
    assert view.partitions_of("t") == (TP,)
    assert rejected == ("partition t--1: the number is negative",)


def test_a_topic_given_twice_leaves_the_one_known_before() -> None:
    view, rejected = merge_metadata(KNOWN, answer(topic(), topic(topic_id=ID_2)))
    assert view.topics["t"] == KNOWN.topics["t"]
    assert len(rejected) == 2


def test_a_topic_without_a_name_is_left_out() -> None:
    view, rejected = merge_metadata(EMPTY_VIEW, answer(topic(name=None)))
    assert not view.topics
    assert rejected == ("topic None: named not at all",)


# -- what is missing -----------------------------------------------------------------------------


def test_a_missing_topic_and_a_missing_leader_are_distinguished() -> None:
    watched = frozenset({"t"})
    gone = topic(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    late = topic(error_code=ErrorCode.LEADER_NOT_AVAILABLE)
    assert lacking(KNOWN, watched) is Lack.NOTHING
    assert lacking(EMPTY_VIEW, watched) is Lack.TOPIC
    assert lacking(merged(EMPTY_VIEW, gone), watched) is Lack.TOPIC
    assert lacking(merged(EMPTY_VIEW, topic(partition(leader=-1))), watched) is Lack.LEADER
    assert lacking(merged(EMPTY_VIEW, late), watched) is Lack.LEADER


def test_a_missing_leader_is_more_urgent_than_a_missing_topic() -> None:
    leaderless = merged(EMPTY_VIEW, topic(partition(leader=-1)))
    for watched in (frozenset({"a", "t"}), frozenset({"t", "z"})):
        assert lacking(leaderless, watched) is Lack.LEADER


def test_a_topic_that_may_not_be_seen_is_missing_until_that_is_granted() -> None:
    hidden = topic(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert lacking(merged(EMPTY_VIEW, hidden), frozenset({"t"})) is Lack.TOPIC


def test_a_name_that_cannot_be_a_topic_is_not_waited_for() -> None:
    impossible = topic(error_code=ErrorCode.INVALID_TOPIC_EXCEPTION)
    assert lacking(merged(EMPTY_VIEW, impossible), frozenset({"t"})) is Lack.NOTHING


def test_what_is_not_watched_is_not_missing() -> None:
    leaderless = merged(EMPTY_VIEW, topic(partition(leader=-1)))
    assert lacking(leaderless, frozenset()) is Lack.NOTHING
    assert lacking(leaderless, None) is Lack.LEADER


def test_a_view_says_what_it_was_asked_for() -> None:
    everything, _ = merge_metadata(KNOWN, answer(topic(partition(0))), None)
    assert everything.asked is None
    again, _ = merge_metadata(everything, answer(topic(partition(0))), frozenset({"t"}))
    assert again is not everything


def test_a_topic_without_partitions_is_uncertain_only_while_the_brokers_cannot_say() -> None:
    late = merged(EMPTY_VIEW, topic(error_code=ErrorCode.LEADER_NOT_AVAILABLE))
    gone = merged(EMPTY_VIEW, topic(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    before = merged(KNOWN, topic(error_code=ErrorCode.LEADER_NOT_AVAILABLE))
    assert [view.topics["t"].is_uncertain for view in (late, gone, before)] == [True, False, False]
    assert [view.topics["t"].is_gone for view in (late, gone, before)] == [False, True, False]


def test_a_partition_is_gone_when_the_brokers_said_so_and_not_when_nobody_asked() -> None:
    gone = merged(EMPTY_VIEW, topic(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    everything, _ = merge_metadata(EMPTY_VIEW, answer(), None)
    vague = merged(EMPTY_VIEW, topic(error_code=ErrorCode.LEADER_NOT_AVAILABLE))
    assert gone.is_gone(TP)
    assert everything.is_gone(TP)
    assert KNOWN.is_gone(TopicPartition("t", 2))
    assert not any(view.is_gone(TP) for view in (EMPTY_VIEW, KNOWN, vague))


def test_merging_brokers_keeps_the_topics() -> None:
    other = merged(EMPTY_VIEW, brokers=(broker(7),))
    view = merge_brokers(KNOWN, other)
    assert list(view.brokers) == [7]
    assert view.topics == KNOWN.topics
    assert merge_brokers(view, other) is view
