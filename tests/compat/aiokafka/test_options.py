"""Each keyword of aiokafka's constructor: default, meaning, and values it bears."""

import asyncio
import inspect
import logging
from decimal import Decimal
from typing import Any

import aiokafka
import pytest
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import (
    InconsistentGroupProtocolError,
    InvalidGroupIdError,
    KafkaConnectionError,
)
from hypothesis import given
from hypothesis import strategies as some

from kgroup import IsolationLevel
from kgroup.compat.aiokafka.keywords import DEFAULTS
from kgroup.compat.aiokafka.options import Options, read
from kgroup.net.security import SaslMechanism, SecurityProtocol
from kgroup.offsets.reset import ResetPolicy

GROUP = {"group_id": "g"}
BY_PASSWORD = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_plain_username": "alice",
    "sasl_plain_password": "wonder",
}


class Namesake(RangePartitionAssignor):
    """Another assignor, under a name that is taken."""


MEANINGS: list[tuple[dict[str, Any], str, object]] = [
    ({"bootstrap_servers": "a:1,b:2"}, "bootstrap_servers", ("a:1", "b:2")),
    ({"client_id": "me"}, "client_id", "me"),
    ({"group_id": "g"}, "group_id", "g"),
    ({**GROUP, "group_instance_id": "i"}, "group_instance_id", "i"),
    ({"fetch_max_wait_ms": 250}, "fetch_max_wait", 0.25),
    ({"fetch_max_bytes": 10}, "fetch_max_bytes", 10),
    ({"fetch_min_bytes": 7}, "fetch_min_bytes", 7),
    ({"max_partition_fetch_bytes": 4000}, "max_partition_fetch_bytes", 4000),
    ({"request_timeout_ms": 500}, "request_timeout", 0.5),
    ({"retry_backoff_ms": 50}, "retry_backoff", 0.05),
    ({"retry_backoff_ms": 5000}, "retry_backoff_max", 5.0),
    ({"auto_offset_reset": "Earliest"}, "auto_offset_reset", ResetPolicy.EARLIEST),
    ({"enable_auto_commit": False}, "enable_auto_commit", False),
    ({"auto_commit_interval_ms": 100}, "auto_commit_interval", 0.1),
    ({"check_crcs": False}, "check_crcs", False),
    ({"metadata_max_age_ms": 500}, "metadata_max_age", 0.5),
    ({"partition_assignment_strategy": [RangePartitionAssignor]}, "assignors", ("range",)),
    ({"max_poll_interval_ms": 3000}, "max_poll_interval", 3.0),
    ({"rebalance_timeout_ms": 6000}, "rebalance_timeout", 6.0),
    ({"session_timeout_ms": 6000}, "session_timeout", 6.0),
    ({"session_timeout_ms": 6000}, "rebalance_timeout", 6.0),
    ({"heartbeat_interval_ms": 1500}, "heartbeat_interval", 1.5),
    ({"max_poll_records": 48}, "max_poll_records", 48),
    ({**BY_PASSWORD}, "security_protocol", SecurityProtocol.SASL_PLAINTEXT),
    ({"exclude_internal_topics": False}, "exclude_internal_topics", False),
    ({"connections_max_idle_ms": 1000}, "connections_max_idle", 1.0),
    ({"isolation_level": "read_committed"}, "isolation_level", IsolationLevel.READ_COMMITTED),
    ({**BY_PASSWORD, "sasl_mechanism": "PLAIN"}, "sasl_mechanism", SaslMechanism.PLAIN),
    ({"client_rack": "r"}, "client_rack", "r"),
]
ELSEWHERE = {
    "loop", "api_version",  # test_a_deprecated_option_warns_at_the_line_that_builds_the_consumer
    "key_deserializer", "value_deserializer",  # test_records
    "consumer_timeout_ms",  # test_a_time_that_is_none_is_refused, BORNE
    "ssl_context", "sasl_plain_password", "sasl_plain_username", "sasl_kerberos_service_name",
    "sasl_kerberos_domain_name", "sasl_oauth_token_provider",  # test_security
}  # fmt: skip


