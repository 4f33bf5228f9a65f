"""A run judged in shares of its partitions has the verdict of one judge, field by field."""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from kgroup.audit import Truth, Verdict, audit, merge_logs
from kgroup.audit.judging import audit_across, audit_share
from kgroup.audit.oracles import Oracle, at_least_once
from kgroup.audit.oracles.promises import PROMISES
from kgroup.audit.shares import Share, joined
from kgroup.journal import Entry
from tests.audit.histories import good_history, tp
from tests.audit.test_verifiable import RECORDED
from tests.search.simulation.play import play
from tests.search.simulation.schedule import Level, Mode, Schedule
from tests.spark.fleet import recorded, write_group
from tests.spark.sieving.planted import FAULTS

COUNT = 3
Make = Callable[[], Sequence[Oracle]]


def no_oracles() -> tuple[Oracle, ...]:
    return ()


def in_shares(paths: Sequence[Path], truth: Truth, make: Make) -> Verdict:
    """Judge logs by so many judges, each of which reads them for itself."""
    shares = [Share(number, COUNT) for number in range(COUNT)]
    across = audit_across(merge_logs(paths), make())
    assert across.in_order
    return joined(
        across,
        [
            audit_share(merge_logs(paths, share.skips), share, truth, oracles=make())
            for share in shares
        ],
    )


def simulated(seed: int) -> list[Entry]:
    modes = (Mode.MIXED, Mode.EAGER, Mode.COOPERATIVE, Mode.STATIC)
    return list(play(Schedule(Level.A, modes[seed % 4], seed), keep=True).entries)


RUNS: dict[str, Callable[[], list[Entry]]] = {
    "a good one": lambda: list(good_history().entries),
    "nothing delivered": lambda: list(good_history().entries[:4]),
    **{f"recorded {n}": lambda n=n: recorded(Random(n))[1] for n in range(12)},  # type: ignore[misc]
    **{f"simulated {n}": lambda n=n: simulated(n) for n in range(8)},  # type: ignore[misc]
    **{name: lambda plant=plant: plant(Random(3), 1_000).entries for name, plant in FAULTS.items()},  # type: ignore[misc]
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("make", [no_oracles, at_least_once])
def test_a_run_in_shares_has_the_verdict_of_the_whole(run: str, make: Make, tmp_path: Path) -> None:
    write_group(tmp_path, "g", RUNS[run]())
    paths = sorted(tmp_path.glob("*.jsonl"))
    for truth in (Truth(), Truth(bounds={tp(n): (0, 10_000) for n in range(4)})):
        assert in_shares(paths, truth, make) == audit(paths, truth, oracles=make())


def test_logs_of_another_client_too() -> None:
    paths = sorted(RECORDED.glob("*.gz"))
    assert in_shares(paths, Truth(), at_least_once) == audit(paths, oracles=at_least_once())


def test_a_run_whose_clock_went_back_is_not_to_be_joined() -> None:
    entries = good_history().entries
    assert audit_across(entries).in_order
    assert not audit_across([*entries[:4], entries[5], entries[4], *entries[6:]]).in_order


def test_what_is_of_another_partition_is_not_read(tmp_path: Path) -> None:
    write_group(tmp_path, "g", FAULTS["lost"](Random(7), 1_000).entries)
    paths = sorted(tmp_path.glob("*.jsonl"))
    whole = len(list(merge_logs(paths)))
    read = [len(list(merge_logs(paths, Share(number, COUNT).skips))) for number in range(COUNT)]
    assert min(read) < whole / 2
    assert sum(read) < 2 * whole


def test_the_catalogue_says_which_promises_are_about_one_partition() -> None:
    alone = {promise.rule for promise in PROMISES if promise.one_partition}
    assert alone == {"S2", "S6", "S7", "C3", "C6", "C7", "D1", "D2", "D3", "D5", "D6", "B3"}
