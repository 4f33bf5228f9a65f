"""Keys of kafka-python become options of ours, or are refused in its words."""

from typing import Any

import pytest
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaConfigurationError
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.version import __version__

from kgroup.compat.kafka_python import KafkaConsumer, options
from kgroup.compat.pins import KAFKA_PYTHON
from kgroup.net.security import SaslMechanism
from kgroup.offsets.reset import ResetPolicy


def test_the_defaults_are_those_of_kafka_python() -> None:
    config = options.read({}).config
    assert config.client_id == f"kafka-python-{__version__}"
    assert (config.request_timeout, config.session_timeout) == (30.0, 45.0)
    assert (config.max_poll_records, config.allow_auto_create_topics) == (500, True)
    assert config.assignors == ("range", "roundrobin")
    assert config.reconnect_backoff_max == 30.0


@pytest.mark.parametrize(
    ("name", "value", "ours", "seconds"),
    [
        ("session_timeout_ms", 6000, "session_timeout", 6.0),
        ("max_poll_interval_ms", 1000, "max_poll_interval", 1.0),
        ("heartbeat_interval_ms", 50, "heartbeat_interval", 0.05),
        ("metadata_max_age_ms", 100, "metadata_max_age", 0.1),
        ("auto_commit_interval_ms", 100, "auto_commit_interval", 0.1),
        ("retry_backoff_ms", 0, "retry_backoff", 0.0),
        ("fetch_max_wait_ms", 0, "fetch_max_wait", 0.0),
        ("request_timeout_ms", 501, "request_timeout", 0.501),
        ("bootstrap_timeout_ms", 700, "bootstrap_timeout", 0.7),
        ("connections_max_idle_ms", float("inf"), "connections_max_idle", 2_147_483.0),
    ],
)
def test_times_become_seconds(name: str, value: float, ours: str, seconds: float) -> None:
    assert getattr(options.read({name: value}).config, ours) == seconds


def test_answers_and_idle_connections_have_a_tenth_of_a_second_at_least() -> None:
    short = {"fetch_max_wait_ms": 0, "request_timeout_ms": 1, "connections_max_idle_ms": 2}
    config = options.read(short).config
    assert (config.request_timeout, config.connections_max_idle) == (0.1, 0.1)


def test_a_session_shorter_than_its_heartbeats_is_taken_without_a_group_only() -> None:
    config = options.read({"session_timeout_ms": 200}).config
    assert config.session_timeout == 0.2
    with pytest.raises(KafkaConfigurationError, match="must be lower than the session timeout"):
        options.read({"session_timeout_ms": 200, "group_id": "g"})


def test_an_unknown_key_is_refused_and_the_nearest_named() -> None:
    with pytest.raises(KafkaConfigurationError, match=r"grup_id.*did you mean 'group_id'"):
        KafkaConsumer(grup_id="g")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("proxy_url", "socks5://host:1"),
        ("socks5_proxy", "socks5://host:1"),
        ("metric_reporters", [object]),
        ("receive_buffer_bytes", 32768),
        ("socket_options", []),
        ("kafka_client", object),
        ("metrics_num_samples", 5),
        ("client_dns_lookup", "resolve_canonical_bootstrap_servers_only"),
    ],
)
def test_what_cannot_be_honoured_is_refused(name: str, value: object) -> None:
    with pytest.raises(KafkaConfigurationError, match=f"{name}=.* cannot be honoured"):
        KafkaConsumer(**{name: value})


def test_times_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(KafkaConfigurationError, match="must be larger than fetch_max_wait_ms"):
        options.read({"request_timeout_ms": 500})
    with pytest.raises(KafkaConfigurationError, match="connections_max_idle_ms"):
        options.read({"connections_max_idle_ms": 1000})


@pytest.mark.parametrize(
    ("given", "policy"), [("smallest", "earliest"), ("largest", "latest"), ("?", "none")]
)
def test_words_for_the_beginning_are_old_and_new(given: str, policy: str) -> None:
    found = options.read({"auto_offset_reset": given}).config.auto_offset_reset
    assert found is ResetPolicy[policy.upper()]


@pytest.mark.parametrize("name", ["", ".", "a b", "x" * 250, b"x"])
def test_an_instance_id_that_cannot_be_one_is_refused(name: object) -> None:
    with pytest.raises(KafkaConfigurationError, match="group_instance_id"):
        options.read({"group_id": "g", "group_instance_id": name})


def test_an_instance_id_needs_a_group() -> None:
    with pytest.raises(KafkaConfigurationError, match="group_instance_id requires group_id"):
        options.read({"group_instance_id": "i"})


def test_a_value_of_another_kind_is_refused_under_the_name_that_was_given() -> None:
    with pytest.raises(KafkaConfigurationError, match="session_timeout_ms: got 'soon'"):
        options.read({"session_timeout_ms": "soon"})
    with pytest.raises(KafkaConfigurationError, match="fetch_min_bytes: got 'many'"):
        options.read({"fetch_min_bytes": "many"})
    with pytest.raises(KafkaConfigurationError, match="isolation_level"):
        options.read({"isolation_level": "read_some"})


def test_assignor_classes_stand_for_native_ones() -> None:
    found = options.read({"partition_assignment_strategy": [CooperativeStickyAssignor]})
    assert (found.config.assignors, found.eager) == (("cooperative-sticky",), False)
    both = [CooperativeStickyAssignor, RangePartitionAssignor]
    assert options.read({"partition_assignment_strategy": both}).eager


@pytest.mark.parametrize("strategy", [[], RangePartitionAssignor, ["range"], None])
def test_a_strategy_that_is_none_is_refused(strategy: object) -> None:
    with pytest.raises(KafkaConfigurationError, match="partition_assignment_strategy"):
        options.read({"partition_assignment_strategy": strategy, "group_id": "g"})


class _Provider(AbstractTokenProvider):
    def token(self) -> str:
        return "token"


def test_ways_to_log_in_become_ours() -> None:
    sasl: dict[str, Any] = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
    }
    named = {"sasl_plain_username": "u", "sasl_plain_password": "p"}
    assert options.read({**sasl, **named}).config.sasl_mechanism is SaslMechanism.SCRAM_SHA_512
    bearer = {**sasl, "sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": _Provider()}
    assert options.read(bearer).config.sasl_mechanism is SaslMechanism.OAUTHBEARER


@pytest.mark.parametrize(
    "configs",
    [
        {"security_protocol": "SASL"},
        {"security_protocol": "SASL_PLAINTEXT"},
        {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"},
        {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "GSSAPI"},
        {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"},
    ],
)
def test_a_way_to_log_in_that_is_incomplete_is_refused(configs: dict[str, Any]) -> None:
    with pytest.raises(KafkaConfigurationError):
        options.read(configs)


def test_a_version_that_is_not_known_is_refused_by_name() -> None:
    KAFKA_PYTHON.check("3.0.12")
    for version in ("2.2.3", "3.1.0", "4.0", "?"):
        with pytest.raises(ImportError, match=r"kafka-python>=3\.0,<3\.1"):
            KAFKA_PYTHON.check(version)


def test_a_callback_that_would_not_hear_of_automatic_commits_is_refused() -> None:
    def callback(*_: object) -> None: ...

    asked = {"group_id": "g", "default_offset_commit_callback": callback}
    with pytest.raises(KafkaConfigurationError, match="enable_auto_commit"):
        options.read(asked)
    for fine in (
        {**asked, "enable_auto_commit": False},
        {**asked, "default_offset_commit_callback": None},
    ):
        assert options.read(fine).config.group_id == "g"
