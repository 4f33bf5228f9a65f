"""What administrators may do with topics of an in-process cluster, and how they are refused."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.wire.messages import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from kgroup.wire.schema import decode, encode
from tests.testing.broker.clusters import all_topics, create, named, wanted
from tests.testing.broker.driver import Raw, asking


def refused(raw: Raw, topic: CreatableTopic) -> tuple[int, str | None]:
    """Ask for one topic that is not made; returns code and text."""
    before = set(raw.core.cluster.topics)
    (row,) = create(raw, topic)
    assert set(raw.core.cluster.topics) == before
    return row.error_code, row.error_message


# -- CreateTopics ------------------------------------------------------------------------------


def test_a_created_topic_is_there_on_every_broker_when_the_answer_leaves() -> None:
    raw = asking(nodes=3)
    (row,) = create(raw, wanted("a", 2, 2))
    assert (row.error_code, row.num_partitions, row.replication_factor) == (0, 2, 2)
    described = named(raw, "a").topics[0]
    assert described.topic_id == row.topic_id
    assert [each.replica_nodes for each in described.partitions] == [(1, 2), (2, 3)]


@pytest.mark.parametrize(("nodes", "replication"), [(1, 1), (2, 2), (5, 3)])
def test_without_counts_the_brokers_defaults_apply(nodes: int, replication: int) -> None:
    raw = asking(nodes, settings=BrokerSettings(default_partitions=4))
    (row,) = create(raw, wanted("a"))
    assert (row.num_partitions, row.replication_factor) == (4, replication)


def test_replicas_can_be_placed_by_hand_in_any_order() -> None:
    raw = asking(nodes=3)
    create(raw, wanted("a", by_hand=[(1, (2, 3)), (0, (3, 1))]))
    described = named(raw, "a").topics[0].partitions
    assert [(each.leader_id, each.replica_nodes) for each in described] == [
        (3, (3, 1)),
        (2, (2, 3)),
    ]


def test_a_broker_that_is_down_gets_a_replica_only_when_there_are_too_few() -> None:
    raw = asking(nodes=3)
    raw.core.cluster.stop(2)
    create(raw, wanted("two", 1, 2), wanted("three", 1, 3))
    described = all_topics(raw)
    assert described["two"].partitions[0].replica_nodes == (1, 3)
    assert described["three"].partitions[0].replica_nodes == (1, 3, 2)
    assert described["three"].partitions[0].isr_nodes == (1, 3)


def test_the_settings_of_a_created_topic_are_shown() -> None:
    raw = asking()
    (row,) = create(raw, wanted("a", retention_ms="1000"))
    assert row.configs is not None
    shown = {each.name: (each.value, each.config_source) for each in row.configs}
    assert list(shown) == sorted(shown)
    assert shown["retention.ms"] == ("1000", 1)
    assert shown["cleanup.policy"] == ("delete", 5)


def test_validation_alone_makes_nothing() -> None:
    raw = asking()
    (row,) = create(raw, wanted("a", 2), validate_only=True)
    assert (row.error_code, row.num_partitions) == (0, 2)
    assert raw.core.cluster.topic("a") is None


def test_one_bad_topic_does_not_spoil_the_others() -> None:
    raw = asking()
    rows = create(raw, wanted("a", 0), wanted("b", 1))
    assert [(row.name, row.error_code) for row in rows] == [
        ("a", ErrorCode.INVALID_PARTITIONS),
        ("b", ErrorCode.NONE),
    ]


def test_a_topic_asked_for_twice_is_refused_once() -> None:
    rows = create(asking(), wanted("a"), wanted("b"), wanted("a"))
    assert [(row.name, row.error_code, row.error_message) for row in rows] == [
        ("b", ErrorCode.NONE, None),
        ("a", ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
    ]


@pytest.mark.parametrize(
    ("topic", "code", "text"),
    [
        (wanted("there"), ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'there' already exists."),
        (
            wanted(""),
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            "Topic name is invalid: the empty string is not allowed",
        ),
        (
            wanted(".."),
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            "Topic name is invalid: '..' is not allowed",
        ),
        (
            wanted("a b"),
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            (
                "Topic name is invalid: 'a b' contains one or more characters other than ASCII "
                "alphanumerics, '.', '_' and '-'"
            ),
        ),
        (
            wanted("x" * 250),
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            (
                f"Topic name is invalid: the length of '{'x' * 250}' is longer than the max "
                "allowed length 249"
            ),
        ),
        (
            wanted("with.dot"),
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            "Topic 'with.dot' collides with existing topic: with_dot",
        ),
        (
            wanted("__transaction_state"),
            ErrorCode.INVALID_REQUEST,
            "Creation of internal topic __transaction_state is prohibited.",
        ),
        (
            wanted("a", 0),
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        ),
        (
            wanted("a", 1, 0),
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            wanted("a", 1, 3),
            ErrorCode.INVALID_REPLICATION_FACTOR,
            (
                "Unable to replicate the partition 3 time(s): The target replication factor of 3 "
                "cannot be reached because only 2 broker(s) are registered."
            ),
        ),
        (
            wanted("a", no_such_thing="1"),
            ErrorCode.INVALID_CONFIG,
            "Unknown topic config name: no.such.thing",
        ),
        (
            wanted("a", retention_ms="soon"),
            ErrorCode.INVALID_CONFIG,
            "Invalid value soon for configuration retention.ms: Not a number of type LONG",
        ),
        (
            wanted("a", retention_ms=None),
            ErrorCode.INVALID_CONFIG,
            "Null value not supported for topic configs: retention.ms",
        ),
        (
            wanted("a", 1, by_hand=[(0, (1,))]),
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        ),
        (
            wanted("a", -1, 1, by_hand=[(0, (1,))]),
            ErrorCode.INVALID_REQUEST,
            (
                "A manual partition assignment was specified, but replication factor was not set "
                "to -1."
            ),
        ),
        (
            wanted("a", by_hand=[(0, (1,)), (0, (2,))]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Found multiple manual partition assignments for partition 0",
        ),
        (
            wanted("a", by_hand=[(1, (1,))]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            wanted("a", by_hand=[(0, ())]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes an empty replica list.",
        ),
        (
            wanted("a", by_hand=[(0, (1, 9))]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
        (
            wanted("a", by_hand=[(0, (2, 2))]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes the broker 2 more than once.",
        ),
        (
            wanted("a", by_hand=[(0, (1, 2)), (1, (1,))]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            (
                "The manual partition assignment includes a partition with 1 replica(s), but this "
                "is not consistent with previous partitions, which have 2 replica(s)."
            ),
        ),
    ],
)
def test_topics_are_refused_in_the_words_of_real_controllers(
    topic: CreatableTopic, code: ErrorCode, text: str
) -> None:
    raw = asking(nodes=2)
    create(raw, wanted("there"), wanted("with_dot"))
    assert refused(raw, topic) == (code, text)


def test_replicas_by_hand_on_brokers_that_are_all_down_are_refused() -> None:
    raw = asking(nodes=2)
    raw.core.cluster.stop(2)
    code, text = refused(raw, wanted("a", by_hand=[(0, (2,))]))
    assert code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert text is not None
    assert text.endswith("for partition 0 are fenced or in controlled shutdown.")


@pytest.mark.parametrize("version", CreateTopicsRequest.VERSIONS)
def test_the_answer_to_create_topics_can_be_sent_in_every_version(version: int) -> None:
    request = CreateTopicsRequest(topics=(wanted("a"), wanted("a b")))
    answer = asking().ask(1, request, version=version).now
    again = decode(CreateTopicsResponse, version, encode(answer, version))
    assert [row.error_code for row in again.topics] == [0, ErrorCode.INVALID_TOPIC_EXCEPTION]


# -- by the test itself ------------------------------------------------------------------------


def test_an_impossible_topic_is_refused_with_the_reason() -> None:
    cluster = asking(nodes=2).core.cluster
    cluster.create_topic("a", 2)
    for verb, text in (
        (lambda: cluster.create_topic("a"), "there is a topic 'a' already"),
        (lambda: cluster.create_topic("b", 0), "at least one partition, not 0"),
        (lambda: cluster.create_topic("b", 1, 3), "3 replicas asked for; 2 of 2 brokers are up"),
        (lambda: cluster.add_partitions("a", 2), "has 2 partitions already, asked for 2"),
        (lambda: cluster.delete_topic("b"), r"no topic 'b'; there are \['__consumer"),
        (lambda: cluster.delete_topic("__consumer_offsets"), "is Kafka's own"),
    ):
        with pytest.raises(ValueError, match=text):
            verb()
