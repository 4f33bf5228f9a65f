"""`kgroup assignors`: which assignors there are, and what each would do to a group.

Decides: where the group of a simulation comes from, which events it meets and in which order.
Never: changes a group: a live one is only asked about.
"""

import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from enum import StrEnum
from itertools import repeat
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final

import typer
from rich.text import Text

from kgroup.assignors import Assignor, FoundAssignor, RebalanceProtocol, common_protocol
from kgroup.assignors.simulator import (
    EXAMPLES,
    Event,
    Grow,
    Join,
    Leave,
    Optimum,
    Outcome,
    Scenario,
    assumed,
    in_words,
    play,
    read_events,
    read_scenario,
)
from kgroup.cli.assignors_check import load_assignors
from kgroup.cli.assignors_live import describe_live
from kgroup.cli.assignors_shown import (
    LEGEND,
    OPTIMUM,
    Run,
    Shown,
    simulation_json,
    simulation_tables,
)
from kgroup.cli.connecting import Common, perform
from kgroup.cli.printing import on_one_line
from kgroup.cli.tables import Cell, make_table, print_whole, screen
from kgroup.cli.verbs import one_of
from kgroup.config.plugins import found_assignors
from kgroup.errors import ArgumentError, AssignmentError
from kgroup.values import dataclass

_STANDARD_INPUT: Final = "-"
_EVENT: Final = re.compile(r"events\[(\d+)\]\.(\w+)")
"""How an event that does not fit is named: its place among all events, and what is wrong."""
_OPTIONS: Final[Mapping[type[Event], str]] = MappingProxyType(
    {Join: "--join", Leave: "--leave", Grow: "--grow"}
)

Tell = Callable[[str], None]
"""Called with what is being played."""


class _Followed(StrEnum):
    EAGER = "eager"
    COOPERATIVE = "cooperative"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What `kgroup assignors list` takes."""

    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What `kgroup assignors simulate` takes.

    Args:
        group: file with the description of a group, `-` for standard input.
        live: name of a group that is to be asked for.
        example: name of a group that is built in.
        assignors: those that play; none for all built-in ones.
        protocol: what members follow, None for the best that each assignor supports.
        events: file with events, `-` for standard input.
        join: how many members join, one after the other.
        topics: what those subscribe to; none for what all others do.
        leave: member ids or group instance ids of members that leave, one after the other.
        grow: `topic=partitions` of topics that grow, one after the other.
        show_assignment: whether owners of partitions are shown.
        time: whether it is said how long the assignors took.
    """

    group: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Description of a group in JSON; - reads it from stdin."),
    ] = None
    live: Annotated[
        str | None,
        typer.Option(metavar="GROUP", help="A group of the cluster; it is asked about, no more."),
    ] = None
    example: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"A built-in one: {', '.join(EXAMPLES)}.")
    ] = None
    assignors: Annotated[
        list[str] | None,
        typer.Option(
            "--assignor",
            metavar="NAME",
            help="A name, or pkg.module:Class; may be repeated. Default: all built-in ones.",
        ),
    ] = None
    protocol: Annotated[
        _Followed | None,
        typer.Option(
            parser=one_of(_Followed),
            metavar="PROTOCOL",
            help="eager or cooperative. Default: the best that each assignor supports.",
        ),
    ] = None
    events: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A list of events in JSON; - reads it from stdin."),
    ] = None
    join: Annotated[
        int, typer.Option(min=0, max=10_000, help="So many members join, one after the other.")
    ] = 0
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            metavar="NAME",
            help="What they subscribe to; may be repeated. Default: what all others do.",
        ),
    ] = None
    leave: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="A member leaves, by either id; may be repeated."),
    ] = None
    grow: Annotated[
        list[str] | None,
        typer.Option(metavar="TOPIC=N", help="A topic grows to N partitions; may be repeated."),
    ] = None
    show_assignment: Annotated[
        bool, typer.Option("--show-assignment", help="Show which member owns what, too.")
    ] = False
    time: Annotated[bool, typer.Option("--time/--no-time", help="Say how long it took.")] = True