SINCE_0_14 = {"api_version": None, "client_rack": None}


def test_every_keyword_has_the_default_that_aiokafka_gives_it() -> None:
    parameters = inspect.signature(aiokafka.AIOKafkaConsumer.__init__).parameters.values()
    theirs = {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}
    new = SINCE_0_14 if aiokafka.__version__.startswith("0.13.") else {}
    assert dict(DEFAULTS) == {**theirs, **new}


@pytest.mark.parametrize(
    ("keywords", "option", "value"), MEANINGS, ids=[f"{next(iter(k))}-{o}" for k, o, _ in MEANINGS]
)
def test_a_keyword_means_what_it_says(keywords: dict[str, Any], option: str, value: object) -> None:
    assert getattr(read({}).config, option) != value
    assert getattr(read(keywords).config, option) == value


def test_the_meaning_of_every_keyword_is_tested() -> None:
    assert {name for keywords, _, _ in MEANINGS for name in keywords} | ELSEWHERE == set(DEFAULTS)


def test_without_a_keyword_everything_is_as_aiokafka_has_it() -> None:
    config = read(GROUP).config
    assert config.bootstrap_servers == ("localhost:9092",)
    assert config.assignors == ("roundrobin",)
    assert (config.session_timeout, config.heartbeat_interval) == (10.0, 3.0)
    assert (config.max_poll_interval, config.rebalance_timeout) == (300.0, 10.0)
    assert config.bootstrap_timeout == 0.0
    assert config.auto_offset_reset is ResetPolicy.LATEST
    assert config.max_poll_records is None
    assert config.allow_auto_create_topics
    assert config.client_id == f"aiokafka-{aiokafka.__version__}"
    assert not config.doubts()


# -- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("groupid", "group_id"),
        ("session_timeout", "session_timeout_ms"),
        ("max_poll_interval", "max_poll_interval_ms"),
        ("assignors", "partition_assignment_strategy"),
        ("ssl_cafile", "ssl_context"),
        ("sasl_username", "sasl_plain_username"),
        ("value", "value_deserializer"),
    ],
)
def test_an_unknown_keyword_is_refused_with_the_nearest_known_one(name: str, nearest: str) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'") as caught:
        read({name: 1})
    assert str(caught.value).endswith(f"; did you mean {nearest!r}?")


def test_a_keyword_like_nothing_is_refused_without_a_guess() -> None:
    with pytest.raises(TypeError, match=r"'xyzzy'$"):
        read({"xyzzy": 1})


# -- values that are taken ---------------------------------------------------------------------

BORNE: list[dict[str, Any]] = [
    {"session_timeout_ms": 200},
    {"session_timeout_ms": 0},
    {"heartbeat_interval_ms": 60_000},
    {"heartbeat_interval_ms": 0},
    {"max_poll_interval_ms": 100},
    {"max_poll_interval_ms": 10**12},
    {"rebalance_timeout_ms": 1},
    {"request_timeout_ms": 0},
    {"request_timeout_ms": 1.5},
    {"retry_backoff_ms": 0},
    {"metadata_max_age_ms": 0},
    {"auto_commit_interval_ms": 0},
    {"fetch_max_wait_ms": 0},
    {"fetch_max_bytes": 0},
    {"fetch_min_bytes": 0},
    {"max_partition_fetch_bytes": 0},
    {"max_poll_records": True},
    {"consumer_timeout_ms": 1},
    {"connections_max_idle_ms": None},
    {"client_id": None},
    {"client_rack": ""},
    {"group_id": None, "group_instance_id": "i"},
    {"group_id": ""},
    {"enable_auto_commit": 1, "check_crcs": None, "exclude_internal_topics": 0},
    {"bootstrap_servers": ["a", "b:1", "::1", "[::1]:9093"]},
    {"bootstrap_servers": {"a:1"}},
    {"bootstrap_servers": "a:1, b:2,"},
    {"bootstrap_servers": []},
    {"partition_assignment_strategy": ()},
    {"partition_assignment_strategy": [StickyPartitionAssignor, RangePartitionAssignor]},
    {"sasl_mechanism": "whatever, without SASL"},
    {"sasl_mechanism": "GSSAPI", "sasl_kerberos_service_name": "k"},
]


