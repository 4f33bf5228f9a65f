"""The shape of a list of rules, and the states in which a member is in, or on its way in.

Decides: what `joining_rows` and `ending_rows` share.
Never: a transition.
"""

from typing import Final

from kgroup.machine.rows import Row
from kgroup.membership.triggers import Action, Guard, Trigger
from kgroup.types import MemberState

__all__ = ["MEMBER", "Rules"]

Rules = tuple[tuple[Row[MemberState, Trigger, Guard, Action], ...], ...]

MEMBER: Final = (
    MemberState.FINDING,
    MemberState.PREPARING,
    MemberState.JOINING,
    MemberState.ASSIGNING,
    MemberState.SYNCING,
    MemberState.STABLE,
    MemberState.BACKING_OFF,
)
