"""The user data of a member's subscription: made by the assignor, or sent back as it came.

Decides: which bytes go with which assignor, and that nothing else than bytes ever does.
Never: reads them.
KIPs: 54.
"""

from kgroup.assignors import USER_DATA_LIMIT, Assignor, LastAssignment, UserDataAssignor
from kgroup.errors import AssignorError
from kgroup.membership.value import GroupMember, Memory

__all__ = ["memory_of", "user_data"]


def memory_of(protocol_name: str | None, data: bytes | None) -> Memory | None:
    """Return what is to be remembered of an assignment's user data, None when nothing is.

    More than a member may send is not remembered: only a leader of another kind gives that.
    """
    if data is None or len(data) > USER_DATA_LIMIT:
        return None
    return Memory(protocol_name or "", data)


def user_data(member: GroupMember, assignor: Assignor) -> bytes | None:
    """Return the bytes that one assignor's subscription carries, None for none.

    Raises:
        AssignorError: it raised (that is the cause), or made something that cannot be sent.
    """
    memory = member.memory
    echo = memory.user_data if memory and memory.protocol_name == assignor.name else None
    # Most have no such method, and to ask for a whole protocol takes long.
    if not hasattr(assignor, "encode_user_data") or not isinstance(assignor, UserDataAssignor):
        return echo
    held = member.round.assigned if member.eager else member.holdings.partitions
    owned = LastAssignment(sorted(held), echo)
    try:
        made: object = assignor.encode_user_data(owned, member.round.assigned_in)
    except Exception as error:
        words = f"raised {error!r} when it was asked for this member's user data"
        raise AssignorError(assignor.name, [words]) from error
    if made is not None and not isinstance(made, bytes):
        kind = type(made).__name__
        raise AssignorError(assignor.name, [f"made user data of type {kind}, not bytes or None"])
    if made is not None and len(made) > USER_DATA_LIMIT:
        words = f"made {len(made)} bytes of user data; a member may send {USER_DATA_LIMIT}"
        raise AssignorError(assignor.name, [words])
    return made
