"""Entering, closing, cancelling: bounded, in order, once."""

import logging
from typing import Any

import anyio
import pytest

from kgroup.config import ConsumerConfig
from kgroup.consumer import Consumer
from kgroup.errors import (
    ArgumentError,
    ClosedError,
    ConfigError,
    GroupError,
    IllegalStateError,
    NoBrokerError,
)
from kgroup.journal import MemberStarted, MemberStopped
from kgroup.types import Leave, OwnershipChange, Subscription
from tests.consumer.entered import A, B, by_hand, entered, staged
from tests.consumer.refused import refused_in_the_middle
from tests.consumer.shelf import Shelf, full

pytestmark = pytest.mark.anyio


async def test_entering_without_a_broker_lists_every_address_and_why() -> None:
    shelf = Shelf(brokers=2, t=1)
    for broker in shelf.brokers:
        broker.go_down()
    stage = staged(
        shelf, "t", bootstrap_servers="broker-1:9092,broker-2:9092", bootstrap_timeout=3.0
    )
    with pytest.raises(NoBrokerError, match="refuses") as caught:
        async with stage.consumer:
            pytest.fail("entered")
    assert set(caught.value.tried) == {"broker-1:9092", "broker-2:9092"}
    assert anyio.current_time() < 6


@pytest.mark.parametrize(("given", "seconds"), [({}, 5), ({"bootstrap_timeout": 9.0}, 9)])
async def test_entering_where_nobody_listens_ends_after_5_s_unless_a_time_is_given(
    given: dict[str, Any], seconds: float
) -> None:
    stage = staged(Shelf(t=1), "t", bootstrap_servers="broker-1:1", **given)
    with pytest.raises(NoBrokerError, match="broker-1:1"):
        async with stage.consumer:
            pytest.fail("entered")
    assert anyio.current_time() == pytest.approx(seconds, abs=0.1)


async def test_entering_waits_for_no_group() -> None:
    async with entered(Shelf(t=1)) as stage:
        assert stage.consumer.assignment() == frozenset()
        assert anyio.current_time() < 1


async def test_an_exception_of_the_body_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with entered(full()):
            raise KeyError("mine")


async def test_a_cancelled_body_still_leaves_the_group() -> None:
    with anyio.move_on_after(2):
        async with entered(full()) as stage:
            await stage.give(A)
            await anyio.sleep_forever()
    assert stage.group.left is Leave.DEFAULT
    assert not shelf_connections(stage.shelf)


def shelf_connections(shelf: Shelf) -> int:
    return sum(len(broker.connections()) for broker in shelf.brokers)


async def test_closing_commits_done_records_leaves_and_closes_every_socket() -> None:
    async with entered(full(), auto_commit_interval=1000) as stage:
        await stage.give(A)
        await stage.consumer.getmany(max_records=10, timeout=1)
        await stage.consumer.getmany(max_records=10, timeout=1)
        await stage.consumer.close()
        assert stage.group.offsets[A] == 20
        assert not shelf_connections(stage.shelf)
    (stopped,) = stage.events(MemberStopped)
    assert (stopped.reason, stopped.left) == ("closed", True)
    assert isinstance(stage.sink.events[0], MemberStarted)


async def test_closing_twice_is_closing_once() -> None:
    async with entered(full()) as stage:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stage.consumer.close)
            tasks.start_soon(stage.consumer.close)
        await stage.consumer.close()
    assert len(stage.events(MemberStopped)) == 1


async def test_closing_waits_for_a_batch_in_another_tasks_hands() -> None:
    async with entered(full(), max_poll_records=10) as stage, anyio.create_task_group() as tasks:
        await stage.give(A)
        started = anyio.Event()

        async def work() -> None:
            async with await anext(stage.consumer.batches()):
                started.set()
                await anyio.sleep(1)

        tasks.start_soon(work)
        await started.wait()
        await stage.consumer.close(timeout=10)
        assert stage.group.offsets[A] == 10


async def test_closing_does_not_wait_for_a_batch_of_the_closing_task() -> None:
    async with entered(full(), max_poll_records=10) as stage:
        await stage.give(A)
        before = anyio.current_time()
        async with await anext(stage.consumer.batches()):
            await stage.consumer.close(timeout=10)
        assert anyio.current_time() - before < 1
        assert stage.group.offsets.get(A, 0) == 0


async def test_closing_returns_in_time_whatever_a_listener_does() -> None:
    class Stuck:
        async def on_revoked(
            self, consumer: Consumer[bytes, bytes], change: OwnershipChange
        ) -> None:
            await anyio.sleep_forever()

    async with entered(full(), listener=Stuck()) as stage:
        await stage.give(A)
        before = anyio.current_time()
        await stage.consumer.close(timeout=3.0)
        assert anyio.current_time() - before <= 4.5


async def test_closing_returns_in_time_with_every_broker_dead() -> None:
    async with by_hand(full(), A) as stage:
        await stage.consumer.getone(timeout=1)
        stage.shelf.broker(1).go_down()
        before = anyio.current_time()
        await stage.consumer.close(timeout=3.0)
        assert anyio.current_time() - before <= 4.5


