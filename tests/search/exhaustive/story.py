"""How a counterexample reads: a numbered list of steps, each with the world after it.

Decides: words.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from kgroup.machine.claims import HoldingState
from tests.search.exhaustive.local import GONE, KILLED, UNBORN
from tests.search.exhaustive.scope import NOW, TICK
from tests.search.exhaustive.search import Found
from tests.search.exhaustive.world import Move, State, World

__all__ = ["told"]

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


def told(found: Found, world: World) -> str:
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
    desk = world.coming.desks.values[state[world.scope.members]]
    if desk.room is None:
        return "no group" if not desk.loading else "loading"
    seats = _joined(f"{seat.member_id[:1]}" for seat in desk.room.seats)
    return f"group {desk.room.phase.value} g{desk.room.generation_id} of {seats or 'nobody'}"


def _joined(parts: Iterable[str]) -> str:
    return " ".join(parts)
