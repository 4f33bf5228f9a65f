"""A call that is refused at once lets other tasks run: a loop that ignores the error neither blocks
the event loop nor prevents its own cancellation."""

import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.errors import GroupError, KGroupError
from kgroup.types import OwnershipChange
from tests.consumer.busy_loops import alone, repeat
from tests.consumer.entered import A, B, Stage, by_hand, entered, staged
from tests.consumer.listening import Heard
from tests.consumer.shelf import Shelf

pytestmark = pytest.mark.anyio

NONE: Any = ("t", -1)
"""No partition."""

Call = Callable[[Consumer[Any, Any]], Awaitable[object]]
Calls = Mapping[str, Call]

READS: Calls = {
    "getone": lambda consumer: consumer.getone(),
    "getone of a partition": lambda consumer: consumer.getone(A),
    "getmany": lambda consumer: consumer.getmany(),
    "getmany of a partition": lambda consumer: consumer.getmany(A),
}
LOOPS: Calls = {
    "batches": lambda consumer: anext(consumer.batches()),
    "records": lambda consumer: anext(aiter(consumer)),
}
OTHERS: Calls = {
    "memberships": lambda consumer: anext(consumer.membership_changes()),
    "commit": lambda consumer: consumer.commit(),
    "commit of an offset": lambda consumer: consumer.commit({A: 1}),
    "commit_done": lambda consumer: consumer.commit_done(),
    "committed": lambda consumer: consumer.committed(A),
    "position": lambda consumer: consumer.position(A),
    "seek_to_beginning": lambda consumer: consumer.seek_to_beginning(A),
    "seek_to_end": lambda consumer: consumer.seek_to_end(A),
    "seek_to_committed": lambda consumer: consumer.seek_to_committed(A),
    "beginning_offsets": lambda consumer: consumer.beginning_offsets(A),
    "end_offsets": lambda consumer: consumer.end_offsets(A),
    "offsets_for_times": lambda consumer: consumer.offsets_for_times({A: 1}),
    "topics": lambda consumer: consumer.topics(),
    "find_partitions": lambda consumer: consumer.find_partitions("t"),
    "api_versions": lambda consumer: consumer.api_versions(),
    "subscribed_partitions": lambda consumer: consumer.subscribed_partitions(),
}
OF_WHAT_IS_NOT_OWNED: Calls = {
    "getone": lambda consumer: consumer.getone(B),
    "getmany": lambda consumer: consumer.getmany(B),
    "commit": lambda consumer: consumer.commit({B: 1}),
    "position": lambda consumer: consumer.position(B),
    "seek_to_end": lambda consumer: consumer.seek_to_end(B),
    "seek_to_committed": lambda consumer: consumer.seek_to_committed(B),
}
OF_NO_SENSE: Calls = {
    "getmany": lambda consumer: consumer.getmany(max_records=0),
    "commit": lambda consumer: consumer.commit({}),
    "committed": lambda consumer: consumer.committed(NONE),
    "beginning_offsets": lambda consumer: consumer.beginning_offsets(NONE),
    "end_offsets": lambda consumer: consumer.end_offsets(NONE),
    "offsets_for_times": lambda consumer: consumer.offsets_for_times({A: -1}),
    "offsets_for_times of none": lambda consumer: consumer.offsets_for_times({NONE: 1}),
}
OF_A_GROUP: Calls = {
    "commit": OTHERS["commit"],
    "commit_done": OTHERS["commit_done"],
    "committed": OTHERS["committed"],
    "seek_to_committed": OTHERS["seek_to_committed"],
}
OF_NOTHING: Calls = {
    "committed": lambda consumer: consumer.committed(),
    "beginning_offsets": lambda consumer: consumer.beginning_offsets(),
    "end_offsets": lambda consumer: consumer.end_offsets(),
    "offsets_for_times": lambda consumer: consumer.offsets_for_times({}),
    "find_partitions": lambda consumer: consumer.find_partitions(),
    "subscribed_partitions": lambda consumer: consumer.subscribed_partitions(),
    "seek_to_end": lambda consumer: consumer.seek_to_end(),
    "seek_to_committed": lambda consumer: consumer.seek_to_committed(),
}


async def own(stage: Stage) -> None:
    await stage.give(A)