async def test_after_closing_calls_say_so() -> None:
    async with entered(full()) as stage:
        await stage.give(A)
        await stage.consumer.close()
        with pytest.raises(ClosedError):
            await stage.consumer.getone()
        with pytest.raises(ClosedError):
            await stage.consumer.commit()
        with pytest.raises(ClosedError):
            stage.consumer.seek(A, 1)
        assert [each async for each in stage.consumer.batches()] == []
        assert stage.consumer.assignment() == frozenset()


async def test_it_says_its_options_and_when_it_is_closed() -> None:
    stage = staged(Shelf(t=1), "t", max_poll_interval=77.0)
    assert stage.consumer.config.max_poll_interval == 77.0
    assert not stage.consumer.closed
    async with stage.consumer:
        assert not stage.consumer.closed
    assert stage.consumer.closed


async def test_a_consumer_is_entered_once() -> None:
    async with entered(Shelf(t=1)) as stage:
        with pytest.raises(IllegalStateError):
            async with stage.consumer:
                pytest.fail("entered twice")


async def test_closing_a_consumer_that_was_never_entered_does_nothing() -> None:
    await staged(Shelf(t=1), "t").consumer.close()


async def test_subscribing_reaches_the_group() -> None:
    async with entered(Shelf(t=1)) as stage:
        assert stage.group.subscription == Subscription(topics=frozenset({"t"}))
        stage.consumer.subscribe(pattern="t.*", exclude="t9")
        assert stage.group.subscription == Subscription(pattern="t.*", exclude="t9")
        assert stage.consumer.subscription() == stage.group.subscription
        stage.consumer.unsubscribe()
        assert [stage.group.subscription] == [None]  # `is` would narrow what follows
        stage.consumer.assign([A])
        assert stage.consumer.owns(A)


async def test_topics_and_partitions_by_hand_exclude_each_other() -> None:
    async with entered(Shelf(t=1)) as stage:
        with pytest.raises(IllegalStateError, match="unsubscribe"):
            stage.consumer.assign([A])
    async with by_hand(Shelf(t=1), A) as stage:
        with pytest.raises(IllegalStateError, match="unsubscribe"):
            stage.consumer.subscribe("t")


async def test_assigning_anew_keeps_the_claims_of_kept_partitions() -> None:
    async with by_hand(full(), A) as stage:
        assert (await stage.consumer.getone(timeout=1)).offset == 0
        (claim,) = stage.consumer.membership.claims
        stage.consumer.assign([A, B])
        assert claim in stage.consumer.membership.claims
        assert await stage.consumer.position(A) == 1
        stage.consumer.assign([B])
        assert stage.consumer.assignment() == {B}


async def test_a_subscription_without_a_group_is_refused() -> None:
    with pytest.raises(ConfigError, match="group_id"):
        Consumer("t")


@pytest.mark.parametrize(
    ("topics", "options"),
    [
        ((), {}),
        (("t",), {"pattern": "t"}),
        (("",), {}),
        ((7,), {}),
        ((), {"pattern": "("}),
        (("t",), {"exclude": "u"}),
    ],
)
async def test_a_subscription_that_makes_no_sense_is_refused(topics, options) -> None:
    async with entered(Shelf(t=1)) as stage:
        with pytest.raises(ArgumentError):
            stage.consumer.subscribe(*topics, **options)


class Lost:
    def on_lost(self, _consumer: object, _change: object) -> None: ...


class Misspelt:
    def on_partitions_revoked(self, _revoked: object) -> None: ...


@pytest.mark.parametrize(
    ("argument", "given"),
    [
        ("key", "utf-8"),
        ("value", 1),
        ("listener", Misspelt()),
        ("listener", print),
        ("listener", Lost),
    ],
)
async def test_arguments_that_cannot_be_called_are_refused(argument: str, given: Any) -> None:
    with pytest.raises(ArgumentError, match=argument):
        Consumer("t", group_id="g", **{argument: given})


async def test_a_consumer_is_shown_in_a_few_words_at_every_time_of_its_life() -> None:
    stage = staged(full(), "t", client_id="till")
    who = "<Consumer group_id='g' client_id='till' state="
    shown = [repr(stage.consumer)]
    async with stage.consumer:
        await stage.give(A, B)
        shown.append(repr(stage.consumer))
        stage.group.fail(GroupError("the test ends it"))
        await anyio.sleep(0.1)
        shown.append(repr(stage.consumer))
    shown.append(repr(stage.consumer))
    assert shown[0] == f"{who}not entered>"
    assert shown[1] == f"{who}stable partitions=2>"
    assert shown[2].startswith(f"{who}failed ")
    assert shown[3] == f"{who}closed partitions=0>"


async def test_one_line_says_that_a_consumer_without_membership_was_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="kgroup")
    async with by_hand(full(), A, group_id=None, client_id="till"):
        pass
    assert [each.getMessage() for each in caplog.records] == [
        "group=None client=till closed reason=closed"
    ]


async def test_options_are_set_on_top_of_a_config() -> None:
    consumer = Consumer(config=ConsumerConfig(group_id="g"), max_poll_records=3)
    assert consumer.subscription() is None
    with pytest.raises(ConfigError, match="did you mean"):
        Consumer(groupid="g")  # type: ignore[call-overload]


async def test_a_failure_of_several_tasks_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await refused_in_the_middle()
    (line,) = (each.getMessage() for each in caplog.records if each.levelno == logging.ERROR)
    assert line.startswith("the consumer cannot go on: ")
