"""What a sender does after an error code in an answer.

Decides: which of four moves a reaction means for a sender that repeats one request until it works.
Never: has cells of its own; `kgroup.machine.reactions` is the one table.
"""

from collections.abc import Sequence
from enum import Enum

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError, UnauthorizedError
from kgroup.machine.reactions import Reaction, reaction


class Verdict(Enum):
    """What to do next."""

    DONE = "done"
    AGAIN = "ask the same broker again, after a pause"
    ELSEWHERE = "find out anew which broker is responsible, then ask again"
    REFUSED = "tell the caller"


def verdict(api: ApiKey, code: int) -> Verdict:
    """Decide what follows from an error code of an API; a code nobody knows is a refusal."""
    match reaction(api, code):
        case Reaction.SUCCEED | Reaction.IGNORE:
            return Verdict.DONE
        case Reaction.RETRY | Reaction.RETRY_BOUNDED:
            return Verdict.AGAIN
        case Reaction.REFRESH | Reaction.MISSING | Reaction.FIND_COORDINATOR | Reaction.REBOOTSTRAP:
            return Verdict.ELSEWHERE
        case _:
            return Verdict.REFUSED


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
