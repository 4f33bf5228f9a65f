"""What a log of claims promises, in drawn runs: late and doubled messages, pauses, clocks, twins.

At-most-once never hands a record out twice, at-least-once passes none over, leases keep owners
apart where the broker says the time, all come to rest, and equal logs give equal worlds.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import pytest

from kgroup.marshal.rules import WorldRules
from kgroup.marshal.view import LogView
from kgroup.marshal.world import World
from kgroup.wire.records import NewRecord, encode_batch, iter_batches
from tests.marshal.model.plan import Omission
from tests.marshal.model.run import Outcome, play
from tests.marshal.model.shared import Entry

SLICE: Final = 20
RUNS: Final = 60
"""Runs of each guarantee."""


def broken(seeds: Sequence[int], **how: bool | Omission | None) -> dict[int, dict[str, int]]:
    outcomes = {seed: play(seed, **how) for seed in seeds}  # type: ignore[arg-type]
    assert all(each.handed_out for each in outcomes.values())
    return {seed: each.broken for seed, each in outcomes.items() if each.broken}


@pytest.mark.parametrize("at_most_once", [True, False])
def test_a_few_runs_break_no_promise(at_most_once: bool) -> None:
    assert broken(range(3), at_most_once=at_most_once) == {}


@pytest.mark.slow
@pytest.mark.parametrize("at_most_once", [True, False])
@pytest.mark.parametrize("first", range(0, RUNS, SLICE))
def test_many_runs_break_no_promise(at_most_once: bool, first: int) -> None:
    """Scenario 29."""
    assert broken(range(first, first + SLICE), at_most_once=at_most_once) == {}


DOUBLES: Final = {
    Omission.COMMITTED: (0, 4),
    Omission.READ_BACK: (5, 6),
}
"""Seeds in which a safeguard is what keeps a record from being handed out twice."""


@pytest.mark.parametrize("omitted", DOUBLES)
def test_without_a_safeguard_records_are_handed_out_twice(omitted: Omission) -> None:
    for seed in DOUBLES[omitted]:
        assert "double" in play(seed, at_most_once=True, omitted=omitted).broken
        assert play(seed, at_most_once=True).broken == {}


# -- the log alone -------------------------------------------------------------------------------


def in_batches(entries: Sequence[Entry], size: int) -> Iterator[bytes]:
    """Yield record batches as a broker stores them, of so many records each."""
    for first in range(0, len(entries), size):
        records = [
            NewRecord(None, value, headers, max(timestamp, 0))
            for _, timestamp, value, headers in entries[first : first + size]
        ]
        data = bytearray(encode_batch(records))
        data[:8] = first.to_bytes(8, "big")
        yield bytes(data)


def rules(outcome: Outcome, *, complete: bool) -> WorldRules:
    return WorldRules(append_time=outcome.plan.append_time, complete=complete)


def one_by_one(outcome: Outcome, *, complete: bool) -> str:
    """Return the digest of a world to which the log was applied record by record."""
    world = World(rules(outcome, complete=complete))
    for entry in outcome.entries:
        world.apply(*entry)
    return world.digest()


def as_members_read(outcome: Outcome, size: int, caught_up: int, *, complete: bool) -> str:
    """Return the digest of the world of a view that was read in batches of so many records.

    Args:
        outcome: has the log.
        size: of a batch.
        caught_up: offset from which on batches are read live, as a member does.
        complete: whether the log is read from its beginning.
    """
    view = LogView(0, "g", rules(outcome, complete=complete))
    for data in in_batches(outcome.entries, size):
        for batch in iter_batches(data):
            columns = batch.columns()
            if batch.base_offset < caught_up:
                view.catch_up(columns, columns.raw_rows())
            else:
                view.read(columns.rows(), batch.next_offset)
    return view.world.digest()


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("seed", [1, 2])
def test_equal_logs_give_equal_worlds_in_batches_of_any_size(seed: int, complete: bool) -> None:
    """Scenario 29: live, while catching up, and one record after the other."""
    outcome = play(seed)
    count = len(outcome.entries)
    assert count > 50
    expected = one_by_one(outcome, complete=complete)
    for size in (1, 7, 10_000):
        for caught_up in (0, count // 2, count):
            found = as_members_read(outcome, size, caught_up, complete=complete)
            assert found == expected, (size, caught_up)