async def fail(stage: Stage) -> None:
    await stage.give(A)
    stage.group.fail(GroupError("the test ends it"))
    await anyio.sleep(0.1)


async def close(stage: Stage) -> None:
    await stage.consumer.close()


Beginning = Callable[[Stage], Awaitable[None]]

CASES: list[Any] = [
    pytest.param(fail, {**READS, **LOOPS, **OTHERS}, id="of a consumer that has failed"),
    pytest.param(close, {**READS, **LOOPS, **OTHERS}, id="of a closed consumer"),
    pytest.param(own, OF_WHAT_IS_NOT_OWNED, id="of a partition that is not owned"),
    pytest.param(own, OF_NO_SENSE, id="of no sense"),
]


def full() -> Shelf:
    shelf = Shelf(t=2)
    shelf.fill(A, 50)
    return shelf


@pytest.mark.parametrize(("begin", "calls"), CASES)
async def test_a_loop_that_takes_no_notice_of_refusals_lets_others_run(
    begin: Beginning, calls: Calls
) -> None:
    async with entered(full()) as stage:
        await begin(stage)
        assert await alone(stage.consumer, calls) == []


async def test_before_the_consumer_is_entered_such_a_loop_lets_others_run() -> None:
    stage = staged(full(), "t")
    assert await alone(stage.consumer, {**READS, "commit": OTHERS["commit"]}) == []


async def test_without_a_group_such_a_loop_lets_others_run() -> None:
    async with by_hand(full(), A, group_id=None) as stage:
        assert await alone(stage.consumer, OF_A_GROUP) == []


async def test_a_loop_of_calls_about_nothing_lets_others_run() -> None:
    """As one that waits by them until there is something."""
    async with by_hand(full()) as stage:
        assert await alone(stage.consumer, OF_NOTHING) == []


async def test_while_a_listener_outlasts_the_close_such_a_loop_lets_others_run() -> None:
    async def outlast(consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.7)

    async with entered(full(), listener=Heard(revoked=outlast)) as stage:
        await stage.give(A)
        calls = {name: OTHERS[name] for name in ("commit", "commit_done", "commit of an offset")}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: stage.consumer.close(timeout=0.5))
            await anyio.sleep(0.6)
            assert await alone(stage.consumer, calls) == []


async def test_inside_a_listener_such_a_loop_lets_others_run() -> None:
    found = []

    async def look(consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        found.append(await alone(consumer, {**READS, **LOOPS}))

    async with entered(full(), listener=Heard(assigned=look)) as stage:
        await stage.give(A)
        await anyio.sleep(1)
    assert found == [[]]


@pytest.mark.parametrize(("begin", "calls"), CASES)
async def test_a_loop_that_takes_no_notice_of_refusals_can_be_cancelled(
    begin: Beginning, calls: Calls
) -> None:
    goes_on = []
    async with entered(full()) as stage:
        await begin(stage)
        for name, call in calls.items():
            with anyio.move_on_after(0) as scope:
                await repeat(stage.consumer, call)
            if not scope.cancelled_caught:
                goes_on.append(name)
    assert goes_on == []


async def places(consumer: Consumer[Any, Any], call: Call) -> int:
    """Return how many places the error of a call remembers."""
    try:
        await call(consumer)
    except KGroupError as error:
        return len(traceback.extract_tb(error.__traceback__))
    raise AssertionError("nothing is raised")


RAISES: Calls = {**READS, **LOOPS, "commit": OTHERS["commit"], "position": OTHERS["position"]}


@pytest.mark.parametrize("name", RAISES)
async def test_a_fatal_error_that_is_raised_again_and_again_does_not_grow(name: str) -> None:
    async with entered(full()) as stage:
        await fail(stage)
        assert len({await places(stage.consumer, RAISES[name]) for _ in range(5)}) == 1


@pytest.mark.parametrize("name", [*READS, *LOOPS, "position"])
async def test_a_partitions_error_that_is_raised_again_and_again_does_not_grow(name: str) -> None:
    async with entered(full(), auto_offset_reset="none") as stage:
        stage.group.give(A)
        await anyio.sleep(1)
        assert len({await places(stage.consumer, RAISES[name]) for _ in range(5)}) == 1
