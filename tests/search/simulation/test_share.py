"""The share of the search that `make search` does: whether what held goes on holding.

What is played, and how much of it, stands in `share`.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.search.simulation.campaign import quieten
from tests.search.simulation.schedule import Level
from tests.search.simulation.share import KNOWN, SHARES, Slice, known_failures, play_slice, slices


@pytest.mark.slow
@pytest.mark.parametrize("part", [*slices()], ids=str)
def test_no_group_breaks_a_promise(part: Slice) -> None:
    quieten()
    found = play_slice(part)
    broken = {each.schedule.seed: each for each in found.failures}
    known = known_failures(part)
    new = [f"{seed}: {broken[seed].text}" for seed in broken.keys() - known]
    assert not new, f"{part.share}, seed {'; '.join(new)}"
    mended = known - broken.keys()
    assert not mended, f"{part.share}: {sorted(mended)} break nothing; take them out of {KNOWN}"
    assert not found.coverage.impossible_cells_met()
    assert found.runs == part.number


@pytest.mark.slow
@pytest.mark.parametrize("level", [Level.A, Level.A_BYTES, Level.B], ids=lambda level: level.name)
def test_a_run_is_the_same_in_processes_with_different_hash_seeds(level: Level) -> None:
    program = (
        "from tests.search.simulation.campaign import quieten\n"
        "from tests.search.simulation.play import play\n"
        "from tests.search.simulation.schedule import Level, Schedule\n"
        "quieten()\n"
        f"print([play(Schedule({level}, seed=seed)).digest for seed in (0, 7, 100)])\n"
    )
    first, second = (
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "1000")
    )
    assert len(first) > 3 * 16
    assert first == second


def test_each_seed_is_played_once() -> None:
    played = [(str(part.share), seed) for part in slices() for seed in part.seeds]
    assert len(set(played)) == len(played) == sum(share.schedules for share in SHARES)


def test_what_is_known_to_fail_is_played_and_says_why() -> None:
    rows = json.loads(KNOWN.read_text(encoding="utf-8"))
    assert all(row["reason"] for row in rows)
    found = Counter((part.share, seed) for part in slices() for seed in known_failures(part))
    assert found.total() == len(rows)
