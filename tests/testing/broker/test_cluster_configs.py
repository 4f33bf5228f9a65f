"""Settings of topics and brokers of an in-process cluster: shown and changed."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.wire.messages import (
    AlterableConfig,
    AlterConfigsResource,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    IncrementalAlterConfigsRequest,
)
from kgroup.wire.schema import decode, encode
from tests.testing.broker.driver import Raw, asking

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)


def with_topic(settings: BrokerSettings | None = None, **configs: str) -> Raw:
    """Make a cluster with topic `a`; underscores of settings stand for dots."""
    raw = asking(settings=settings)
    given = {key.replace("_", "."): value for key, value in configs.items()}
    raw.core.cluster.create_topic("a", configs=given)
    return raw


def describe(
    raw: Raw, kind: int, name: str, *keys: str, synonyms: bool = False
) -> DescribeConfigsResult:
    """Ask for settings of one resource."""
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=keys or None
    )
    request = DescribeConfigsRequest(resources=(resource,), include_synonyms=synonyms)
    return raw.ask(1, request).now.results[0]


def values(raw: Raw, kind: int = TOPIC, name: str = "a") -> dict[str, str | None]:
    """Ask for the values of one resource, by name."""
    return {row.name: row.value for row in describe(raw, kind, name).configs}


def alter(
    raw: Raw,
    *changes: tuple[str, int, str | None],
    kind: int = TOPIC,
    name: str = "a",
    validate_only: bool = False,
) -> tuple[int, str | None]:
    """Ask for changes of one resource; returns code and text."""
    rows = tuple(
        AlterableConfig(name=key, config_operation=operation, value=value)
        for key, operation, value in changes
    )
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=rows)
    request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=validate_only)
    row = raw.ask(1, request).now.responses[0]
    return row.error_code, row.error_message


def test_a_topics_settings_are_shown_with_their_origin() -> None:
    raw = with_topic(retention_ms="5000")
    rows = {row.name: row for row in describe(raw, TOPIC, "a").configs}
    assert (rows["retention.ms"].value, rows["retention.ms"].config_source) == ("5000", 1)
    assert (rows["cleanup.policy"].value, rows["cleanup.policy"].config_source) == ("delete", 5)
    assert (rows["retention.ms"].config_type, rows["cleanup.policy"].config_type) == (5, 7)


def test_only_the_settings_asked_for_are_shown() -> None:
    rows = describe(with_topic(), TOPIC, "a", "retention.ms", "unheard.of").configs
    assert [row.name for row in rows] == ["retention.ms"]


def test_the_brokers_limit_is_the_default_of_the_topics() -> None:
    raw = with_topic(BrokerSettings(max_message_bytes=500))
    assert values(raw)["max.message.bytes"] == "500"


def test_synonyms_tell_all_places_a_value_can_come_from() -> None:
    raw = with_topic(retention_ms="5000")
    assert describe(raw, TOPIC, "a", "retention.ms").configs[0].synonyms == ()
    (row,) = describe(raw, TOPIC, "a", "retention.ms", synonyms=True).configs
    places = [(each.name, each.value, each.source) for each in row.synonyms]
    assert places == [("retention.ms", "5000", 1), ("log.retention.ms", "604800000", 5)]


def test_a_broker_shows_what_clients_can_feel() -> None:
    raw = asking(settings=BrokerSettings(max_group_size=3, min_session_timeout=1.5))
    raw.core.cluster.nodes[1].rack = "west"
    shown = values(raw, BROKER, "1")
    assert (shown["node.id"], shown["broker.rack"]) == ("1", "west")
    assert (shown["group.max.size"], shown["group.min.session.timeout.ms"]) == ("3", "1500")
    assert list(shown) == sorted(shown)
    assert all(row.read_only for row in describe(raw, BROKER, "1").configs)


@pytest.mark.parametrize(
    ("kind", "name", "code", "text"),
    [
        (TOPIC, "b", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None),
        (
            TOPIC,
            "a b",
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            (
                "Topic name is invalid: 'a b' contains one or more characters other than ASCII "
                "alphanumerics, '.', '_' and '-'"
            ),
        ),
        (
            BROKER,
            "2",
            ErrorCode.INVALID_REQUEST,
            "Unexpected broker id, expected 1 or empty string, but received 2",
        ),
        (
            BROKER,
            "one",
            ErrorCode.INVALID_REQUEST,
            "Broker id must be an integer, but it is: one",
        ),
        (99, "a", ErrorCode.INVALID_REQUEST, "Unsupported resource type: 99"),
    ],
)
def test_settings_of_an_unknown_resource_are_refused(
    kind: int, name: str, code: ErrorCode, text: str | None
) -> None:
    row = describe(with_topic(), kind, name)
    assert (row.error_code, row.error_message, row.configs) == (code, text, ())


def test_no_setting_was_changed_for_all_brokers() -> None:
    row = describe(asking(), BROKER, "")
    assert (row.error_code, row.configs) == (ErrorCode.NONE, ())


@pytest.mark.parametrize("version", DescribeConfigsRequest.VERSIONS)
def test_the_answer_to_describe_configs_can_be_sent_in_every_version(version: int) -> None:
    resource = DescribeConfigsResource(
        resource_type=TOPIC, resource_name="a", configuration_keys=None
    )
    answer = with_topic().ask(1, DescribeConfigsRequest(resources=(resource,)), version=version)
    again = decode(DescribeConfigsResponse, version, encode(answer.now, version))
    assert "retention.ms" in {row.name for row in again.results[0].configs}


# -- changes -----------------------------------------------------------------------------------


def test_a_setting_can_be_set_and_deleted() -> None:
    raw = with_topic()
    assert alter(raw, ("retention.ms", SET, "7")) == (ErrorCode.NONE, None)
    assert values(raw)["retention.ms"] == "7"
    assert alter(raw, ("retention.ms", DELETE, None)) == (ErrorCode.NONE, None)
    assert values(raw)["retention.ms"] == "604800000"


def test_elements_of_a_list_can_be_added_and_taken_out() -> None:
    raw = with_topic()
    alter(raw, ("cleanup.policy", APPEND, "compact,delete"))
    assert values(raw)["cleanup.policy"] == "delete,compact"
    alter(raw, ("cleanup.policy", SUBTRACT, "delete"))
    assert values(raw)["cleanup.policy"] == "compact"


def test_a_log_obeys_a_setting_that_is_changed_while_it_has_records() -> None:
    raw = with_topic()
    log = raw.core.cluster.topics["a"].partitions[0].log
    alter(raw, ("max.message.bytes", SET, "10"))
    assert log.configs["max.message.bytes"] == "10"


def test_validation_alone_changes_nothing() -> None:
    raw = with_topic()
    code, _ = alter(raw, ("retention.ms", SET, "7"), validate_only=True)
    assert code == ErrorCode.NONE
    assert values(raw)["retention.ms"] == "604800000"


@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        (
            ("no.such", SET, "1"),
            ErrorCode.INVALID_CONFIG,
            "Unknown topic config name: no.such",
        ),
        (
            ("retention.ms", SET, "-2"),
            ErrorCode.INVALID_CONFIG,
            "Invalid value -2 for configuration retention.ms: Value must be at least -1",
        ),
        (
            ("max.message.bytes", SET, str(2**31)),
            ErrorCode.INVALID_CONFIG,
            f"Invalid value {2**31} for configuration max.message.bytes: Not a number of type INT",
        ),
        (
            ("cleanup.policy", SET, "shred"),
            ErrorCode.INVALID_CONFIG,
            (
                "Invalid value shred for configuration cleanup.policy: String must be one of: "
                "compact, delete"
            ),
        ),
        (
            ("preallocate", SET, "perhaps"),
            ErrorCode.INVALID_CONFIG,
            (
                "Invalid value perhaps for configuration preallocate: Expected value to be either "
                "true or false"
            ),
        ),
        (
            ("retention.ms", APPEND, "1"),
            ErrorCode.INVALID_CONFIG,
            "Can't APPEND to key retention.ms because its type is not LIST.",
        ),
        (
            ("retention.ms", SET, None),
            ErrorCode.INVALID_REQUEST,
            "Null value not supported for : retention.ms",
        ),
        (("retention.ms", 9, "1"), ErrorCode.INVALID_REQUEST, "Unknown operations type 9"),
    ],
)
def test_a_bad_change_is_refused_with_all_others_of_its_topic(
    change: tuple[str, int, str | None], code: ErrorCode, text: str
) -> None:
    raw = with_topic()
    assert alter(raw, ("segment.ms", SET, "5"), change) == (code, text)
    assert values(raw)["segment.ms"] == "604800000"


def test_a_setting_named_twice_is_refused() -> None:
    raw = with_topic()
    change = ("retention.ms", SET, "5")
    expected = (ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    assert alter(raw, change, change) == expected


def test_a_topic_named_twice_is_not_changed() -> None:
    raw = with_topic()
    rows = (AlterableConfig(name="retention.ms", config_operation=SET, value="5"),)
    resource = AlterConfigsResource(resource_type=TOPIC, resource_name="a", configs=rows)
    request = IncrementalAlterConfigsRequest(resources=(resource,) * 2, validate_only=False)
    answer = raw.ask(1, request).now
    expected = (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    assert [(row.error_code, row.error_message) for row in answer.responses] == [expected] * 2
    assert values(raw)["retention.ms"] == "604800000"


@pytest.mark.parametrize(
    ("kind", "name", "code", "text"),
    [
        (
            TOPIC,
            "b",
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "The topic 'b' does not exist.",
        ),
        (
            BROKER,
            "1",
            ErrorCode.INVALID_REQUEST,
            "Cannot update these configs dynamically: Set(retention.ms)",
        ),
        (99, "a", ErrorCode.INVALID_REQUEST, "Unknown resource type 99"),
    ],
)
def test_only_topics_that_exist_can_be_changed(
    kind: int, name: str, code: ErrorCode, text: str
) -> None:
    changed = alter(with_topic(), ("retention.ms", SET, "5"), kind=kind, name=name)
    assert changed == (code, text)
