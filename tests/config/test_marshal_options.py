"""The options of Marshal mode, and what they allow together."""

import pytest

from kgroup.config import ConsumerConfig
from kgroup.errors import ConfigError
from kgroup.marshal.rules import ClaimPolicy, Guarantee


def marshal(**options: object) -> ConsumerConfig:
    return ConsumerConfig.of({"backend": "marshal", "group_id": "billing", **options})


@pytest.mark.parametrize("name", ["group_id", "group_instance_id", "client_id"])
@pytest.mark.parametrize("value", ["a/b", "a\nb", "a\x00b", "x" * 250])
def test_an_id_that_would_make_messages_unreadable_is_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        marshal(**{name: value})


def test_the_same_ids_are_good_in_a_classic_group() -> None:
    config = ConsumerConfig(group_id="a/b", client_id="c/d", group_instance_id="e/f")
    assert config.group_id == "a/b"


@pytest.mark.parametrize("interval", [0.5, 1.5, 61.0, 120.0])
def test_a_heartbeat_interval_is_whole_seconds_up_to_a_minute(interval: float) -> None:
    with pytest.raises(ConfigError, match="marshal_heartbeat_interval"):
        marshal(marshal_heartbeat_interval=interval)


@pytest.mark.parametrize("interval", [1.0, 2.0, 60.0])
def test_two_messages_may_be_lost_within_a_lease_and_commits_are_not_bound_to_it(
    interval: float,
) -> None:
    settings = marshal(marshal_heartbeat_interval=interval).marshal("00000001", 5)
    assert 2 * settings.write_timeout + settings.beat_interval < settings.ttl * 7 / 8
    assert settings.commit_timeout == 30.0


def test_claims_are_made_for_a_group() -> None:
    with pytest.raises(ConfigError, match="group_id"):
        ConsumerConfig.of({"backend": "marshal"})


def test_at_most_once_needs_the_log() -> None:
    with pytest.raises(ConfigError, match="backend='marshal'"):
        ConsumerConfig.of({"group_id": "billing", "guarantee": "at_most_once"})


@pytest.mark.parametrize("value", [0, -1, True, 2.0, "3", 2**31], ids=repr)
def test_a_bound_of_records_is_a_whole_number_above_zero_or_none(value: object) -> None:
    with pytest.raises(ConfigError, match="max_uncommitted") as refused:
        marshal(max_uncommitted=value)
    assert "a whole number from 1 to" in str(refused.value)


@pytest.mark.parametrize("value", [1, 500, None])
def test_a_bound_of_records_is_for_groups_that_claim_at_least_once(value: int | None) -> None:
    assert marshal(max_uncommitted=value).max_uncommitted == value


def test_a_classic_group_knows_no_bound_of_records_ahead_of_a_commit() -> None:
    with pytest.raises(ConfigError, match=r"max_uncommitted.*backend='marshal'"):
        ConsumerConfig.of({"group_id": "billing", "max_uncommitted": 5})


def test_at_most_once_has_a_bound_of_its_own() -> None:
    with pytest.raises(ConfigError, match=r"max_uncommitted.*at_most_once_records"):
        marshal(max_uncommitted=5, guarantee="at_most_once")


@pytest.mark.parametrize(
    "options",
    [{"marshal_heartbeat_interval": 10.0}, {"guarantee": "at_most_once"}],
    ids=["interval", "guarantee"],
)
def test_the_rules_of_the_original_leave_no_choice(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        marshal(compat="go", **options)


def test_a_member_without_an_instance_id_has_a_name_that_no_other_process_has() -> None:
    first = marshal().marshal("00000001", 5)
    second = marshal().marshal("00000002", 5)
    assert first.client_id != second.client_id
    assert not first.is_static


def test_a_member_with_an_instance_id_keeps_its_name() -> None:
    settings = marshal(group_instance_id="web-1").marshal("00000001", 5)
    assert (settings.client_id, settings.is_static) == ("web-1", True)


def test_the_slice_has_what_was_asked_for() -> None:
    config = marshal(
        guarantee="at_most_once",
        claim_policy="greedy",
        max_claims=3,
        claim_entire_topic=True,
        marshal_heartbeat_interval=5,
    )
    settings = config.marshal("00000001", 1_700_000_000_000)
    assert settings.guarantee is Guarantee.AT_MOST_ONCE
    assert settings.policy is ClaimPolicy.GREEDY
    assert (settings.max_claims, settings.whole_topics, settings.interval) == (3, True, 5)
    assert not settings.shows_itself
