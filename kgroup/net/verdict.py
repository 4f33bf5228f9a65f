"""What an error code of an answer asks of whoever sent the request.

Decides: for requests outside the group protocol (topics, offsets, descriptions, producing).
Never: for a member's own requests; `kgroup.machine.reactions` decides there.
Source: `org.apache.kafka.common.protocol.Errors`; the reaction of each was checked on brokers.
"""

from collections.abc import Sequence
from enum import Enum

from kgroup.codes import ApiKey, ErrorCode, is_retriable
from kgroup.errors import BrokerError, UnauthorizedError

__all__ = ["Verdict", "refusal", "verdict"]


class Verdict(Enum):
    """What to do next."""

    DONE = "done"
    AGAIN = "ask the same broker again, after a pause"
    ELSEWHERE = "find out anew who is responsible, then ask again"
    REFUSED = "tell the caller"


def verdict(code: int) -> Verdict:
    """Decide what follows from an error code; a code nobody knows is a refusal."""
    match code:
        case ErrorCode.NONE:
            return Verdict.DONE
        case (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            | ErrorCode.UNKNOWN_TOPIC_ID
            | ErrorCode.INCONSISTENT_TOPIC_ID
            | ErrorCode.LEADER_NOT_AVAILABLE
            | ErrorCode.NOT_LEADER_OR_FOLLOWER
            | ErrorCode.FENCED_LEADER_EPOCH
            | ErrorCode.KAFKA_STORAGE_ERROR
            | ErrorCode.REPLICA_NOT_AVAILABLE
            | ErrorCode.NOT_CONTROLLER
            | ErrorCode.NOT_COORDINATOR
            | ErrorCode.COORDINATOR_NOT_AVAILABLE
        ):
            return Verdict.ELSEWHERE
        case ErrorCode.UNKNOWN_SERVER_ERROR:
            return Verdict.AGAIN
        case _:
            return Verdict.AGAIN if is_retriable(code) else Verdict.REFUSED


def refusal(
    api: ApiKey, code: int, resources: Sequence[str], message: str | None = None
) -> BrokerError:
    """Make the error for a code.

    Args:
        api: what was asked.
        code: the error code.
        resources: the topics, groups or other names it was about.
        message: the broker's own text, None without one.
    """
    match code:
        case (
            ErrorCode.TOPIC_AUTHORIZATION_FAILED
            | ErrorCode.GROUP_AUTHORIZATION_FAILED
            | ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            | ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        ):
            return UnauthorizedError(api.name, code, resources, message or "")
        case _:
            named = ", ".join(resources)
            return BrokerError(api.name, code, f"{named}: {message}" if message else named)
