"""Options: what is taken, what is refused and how, what each room is handed."""

from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kgroup.assignors import RangeAssignor
from kgroup.config import ConsumerConfig, ConsumerOptions
from kgroup.errors import ConfigError
from kgroup.offsets.reset import ResetPolicy, Since
from kgroup.types import IsolationLevel


def test_the_typed_options_are_the_options_there_are() -> None:
    assert set(ConsumerOptions.__annotations__) == {each.name for each in fields(ConsumerConfig)}


def test_an_unknown_option_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(ConfigError, match="did you mean 'group_id'") as caught:
        ConsumerConfig.of({"groupid": "g"})
    assert (caught.value.option, caught.value.nearest) == ("groupid", "group_id")


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("key_deserializer", "key"),
        ("partition_assignment_strategy", "assignors"),
        ("rebalance_timeout_ms", "rebalance_timeout"),
        ("retry_backoff_ms", "retry_backoff"),
        ("ssl_truststore_location", "ssl_cafile"),
        ("consumer_timeout_ms", None),
        ("sasl_kerberos_service_name", None),
    ],
)
def test_a_name_of_another_client_is_answered_with_ours_and_never_with_a_lookalike(
    name: str, ours: str | None
) -> None:
    with pytest.raises(ConfigError) as caught:
        ConsumerConfig.of({name: 1})
    assert caught.value.nearest == ours


def test_an_option_in_milliseconds_is_refused_with_a_hint_at_seconds() -> None:
    with pytest.raises(ConfigError, match=r"in seconds\); did you mean 'session_timeout'"):
        ConsumerConfig.of({"session_timeout_ms": 10_000})


