"""The options of KIP-848, and what this protocol moves to the broker."""

import pytest

from kgroup.config import ConsumerConfig
from kgroup.errors import ConfigError
from kgroup.types import GroupProtocol


def consumer(**options: object) -> ConsumerConfig:
    return ConsumerConfig.of({"group_protocol": "consumer", "group_id": "billing", **options})


def test_the_classic_protocol_is_the_default() -> None:
    assert ConsumerConfig(group_id="g").group_protocol is GroupProtocol.CLASSIC


@pytest.mark.parametrize(
    ("name", "value", "where"),
    [
        ("heartbeat_interval", 1.0, "group.consumer.heartbeat.interval.ms"),
        ("assignors", ("range",), "server_assignor"),
    ],
)
def test_an_option_that_moved_to_the_broker_is_refused_with_where_it_went(
    name: str, value: object, where: str
) -> None:
    with pytest.raises(ConfigError, match=name) as refused:
        consumer(**{name: value})
    assert where in str(refused.value)


def test_a_server_assignor_needs_the_protocol() -> None:
    with pytest.raises(ConfigError, match=r"server_assignor.*group_protocol='consumer'"):
        ConsumerConfig(group_id="g", server_assignor="range")


def test_a_group_that_claims_has_no_coordinator_to_speak_to() -> None:
    with pytest.raises(ConfigError, match="group_protocol"):
        consumer(backend="marshal")


def test_a_thread_cannot_send_these_heartbeats() -> None:
    with pytest.raises(ConfigError, match=r"isolated_heartbeats.*group_protocol='consumer'"):
        consumer(isolated_heartbeats=True)


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(ConfigError, match="'classic' or 'consumer' or 'auto'"):
        ConsumerConfig.of({"group_id": "g", "group_protocol": "next"})


def test_auto_takes_the_classic_protocol_where_an_option_is_against_the_newer_one() -> None:
    auto = {"group_protocol": "auto", "group_id": "g"}
    assert ConsumerConfig.of(auto).against_consumer_protocol is None
    found = ConsumerConfig.of({**auto, "assignors": ("range",)}).against_consumer_protocol
    assert found == "assignors"


def test_a_member_is_handed_its_settings() -> None:
    config = consumer(
        group_instance_id="i1", server_assignor="range", client_rack="r", max_poll_interval=20.0
    )
    settings = config.consumer_group("id")
    assert (settings.member_id, settings.group_instance_id) == ("id", "i1")
    assert (settings.server_assignor, settings.client_rack) == ("range", "r")
    assert settings.rebalance_timeout == settings.poll_interval == 20.0


def test_a_session_time_out_is_asked_for_unless_one_is_given() -> None:
    assert consumer().consumer_group("id").session_timeout is None
    assert consumer(session_timeout=2.0).consumer_group("id").session_timeout == 2.0


def test_a_short_session_is_no_doubt_about_the_brokers_heartbeats() -> None:
    assert consumer(session_timeout=4.0, max_poll_interval=60.0).doubts() == ()
