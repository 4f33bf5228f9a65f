"""Partitions come and go: delivery, the listener, and commits before a revocation."""

import logging
from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.consumer.api import MembershipStream
from kgroup.errors import ClosedError, FencedError
from kgroup.journal import CallbackStage, CallbackStep, Delivered, OwnershipStep, Phase
from kgroup.types import ChangeKind, Leave, OwnershipChange
from tests.consumer.entered import A, B, Stage, entered
from tests.consumer.shelf import Shelf, full, offsets_of

pytestmark = pytest.mark.anyio


class Notes:
    """A listener that writes down what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, tuple[int, ...]]] = []

    def on_assigned(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        self._note("assigned", change.added)

    async def on_revoked(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        await anyio.lowlevel.checkpoint()
        self._note("revoked", change.removed)

    def on_lost(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        self._note("lost", change.removed)

    def _note(self, what: str, claims: Any) -> None:
        self.heard.append((what, tuple(claim.tp.partition for claim in claims)))


async def test_plain_and_awaitable_callbacks_hear_every_change() -> None:
    notes = Notes()
    async with entered(full(), listener=notes) as stage:
        await stage.give(A, B)
        stage.group.take_away(B)
        await anyio.sleep(0.1)
        stage.group.give()
        await anyio.sleep(0.1)
        stage.group.lose()
        await anyio.sleep(0.1)
    assert notes.heard == [
        ("assigned", (0, 1)),
        ("revoked", (1,)),
        ("assigned", ()),
        ("lost", (0,)),
    ]


async def test_every_callback_may_be_left_out() -> None:
    class OnlyLost:
        def on_lost(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
            return None

    async with entered(full(), listener=OnlyLost()) as stage:
        await stage.give(A)
        assert (await stage.consumer.getone(timeout=1)).offset == 0


async def test_nothing_is_handed_out_before_on_assigned_has_returned() -> None:
    class Slow:
        async def on_assigned(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
            await anyio.sleep(10)

    async with entered(full(), listener=Slow()) as stage:
        stage.group.give(A)
        assert await stage.consumer.getmany(timeout=9) == {}
        assert await stage.consumer.getmany(timeout=2) != {}


async def test_position_seek_pause_commit_and_close_work_inside_callbacks() -> None:
    class Busy:
        def __init__(self) -> None:
            self.done = False

        async def on_assigned(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
            assert await consumer.position(A) == 0
            consumer.seek(A, 30)
            consumer.pause(A)
            consumer.resume(A)

        async def on_revoked(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
            await consumer.commit({A: 33})
            await consumer.close()
            self.done = True

    busy = Busy()
    async with entered(full(), listener=busy) as stage:
        await stage.give(A)
        assert (await stage.consumer.getone(timeout=1)).offset == 30
        await stage.consumer.commit()
        stage.group.take_away(A)
        with pytest.raises(ClosedError):
            await stage.consumer.getone(timeout=5)
        await stage.consumer.close()
    assert busy.done
    assert stage.group.offsets[A] == 33


@pytest.mark.parametrize("name", ["on_assigned", "on_revoked", "on_lost"])
async def test_a_callback_that_raises_is_reported_once_and_ownership_changes(name: str) -> None:
    def fail(self: object, consumer: object, change: object) -> None:
        raise RuntimeError("mine")

    async with entered(full(), listener=type("Bad", (), {name: fail})()) as stage:
        stage.group.give(A)
        await anyio.sleep(0.1)
        if name == "on_revoked":
            stage.group.take_away(A)
        if name == "on_lost":
            stage.group.lose()
        await anyio.sleep(0.1)
        with pytest.raises(RuntimeError, match="mine"):
            await stage.consumer.getmany(timeout=1)
        found = await stage.consumer.getmany(timeout=1)
        assert bool(found) == stage.consumer.owns(A) == (name == "on_assigned")
        raised = [each for each in stage.events(CallbackStep) if each.stage is CallbackStage.RAISE]
        assert len(raised) == 1


async def test_a_callback_that_takes_too_long_is_cut_and_reported() -> None:
    class Stuck:
        async def on_revoked(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
            await anyio.sleep_forever()

    async with entered(full(), listener=Stuck(), max_poll_interval=60.0) as stage:
        await stage.give(A)
        stage.group.take_away(A)
        await anyio.sleep(59)
        assert stage.consumer.owns(A)
        await anyio.sleep(2)
        assert not stage.consumer.owns(A)
        with pytest.raises(TimeoutError, match="on_revoked"):
            await stage.consumer.getmany(timeout=1)


async def test_done_records_are_committed_before_a_partition_is_given_up() -> None:
    async with entered(full(), auto_commit_interval=1000) as stage:
        await stage.give(A)
        await stage.consumer.getmany(max_records=10, timeout=1)
        await stage.consumer.getmany(max_records=5, timeout=1)
        stage.group.take_away(A)
        await anyio.sleep(0.1)
        assert stage.consumer.owns(A)  # five records are in hand
        await stage.consumer.getmany()
        await anyio.sleep(0.1)
        assert not stage.consumer.owns(A)
        assert stage.group.offsets[A] == 15


async def test_the_commit_before_a_revocation_is_answered_before_the_backend_hears() -> None:
    async with entered(full(), auto_commit_interval=1000) as stage:
        await stage.give(A)
        await stage.consumer.getmany(max_records=10, timeout=1)
        stage.group.commit_seconds = 3.0
        stage.group.take_away(A)
        await stage.consumer.getmany()
        await anyio.sleep(2.5)
        assert A in stage.group.membership.partitions
        await anyio.sleep(1)
        assert A not in stage.group.membership.partitions
        assert stage.group.offsets[A] == 10


async def test_assigning_by_hand_gives_the_groups_partitions_back() -> None:
    async with entered(full(), max_poll_records=10) as stage:
        await stage.give(A)
        await stage.consumer.getmany(timeout=1)
        stage.consumer.unsubscribe()
        stage.group.take_away(A)
        stage.consumer.assign([B])
        assert await stage.consumer.getmany(timeout=1) != {}
        await anyio.sleep(1)
        assert stage.group.offsets[A] == 10
        assert stage.group.membership.claims == ()
        assert stage.consumer.assignment() == {B}


async def test_nothing_is_committed_after_lost() -> None:
    async with entered(full(), auto_commit_interval=1.0) as stage:
        await stage.give(A)
        await stage.consumer.getmany(max_records=10, timeout=1)
        stage.group.commits.clear()
        stage.group.lose()
        await stage.consumer.getmany(timeout=5)
        assert not any(A in each for each in stage.group.commits)


async def test_a_partition_that_drains_is_not_handed_out_and_others_are() -> None:
    async with entered(full(), max_poll_records=5) as stage:
        await stage.give(A, B)
        batches = stage.consumer.batches()
        first = await anext(batches)
        stage.group.take_away(first.partition)
        other = stage.consumer.batches()
        for _ in range(4):
            assert (await anext(other)).partition != first.partition
        assert stage.consumer.owns(first.partition)
        first.done()
        await anyio.sleep(0.1)
        assert not stage.consumer.owns(first.partition)


async def test_records_fetched_under_an_ended_claim_are_never_handed_out() -> None:
    shelf = full(1)
    async with entered(shelf) as stage:
        await stage.give(A)
        await anyio.sleep(1)
        stage.group.lose()
        stage.group.offsets[A] = 40
        await stage.give(A)
        found = await stage.consumer.getmany(timeout=1)
        assert offsets_of(found) == {A: list(range(40, 50))}
        assert found[A].claim.serial == 2


async def test_nothing_is_handed_out_without_a_lease() -> None:
    async with entered(full()) as stage:
        await stage.give(A)
        await anyio.sleep(1)
        stage.group.lease = False
        assert await stage.consumer.getmany(timeout=1) == {}
        stage.group.lease = True
        assert await stage.consumer.getmany(timeout=2) != {}


async def test_a_loop_over_records_stops_at_the_record_where_the_claim_ends() -> None:
    async with entered(full(1)) as stage:
        await stage.give(A)
        seen = []
        records = aiter(stage.consumer)
        for _ in range(3):
            seen.append((await anext(records)).offset)
        stage.group.take_away(A)
        with anyio.move_on_after(2):
            seen.append((await anext(records)).offset)
        assert seen == [0, 1, 2]
        assert not stage.consumer.owns(A)
        assert stage.group.offsets[A] == 3
        assert max(each.last for each in stage.events(Delivered)) == 2


async def test_a_fatal_error_reaches_every_reader_as_it_is_and_nothing_comes_after() -> None:
    error = FencedError("another member uses this group instance id")
    async with entered(full()) as stage:
        await stage.give(A)
        await stage.consumer.getmany(timeout=1)
        stage.group.fail(error)
        for _ in range(2):
            with pytest.raises(FencedError) as caught:
                await stage.consumer.getmany(timeout=1)
            assert caught.value is error
        with pytest.raises(FencedError):
            await anext(stage.consumer.batches())
        with pytest.raises(FencedError):
            await anext(aiter(stage.consumer))
        assert stage.consumer.failure is error


async def test_a_fatal_error_wakes_a_reader_and_leaves_the_body_alone() -> None:
    async with entered(Shelf(t=1)) as stage, anyio.create_task_group() as tasks:

        async def fence() -> None:
            await anyio.sleep(1)
            stage.group.fail(FencedError("fenced"))

        tasks.start_soon(fence)
        with pytest.raises(FencedError):
            await stage.consumer.getone(timeout=100)
        assert anyio.current_time() < 5


async def test_ownership_is_journaled_around_the_listener() -> None:
    async with entered(full(), listener=Notes()) as stage:
        await stage.give(A)
        stage.group.take_away(A)
        await anyio.sleep(0.1)
        steps = [
            (type(each).__name__, getattr(each, "phase", None) or getattr(each, "stage", None))
            for each in stage.sink.events
            if isinstance(each, OwnershipStep | CallbackStep)
        ]
        once = [
            ("OwnershipStep", Phase.BEGIN),
            ("CallbackStep", CallbackStage.ENTER),
            ("CallbackStep", CallbackStage.EXIT),
            ("OwnershipStep", Phase.END),
        ]
        assert steps == once * 2
        kinds = [each.kind for each in stage.events(OwnershipStep)]
        assert kinds == [ChangeKind.ASSIGNED] * 2 + [ChangeKind.REVOKED] * 2


async def _through(changes: MembershipStream) -> None:
    async for _ in changes:
        pass


async def test_membership_changes_end_with_the_error_that_ended_the_membership() -> None:
    async with entered(full()) as stage:
        changes = stage.consumer.membership_changes()
        assert (await anext(changes)).claims == ()
        stage.group.fail(FencedError("another member uses this group instance id"))
        with pytest.raises(FencedError), anyio.fail_after(10):
            await _through(changes)


async def test_membership_changes_begin_with_the_present_one_and_end_with_the_consumer() -> None:
    seen = []
    async with entered(full()) as stage, anyio.create_task_group() as tasks:

        async def watch(stage: Stage = stage) -> None:
            seen.extend([len(each.claims) async for each in stage.consumer.membership_changes()])

        tasks.start_soon(watch)
        await anyio.sleep(0.1)
        await stage.give(A, B)
        await stage.consumer.close(leave=Leave.LEAVE)
    assert seen[0] == 0
    assert 2 in seen
    assert stage.group.left is Leave.LEAVE


async def test_a_doubtful_option_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="kgroup"):
        async with entered(Shelf(t=1), session_timeout=7.0):
            pass
    warned = [each for each in caplog.records if "heartbeat_interval" in each.getMessage()]
    assert len(warned) == 1


async def test_enforce_rebalance_reaches_the_group() -> None:
    async with entered(Shelf(t=1)) as stage:
        stage.consumer.enforce_rebalance("new weights")
        assert stage.group.rounds == ["new weights"]
