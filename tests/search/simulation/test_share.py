"""The share of the search that `make search` does: whether what held goes on holding.

What is played, and how much of it, stands in `share`.
"""

import json
from collections import Counter

import pytest

from tests.search.simulation.campaign import Campaign, run_campaign
from tests.search.simulation.campaign_process import quieten
from tests.search.simulation.schedule import Level
from tests.search.simulation.share import KNOWN, SHARES, Slice, known_failures, play_slice, slices


@pytest.mark.slow
@pytest.mark.parametrize("part", [*slices()], ids=str)
def test_no_group_breaks_a_promise(part: Slice) -> None:
    quieten()
    chunk = play_slice(part)
    broken = {each.schedule.seed: each for each in chunk.failures}
    known = known_failures(part)
    new = [f"{seed}: {broken[seed].text}" for seed in broken.keys() - known]
    assert not new, f"{part.share}, seed {'; '.join(new)}"
    mended = known - broken.keys()
    assert not mended, f"{part.share}: {sorted(mended)} break nothing; take them out of {KNOWN}"
    assert not chunk.coverage.impossible_cells_met()
    assert chunk.tally.runs == part.number


@pytest.mark.slow
@pytest.mark.parametrize("level", [Level.A, Level.A_BYTES, Level.B], ids=lambda level: level.name)
def test_a_run_is_the_same_when_it_is_played_again_with_other_hashes(level: Level) -> None:
    found = run_campaign(Campaign(schedules=101, level=level, processes=0, most_failures=None))
    assert found.checked > 0
    assert not found.mismatches


def test_each_seed_is_played_once() -> None:
    played = [(str(part.share), seed) for part in slices() for seed in part.seeds]
    assert len(set(played)) == len(played) == sum(share.schedules for share in SHARES)


def test_what_is_known_to_fail_is_played_and_says_why() -> None:
    rows = json.loads(KNOWN.read_text(encoding="utf-8"))
    assert all(row["reason"] for row in rows)
    found = Counter((part.share, seed) for part in slices() for seed in known_failures(part))
    assert found.total() == len(rows)
