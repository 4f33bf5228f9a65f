"""What is kept of a campaign does not overwrite itself."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.search.simulation.campaign_checks import Mismatch
from tests.search.simulation.campaign_chunk import Failure
from tests.search.simulation.campaign_saving import save_failure, save_mismatch
from tests.search.simulation.schedule import Level, Mode, Schedule
from tests.search.simulation.toy import breaking, play


@pytest.mark.parametrize("level", [Level.B, Level.C])
def test_failures_of_one_seed_on_two_backends_are_files_of_their_own(
    level: Level, tmp_path: Path
) -> None:
    for backend in ("asyncio", "trio"):
        schedule = replace(breaking(), level=level, backend=backend)
        failure = Failure(schedule, ("S2",), "S2: t0-0 has two owners", "")
        kept = save_failure(failure, schedule, tmp_path, play=play)
        assert kept.files[0].name == f"s2-{level.name.lower()}-{backend}-eager-11.json"
    assert len(list(tmp_path.iterdir())) == 6
    for path in tmp_path.glob("*.json"):
        assert Schedule.load(path).backend in path.name


def test_a_run_that_was_not_the_same_again_is_kept_with_both_digests(tmp_path: Path) -> None:
    schedule = Schedule(Level.B, Mode.STATIC, 7, backend="trio")
    kept, told = save_mismatch(Mismatch(schedule, "abc", "def"), tmp_path / "new")
    assert kept.name == "unlike-b-trio-static-7.json"
    assert Schedule.load(kept) == schedule
    assert "first digest:  abc\nsecond digest: def\n" in told.read_text()
