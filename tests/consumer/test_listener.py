"""The promises of the architecture about listeners.

Tests about rounds use a real group (the classic backend on an in-process Kafka); tests about calls
use a group in memory.
"""

from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.errors import IllegalStateError
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.server.switchboard import Arrival
from kgroup.types import Cause, ChangeKind, OwnershipChange, TopicPartition
from kgroup.wire.consumer_protocol import decode_subscription
from kgroup.wire.messages import JoinGroupRequest, OffsetCommitRequest
from tests.consumer.entered import A, B, entered, grouped
from tests.consumer.listening import Heard, filled, read_on, settle, tps
from tests.consumer.shelf import full, offsets_of

pytestmark = pytest.mark.anyio

# -- what a change says ------------------------------------------------------------------------


async def test_a_change_has_added_kept_and_removed_claims_and_its_cause() -> None:
    heard = Heard()
    async with grouped(filled(), listener=heard) as it, anyio.create_task_group() as tasks:
        tasks.start_soon(read_on, it.consumer)
        await settle(it)
        first = heard.of(ChangeKind.ASSIGNED)[-1]
        assert (tps(first.added), first.kept, first.removed) == ({A, B}, (), ())
        assert first.generation is not None
        assert first.generation.member_id in it.group.assignment
        it.peers.add("other", "t")
        await anyio.sleep(5)
        (given,) = heard.of(ChangeKind.REVOKED)
        assert (len(given.removed), given.added) == (1, ())
        assert tps(given.kept) | tps(given.removed) == {A, B}
        assert given.cause is Cause.GROUP_REBALANCED
        assert tps(given.kept) == it.consumer.assignment()
        serials = [change.serial for change in heard.changes]
        assert serials == sorted(set(serials))
        tasks.cancel_scope.cancel()


async def test_on_assigned_is_called_in_every_cooperative_round_also_without_news() -> None:
    heard = Heard()
    async with grouped(filled(), listener=heard) as it, anyio.create_task_group() as tasks:
        tasks.start_soon(read_on, it.consumer)
        await settle(it)
        heard.changes.clear()
        for _ in range(3):
            it.group.rebalance()
            await anyio.sleep(5)
        assert heard.kinds == [ChangeKind.ASSIGNED] * 3
        assert [change.added for change in heard.changes] == [()] * 3
        assert [tps(change.kept) for change in heard.changes] == [{A, B}] * 3
        generations = [change.generation for change in heard.changes]
        assert len(set(generations)) == 3
        tasks.cancel_scope.cancel()


# -- what works inside -------------------------------------------------------------------------