@pytest.mark.parametrize("keywords", BORNE, ids=str)
def test_what_aiokafka_takes_is_taken(keywords: dict[str, Any]) -> None:
    assert isinstance(read({**GROUP, **keywords}), Options)


@pytest.mark.parametrize(
    ("keywords", "option", "value"),
    [
        ({"session_timeout_ms": 200}, "session_timeout", 0.2),  # refused by the coordinator
        ({"session_timeout_ms": 200}, "heartbeat_interval", 0.2 / 3),
        ({"session_timeout_ms": 200}, "lease_margin", 0.01),
        ({"session_timeout_ms": -1}, "session_timeout", 0.001),
        ({"connections_max_idle_ms": None}, "connections_max_idle", 2_147_483.0),
        ({"max_poll_interval_ms": 10**12}, "max_poll_interval", 2_147_483.0),
        ({"max_poll_interval_ms": 0}, "max_poll_interval", 3.0),
        ({"rebalance_timeout_ms": -1}, "rebalance_timeout", 3.0),
        ({"rebalance_timeout_ms": 0, "session_timeout_ms": 1000}, "rebalance_timeout", 1.0),
        ({"connections_max_idle_ms": 0}, "connections_max_idle", 0.1),
        ({"request_timeout_ms": 1}, "request_timeout", 0.1),
        ({"retry_backoff_ms": Decimal(3000)}, "retry_backoff", 0.1),
        ({"retry_backoff_ms": Decimal(3000)}, "retry_backoff_max", 3.0),
        ({"max_poll_records": 2**31}, "max_poll_records", 2**31 - 1),
        ({"fetch_max_bytes": 0}, "fetch_max_bytes", 1),
        ({"fetch_max_bytes": 2**31}, "fetch_max_bytes", 2**26),
        ({"fetch_min_bytes": 2**31}, "fetch_min_bytes", 2**26),
        ({"max_partition_fetch_bytes": 2**31}, "max_partition_fetch_bytes", 2**26),
        ({"group_id": 0}, "group_id", "0"),
        ({"group_instance_id": 7}, "group_instance_id", "7"),
        ({"group_instance_id": ""}, "group_instance_id", None),
        ({"client_id": b"x"}, "client_id", "b'x'"),
        ({"client_rack": 1.5}, "client_rack", "1.5"),
        ({"client_id": None}, "client_id", f"aiokafka-{aiokafka.__version__}"),
        ({"client_rack": ""}, "client_rack", None),
        ({"group_id": None, "group_instance_id": "i"}, "group_instance_id", None),
        ({"bootstrap_servers": "a, ::1,"}, "bootstrap_servers", ("a:9092", "[::1]:9092")),
    ],
    ids=str,
)
def test_what_only_aiokafka_takes_becomes_what_it_does_there(
    keywords: dict[str, Any], option: str, value: object
) -> None:
    assert getattr(read({**GROUP, **keywords}).config, option) == pytest.approx(value)


def test_an_instance_id_that_is_empty_is_none_and_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        assert read({**GROUP, "group_instance_id": ""}).config.group_instance_id is None
    assert "group_instance_id" in caplog.text
    caplog.clear()
    read({"group_instance_id": ""})
    assert not caplog.text


TIMES = sorted(name for name in DEFAULTS if name.endswith("_ms"))


@given(some.dictionaries(some.sampled_from(TIMES), some.integers() | some.floats(allow_nan=False)))
def test_any_numbers_of_milliseconds_are_taken_together(times: dict[str, Any]) -> None:
    config = read({**GROUP, **times}).config
    assert 0 < config.heartbeat_interval < config.session_timeout  # type: ignore[operator]


