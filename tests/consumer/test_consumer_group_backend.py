"""Whole consumers in a group of KIP-848, in the process: refusals, patterns, sessions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kgroup.codes import ErrorCode
from kgroup.consumer import Consumer, Listener
from kgroup.errors import BrokerError, UnsupportedError, UnsupportedVersionError
from kgroup.testing import BrokerSettings, InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import ChangeKind, TopicPartition
from kgroup.wire.messages import ConsumerGroupHeartbeatRequest
from tests.consumer.entered import A, B, Bytes, config_for
from tests.consumer.ground import fill, ground
from tests.consumer.listening import Heard
from tests.contracts.application import until

U = TopicPartition("u", 0)


@asynccontextmanager
async def consuming(
    broker: InProcessBroker, *topics: str, listener: Listener | None = None, **options: Any
) -> AsyncIterator[Consumer[Bytes, Bytes]]:
    config = config_for(broker, **{"group_protocol": "consumer", **options})
    async with Consumer(*topics, config=config, listener=listener) as consumer:
        yield consumer


async def owns(consumer: Consumer[Bytes, Bytes], *tps: TopicPartition) -> None:
    await until(lambda: consumer.assignment() == {*tps}, 60.0, f"owns {tps}")


async def test_records_are_read_and_committed_under_the_members_epoch() -> None:
    broker = ground(t=2)
    async with consuming(broker, "t") as consumer:
        seen = [(await consumer.getone(timeout=10.0)).offset for _ in range(20)]
        await consumer.commit()
        assert sorted(seen) == sorted([*range(10), *range(10)])
        view = broker.group("g").view()
        assert (view.state, view.protocol, view.leader) == ("Stable", "uniform", None)
        assert broker.group("g").committed == {("t", 0): 10, ("t", 1): 10}
    assert broker.group("g").members == ()


async def test_a_member_that_is_expelled_comes_back_under_the_same_id() -> None:
    broker = ground(t=2)
    heard = Heard()
    async with consuming(broker, "t", listener=heard) as consumer:
        await owns(consumer, A, B)
        (before,) = broker.group("g").members
        broker.group("g").expire(before.member_id)
        await until(lambda: heard.of(ChangeKind.LOST), 10.0, "it hears that it is expelled")
        await owns(consumer, A, B)
        assert [each.member_id for each in broker.group("g").members] == [before.member_id]


@pytest.mark.parametrize("protocol", ["auto", "consumer"])
async def test_the_group_has_the_protocol_that_was_asked_for(protocol: str) -> None:
    broker = ground(t=2)
    async with consuming(broker, "t", group_protocol=protocol) as consumer:
        await owns(consumer, A, B)
        assert broker.group("g").view().leader is None


async def test_auto_takes_the_classic_protocol_of_a_broker_that_has_no_other() -> None:
    broker = InProcessBroker(topics={"t": 2}, release="3.9.1")
    async with consuming(broker, "t", group_protocol="auto") as consumer:
        await owns(consumer, A, B)
        assert broker.group("g").view().leader is not None


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
async def test_a_group_moves_to_the_next_protocol_and_back(assignor: str) -> None:
    broker = ground(t=2)
    classic: dict[str, Any] = {"group_protocol": "classic", "assignors": (assignor,)}
    async with consuming(broker, "t", **classic) as old:
        await owns(old, A, B)
        async with consuming(broker, "t") as new:
            halves = [1, 1]
            await until(
                lambda: [len(each.assignment()) for each in (old, new)] == halves, 60.0, "halves"
            )
            assert {*old.assignment(), *new.assignment()} == {A, B}
            assert broker.group("g").view().leader is None
            await old.commit(dict.fromkeys(old.assignment(), 3))
        await owns(old, A, B)
        assert broker.group("g").view().leader is not None
        assert sorted(broker.group("g").committed.values()) == [0, 3]


# -- patterns ----------------------------------------------------------------------------------


async def test_the_coordinator_matches_a_pattern_and_finds_new_topics() -> None:
    broker = ground(**{"t-a": 1, "u": 1})
    async with consuming(broker, pattern_on="broker", metadata_max_age=3600.0) as consumer:
        consumer.subscribe(pattern="t-.")
        await owns(consumer, TopicPartition("t-a", 0))
        broker.create_topic("t-b", 1)
        fill(broker, TopicPartition("t-b", 0), 1)
        await owns(consumer, TopicPartition("t-a", 0), TopicPartition("t-b", 0))


async def test_names_take_the_place_of_a_pattern_and_back() -> None:
    broker = ground(t=1, u=1)
    async with consuming(broker, pattern_on="broker") as consumer:
        consumer.subscribe(pattern="u")
        await owns(consumer, U)
        consumer.subscribe("t")
        await owns(consumer, A)
        consumer.subscribe(pattern="u")
        await owns(consumer, U)


async def test_the_coordinator_leaves_out_nothing_that_fits_a_pattern() -> None:
    async with consuming(ground(t=1), pattern_on="broker") as consumer:
        with pytest.raises(UnsupportedError, match="exclude"):
            consumer.subscribe(pattern="t.*", exclude="t-dead")


# -- what is refused ---------------------------------------------------------------------------


async def failed(broker: InProcessBroker, **options: Any) -> Exception:
    """Read until the consumer fails."""
    async with consuming(broker, "t", **options) as consumer:
        with pytest.raises((BrokerError, UnsupportedVersionError)) as caught:
            await consumer.getone(timeout=60.0)
    return caught.value


async def test_a_broker_without_the_protocol_says_how_to_go_on() -> None:
    error = await failed(InProcessBroker(topics={"t": 1}, release="3.9.1"))
    assert "group_protocol='classic'" in str(error)


async def test_an_unknown_server_assignor_is_refused_with_those_that_are_known() -> None:
    error = await failed(ground(t=1), server_assignor="no-such")
    assert "uniform, range" in str(error)
    assert "no-such" in str(error)


def closed() -> InProcessBroker:
    """Return brokers on which no group with members changes its protocol."""
    settings = BrokerSettings(consumer_migration=False)
    return InProcessBroker(topics={"t": 1}, settings=settings)


async def test_a_classic_group_with_members_that_may_not_turn_says_why() -> None:
    broker = closed()
    async with consuming(broker, "t", group_protocol="classic") as first:
        await owns(first, A)
        error = await failed(broker)
        assert isinstance(error, BrokerError)
        assert error.code == ErrorCode.GROUP_ID_NOT_FOUND
        assert "group.consumer.migration.policy" in str(error)
        assert first.assignment() == {A}


async def test_a_group_that_takes_no_classic_members_says_what_it_is() -> None:
    broker = closed()
    async with consuming(broker, "t") as first:
        await owns(first, A)
        error = await failed(broker, group_protocol="classic")
        assert isinstance(error, BrokerError)
        assert error.code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        assert "group_protocol='consumer'" in str(error)
        assert first.assignment() == {A}


async def test_a_pattern_that_the_coordinator_cannot_read_is_refused_with_its_words() -> None:
    broker = ground(t=1)
    code = ErrorCode.INVALID_REGULAR_EXPRESSION
    broker.answers.error(ConsumerGroupHeartbeatRequest, code)
    async with consuming(broker, pattern_on="broker") as consumer:
        consumer.subscribe(pattern="(?!t)")
        with pytest.raises(BrokerError) as caught:
            await consumer.getone(timeout=60.0)
    assert caught.value.code == code
    assert "RE2J" in str(caught.value)


async def test_it_lasts_as_long_as_a_session_that_brokers_tell() -> None:
    broker = ground(t=1)
    broker.core.coordinators.configs["g"] = {"consumer.session.timeout.ms": "6000"}
    ports, heard = virtual_ports(broker.dial), Heard()
    async with consuming(broker, "t", ports=ports, listener=heard) as consumer:
        await owns(consumer, A)
        broker.answers.ignore(ConsumerGroupHeartbeatRequest, times=None)
        began = ports.clock()
        await until(lambda: heard.of(ChangeKind.LOST), 60.0, "it hears that its session is over")
        assert ports.clock() - began < 6.5