# -- list ----------------------------------------------------------------------------------


def listing(asked: Listing) -> None:
    """List the assignors that can be chosen by name; exit code 1 when one of them is broken."""
    with redirect_stdout(sys.stderr):  # what a plug-in prints is no part of the answer
        found = found_assignors()
    if asked.as_json:
        print(json.dumps([_found_json(each) for each in found], indent=2))
    else:
        columns = ("assignor", "protocols", "from", "")
        print_whole(make_table(columns, [_found_row(each) for each in found]))
    if any(each.problem for each in found):
        raise typer.Exit(1)


def _found_row(found: FoundAssignor) -> tuple[Cell, ...]:
    protocols = ", ".join(each.value for each in found.protocols)
    return found.name, protocols or None, found.origin, found.problem or ""


def _found_json(found: FoundAssignor) -> dict[str, object]:
    return {
        "name": found.name,
        "protocols": [each.value for each in found.protocols],
        "from": found.origin,
        "problem": found.problem,
    }


# -- simulate ------------------------------------------------------------------------------


def simulate(asked: Simulation, common: Common) -> None:
    """Show what each assignor would do to a group: spread, moves, racks, rounds and time.

    The group comes from a file, from a cluster, or is built in. Nothing is changed anywhere.
    Events: those of the file, then --events, --join, --leave, --grow, in this order.

    kgroup assignors simulate --example swaps

    kgroup assignors simulate --live billing --join 2 --assignor range --assignor sticky

    kgroup assignors simulate --group group.json --leave m-3 --assignor my_pkg.zones:ZoneAssignor
    """
    with redirect_stdout(sys.stderr):  # what an assignor prints is no part of the answer
        assignors = load_assignors(asked.assignors or ())
        scenario = scenario_of(asked, common)
        runs = _watched(scenario, assignors, asked)
    shown = Shown(owners=asked.show_assignment, time=asked.time)
    if common.as_json:
        print(json.dumps(simulation_json(scenario, runs, shown), indent=2))
    else:
        wide, narrow = (
            simulation_tables(scenario, runs, shown, stacked=stacked) for stacked in (False, True)
        )
        print_whole(wide, narrow)
        if screen().is_terminal:
            screen().print(LEGEND, style="dim")
    for run in runs:
        if run.assumed is not None:
            screen(stderr=True).print(f"note: {on_one_line(run.assumed)}", markup=False)
    if asked.live is not None:
        text = f"group {asked.live} was only asked about, nothing was changed"
        screen(stderr=True).print(text, markup=False)
    if any(run.error for run in runs):
        raise typer.Exit(1)


def _watched(
    scenario: Scenario, assignors: Mapping[str, Assignor], asked: Simulation
) -> tuple[Run, ...]:
    """Play, and show on a terminal how far it is."""
    console = screen(stderr=True)
    if not console.is_terminal:
        return run_all(scenario, assignors, asked, lambda _: None)
    with console.status("") as status:
        # As a text on one line: a name of somebody's own is neither markup nor obeyed.
        return run_all(
            scenario, assignors, asked, lambda text: status.update(Text(on_one_line(text)))
        )


def scenario_of(asked: Simulation, common: Common) -> Scenario:
    """Return the group that is meant, with all its events.

    Raises:
        ArgumentError: not exactly one group is named, a description of it cannot be used, or an
            event does not fit.
        BrokerError, IllegalStateError, TimeoutError: see `describe_live`.
    """
    ways = {"--group": asked.group, "--live": asked.live, "--example": asked.example}
    named = [way for way, value in ways.items() if value is not None]
    if len(named) != 1:
        raise ArgumentError("group", " and ".join(named) or None, f"one of {', '.join(ways)}")
    if asked.group == asked.events == _STANDARD_INPUT:
        raise ArgumentError("--events", asked.events, "a file, since stdin is read for --group")
    given = () if asked.events is None else _events_of(asked.events)
    options = _events_of_options(asked)
    scenario = _described(asked, common)
    origins = (
        *(f"{_called(asked.group)}: events[{at}]" for at in range(len(scenario.events))),
        *(f"{_called(asked.events)}: [{at}]" for at in range(len(given))),
        *(_OPTIONS[type(event)] for event in options),
    )
    whole = replace(scenario, events=(*scenario.events, *given, *options))
    try:
        play(whole, Optimum())  # looks at all events before the first is played
    except ArgumentError as error:
        raise ArgumentError(_origin(error.argument, origins), error.value, error.expected) from None
    return whole


