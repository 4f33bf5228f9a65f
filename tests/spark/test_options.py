"""Options as a user of Spark types them: what they become, and what is refused with which words."""

from typing import Any

import pytest

from kgroup.errors import ConfigError
from kgroup.spark.connecting import check, driver_config, worker_config
from kgroup.spark.options import SourceOptions
from kgroup.spark.where import AtOffsets, AtTimes, Named
from kgroup.types import GroupProtocol, Subscription, TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def read(streaming: bool = True, **given: str) -> SourceOptions:
    options = {"subscribe": "t", **{name.replace("__", "."): each for name, each in given.items()}}
    return SourceOptions.of(
        {name: each for name, each in options.items() if each}, streaming=streaming
    )


def refused(says: str, *, streaming: bool = True, **given: str) -> None:
    with pytest.raises(ConfigError, match=says):
        read(streaming, **given)


@pytest.mark.parametrize(
    ("given", "topics"),
    [
        ({"subscribe": "a, b"}, Subscription(topics=frozenset("ab"))),
        ({"subscribe": "", "subscribePattern": "a.*"}, Subscription(pattern="a.*")),
        (
            {"subscribe": "", "assign": '{"t": [0, 1]}'},
            Subscription(partitions=frozenset({T0, T1})),
        ),
    ],
)
def test_topics_are_named_by_a_list_a_pattern_or_partitions(
    given: dict[str, Any], topics: Subscription
) -> None:
    assert read("assign" not in given, **given).topics == topics


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({}, None),
        ({"startingOffsets": "Earliest"}, Named.EARLIEST),
        ({"startingOffsets": '{"t": {"0": 5, "1": -2}}'}, AtOffsets({T0: 5, T1: -2})),
        ({"startingTimestamp": "17"}, AtTimes({}, 17)),
        ({"startingOffsetsByTimestamp": '{"t": {"0": 5}}'}, AtTimes({T0: 5})),
        ({"startingTimestamp": "17", "startingOffsets": "latest"}, AtTimes({}, 17)),
    ],
)
def test_the_beginning_is_a_name_offsets_or_times(given: dict[str, Any], where: object) -> None:
    assert read(**given).starting == where


def test_names_of_options_are_taken_in_any_case() -> None:
    assert read(MAXOFFSETSPERTRIGGER="10", failondataloss="FALSE").most_rows == 10


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"minOffsetsPerTrigger": "5"}, "least_rows", 5),
        ({"maxTriggerDelay": "90s"}, "longest_delay", 90.0),
        ({"maxTriggerDelay": "2m"}, "longest_delay", 120.0),
        ({"minPartitions": "6"}, "partitions_at_least", 6),
        ({"includeHeaders": "true"}, "headers", True),
        ({"includeFence": "true", "kgroup__backend": "marshal"}, "fence", True),
        ({"failOnDataLoss": "false"}, "fails_on_data_loss", False),
        ({"onFenced": "rejoin"}, "rejoins", True),
        ({"kafkaConsumer.pollTimeoutMs": "1500"}, "patience", 1.5),
    ],
)
def test_an_option_becomes_a_value(given: dict[str, Any], field: str, value: object) -> None:
    assert getattr(read(**given), field) == value


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"kafka__bootstrap.servers": "b:9092"}, "bootstrap_servers", "b:9092"),
        ({"kafka__session.timeout.ms": "30000"}, "session_timeout", 30.0),
        ({"kafka__isolation.level": "read_committed"}, "isolation_level", "read_committed"),
        ({"kafka__max.partition.fetch.bytes": "1000"}, "max_partition_fetch_bytes", 1000),
        ({"kgroup__session_timeout": "12.5"}, "session_timeout", 12.5),
        ({"kgroup__check_crcs": "false"}, "check_crcs", False),
        ({"kgroup__sasl_password": "env:SECRET"}, "sasl_password", "env:SECRET"),
        ({"kafka__group.id": "g"}, "group_id", "g"),
    ],
)
def test_options_of_kafka_and_of_kgroup_reach_the_consumer(
    given: dict[str, Any], name: str, value: object
) -> None:
    assert dict(read(**given).config) == {name: value}


def test_a_secret_is_not_shown() -> None:
    assert "hunter2" not in repr(read(kgroup__sasl_password="hunter2"))


