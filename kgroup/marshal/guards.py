"""What the guards of a key's rows ask.

Decides: whether each guard holds at an instant; of each family exactly one does.
Never: changes anything.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from kgroup.marshal.key_life import KeyLife
from kgroup.marshal.member import MarshalMember
from kgroup.marshal.phases import KeyGuard, KeyPhase
from kgroup.marshal.wishing import is_wanted
from kgroup.types import Leave

__all__ = ["FAMILIES", "holds"]

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