def _origin(argument: str, origins: Sequence[str]) -> str:
    """Return where an event that does not fit stands: in which file, or in which option."""
    found = _EVENT.fullmatch(argument)
    if found is None:
        return argument
    origin, part = origins[int(found[1])], found[2]
    if not origin.startswith("--"):
        return f"{origin}.{part}"
    return "--topic" if part == "topics" else origin


def _called(path: str | None) -> str:
    """Return what a document is called in errors."""
    return "standard input" if path == _STANDARD_INPUT else str(path)


def run_all(
    scenario: Scenario, assignors: Mapping[str, Assignor], asked: Simulation, tell: Tell
) -> tuple[Run, ...]:
    """Play a scenario with each assignor, and with the optimum after them.

    Args:
        scenario: group and events.
        assignors: by what they are called.
        asked: for the protocol.
        tell: called at each step.

    Raises:
        ArgumentError: an event does not fit, or an assignor does not support the protocol.
    """
    protocol = None if asked.protocol is None else RebalanceProtocol(asked.protocol.value)
    runs = [
        replace(_run(scenario, each, label, protocol, tell), assumed=assumed(scenario, each))
        for label, each in assignors.items()
    ]
    return (*runs, _run(scenario, Optimum(), OPTIMUM, None, tell))


def _run(
    scenario: Scenario,
    assignor: Assignor,
    label: str,
    protocol: RebalanceProtocol | None,
    tell: Tell,
) -> Run:
    followed = protocol or common_protocol([assignor])
    outcomes: list[Outcome] = []
    tell(f"{label}: start")
    try:
        for outcome in play(scenario, assignor, protocol=followed, clock=time.perf_counter):
            outcomes.append(outcome)
            for event in scenario.events[len(outcomes) - 1 :][:1]:
                tell(f"{label}: {in_words(event)} ({len(outcomes)} of {len(scenario.events)})")
    except AssignmentError as error:
        return Run(label, followed, tuple(outcomes), error)
    return Run(label, followed, tuple(outcomes))


def _described(asked: Simulation, common: Common) -> Scenario:
    if asked.example is not None:
        if asked.example not in EXAMPLES:
            raise ArgumentError("--example", asked.example, f"one of {', '.join(EXAMPLES)}")
        return EXAMPLES[asked.example]
    if asked.group is not None:
        return read_scenario(_read("--group", asked.group), source=_called(asked.group))
    group_id = asked.live or ""
    if not group_id:
        raise ArgumentError("--live", group_id, "the name of a group")
    return perform(common, lambda cluster: describe_live(cluster, group_id, timeout=common.timeout))


def _events_of(path: str) -> tuple[Event, ...]:
    return read_events(_read("--events", path), source=_called(path))


def _read(option: str, path: str) -> bytes:
    if path == _STANDARD_INPUT:
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ArgumentError(option, path, f"a file that can be read ({error.strerror})") from None


def _events_of_options(asked: Simulation) -> Sequence[Event]:
    topics = frozenset(asked.topics) if asked.topics else None
    if topics is not None and not asked.join:
        raise ArgumentError("--topic", sorted(topics), "--join beside it: it is for new members")
    joins = repeat(Join(topics=topics), asked.join)
    leaves = (Leave(member) for member in asked.leave or ())
    return (*joins, *leaves, *map(_growth, asked.grow or ()))


def _growth(text: str) -> Grow:
    topic, _, count = text.rpartition("=")
    if not topic or not re.fullmatch(r"[0-9]{1,12}", count):
        raise ArgumentError("--grow", text, "TOPIC=N, N being how many partitions it has then")
    return Grow(topic, int(count))
