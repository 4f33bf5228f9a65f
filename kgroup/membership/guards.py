"""What the guards of the rows ask of a member.

Decides: whether each guard holds at an instant; of each family exactly one does.
Never: changes the member.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kgroup.membership.triggers import Guard
from kgroup.membership.value import GroupMember

__all__ = ["holds"]


def holds(member: GroupMember, guard: Guard, now: float) -> bool:
    """Tell whether a guard holds at an instant."""
    return _ASKED[guard](member, now)


def _closing(member: GroupMember) -> bool:
    return member.wishes.closing is not None


def _static(member: GroupMember) -> bool:
    return member.settings.group_instance_id is not None


def _may_join(member: GroupMember) -> bool:
    return not member.still_revoking()


def _wants_join(member: GroupMember) -> bool:
    return not _closing(member) and member.wishes.topics is not None


_ASKED: Mapping[Guard, Callable[[GroupMember, float], bool]] = MappingProxyType(
    {
        Guard.HANDS_BACK: lambda member, _: bool(member.must_hand_back()),
        Guard.HANDS_NOTHING: lambda member, _: not member.must_hand_back(),
        Guard.DYNAMIC: lambda member, _: not _static(member),
        Guard.STATIC: lambda member, _: _static(member),
        Guard.CLOSING: lambda member, _: _closing(member),
        Guard.NOT_CLOSING: lambda member, _: not _closing(member),
        Guard.WANTS_JOIN: lambda member, _: _wants_join(member),
        Guard.WANTS_NOTHING: lambda member, _: not _closing(member) and not _wants_join(member),
        Guard.IN_PACE: lambda member, now: now >= member.join_due_at(),
        Guard.OUT_OF_PACE: lambda member, now: now < member.join_due_at(),
        Guard.STILL_REVOKING: lambda member, _: bool(member.still_revoking()),
        Guard.JOINS_NOW: lambda member, now: _may_join(member) and now >= member.join_due_at(),
        Guard.JOINS_LATER: lambda member, now: _may_join(member) and now < member.join_due_at(),
    }
)
"""Complete: the coverage theorem has every guard in a family, and every family in a row."""