@pytest.mark.parametrize(
    ("says", "given"),
    [
        (r"'startingoffset'.*did you mean 'startingOffsets'", {"startingoffset": "latest"}),
        (r"did you mean 'kafka.session.timeout.ms'", {"kafka__session.timeout": "1"}),
        (r"did you mean 'kgroup.session_timeout'", {"kgroup__session_timout": "1"}),
        (r"exactly one of subscribe, subscribePattern", {"subscribePattern": "a"}),
        (r"exactly one of", {"subscribe": ""}),
        (r"'subscribePattern'.*a pattern", {"subscribe": "", "subscribePattern": "("}),
        (r"'startingOffsets'.*earliest, latest, committed", {"startingOffsets": "erliest"}),
        (r"'startingOffsets'.*JSON such as", {"startingOffsets": '{"t": '}),
        (r"'startingOffsets'.*JSON|'startingOffsets'.*23", {"startingOffsets": '{"t": {"0": -3}}'}),
        (r"'startingOffsets'.*kafka.group.id", {"startingOffsets": "committed"}),
        (r"'maxOffsetsPerTrigger'.*at least 1", {"maxOffsetsPerTrigger": "0"}),
        (r"'failOnDataLoss'.*true or false", {"failOnDataLoss": "yes"}),
        (r"'onFenced'.*fail or rejoin", {"onFenced": "stop"}),
        (r"'maxTriggerDelay'.*unit", {"maxTriggerDelay": "15"}),
        (r"'kafka.session.timeout.ms'.*milliseconds", {"kafka__session.timeout.ms": "30s"}),
        (r"'kgroup.session_timeout'.*seconds", {"kgroup__session_timeout": "-1"}),
        (r"'kafka.auto.offset.reset'.*startingOffsets", {"kafka__auto.offset.reset": "latest"}),
        (r"'kgroup.guarantee'.*at_least_once", {"kgroup__guarantee": "at_most_once"}),
        (r"'groupidprefix'.*kafka.group.id", {"groupIdPrefix": "x"}),
        (r"'kgroup.pattern_on'.*the driver", {"kgroup__pattern_on": "broker"}),
        (r"'includeFence'.*kgroup.backend=marshal", {"includeFence": "true"}),
        (r"'endingOffsets'.*batch", {"endingOffsets": "latest"}),
        (r"'assign'.*batch", {"subscribe": "", "assign": '{"t": [0]}'}),
    ],
)
def test_what_cannot_be_is_refused_with_the_option_and_the_way_out(
    says: str, given: dict[str, Any]
) -> None:
    refused(says, **given)


@pytest.mark.parametrize(
    ("says", "given"),
    [
        (r"'maxOffsetsPerTrigger'.*streaming", {"maxOffsetsPerTrigger": "5"}),
        (r"'onFenced'.*streaming", {"onFenced": "fail"}),
        (r"'includeFence'.*streaming", {"includeFence": "true"}),
        (r"'endingOffsets'.*latest", {"endingOffsets": "earliest"}),
        (r"'assign'.*\[0, 1\]", {"subscribe": "", "assign": '{"t": 0}'}),
    ],
)
def test_a_batch_read_refuses_what_it_cannot_do(says: str, given: dict[str, Any]) -> None:
    refused(says, streaming=False, **given)


def test_a_value_that_may_be_a_password_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as caught:
        read(kgroup__sasl_pasword="hunter2")
    assert "hunter2" not in str(caught.value)


SERVERS: dict[str, Any] = {"kafka__bootstrap.servers": "a:1", "kafka__group.id": "g"}


@pytest.mark.parametrize("name", ["kafka__group.protocol", "kgroup__group.protocol"])
def test_only_the_member_speaks_the_protocol_of_kip_848_and_it_has_no_list(name: str) -> None:
    given = {**SERVERS, name: "consumer"}
    options = read(**given)
    assert driver_config(options, member=True).group_protocol is GroupProtocol.CONSUMER
    assert "group_protocol" not in worker_config(options)


def test_a_list_of_assignors_is_refused_where_none_is_asked() -> None:
    given = {**SERVERS, "kafka__group.protocol": "consumer", "kgroup__assignors": "sticky"}
    with pytest.raises(ConfigError, match=r"'assignors'.*server_assignor"):
        check(read(**given))


def test_a_query_says_itself_which_protocol_it_speaks() -> None:
    given = {**SERVERS, "kafka__group.protocol": "auto"}
    with pytest.raises(ConfigError, match=r"'kafka.group.protocol'.*classic or consumer"):
        check(read(**given))
