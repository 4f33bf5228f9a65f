"""One row of one key, carried out.

Decides: nothing: it finds the row, moves the key, and does what the row says.
Never: fires for what cannot reach the key in its phase: that came too late.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from kgroup.frozen import replace
from kgroup.marshal.key_actions import act
from kgroup.marshal.key_rows import KEY_ROWS
from kgroup.marshal.key_state import KeyLife
from kgroup.marshal.member import MarshalMember
from kgroup.marshal.phases import POSSIBLE, KeyGuard, KeyPhase, KeyTrigger
from kgroup.marshal.turn import Turn
from kgroup.marshal.wishing import is_wanted
from kgroup.types import Leave, TopicPartition

__all__ = ["FAMILIES", "fire", "holds"]

_G = KeyGuard

FAMILIES: Final = (
    frozenset({_G.FREE, _G.NOT_FREE}),
    frozenset({_G.WANTED, _G.UNWANTED}),
    frozenset({_G.KNOWS_POSITION, _G.SEEKS_POSITION}),
    frozenset({_G.REWINDS, _G.ENDS}),
    frozenset({_G.RELEASES, _G.REMAINS}),
)
"""Of each, exactly one holds at any time."""


def holds(member: MarshalMember, life: KeyLife, guard: KeyGuard, now: float) -> bool:
    """Tell whether a guard holds for a key at an instant."""
    return _ASKED[guard](member, life, now)


def _wanted(member: MarshalMember, life: KeyLife, now: float) -> bool:
    return is_wanted(member, life.tp, now) and _has_room(member, life)


def _has_room(member: MarshalMember, life: KeyLife) -> bool:
    """Tell whether a member that takes no more than so much may have one more.

    1. A claim is given up, because it was not read back in time; 2. another key is claimed instead;
    3. the first claim arrives, and is accepted.
    """
    most = member.settings.max_claims
    if most is None or member.settings.whole_topics or life.claim is not None:
        return True
    return sum(one.tp != life.tp and _has(one) for one in member.lives.values()) < most


def _has(life: KeyLife) -> bool:
    return life.claim is not None or life.phase in (KeyPhase.LOCATING, KeyPhase.CONFIRMING)


def _free(member: MarshalMember, life: KeyLife, now: float) -> bool:
    return _wanted(member, life, now) and now >= member.claimable_at(life.tp)


def _remains(member: MarshalMember, life: KeyLife, _: float) -> bool:
    closing = member.wishes.closing
    return closing is not None and closing.mode is Leave.REMAIN and not life.rewinds


_ASKED: Final[Mapping[KeyGuard, Callable[[MarshalMember, KeyLife, float], bool]]] = (
    MappingProxyType(
        {
            _G.FREE: _free,
            _G.NOT_FREE: lambda member, life, now: not _free(member, life, now),
            _G.WANTED: _wanted,
            _G.UNWANTED: lambda member, life, now: not _wanted(member, life, now),
            _G.KNOWS_POSITION: lambda _, life, __: life.rewinds,
            _G.SEEKS_POSITION: lambda _, life, __: not life.rewinds,
            _G.REWINDS: lambda _, life, __: life.rewinds,
            _G.ENDS: lambda _, life, __: not life.rewinds,
            _G.RELEASES: lambda member, life, now: not _remains(member, life, now),
            _G.REMAINS: _remains,
        }
    )
)
"""Complete: the coverage theorem has every guard in a family, and every family in a row."""


# -- firing ----------------------------------------------------------------------------------------


def fire(turn: Turn, tp: TopicPartition, trigger: KeyTrigger) -> bool:
    """Fire the row of a key for a trigger; tell whether there was one."""
    life = turn.life(tp)
    if trigger not in POSSIBLE[life.phase]:
        return False
    row = KEY_ROWS.find(
        life.phase, trigger, lambda guard: holds(turn.member, life, guard, turn.now)
    )
    turn.fired.append((tp, row))
    moved = replace(life, phase=row.to)
    for action in row.do:
        moved = act(turn, moved, action)
    # What is over may be worth another claim: the plan did not look at it while it was under way.
    turn.replan = turn.replan or (row.to is KeyPhase.IDLE and row.at is not KeyPhase.IDLE)
    turn.put(moved)
    return True
