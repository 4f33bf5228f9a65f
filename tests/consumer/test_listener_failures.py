"""Callbacks that are slow, raise or are cancelled; and when exactly on_lost is called."""

import asyncio
from typing import Any

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.consumer import Consumer
from kgroup.errors import CommitFailedError, NotOwnedError
from kgroup.journal import CallbackStage, CallbackStep
from kgroup.testing.virtual_time import virtual_backend
from kgroup.types import Cause, ChangeKind, OwnershipChange
from kgroup.wire.messages import HeartbeatRequest
from tests.consumer.entered import GROUP, A, B, Grouped, entered, grouped
from tests.consumer.listening import Heard, filled, read_on, settle, tps
from tests.consumer.shelf import full

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

# -- callbacks that go wrong -------------------------------------------------------------------


async def stuck(consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
    await anyio.sleep_forever()


async def poll_on(it: Grouped) -> None:
    while True:
        await it.consumer.getmany(timeout=1)


async def poll_until_cut(it: Grouped) -> float:
    """Go on polling until the callback that never returns is reported; return the seconds."""
    began = anyio.current_time()
    with pytest.raises(TimeoutError, match="on_revoked of the listener"):
        await poll_on(it)
    return anyio.current_time() - began


async def test_a_slow_callback_is_cut_at_the_rebalance_timeout_and_others_are_not_touched() -> None:
    """https://github.com/confluentinc/confluent-kafka-python/issues/939"""
    heard = Heard(revoked=stuck)
    async with grouped(filled(), listener=heard, enable_auto_commit=False) as it:
        await settle(it)
        it.peers.add("other", "t")
        assert 59 <= await poll_until_cut(it) <= 65
        await it.consumer.getmany(timeout=5)
        (revoked,) = tps(heard.of(ChangeKind.REVOKED)[0].removed)
        assert it.consumer.assignment() == {A, B} - {revoked}
        assert len(heard.of(ChangeKind.REVOKED)) == 1
        assert heard.of(ChangeKind.LOST) == []
        await it.consumer.close(timeout=1.0)


async def test_a_shielded_callback_is_warned_of_once_and_delays_only_its_partition(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # 1. on_revoked(p) shields itself, and takes 90 s; 2. it is cut off at 60 s, and goes on: p
    # stays with this member, whose heartbeats go on, and what it keeps is read; 3. it returns.
    async def shielded(consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(90)

    heard = Heard(revoked=shielded)
    async with grouped(filled(), listener=heard, enable_auto_commit=False) as it:
        await settle(it)
        it.peers.add("other", "t")
        with anyio.move_on_after(75):
            await poll_on(it)
        steps = [each for each in it.sink.events if isinstance(each, CallbackStep)]
        overdue = [each.kind for each in steps if each.stage is CallbackStage.OVERDUE]
        assert overdue == [ChangeKind.REVOKED]
        (revoked,) = tps(heard.of(ChangeKind.REVOKED)[0].removed)
        (warned,) = [each.getMessage() for each in caplog.records if "goes on" in each.message]
        assert warned.startswith("on_revoked of the listener was cut off after 60 s and goes on")
        assert str(revoked) in warned
        assert it.consumer.owns(revoked)
        assert 10 <= await poll_until_cut(it) <= 20
        await it.consumer.getmany(timeout=5)
        assert it.consumer.assignment() == {A, B} - {revoked}
        assert heard.of(ChangeKind.LOST) == []
        await it.consumer.close(timeout=1.0)


async def test_a_slow_callback_that_outlasts_its_round_costs_its_claims() -> None:
    """https://github.com/confluentinc/confluent-kafka-python/issues/939

    Eager: the group waits for this member, and goes on without it. The listener hears of
    the revocation once, and the claims that come back are new ones.
    """
    heard = Heard(revoked=stuck)
    options: dict[str, Any] = {"assignors": ("range",), "enable_auto_commit": False}
    async with grouped(filled(), listener=heard, **options) as it:
        await settle(it)
        before = set(it.consumer.membership.claims)
        it.group.rebalance()
        assert 59 <= await poll_until_cut(it) <= 65
        while it.consumer.assignment() != {A, B}:
            await it.consumer.getmany(timeout=1)
        assert before.isdisjoint(it.consumer.membership.claims)
        assert len(heard.of(ChangeKind.REVOKED)) == 1
        await it.consumer.close(timeout=1.0)


@pytest.mark.parametrize("anyio_backend", [virtual_backend("asyncio")], ids=["asyncio"])
@pytest.mark.parametrize("awaits", [False, True])
async def test_a_callback_that_cancels_its_task_counts_as_one_that_raised(awaits: bool) -> None:
    """On asyncio only: trio has no way to cancel a task but by its scopes."""

    class Cancels:
        def on_assigned(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> Any:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            return asyncio.sleep(1) if awaits else None

    async with entered(full(), listener=Cancels()) as stage:
        stage.group.give(A)
        await anyio.sleep(0.1)
        with pytest.raises(RuntimeError, match="cancelled from inside"):
            await stage.consumer.getmany(timeout=1)
        assert await stage.consumer.getmany(timeout=1) != {}
        stage.group.take_away(A)
        await stage.consumer.getmany(timeout=1)
        await anyio.sleep(0.1)
        assert not stage.consumer.owns(A)


async def test_a_callback_whose_own_tasks_are_cancelled_goes_on() -> None:
    done = []

    async def cancelled(consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.sleep_forever)
            tasks.cancel_scope.cancel()
        with anyio.move_on_after(0.5):
            await anyio.sleep_forever()
        done.append(change.kind)

    async with entered(full(), listener=Heard(assigned=cancelled, revoked=cancelled)) as stage:
        stage.group.give(A)
        assert await stage.consumer.getmany(timeout=2) != {}
        stage.group.take_away(A)
        await stage.consumer.getmany(timeout=2)
        assert done == [ChangeKind.ASSIGNED, ChangeKind.REVOKED]


# -- lost, and only when it is -----------------------------------------------------------------

ENDINGS = {
    "unknown member": ErrorCode.UNKNOWN_MEMBER_ID,
    "another generation": ErrorCode.ILLEGAL_GENERATION,
    "fenced": ErrorCode.FENCED_INSTANCE_ID,
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("amid", [False, True], ids=["stable", "amid a round"])
async def test_on_lost_is_called_when_the_broker_says_that_it_is_over(
    ending: str, amid: bool
) -> None:
    """https://github.com/confluentinc/librdkafka/pull/5604"""
    heard = Heard()
    async with grouped(filled(), listener=heard, enable_auto_commit=False) as it:
        await settle(it)
        if amid:
            it.group.rebalance()
            await anyio.sleep(0.5)
        heard.changes.clear()
        refusing = it.broker.answers.error(HeartbeatRequest, ENDINGS[ending], times=None)
        await anyio.sleep(5)
        refusing.cancel()
        assert heard.kinds[0] is ChangeKind.LOST
        assert tps(heard.changes[0].removed) == {A, B}
        assert ChangeKind.REVOKED not in heard.kinds


@pytest.mark.parametrize("amid", [False, True], ids=["stable", "amid a round"])
async def test_on_lost_is_called_before_a_session_ends_that_cannot_be_confirmed(
    amid: bool,
) -> None:
    heard = Heard()
    async with grouped(filled(), listener=heard, enable_auto_commit=False) as it:
        await settle(it)
        if amid:
            it.group.rebalance()
        heard.changes.clear()
        it.broker.node(1).kill()
        await anyio.sleep(GROUP["session_timeout"])
        assert heard.kinds == [ChangeKind.LOST]
        assert heard.changes[0].cause is Cause.SESSION_EXPIRED
        it.broker.node(1).start()
        await it.owns(A, B)


@pytest.mark.parametrize("amid", [False, True], ids=["stable", "amid a round"])
async def test_on_lost_is_called_when_the_poll_interval_ends_also_in_a_round(amid: bool) -> None:
    heard = Heard()
    async with grouped(filled(), listener=heard, enable_auto_commit=False) as it:
        await settle(it)
        heard.changes.clear()
        if amid:
            await anyio.sleep(GROUP["max_poll_interval"] - 10)
            it.group.rebalance()
        await anyio.sleep(GROUP["max_poll_interval"] + 10)
        ended = [change for change in heard.changes if change.removed]
        assert [tps(change.removed) for change in ended] == [{A, B}]
        assert [change.kind for change in ended] == [ChangeKind.LOST]
        assert ended[0].cause is Cause.POLL_TIMEOUT
        assert it.group.members == ()


async def test_on_lost_is_not_called_for_rounds_unsubscribing_and_closing() -> None:
    heard = Heard()
    async with grouped(filled(), listener=heard) as it, anyio.create_task_group() as tasks:
        tasks.start_soon(read_on, it.consumer)
        await settle(it)
        it.peers.add("other", "t")
        await anyio.sleep(5)
        it.peers.end("other")
        await anyio.sleep(5)
        it.consumer.unsubscribe()
        await anyio.sleep(5)
        it.consumer.subscribe("t")
        await settle(it)
        await it.consumer.close()
        tasks.cancel_scope.cancel()
    assert ChangeKind.LOST not in heard.kinds
    assert heard.of(ChangeKind.REVOKED)


async def test_nothing_can_be_committed_in_on_lost() -> None:
    refused = []

    async def commit(consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        try:
            await consumer.commit({claim.tp: 9 for claim in change.removed})
        except (NotOwnedError, CommitFailedError) as error:
            refused.append(error)

    heard = Heard(lost=commit)
    async with grouped(filled(), listener=heard, enable_auto_commit=False) as it:
        await settle(it)
        member_id = it.group.members[0].member_id
        it.group.expire(member_id)
        await anyio.sleep(5)
        assert [type(error) for error in refused] == [NotOwnedError]
        assert it.group.offsets == {}