def test_an_option_like_no_other_gets_no_hint() -> None:
    with pytest.raises(ConfigError) as caught:
        ConsumerConfig.of({"xyzzy": 1})
    assert caught.value.nearest is None


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("group_id", ""),
        ("group_id", "  "),
        ("group_id", 7),
        ("group_id", "g" * 2**15),
        ("group_id", "half of a pair: \ud800"),
        ("session_timeout", 0),
        ("session_timeout", "45"),
        ("session_timeout", True),
        ("session_timeout", float("nan")),
        ("session_timeout", float("inf")),
        ("heartbeat_interval", timedelta(seconds=-1)),
        ("retry_backoff", -0.1),
        ("max_poll_interval", 1e9),
        ("rebalance_timeout", 0),
        ("enable_auto_commit", 1),
        ("auto_offset_reset", "newest"),
        ("auto_offset_reset", timedelta(seconds=-1)),
        ("auto_offset_reset", 3600),
        ("auto_offset_reset", "by_duration:"),
        ("auto_offset_reset", "by_duration:P1Y"),
        ("auto_offset_reset", "by_duration:-PT1S"),
        ("isolation_level", 1),
        ("fetch_min_bytes", -1),
        ("fetch_max_bytes", 2**31),
        ("max_poll_records", 0),
        ("max_poll_records", 1.5),
        ("assignors", "range"),
        ("assignors", []),
        ("assignors", ["rang"]),
        ("assignors", [RangeAssignor]),
        ("bootstrap_servers", ""),
        ("bootstrap_servers", []),
        ("bootstrap_servers", "host:0"),
        ("bootstrap_servers", "host:65536"),
        ("bootstrap_servers", "host:x"),
        ("bootstrap_servers", "::1:9092"),
        ("bootstrap_servers", "http://host:9092"),
        ("bootstrap_servers", [("host", 9092)]),
        ("journal", 5),
        ("ports", object()),
        ("client_id", None),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_name(option: str, value: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        ConsumerConfig.of({option: value})
    assert caught.value.option == option
    assert repr(caught.value.value) in str(caught.value)


def test_a_misspelt_word_gets_a_hint() -> None:
    with pytest.raises(ConfigError) as caught:
        ConsumerConfig.of({"auto_offset_reset": "earlyest"})
    assert caught.value.nearest == "earliest"


def test_an_instance_id_needs_a_group() -> None:
    with pytest.raises(ConfigError, match="group_id"):
        ConsumerConfig(group_instance_id="a")


def test_times_may_be_seconds_or_a_timedelta() -> None:
    config = ConsumerConfig(group_id="g", session_timeout=timedelta(minutes=1), fetch_max_wait=1)
    assert config.membership().session_timeout == 60.0
    assert config.fetching().max_wait == 1.0


@pytest.mark.parametrize(
    ("given", "age"),
    [
        (timedelta(hours=1), 3600.0),
        (timedelta(), 0.0),
        ("by_duration:PT1H30M", 5400.0),
        ("by_duration:P2DT0.5S", 172_800.5),
        (Since(7.0), 7.0),
    ],
)
def test_a_reset_may_be_an_age(given: Any, age: float) -> None:
    config = ConsumerConfig(group_id="g", auto_offset_reset=given)
    assert config.fetching().reset_policy == Since(age)
    assert ConsumerConfig.of({"client_id": "c"}, config).fetching().reset_policy == Since(age)


@pytest.mark.parametrize("text", ["P", "PT", "P1DT", "1H", "PT1H ", "PT1H1H", "P1W", "", "PTS"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="by_duration"):
        ConsumerConfig(auto_offset_reset=f"by_duration:{text}")


@pytest.mark.parametrize(
    ("given", "bootstrap"),
    [
        ("a", (("a", 9092),)),
        ("a:1, b:2", (("a", 1), ("b", 2))),
        (["a:1", "[::1]:2", "[::1]"], (("a", 1), ("::1", 2), ("::1", 9092))),
    ],
)
def test_servers_are_given_as_text_or_list(given: Any, bootstrap: Any) -> None:
    assert ConsumerConfig(bootstrap_servers=given).net().bootstrap == bootstrap


def test_options_are_set_on_top_of_a_config() -> None:
    base = ConsumerConfig(group_id="g", max_poll_records=5)
    config = ConsumerConfig.of({"group_id": "h"}, base)
    assert (config.group_id, config.max_poll_records, base.group_id) == ("h", 5, "g")


def test_a_config_that_is_none_is_refused() -> None:
    base: Any = {"group_id": "g"}
    with pytest.raises(ConfigError, match="expected a ConsumerConfig, or None"):
        ConsumerConfig.of({}, base)


def test_the_defaults_are_kafkas() -> None:
    config = ConsumerConfig(group_id="g")
    member, fetch = config.membership(), config.fetching()
    assert (member.session_timeout, member.heartbeat_interval) == (45.0, 3.0)
    assert (member.rebalance_timeout, member.poll_interval) == (300.0, 300.0)
    assert [each.name for each in member.assignors] == ["range", "cooperative-sticky"]
    assert fetch.reset_policy is ResetPolicy.LATEST
    assert fetch.isolation_level is IsolationLevel.READ_UNCOMMITTED
    assert not config.doubts()


def test_a_rebalance_timeout_of_its_own_leaves_the_poll_interval_as_it_is() -> None:
    config = ConsumerConfig(group_id="g", max_poll_interval=120.0, rebalance_timeout=10.0)
    member = config.membership()
    assert (member.rebalance_timeout, member.poll_interval) == (10.0, 120.0)


def test_a_group_that_claims_has_no_rebalance_timeout() -> None:
    with pytest.raises(ConfigError, match="no rounds") as caught:
        ConsumerConfig(group_id="g", backend="marshal", rebalance_timeout=10.0)
    assert caught.value.option == "rebalance_timeout"


def test_a_group_slice_needs_a_group() -> None:
    with pytest.raises(ConfigError, match="group_id"):
        ConsumerConfig().membership()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"session_timeout": 8.0}, "three heartbeat_interval"),
        ({"max_poll_interval": 30.0}, "below session_timeout"),
        ({"lease_margin": 43.0}, "lease_margin"),
    ],
)
def test_a_doubtful_combination_is_said(options: dict[str, Any], word: str) -> None:
    (doubt,) = ConsumerConfig.of(options).doubts()
    assert word in doubt


def test_a_journal_may_be_a_path() -> None:
    assert ConsumerConfig(journal="log.jsonl").journal == Path("log.jsonl")


def test_a_config_does_not_change() -> None:
    with pytest.raises(AttributeError):
        ConsumerConfig().group_id = "g"  # type: ignore[misc]