async def every_call(consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
    """Symptom 24: each call works inside a callback and comes back."""
    with anyio.fail_after(1.0):
        for tp in tps(change.added) | tps(change.kept):
            await consumer.position(tp)
            await consumer.committed(tp)
            consumer.seek(tp, 5)
            consumer.pause(tp)
            consumer.resume(tp)
            await consumer.commit({tp: 5})
            consumer.commit_soon({tp: 5})
        assert consumer.membership.claims
        with pytest.raises(IllegalStateError, match="listener"):
            await consumer.getone()
        with pytest.raises(IllegalStateError, match="listener"):
            await consumer.getmany(timeout=1)
        with pytest.raises(IllegalStateError, match="listener"):
            await anext(consumer.batches())
        with pytest.raises(IllegalStateError, match="listener"):
            await anext(aiter(consumer))


async def test_every_call_works_inside_on_assigned() -> None:
    """https://github.com/confluentinc/confluent-kafka-python/issues/2211"""
    heard = Heard(assigned=every_call)
    async with grouped(filled(), listener=heard, enable_auto_commit=False) as it:
        found: dict[TopicPartition, list[int]] = {}
        while len(found) < 2:
            found |= offsets_of(await it.consumer.getmany(timeout=1))
        assert {offsets[0] for offsets in found.values()} == {5}
        assert {tp: it.group.offsets[tp].offset for tp in (A, B)} == {A: 5, B: 5}


async def test_every_call_works_inside_on_revoked() -> None:
    """https://github.com/confluentinc/confluent-kafka-python/pull/2322"""
    done = []

    async def give(consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        await every_call(consumer, change)
        for claim in change.removed:
            await consumer.commit({claim.tp: 7})
            await consumer.position(claim.tp)
        done.append(tps(change.removed))

    heard = Heard(revoked=give)
    options: dict[str, Any] = {"enable_auto_commit": False}
    async with (
        grouped(filled(), listener=heard, **options) as it,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(read_on, it.consumer)
        await settle(it)
        it.peers.add("other", "t")
        await anyio.sleep(5)
        assert len(done) == 1
        (gone,) = done[0]
        assert it.group.offsets[gone].offset == 7
        tasks.cancel_scope.cancel()


async def test_a_close_inside_a_callback_is_carried_out_after_it() -> None:
    async def close(consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        await consumer.close()
        assert consumer.owns(A)
        await consumer.commit({A: 3})

    heard = Heard(assigned=close)
    async with grouped(filled(), listener=heard, enable_auto_commit=False) as it:
        assert [batch async for batch in it.consumer.batches()] == []
        await it.consumer.close()
        assert it.group.offsets[A].offset == 3
        assert it.group.members == ()


async def test_a_task_that_a_callback_started_may_read_and_close() -> None:
    async with anyio.create_task_group() as tasks:
        seen = []

        async def work(consumer: Consumer[Any, Any]) -> None:
            async for record in consumer:
                seen.append(record.offset)
                if len(seen) == 5:
                    await consumer.close()  # it is in no callback any more: this waits
                    seen.append(len(consumer.assignment()))

        async def start(consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
            tasks.start_soon(work, consumer)
            await anyio.sleep(1)

        async with entered(full(), listener=Heard(assigned=start)) as stage:
            stage.group.give(A)
            await anyio.sleep(5)
        assert seen == [0, 1, 2, 3, 4, 0]


async def test_no_lock_is_held_while_a_callback_runs() -> None:
    """https://github.com/aio-libs/aiokafka/issues/335

    The application reads under a lock of its own, and its listener takes the same lock.
    """
    lock, heard = anyio.Lock(), []

    class Locking:
        async def on_assigned(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
            async with lock:
                heard.append("assigned")

        async def on_revoked(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
            async with lock:
                heard.append("revoked")

    async with entered(full(), listener=Locking()) as stage:
        async with lock:
            stage.group.give(A)
            for _ in range(3):  # the listener waits for the lock; reading, and all else, goes on
                assert await stage.consumer.getmany(timeout=1) == {}
                assert await stage.consumer.position(A) == 0
                assert (await stage.consumer.commit({A: 0})).ok
            assert heard == []
        assert await stage.consumer.getmany(timeout=1) != {}
        async with lock:
            stage.group.take_away(A)
            assert await stage.consumer.getmany(timeout=1) == {}
        await anyio.sleep(1)
    assert heard == ["assigned", "revoked"]


async def test_commits_made_in_on_revoked_are_answered_before_the_group_hears_of_it() -> None:
    async def give(consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        consumer.commit_soon({claim.tp: 9 for claim in change.removed})

    heard = Heard(revoked=give)
    async with (
        grouped(filled(), listener=heard, latency=0.2, enable_auto_commit=False) as it,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(read_on, it.consumer)
        await settle(it)
        it.peers.add("other", "t")
        await anyio.sleep(10)
        (gone,) = tps(heard.of(ChangeKind.REVOKED)[0].removed)
        (commit,) = arrivals(it.broker, OffsetCommitRequest)
        without = [
            seen.at
            for seen in arrivals(it.broker, JoinGroupRequest)
            if seen.at > commit.at and gone not in owned_in(seen.request)
        ]
        assert min(without) >= commit.at + 0.2  # the answer takes that long
        tasks.cancel_scope.cancel()


def arrivals(broker: InProcessBroker, kind: type[Any]) -> list[Arrival]:
    return [each for each in broker.requests if isinstance(each.request, kind)]


def owned_in(join: Any) -> set[TopicPartition]:
    (protocol,) = join.protocols
    return set(decode_subscription(protocol.metadata).owned)
