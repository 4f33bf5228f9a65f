"""The cost of the death of a process at each step: lost records, and records read twice.

Each time a process reads ten records in batches of four, dies at a step, and another one goes on.
It dies by its cable, in the very instant at which the log, or the group coordinator, has got so
far: of what it sent before, everything has arrived, and of what it sends then, nothing does.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import anyio
import pytest

from kgroup.marshal.messages import Kind
from tests.consumer.marshal.crew import LEASE, Crew, Process, crew, until
from tests.consumer.marshal.stage import KEY

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

RECORDS = 10
BATCH = 4
FIRST_BATCH = [*range(BATCH)]

CLAIM, BEAT = Kind.CLAIMING_PARTITION, Kind.HEARTBEAT
PROBE, RELEASE = Kind.CLAIMING_MESSAGES, Kind.RELEASING_PARTITION


@dataclass(frozen=True)
class Cost:
    """The cost of a death.

    Args:
        lost: offsets that no process got.
        doubled: offsets that two processes got.
    """

    lost: list[int]
    doubled: list[int]


def log_ends_with(kind: Kind, tail: int | None = None) -> Callable[[Crew], bool]:
    """Tell whether the log ends with a message."""

    def is_so(group: Crew) -> bool:
        written = group.messages()
        if not written or written[-1].kind is not kind:
            return False
        return tail is None or written[-1].tail == tail

    return is_so


def committed(offset: int) -> Callable[[Crew], bool]:
    """Tell whether the group coordinator has a position."""
    return lambda group: group.broker.group("g").committed.get(KEY) == offset


def die_when(group: Crew, process: Process, is_so: Callable[[Crew], bool]) -> None:
    """Have a process die in the instant at which something becomes so."""

    when(group, process, is_so, process.die)


def when(
    group: Crew, process: Process, is_so: Callable[[Crew], bool], act: Callable[[], None]
) -> None:
    """Cut a process off, in one way or another, as soon as something is so."""

    def look() -> None:
        if not process.cable.stops_answers and is_so(group):
            act()

    group.broker.on_change(look)


async def cost(group: Crew, first: Process, **options: object) -> Cost:
    """Let another process go on where a dead one stopped, and count."""
    await until(lambda: first.cable.stops_answers)
    second = group.enter(**options)
    # A record more shows that the other one is through with all that it will get.
    await until(lambda: RECORDS - 1 in second.offsets or RECORDS - 1 in first.offsets)
    await until(lambda: second.has == [0])
    got = Counter([*first.offsets, *second.offsets])
    lost = [offset for offset in range(RECORDS) if not got[offset]]
    return Cost(lost, sorted(offset for offset, times in got.items() if times > 1))


# -- at most once ------------------------------------------------------------------------------

AT_MOST_ONCE = {
    "owned, nothing asked for": (log_ends_with(BEAT, 0), Cost([], [])),
    "probe in the log": (log_ends_with(PROBE, BATCH), Cost([], [])),
    "committed": (committed(BATCH), Cost(FIRST_BATCH, [])),
    "heartbeat in the log": (log_ends_with(BEAT, BATCH), Cost(FIRST_BATCH, [])),
}


@pytest.mark.parametrize("step", AT_MOST_ONCE)
async def test_at_most_once_a_death_costs_what_the_table_says(step: str) -> None:
    is_so, expected = AT_MOST_ONCE[step]
    once = {"guarantee": "at_most_once", "at_most_once_records": BATCH}
    async with crew(RECORDS) as group:
        first = group.enter(**once)
        die_when(group, first, is_so)
        assert await cost(group, first, **once) == expected


async def test_at_most_once_records_in_hand_are_never_handed_out_again() -> None:
    once = {"guarantee": "at_most_once", "at_most_once_records": BATCH}
    async with crew(RECORDS) as group:
        first = group.enter(**once, work=1000.0)
        await until(lambda: first.seen)
        first.die()
        assert first.offsets == FIRST_BATCH
        assert await cost(group, first, **once) == Cost([], [])


async def test_at_most_once_a_live_process_discards_unpublished_records() -> None:
    once = {"guarantee": "at_most_once", "at_most_once_records": BATCH}
    async with crew(RECORDS) as group:
        first = group.enter(**once)
        when(group, first, log_ends_with(BEAT, BATCH), first.cable.cut)
        assert await cost(group, first, **once) == Cost(FIRST_BATCH, [])
        assert first.heard == ["gained", "lost"]
        await first.cable.mend()
        await anyio.sleep(5 * LEASE)  # all the while it asks for records
        assert not first.seen


# -- at least once -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "is_so", [log_ends_with(CLAIM), log_ends_with(BEAT, 0)], ids=["claim in the log", "confirmed"]
)
async def test_a_death_without_records_in_hand_costs_nothing(
    is_so: Callable[[Crew], bool],
) -> None:
    async with crew(RECORDS) as group:
        first = group.enter(most=BATCH)
        die_when(group, first, is_so)
        assert await cost(group, first, most=BATCH) == Cost([], [])


async def test_records_uncommitted_at_a_death_are_read_twice() -> None:
    async with crew(RECORDS) as group:
        first = group.enter(most=BATCH, work=1000.0)
        await until(lambda: first.seen)
        first.die()
        assert await cost(group, first, most=BATCH) == Cost([], FIRST_BATCH)


async def test_a_commit_in_the_log_counts_without_an_answer() -> None:
    async with crew(RECORDS) as group:
        first = group.enter(most=BATCH, work=1000.0)
        await until(lambda: first.seen)
        die_when(group, first, log_ends_with(BEAT, 2))
        first.consumer.commit_soon({KEY: 2})
        assert await cost(group, first, most=BATCH) == Cost([], [2, 3])


async def test_after_a_death_before_the_release_the_lease_is_waited_for() -> None:
    async with crew(RECORDS) as group:
        first = group.enter(most=BATCH, work=1000.0)
        await until(lambda: first.seen)
        await first.consumer.commit({KEY: 2})
        first.die()
        first.consumer.close_soon()
        assert await cost(group, first, most=BATCH) == Cost([], [2, 3])
        assert not group.messages(RELEASE)


async def test_the_next_owner_begins_at_the_position_of_the_release() -> None:
    async with crew(RECORDS) as group:
        first = group.enter(most=BATCH, work=1000.0)
        await until(lambda: first.seen)
        await first.consumer.commit({KEY: 2})
        die_when(group, first, log_ends_with(RELEASE, 2))
        first.consumer.close_soon()
        assert await cost(group, first, most=BATCH) == Cost([], [2, 3])


async def test_a_restart_within_the_lease_reads_uncommitted_records_again() -> None:
    async with crew(RECORDS) as group:
        first = group.enter(most=BATCH, work=1000.0, group_instance_id="till-1")
        await until(lambda: first.seen)
        await first.consumer.commit({KEY: 2})
        first.die()
        second = {"most": BATCH, "group_instance_id": "till-1"}
        assert await cost(group, first, **second) == Cost([], [2, 3])
