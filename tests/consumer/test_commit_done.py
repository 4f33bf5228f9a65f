"""`commit_done` commits done records and leaves out records in hand; and the end of closing."""

from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.errors import CommitFailedError, ConfigError
from kgroup.types import (
    CommitOutcome,
    CommitStatus,
    OffsetAndMetadata,
    OwnershipChange,
    PartitionOutcome,
    TopicPartition,
)
from tests.consumer.entered import A, B, by_hand, entered
from tests.consumer.shelf import full
from tests.consumer.test_commit_soon import Callbacks

pytestmark = pytest.mark.anyio

MANUAL: dict[str, Any] = {"enable_auto_commit": False}


async def test_commit_done_leaves_out_records_in_hand() -> None:
    async with entered(full(), max_poll_records=10, **MANUAL) as stage:
        await stage.give(A)
        batches = stage.consumer.batches()
        await anext(batches)
        second = await anext(batches)
        outcome = await stage.consumer.commit_done()
        assert outcome.partitions[A].offset == OffsetAndMetadata(10, "", 0)
        second.done(upto=15)
        await stage.consumer.commit_done()
        assert stage.group.offsets[A] == 15


async def test_commit_done_sends_nothing_when_nothing_is_done() -> None:
    async with entered(full(), **MANUAL) as stage:
        await stage.give(A)
        await stage.consumer.commit_done()
        sent = len(stage.group.commits)
        assert (await stage.consumer.commit_done()).partitions == {}
        assert len(stage.group.commits) == sent


async def test_commit_done_in_a_listener_leaves_out_batches_in_other_hands() -> None:
    class Saves:
        async def on_revoked(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
            await consumer.commit_done()

    async with entered(full(), listener=Saves(), max_poll_records=10, **MANUAL) as stage:
        await stage.give(A, B)
        found = await stage.consumer.getmany(B, timeout=1)
        found[B].done()
        await stage.consumer.getmany(A, timeout=1)
        stage.group.take_away(B)
        await anyio.sleep(1)
        assert stage.consumer.assignment() == {A}
        assert stage.group.offsets[B] == 10
        assert stage.group.offsets.get(A, 0) == 0


async def test_a_refusal_is_raised_with_every_outcome() -> None:
    async with entered(full(), **MANUAL) as stage:
        await stage.give(A)
        stage.group.commit_status = CommitStatus.REFUSED
        (await stage.consumer.getmany(timeout=1))[A].done()
        with pytest.raises(CommitFailedError) as caught:
            await stage.consumer.commit_done()
        assert caught.value.outcome.partitions[A].status is CommitStatus.REFUSED


def test_an_outcomes_repr_has_counts_and_failures() -> None:
    good = PartitionOutcome(CommitStatus.COMMITTED, OffsetAndMetadata(5))
    bad = PartitionOutcome(CommitStatus.REFUSED, OffsetAndMetadata(5), 22, "ILLEGAL_GENERATION")
    rest = {TopicPartition("t", number): good for number in range(2, 500)}
    assert repr(CommitOutcome({A: good, **rest})) == "CommitOutcome(499 committed)"
    shown = repr(CommitOutcome({A: good, B: bad, **rest}))
    assert shown == ("CommitOutcome(499 committed, 1 refused: t-1 refused (ILLEGAL_GENERATION))")
    assert repr(CommitOutcome()) == "CommitOutcome(nothing)"
    many = repr(CommitOutcome(dict.fromkeys(rest, bad)))
    assert many.count("ILLEGAL_GENERATION") == 5
    assert many.endswith("; 493 more)")


async def test_commit_done_needs_a_group() -> None:
    async with by_hand(full(), A, group_id=None) as stage:
        with pytest.raises(ConfigError, match="group_id"):
            await stage.consumer.commit_done()


async def test_an_answer_at_the_close_timeout_calls_back_once() -> None:
    for _ in range(6):  # trio chooses anew each time what of one instant comes first
        calls = Callbacks()
        async with entered(full(), **MANUAL) as stage:
            await stage.give(A)
            stage.group.commit_seconds = 2.0
            stage.consumer.commit_soon({A: 7}, calls.note("it"))
            await anyio.sleep(1.5)
            await stage.consumer.close(timeout=0.5)
        assert calls.labels == ["it"]
