"""`make search ARGS="exhaustive --mode eager --faults 1"`: every state of a small group.

Decides: the options, and how a result and the way to a broken promise are shown.
Never: searches.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from kgroup.machine.claims import HoldingState
from kgroup.membership.ending_rows import ROWS
from kgroup.membership.step import step
from tests.membership.machine import Machine
from tests.search.exhaustive.local import GONE, KILLED, UNBORN
from tests.search.exhaustive.scope import NOW, TICK, Fault, Mode, Scope
from tests.search.exhaustive.search import Found, Progress, Search
from tests.search.exhaustive.world import Move, State, World


def as_json(found: Found) -> dict[str, Any]:
    """Return what a search found, without the story."""
    scope, progress = found.scope, found.progress
    return {
        "mode": scope.mode.value,
        "members": scope.members,
        "partitions": scope.partitions,
        "faults": scope.faults,
        "kinds": sorted(kind.value for kind in scope.kinds),
        "closes": scope.closes,
        "session_ticks": scope.session,
        "rebalance_ticks": scope.rebalance,
        "patience": scope.patience,
        "late_requests": scope.late_requests,
        "complete": found.complete,
        "states": progress.states,
        "expanded": progress.expanded,
        "transitions": progress.transitions,
        "depth": progress.depth,
        "seconds": round(progress.seconds, 1),
        "broken": found.broken,
        "ticks_to_rest": found.rest_ticks,
        "processes": found.processes,
        "coordinators": found.coordinators,
        "rows_fired": len(found.rows),
        "rows": len(ROWS.rows),
        "cells_fired": found.cells,
        "cells": len({(row.at, row.on) for row in ROWS.rows}),
    }


# -- story -----------------------------------------------------------------------------------------


_NOT_THERE: Final[Mapping[int, str]] = MappingProxyType(
    {UNBORN: "not started", GONE: "gone", KILLED: "killed"}
)
_MARKS: Final[Mapping[HoldingState, str]] = MappingProxyType(
    {
        HoldingState.HELD: "",
        HoldingState.DRAINING: " draining",
        HoldingState.REVOKING: " being revoked",
        HoldingState.FREE: "",
    }
)


def as_text(found: Found, world: World) -> str:
    """Tell how the promise came to be broken, one step to a line, numbered."""
    lines = [f"{found.scope}: {found.broken}"]
    ticks = 0
    for number, move in enumerate(found.path, 1):
        if move.slot is None and "clock" in move.name:
            ticks += 1
        who = "" if move.slot is None else f"{world.scope.client_id(move.slot)}: "
        lines.append(f"{number:3}. t={ticks * TICK:g} {who}{move.name}{_detail(move)}")
        lines.append(
            f"        {', '.join(_processes(world, move.state))}; {_group(world, move.state)}"
        )
    return "\n".join(lines)


def _detail(move: Move) -> str:
    code = getattr(move.how, "error_code", None)
    if code is not None:
        return ", is answered" if code == 0 else f", is answered with {int(code)}"
    return " and is parked" if move.name.endswith("arrives") else ""


def _processes(world: World, state: State) -> Iterator[str]:
    for slot, number in enumerate(state[: world.scope.members]):
        name = world.scope.client_id(slot)
        if number in _NOT_THERE:
            yield f"{name} {_NOT_THERE[number]}"
            continue
        member = world.local.process(number).member
        generation = member.identity.generation
        lease = "good" if member.lease.holds(NOW) else "out"
        held = [f"{claim.tp}{_MARKS[mark]}" for claim, mark in member.holdings.states.items()]
        known = "-" if generation is None else str(generation.generation_id)
        has = f" has {_joined(held)}, lease {lease}" if held else ""
        calls = [f"{each.value}" for each in (change.kind for change in member.changes)]
        waits = f" listener: {_joined(calls)}" if calls else ""
        yield f"{name} {member.state.name} g{known}{has}{waits}"


def _group(world: World, state: State) -> str:
    coordinator = world.coming.coordinators.values[state[world.scope.members]]
    if coordinator.room is None:
        return "no group" if not coordinator.loading else "loading"
    seats = _joined(f"{seat.member_id[:1]}" for seat in coordinator.room.seats)
    room = coordinator.room
    return f"group {room.phase.value} g{room.generation_id} of {seats or 'nobody'}"


def _joined(parts: Iterable[str]) -> str:
    return " ".join(parts)


# --   main   --------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None, steps: Machine = step) -> int:
    """Search one world and say what was found.

    Args:
        arguments: of the command line; None = those of the process.
        steps: the machine of all members.

    Returns:
        The exit code.
    """
    options = _parser().parse_args(arguments)
    try:
        scope = _scope(options)
    except ValueError as error:
        sys.stderr.write(f"wrong arguments: {error}\n")
        return 2
    world = World(scope, steps, reduced=not options.every_order)
    search = Search(world, limit=options.states)
    try:
        found = search.run(_show)
    except KeyboardInterrupt:
        sys.stderr.write(f"\nstopped: {_words(search.progress)}\n")
        if options.json:
            sys.stdout.write(f"{json.dumps(as_json(search.so_far), indent=2)}\n")
        return 130
    sys.stderr.write("\n")
    figures = json.dumps(as_json(found), indent=2) if options.json else _summary(found)
    sys.stdout.write(f"{figures}\n")
    if found.broken is None:
        return 0
    stream = sys.stderr if options.json else sys.stdout
    stream.write(f"{as_text(found, world)}\n")
    return 1


def _parser() -> argparse.ArgumentParser:
    kinds = ", ".join(kind.value for kind in Fault)
    parser = argparse.ArgumentParser(prog="python -m tests.search.exhaustive", description=__doc__)
    parser.add_argument("--mode", choices=[mode.value for mode in Mode], default="cooperative")
    parser.add_argument("--members", type=int, default=2)
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--faults", type=int, default=1, help="how many happen at most")
    parser.add_argument("--kinds", help=f"which faults, with commas between: {kinds}")
    parser.add_argument("--closes", type=int, default=0, help="how many members close at most")
    parser.add_argument("--session", type=int, default=2, help="session timeout in ticks")
    parser.add_argument("--rebalance", type=int, default=2, help="rebalance timeout in ticks")
    parser.add_argument("--patience", type=int, default=1, help="debts an application may have")
    parser.add_argument("--late-requests", action="store_true", help="of closed connections")
    parser.add_argument("--every-order", action="store_true", help="leave no order of moves out")
    parser.add_argument("--states", type=int, default=10_000_000, help="stop at so many")
    parser.add_argument("--json", action="store_true", help="write the figures as JSON")
    return parser


def _scope(options: argparse.Namespace) -> Scope:
    names = [kind.value for kind in Fault] if options.kinds is None else options.kinds.split(",")
    return Scope(
        Mode(options.mode),
        members=options.members,
        partitions=options.partitions,
        faults=options.faults,
        kinds=frozenset(Fault(name) for name in names if name),
        closes=options.closes,
        session=options.session,
        rebalance=options.rebalance,
        patience=options.patience,
        late_requests=options.late_requests,
    )


def _show(progress: Progress) -> None:
    sys.stderr.write(f"\r{_words(progress)}")
    sys.stderr.flush()


def _words(progress: Progress) -> str:
    rate = progress.expanded / progress.seconds if progress.seconds > 0 else 0.0
    return (
        f"{progress.states} states, {progress.states - progress.expanded} wait, "
        f"{progress.transitions} transitions, depth {progress.depth}, "
        f"{progress.seconds:.1f} s, {rate:.0f}/s  "
    )


def _summary(found: Found) -> str:
    end = "complete" if found.complete else "stopped"
    if found.broken is not None:
        end = "broken"
    rest = "" if found.rest_ticks is None else f"; at rest within {found.rest_ticks} ticks"
    figures = as_json(found)
    return (
        f"{found.scope}: {end}: {_words(found.progress).strip()}{rest}; "
        f"{figures['rows_fired']} of {figures['rows']} rows, "
        f"{figures['cells_fired']} of {figures['cells']} cells fired"
    )


if __name__ == "__main__":
    sys.exit(main())
