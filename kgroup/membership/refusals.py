"""What a member's errors say: what was refused, with which value, and the way out.

Decides: the error for each code that ends or suspends a membership.
Never: which code does that; `kgroup.machine.reactions` and the rows do.
KIPs: 345 (instance ids), 389 (group.max.size).
"""

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError, FencedError, UnauthorizedError
from kgroup.membership.settings import MembershipSettings
from kgroup.types import Generation

__all__ = ["fenced", "not_permitted", "refused"]


def refused(settings: MembershipSettings, api: ApiKey, code: int) -> BrokerError:
    """Return the error for a code that ends the membership.

    Args:
        settings: of the member.
        api: what was asked.
        code: the coordinator's error code.
    """
    group = f"group {settings.group_id!r}"
    match code:
        case ErrorCode.INVALID_SESSION_TIMEOUT:
            text = _session_timeout(settings)
        case ErrorCode.GROUP_MAX_SIZE_REACHED:
            text = (
                "it has as many members as the broker's group.max.size allows; close one, wait for "
                "the session of a dead one to end, or raise group.max.size"
            )
        case ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
            offered = ", ".join(repr(each.name) for each in settings.assignors)
            text = (
                f"its members have no assignor in common with this one, which offers {offered}; "
                "set assignors so that one name is in every member's list. A group of another "
                "type (Connect, Streams) cannot be joined at all: take another group_id"
            )
        case ErrorCode.INVALID_GROUP_ID:
            text = "the broker takes no such group_id"
        case _:
            return BrokerError(api.name, code, group)
    return BrokerError(api.name, code, f"{group}: {text}")


def _session_timeout(settings: MembershipSettings) -> str:
    value = settings.session_timeout
    return (
        f"session_timeout is {value:g} s ({round(value * 1000)} ms), outside of what the broker "
        "allows, group.min.session.timeout.ms (6000 by default) to group.max.session.timeout.ms "
        "(1800000 by default); set session_timeout within these bounds, or change them"
    )


def not_permitted(settings: MembershipSettings, api: ApiKey) -> UnauthorizedError:
    """Return the error that readers get as long as the group is closed to this principal."""
    group = f"group {settings.group_id!r}"
    right = "DESCRIBE" if api is ApiKey.FIND_COORDINATOR else "READ"
    text = f"{group}: this principal needs the right to {right} it; asked again until it has it"
    return UnauthorizedError(
        api.name, ErrorCode.GROUP_AUTHORIZATION_FAILED, [settings.group_id], text
    )


def fenced(settings: MembershipSettings, generation: Generation | None) -> FencedError:
    """Return the error of a static member whose place another process has taken (KIP-345)."""
    reason = (
        f"another member uses group_instance_id {settings.group_instance_id!r}; end one of the "
        "two, or give each running process an instance id of its own"
    )
    return FencedError(reason, generation=generation, code=ErrorCode.FENCED_INSTANCE_ID)
