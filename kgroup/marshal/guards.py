"""What the guards of a key's rows ask.

Decides: whether each guard holds at an instant; of each family exactly one does.
Never: changes anything.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from kgroup.marshal.key_life import KeyLife
from kgroup.marshal.member import MarshalMember
from kgroup.marshal.phases import KeyGuard
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
    return is_wanted(member, life.tp, now)


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
