"""The topics of a subscription, for different views of the cluster."""

from dataclasses import replace

import pytest

from kgroup.backends.topics import SubscribedTopics, to_watch
from kgroup.codes import ErrorCode
from kgroup.net.metadata import EMPTY_VIEW, ClusterView, PartitionInfo, TopicInfo
from kgroup.types import Subscription, TopicPartition

ONE = {0: PartitionInfo(leader=1)}


def view_of(*names: str, asked: frozenset[str] | None = None) -> ClusterView:
    topics = {
        name: TopicInfo(None, ONE, is_internal=name.startswith("__consumer")) for name in names
    }
    return ClusterView(topics=topics, asked=asked)


def found(view: ClusterView, *, exclude_internal: bool = True, **asked: str) -> set[str] | None:
    topics = SubscribedTopics(exclude_internal=exclude_internal)
    topics.ask(Subscription(**asked))  # type: ignore[arg-type]
    found = topics.among(view)
    return None if found is None else set(found)


@pytest.mark.parametrize(
    ("pattern", "exclude", "expected"),
    [
        ("orders", None, {"orders", "orders-eu", "orders.dlq"}),
        ("orders$", None, {"orders"}),
        ("rders", None, set()),
        (".*eu", None, {"orders-eu", "returns-eu"}),
        ("orders", ".*dlq", {"orders", "orders-eu"}),
        ("orders", "dlq", {"orders", "orders-eu", "orders.dlq"}),
        (".*", ".*", set()),
        ("nothing", None, set()),
    ],
)
def test_patterns_and_exclusions_match_from_the_start_of_a_name(
    pattern: str, exclude: str | None, expected: set[str]
) -> None:
    view = view_of("orders", "orders-eu", "orders.dlq", "returns-eu")
    topics = SubscribedTopics()
    topics.ask(Subscription(pattern=pattern, exclude=exclude))
    assert topics.among(view) == frozenset(expected)


def test_a_pattern_is_not_judged_by_a_view_of_some_topics() -> None:
    assert found(view_of("orders", asked=frozenset({"orders"})), pattern=".*") is None
    assert found(EMPTY_VIEW, pattern=".*") is None


def test_a_cluster_without_topics_is_one_that_can_be_judged() -> None:
    assert found(view_of(), pattern=".*") == set()


def test_internal_topics_are_left_out_unless_they_are_wanted() -> None:
    view = view_of("orders", "__consumer_offsets")
    assert found(view, pattern=".*") == {"orders"}
    assert found(view, pattern=".*", exclude_internal=False) == {"orders", "__consumer_offsets"}


def test_a_topic_that_is_said_to_be_gone_is_not_taken() -> None:
    gone = TopicInfo(None, {}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    view = replace(view_of("orders"), topics={"old": gone, "orders": TopicInfo(None, ONE)})
    assert found(view, pattern=".*") == {"orders"}


def test_names_stay_whether_they_are_there_or_not() -> None:
    topics = SubscribedTopics()
    topics.ask(Subscription(topics=frozenset({"orders", "__consumer_offsets"})))
    for view in (EMPTY_VIEW, view_of("orders"), view_of()):
        assert topics.among(view) == frozenset({"orders", "__consumer_offsets"})


def test_a_pattern_is_matched_once_per_view() -> None:
    topics = SubscribedTopics()
    topics.ask(Subscription(pattern=".*"))
    view = view_of(*(f"orders-{number}" for number in range(10)))
    first = topics.among(view)
    assert topics.among(view) is first
    topics.ask(Subscription(pattern="orders-1"))
    assert topics.among(view) == frozenset({"orders-1"})


def test_nothing_is_asked_for_after_giving_everything_up() -> None:
    topics = SubscribedTopics()
    topics.ask(Subscription(pattern=".*"))
    topics.ask(None)
    assert topics.among(view_of("orders")) is None


def test_a_pattern_needs_all_topics_and_names_need_themselves() -> None:
    names = frozenset({"a", "b"})
    assert to_watch(Subscription(pattern="a")) is None
    assert to_watch(Subscription(topics=names)) == names
    by_hand = frozenset({TopicPartition("a", 0), TopicPartition("a", 1)})
    assert to_watch(Subscription(partitions=by_hand)) == frozenset({"a"})
    assert to_watch(None) == frozenset()