def test_a_reset_policy_that_is_none_is_warned_of_and_means_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        options = read({"auto_offset_reset": "smallest"})
    assert options.config.auto_offset_reset is ResetPolicy.NONE
    assert "'smallest'" in caplog.text


# -- values that are refused -------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -1, 1.5, "1"])
def test_a_number_of_records_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="`max_poll_records` should be positive Integer"):
        read({"max_poll_records": value})


@pytest.mark.parametrize("name", TIMES)
def test_a_time_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}: got '3 s', expected milliseconds"):
        read({name: "3 s"})


@pytest.mark.parametrize(
    "name", ["fetch_min_bytes", "fetch_max_bytes", "max_partition_fetch_bytes"]
)
def test_a_size_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}: got 1000.0"):
        read({name: 1e3})


@pytest.mark.parametrize(
    ("keywords", "text"),
    [
        ({"group_id": " "}, "group_id: got ' '"),
        ({"bootstrap_servers": "\ud800"}, "bootstrap_servers: got"),
        ({"bootstrap_servers": "a:port"}, "bootstrap_servers: got 'a:port'"),
        ({"session_timeout_ms": float("nan")}, "session_timeout_ms: got nan"),
        ({**BY_PASSWORD, "sasl_plain_username": ""}, "sasl_plain_username: got ''"),
        (
            {"partition_assignment_strategy": [RangePartitionAssignor, Namesake]},
            "partition_assignment_strategy: got 'range', expected each name only once",
        ),
    ],
    ids=str,
)
def test_a_value_that_cannot_be_used_is_refused_under_its_own_name(
    keywords: dict[str, Any], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        read(keywords)


@pytest.mark.parametrize("name", ["bootstrap_servers", "auto_offset_reset"])
def test_a_value_of_another_kind_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}: got 7"):
        read({name: 7})


# -- what start() refuses ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keywords", "kind", "text"),
    [
        ({"isolation_level": "READ_CCC"}, ValueError, "Incorrect isolation level READ_CCC"),
        ({"bootstrap_servers": []}, KafkaConnectionError, "Unable to bootstrap"),
        ({"group_id": ""}, InvalidGroupIdError, "empty"),
        (
            {**GROUP, "partition_assignment_strategy": []},
            InconsistentGroupProtocolError,
            "partition_assignment_strategy",
        ),
    ],
    ids=str,
)
def test_what_aiokafka_refuses_only_when_it_starts_is_refused_then(
    keywords: dict[str, Any], kind: type[Exception], text: str
) -> None:
    refusal = read(keywords).facade.refusal
    assert type(refusal) is kind
    assert text in str(refusal)


def test_without_a_group_nothing_is_refused_for_its_assignors() -> None:
    assert read({"partition_assignment_strategy": []}).facade.refusal is None


# -- the facade's own slice --------------------------------------------------------------------


def test_the_facade_has_a_slice_of_its_own() -> None:
    facade = read({**GROUP, "max_poll_records": 5, "request_timeout_ms": 700}).facade
    assert (facade.group_id, facade.max_poll_records) == ("g", 5)
    assert facade.request_timeout == 0.7
    assert facade.enable_auto_commit
    assert facade.loop is None
    assert facade.refusal is None


@pytest.mark.parametrize("name", ["loop", "api_version"])
def test_a_deprecated_option_warns_at_the_line_that_builds_the_consumer(name: str) -> None:
    class Consumer:
        def __init__(self, **keywords: object) -> None:
            self.options = read(keywords)

    loop = asyncio.new_event_loop()
    try:
        with pytest.warns(DeprecationWarning, match=name) as caught:
            made = Consumer(**{name: loop})
    finally:
        loop.close()
    assert [each.filename for each in caught] == [__file__]
    assert made.options.facade.loop is (loop if name == "loop" else None)
