"""A question that falls due while a task looks for due questions is asked soon.

1. It is put off until some instant; 2. something else wakes the task just before that; 3. the look
takes until after it, and so finds it not due; 4. what is waited for must not be computed as if it
had been asked: nothing else wakes the task for 30 s.
"""

from dataclasses import dataclass, replace
from weakref import ref

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.consumer.assembly import Parts, assemble
from kgroup.consumer.buffer.owned import Owned
from kgroup.offsets.positions import EpochChanged, Position, PositionState, ResetOwed, Sought
from kgroup.offsets.reset import LogEnd
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import Claim
from tests.consumer.entered import A, config_for
from tests.consumer.memory_backend import Makes
from tests.consumer.shelf import Shelf

pytestmark = pytest.mark.anyio

MOST_READINGS = 6
"""Of the clock, from a wake-up of all tasks until they wait again."""

NEW = Position(Claim(A, 1))
STARTS = {
    PositionState.AWAITING_COMMITTED: NEW,
    PositionState.AWAITING_RESET: NEW.after(ResetOwed(0, LogEnd.START)),
    PositionState.AWAITING_VALIDATION: NEW.after(Sought(0, 0)).after(EpochChanged(1, 1)),
    PositionState.FETCHING: NEW.after(Sought(0, None)),
}


@dataclass
class SlowClock:
    """Each reading takes a millisecond."""

    readings: int = 0

    @property
    def next(self) -> float:
        """What it will read."""
        return anyio.current_time() + self.readings / 1000

    def __call__(self) -> float:
        now = self.next
        self.readings += 1
        return now


async def ask(parts: Parts, state: PositionState) -> None:
    """Run the only part that may ask."""
    fetches = state is PositionState.FETCHING
    await (parts.fetching.run() if fetches else parts.positioning.run())


def has_asked(shelf: Shelf, owned: Owned, state: PositionState) -> bool:
    return owned.position.state is not state or bool(shelf.fetches)


@pytest.mark.parametrize("state", STARTS)
async def test_a_question_that_falls_due_during_a_look_is_asked_within_a_second(
    state: PositionState,
) -> None:
    for reading in range(MOST_READINGS):
        shelf, clock = Shelf(t=1), SlowClock()
        config = config_for(shelf, ports=replace(virtual_ports(shelf), clock=clock))
        parts = assemble(config, Makes(), ref(Consumer("t", config=config)))
        parts.cluster.watch(frozenset({"t"}))
        async with anyio.create_task_group() as tasks:
            await tasks.start(parts.cluster.run)
            await parts.cluster.bootstrap(5.0)
            parts.delivery.owned.begin([NEW.claim])
            (owned,) = parts.delivery.owned
            owned.position, owned.retry_at = STARTS[state], 600.0
            tasks.start_soon(ask, parts, state)
            await anyio.sleep(1.0)
            assert not has_asked(shelf, owned, state)
            owned.retry_at = clock.next + (reading + 0.5) / 1000
            parts.notifiers.work.notify()
            await anyio.sleep(1.0)
            assert has_asked(shelf, owned, state), f"due after reading {reading}"
            tasks.cancel_scope.cancel()
