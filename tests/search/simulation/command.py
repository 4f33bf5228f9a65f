"""`make search ARGS=simulate`: groups by the thousand in virtual time, disturbed and judged.

Decides: the options, what a person is shown, and the exit code: 1 when a promise is broken.
Never: plays a schedule itself; its neighbours do. `kgroup assignors simulate`, which shows what an
assignor would do to a group, is something else.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from kgroup.cli.app import run_app
from kgroup.cli.printing import on_one_line
from kgroup.cli.tables import Cell, make_table, print_whole, screen
from kgroup.cli.verbs import one_of, verb
from kgroup.errors import ArgumentError
from tests.search.simulation.campaign import Campaign, Found, run_campaign
from tests.search.simulation.campaign_ledger import ledger, save_ledger
from tests.search.simulation.campaign_process import load_play, quieten
from tests.search.simulation.campaign_saving import Saved, save_failure, save_mismatch, smaller
from tests.search.simulation.coverage import ENOUGH, Coverage
from tests.search.simulation.diagram import diagram
from tests.search.simulation.schedule import Level, Mode, Schedule
from tests.search.simulation.shrinking import Budget, Say

__all__ = ["Simulation", "run", "simulate"]

_INTERRUPTED: Final = 130
_SHRUNK: Final = 5
"""Failures that are made smaller: the first of each rule, and no more than these."""
_NAMED: Final = 12
"""Rows, cells and failures that are named; a ledger names all."""
_WORLD: Final = "tests.search.simulation.play:play"


class _Level(StrEnum):
    A = "A"
    A_BYTES = "A'"
    B = "B"
    C = "C"


class _Mode(StrEnum):
    MIXED = "mixed"
    EAGER = "eager"
    COOPERATIVE = "cooperative"
    STATIC = "static"
    HOSTILE = "hostile"


class _Backend(StrEnum):
    ASYNCIO = "asyncio"
    TRIO = "trio"


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What `make search ARGS=simulate` takes.

    Args:
        schedules: how many.
        seed: of the first; the others follow.
        level: how much of the real thing takes part.
        mode: which groups are drawn.
        backend: for levels B and C.
        processes: how many play at once.
        keep_going: whether it goes on after the first violation.
        shrink: seconds for making one failure smaller.
        replay: file with one schedule that is played instead.
        out: folder for failures and the ledger.
        as_json: whether programs read it.
        world: who plays.
    """

    schedules: Annotated[int, typer.Option(min=1, help="How many groups are played.")] = 1000
    seed: Annotated[int, typer.Option(min=0, help="Of the first; the others follow.")] = 0
    level: Annotated[
        _Level,
        typer.Option(
            parser=one_of(_Level),
            metavar="LEVEL",
            help="A: machines and a broker's core; A': through bytes; B: whole consumers over "
            "memory; C: over sockets, in real time.",
        ),
    ] = _Level.A
    mode: Annotated[
        _Mode,
        typer.Option(
            parser=one_of(_Mode), metavar="MODE", help=f"Which groups: {', '.join(_Mode)}."
        ),
    ] = _Mode.MIXED
    backend: Annotated[
        _Backend,
        typer.Option(
            parser=one_of(_Backend), metavar="BACKEND", help="asyncio or trio, for B and C."
        ),
    ] = _Backend.ASYNCIO
    processes: Annotated[int, typer.Option(min=1, max=8, help="How many play at once.")] = 2
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Do not end at the first violation.")
    ] = False
    shrink: Annotated[
        float, typer.Option(min=0.0, help="Seconds for making one failure smaller.")
    ] = 60.0
    replay: Annotated[
        str | None, typer.Option(metavar="FILE", help="Play one saved schedule, and draw it.")
    ] = None
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Where failures and the ledger go. Default: failures only, to ./simulation.",
        ),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False
    world: Annotated[str, typer.Option(hidden=True)] = _WORLD


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code.

    Args:
        arguments: the options.
    """
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(verb(simulate))
    return run_app(app, arguments, "simulate")


def simulate(asked: Simulation) -> None:
    """Play groups of consumers in virtual time, disturb them, and judge what happened.

    Each schedule is one group: members join, die, stall and come back, answers are lost, the
    coordinator moves. What breaks a promise is made smaller and saved, with a diagram and a test.

    make search ARGS="simulate --schedules 2000"

    make search ARGS="simulate --schedules 500 --level B --backend trio --mode static"

    make search ARGS="simulate --replay simulation/s2-a-mixed-17.json"
    """
    quieten()
    if asked.replay is not None:
        _replay(asked, asked.replay)
        return
    campaign = _campaign(asked)
    with _progress() as say:
        found = run_campaign(campaign, tell=lambda found: say(_so_far(found, campaign)))
        saved = _keep(asked, found, say)
        unlike = [save_mismatch(each, _folder(asked)) for each in found.mismatches]
    values = ledger(campaign, found, saved)
    if asked.out is not None:
        save_ledger(values, Path(asked.out) / "ledger.json")
    if asked.as_json:
        print(json.dumps(values, indent=2))
    else:
        _show(campaign, found, saved, unlike)
    if not found.good:
        raise typer.Exit(1)
    if found.interrupted:
        raise typer.Exit(_INTERRUPTED)


def _campaign(asked: Simulation) -> Campaign:
    return Campaign(
        schedules=asked.schedules,
        seed=asked.seed,
        level=Level(asked.level.value),
        mode=Mode(asked.mode.value),
        backend=asked.backend.value,
        processes=asked.processes,
        most_failures=None if asked.keep_going else 1,
        world=asked.world,
    )


# -- one schedule --------------------------------------------------------------------------------


def _replay(asked: Simulation, path: str) -> None:
    try:
        schedule = Schedule.load(Path(path))
    except OSError as error:
        expected = f"a file that can be read ({error.strerror})"
        raise ArgumentError("--replay", path, expected) from None
    outcome = load_play(asked.world)(schedule, keep=True)
    if asked.as_json:
        print(json.dumps(_played(schedule, outcome.rules, outcome.digest), indent=2))
    else:
        console = screen()
        width = console.width if console.is_terminal else 100
        console.print(Text(diagram(outcome, width=width)))
    if outcome.rules:
        raise typer.Exit(1)


def _played(schedule: Schedule, rules: Sequence[str], digest: str) -> dict[str, Any]:
    return {"schedule": schedule.to_json(), "rules": list(rules), "digest": digest}


# -- failures ------------------------------------------------------------------------------------


def _folder(asked: Simulation) -> Path:
    return Path(asked.out or "simulation")


def _keep(asked: Simulation, found: Found, say: Say) -> list[Saved]:
    """Save every failure; the first of each rule is made smaller before."""
    folder, play = _folder(asked), load_play(asked.world)
    seen: set[str] = set()
    saved = []
    try:
        for number, failure in enumerate(found.failures, 1):
            schedule = failure.schedule
            if failure.rules[0] not in seen and len(seen) < _SHRUNK:
                seen.add(failure.rules[0])
                budget = Budget(seconds=asked.shrink)
                about = f"failure {number} of {len(found.failures)}, {failure.rules[0]}: "
                schedule = smaller(failure, play, budget=budget, say=partial(_say, say, about))
            saved.append(save_failure(failure, schedule, folder, play=play))
    except KeyboardInterrupt:
        found.interrupted = True
    return saved


def _say(say: Say, about: str, text: str) -> None:
    say(f"{about}{text}")


# -- for people ----------------------------------------------------------------------------------


@contextmanager
def _progress() -> Iterator[Say]:
    """Show how far it is on standard error, on a terminal only."""
    console = screen(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("") as status:
        yield lambda text: status.update(Text(on_one_line(text)))


def _so_far(found: Found, campaign: Campaign) -> str:
    coverage = found.coverage
    told = f"{found.tally.runs:,} of {campaign.schedules:,} groups, {found.rate:,.0f}/s"
    if coverage.rows:
        lacking = len(coverage.rows_never_fired())
        told += f", {coverage.legal_cells_met()} cells met, {lacking} rows never fired"
    return told + (f", {len(found.failures)} broken" if found.failures else "")


def _show(
    campaign: Campaign,
    found: Found,
    saved: Sequence[Saved],
    unlike: Sequence[tuple[Path, ...]],
) -> None:
    print_whole(make_table(("", ""), _sums(campaign, found)))
    console = screen()
    for title, names in _lacking(found.coverage):
        if names:
            more = f", and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            console.print(Text(f"{title}: {', '.join(names[:_NAMED])}{more}"))
    for mismatch, files in zip(found.mismatches, unlike, strict=True):
        told = f"not the same when it was played again: {mismatch.schedule}"
        console.print(Text(told, style="bold red"))
        for path in files:
            console.print(Text(f"  {path}"))
    for each in saved[:_NAMED]:
        console.print(Text(_told(each), style="bold red"))
        for path in each.files:
            console.print(Text(f"  {path}"))
    if len(saved) > _NAMED:
        folder = saved[0].files[0].parent
        console.print(Text(f"and {len(saved) - _NAMED} more in {folder}", style="bold red"))
    if found.good:
        console.print(Text("nothing is broken", style="bold green"))


def _sums(campaign: Campaign, found: Found) -> list[tuple[Cell, ...]]:
    tally, coverage = found.tally.to_json(), found.coverage.to_json()
    end = ", interrupted" if found.interrupted else ""
    means = (
        f"{tally['mean_members']:.1f} members, {tally['mean_seconds']:.1f} s, "
        f"{tally['mean_events']:,.0f} events, {tally['mean_perturbations']:.1f} perturbations"
    )
    often = f"{ENOUGH} times or more: {coverage['legal_cells_met_ten_times']}"
    lasted = "real time" if campaign.level is Level.C else "virtual time"
    cells = f"{coverage['legal_cells_met']} of {coverage['cells']['legal']}, {often}"
    met: list[tuple[Cell, ...]] = [
        ("rows fired", f"{coverage['rows_fired']} of {coverage['rows']}"),
        ("legal cells met", cells),
    ]
    return [
        ("groups", f"{tally['runs']:,} in {found.seconds:.1f} s, {found.rate:,.1f}/s{end}"),
        (lasted, f"{tally['virtual_hours']:,.1f} h"),
        ("a group has", means),
        *(met if found.coverage.rows else ()),
        ("played twice", f"{found.checked}, {len(found.mismatches)} not the same"),
        ("broken", ", ".join(f"{r}: {n}" for r, n in tally["broken"].items()) or "nothing"),
    ]


def _lacking(coverage: Coverage) -> Iterator[tuple[str, Sequence[str]]]:
    if not coverage.rows:
        return  # no run was played to its end: each raised
    yield "rows never fired", coverage.rows_never_fired()
    rare = tuple(f"{name} ({count})" for name, count in coverage.legal_cells_rare())
    yield f"legal cells met less than {ENOUGH} times", rare
    yield "cells met that are called impossible", coverage.impossible_cells_met()


def _told(saved: Saved) -> str:
    picks = "" if saved.picks is None else f" ({saved.picks} picks)"
    first = saved.failure.text.strip().splitlines()
    text = first[-1] if saved.picks is None else first[0]
    return f"seed {saved.schedule.seed}{picks}: {on_one_line(text)}"
