"""`make search ARGS="simulate --schedules 2000"`: groups in virtual time, disturbed and judged.

    make search ARGS="simulate --schedules 500 --level B --backend trio --mode static"
    make search ARGS="simulate --replay simulation/s2-a-mixed-17.json"

The first failure of each rule is made smaller; each failure is saved as a schedule that `--replay`
plays, with its story beside it. The exit code is 1 when a promise is broken, and 130 after Ctrl-C,
which keeps what was found so far.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from kgroup.errors import ArgumentError
from tests.search.simulation.campaign import (
    RAISED,
    Campaign,
    Failure,
    Found,
    quieten,
    run_campaign,
)
from tests.search.simulation.coverage import ENOUGH
from tests.search.simulation.play import play
from tests.search.simulation.schedule import Level, Mode, Schedule
from tests.search.simulation.shrinking import smaller
from tests.search.simulation.story import story

_INTERRUPTED = 130


def options(arguments: Sequence[str]) -> argparse.Namespace:
    about = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="search simulate", description=__doc__, formatter_class=about
    )
    levels, modes = [each.value for each in Level], [each.value for each in Mode]
    parser.add_argument("--schedules", type=int, default=1000, help="how many groups")
    parser.add_argument("--seed", type=int, default=0, help="of the first; the others follow")
    parser.add_argument("--level", choices=levels, default="A", help="how much is real")
    parser.add_argument("--mode", choices=modes, default="mixed", help="which groups are drawn")
    parser.add_argument("--backend", choices=("asyncio", "trio"), default="asyncio")
    parser.add_argument("--processes", type=int, default=2, help="how many play at once")
    parser.add_argument("--keep-going", action="store_true", help="do not end at a failure")
    parser.add_argument("--shrink", type=float, default=60.0, help="seconds for each rule")
    parser.add_argument("--replay", type=Path, help="play one saved schedule and tell its story")
    parser.add_argument("--out", type=Path, default=Path("simulation"), help="folder for failures")
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    wanted = options(arguments)
    quieten()
    try:
        if wanted.replay is not None:
            return _replay(wanted.replay)
        campaign = Campaign(
            schedules=wanted.schedules,
            seed=wanted.seed,
            level=Level(wanted.level),
            mode=Mode(wanted.mode),
            backend=wanted.backend,
            processes=wanted.processes,
            keep_going=wanted.keep_going,
        )
    except (ArgumentError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    found = run_campaign(campaign, tell=_tell)
    for line in _saved(found, wanted.out, wanted.shrink):
        sys.stderr.write(f"{line}\n")
    if wanted.json:
        print(json.dumps(found.to_json(), indent=2))
    else:
        print("\n".join(_sums(found)))
    if found.good and found.interrupted:
        return _INTERRUPTED
    return 0 if found.good else 1


def _replay(path: Path) -> int:
    outcome = play(Schedule.load(path), keep=True)
    print(story(outcome))
    return 1 if outcome.rules else 0


def _tell(found: Found) -> None:
    rate = found.runs / found.seconds if found.seconds else 0.0
    sys.stderr.write(f"{found.runs:,} groups, {rate:.0f}/s, {len(found.failures)} broken\n")


def _saved(found: Found, folder: Path, seconds: float) -> Iterator[str]:
    """Save every failure, the first of each rule as small as it becomes; yield what was broken."""
    small: set[str] = set()
    for failure in found.failures:
        schedule, rule = failure.schedule, failure.rules[0]
        if rule not in small and rule != RAISED:
            small.add(rule)
            schedule = smaller(schedule, partial(_breaks, rule), seconds=seconds)
        yield f"seed {schedule.seed}: {failure.text.strip().splitlines()[-1]}"
        yield f"  {_save(failure, schedule, folder)}"


def _breaks(rule: str, schedule: Schedule) -> bool:
    return rule in play(schedule).rules


def _save(failure: Failure, schedule: Schedule, folder: Path) -> Path:
    """Write a schedule and its story; return where the schedule is."""
    level = schedule.level.name.lower()
    kind = f"{level}-{schedule.backend}" if level in ("b", "c") else level
    name = f"{failure.rules[0]}-{kind}-{schedule.mode.value}-{schedule.seed}".lower()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    schedule.save(path)
    raised = failure.rules == (RAISED,)
    text = failure.text if raised else story(play(schedule, keep=True))
    path.with_suffix(".txt").write_text(f"{text}\n", encoding="utf-8")
    return path


def _sums(found: Found) -> Iterator[str]:
    coverage = found.coverage
    yield f"groups           {found.runs:,} in {found.seconds:.1f} s"
    yield f"virtual time     {found.virtual / 3600:,.1f} h, {found.events:,} events"
    yield f"legal cells met  {coverage.legal_cells_met()}"
    rare = [f"{name} ({count})" for name, count in coverage.legal_cells_rare()]
    if rare:
        yield f"legal cells met less than {ENOUGH} times: {', '.join(rare[:12])}"
    if coverage.rows_never_fired():
        yield f"rows never fired: {', '.join(coverage.rows_never_fired()[:12])}"
    if coverage.impossible_cells_met():
        yield f"cells met that are called impossible: {', '.join(coverage.impossible_cells_met())}"
    broken = ", ".join(f"{rule}: {count}" for rule, count in sorted(found.broken.items()))
    yield f"broken           {broken or 'nothing'}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
