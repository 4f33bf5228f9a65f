"""What an answer that ends a membership says to the user.

Decides: the error for each code that ends or suspends a membership.
Never: which code does that; `kgroup.machine.reactions` and the rows do. Moves the state.
KIPs: 345 (instance ids), 389 (group.max.size), 848.
"""

from kgroup.codes import ApiKey, ErrorCode
from kgroup.consumer_group.settings import ConsumerGroupSettings
from kgroup.errors import BrokerError, FencedError, UnauthorizedError, UnsupportedVersionError
from kgroup.types import Generation

_WAY_OUT = (
    "group_protocol='consumer' (KIP-848) needs Kafka 4.0 or later, and the group.version of the "
    "cluster at 1 or higher; set group_protocol='classic', or upgrade"
)


def refused(settings: ConsumerGroupSettings, api: ApiKey, code: int, said: str) -> BrokerError:
    """Return the error for a code that ends the membership.

    Args:
        settings: of the member.
        api: what was asked.
        code: the coordinator's error code.
        said: its own words, "" without any.
    """
    words = f": {said.rstrip('.')}" if said else ""
    text = f"group {settings.group_id!r}{words}"
    match code:
        case ErrorCode.UNSUPPORTED_VERSION:
            text += f"; {_WAY_OUT}"
        case ErrorCode.UNSUPPORTED_ASSIGNOR:
            text += f"; server_assignor is {settings.server_assignor!r}"
        case ErrorCode.INVALID_REGULAR_EXPRESSION:
            text += (
                "; with pattern_on='broker' a pattern is one of RE2J, which has no look-around and "
                "no back-references; pattern_on='client' takes those of Python"
            )
        case ErrorCode.GROUP_MAX_SIZE_REACHED:
            text += (
                "; it has as many members as group.consumer.max.size allows; close one, wait for "
                "the session of a dead one to end, or raise it"
            )
        case ErrorCode.GROUP_ID_NOT_FOUND | ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
            text += (
                "; its members speak the classic protocol, and their assignor or the brokers' "
                "group.consumer.migration.policy does not let it turn: set that to "
                "'bidirectional', or end them first; `kgroup groups offers GROUP --to consumer` "
                "judges the rest"
            )
    return BrokerError(api.name, code, text)


def unsupported(error: UnsupportedVersionError) -> UnsupportedVersionError:
    """Return the error of a broker that does not offer the protocol, with how to go on."""
    return UnsupportedVersionError(error.api, f"{error.reason}; {_WAY_OUT}")


def not_permitted(settings: ConsumerGroupSettings, api: ApiKey, code: int) -> UnauthorizedError:
    """Return the error that readers get as long as the group is closed to this principal."""
    group = f"group {settings.group_id!r}"
    if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        text = f"{group}: this principal needs the right to DESCRIBE all topics it subscribes to"
    else:
        right = "DESCRIBE" if api is ApiKey.FIND_COORDINATOR else "READ"
        text = f"{group}: this principal needs the right to {right} it"
    return UnauthorizedError(
        api.name, code, [settings.group_id], f"{text}; asked again until it has it"
    )


def fenced(settings: ConsumerGroupSettings, generation: Generation | None) -> FencedError:
    """Return the error of a static member whose place another process has taken (KIP-345)."""
    reason = (
        f"another member uses group_instance_id {settings.group_instance_id!r}; end one of the "
        "two, or give each running process an instance id of its own"
    )
    return FencedError(reason, generation=generation, code=ErrorCode.FENCED_INSTANCE_ID)
