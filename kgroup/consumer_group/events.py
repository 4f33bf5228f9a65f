"""What goes into the machine and what comes out of it.

Decides: the shapes of events (past participles) and effects (imperatives).
Never: carries either out.
"""

from collections.abc import Mapping
from enum import Enum

from kgroup.machine.wishes import (
    CallListener,
    CloseRequested,
    CommitRejected,
    Done,
    Drained,
    ListenerDone,
    Polled,
    Raise,
    Subscribed,
    Tell,
    Tick,
    Ticket,
    Unsubscribed,
)
from kgroup.values import dataclass
from kgroup.wire.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    FindCoordinatorRequest,
)

__all__ = [
    "Answered",
    "CoordinatorFound",
    "Disconnect",
    "Effect",
    "Event",
    "LookForTopics",
    "Note",
    "RequestFailed",
    "Send",
    "TopicsNamed",
]


# -- events --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TopicsNamed:
    """The cluster view changed.

    Args:
        names: topic id -> name, of every topic that is known.
    """

    names: Mapping[bytes, str]


@dataclass(frozen=True, slots=True)
class Answered:
    """A heartbeat was answered."""

    ticket: Ticket
    response: ConsumerGroupHeartbeatResponse


@dataclass(frozen=True, slots=True)
class CoordinatorFound:
    """FindCoordinator was answered.

    Args:
        ticket: of the request.
        node_id: broker that coordinates the group, None with an error.
        code: the error code, 0 for none.
        session: the session time-out that brokers told when asked (`Send.look`), seconds; None:
            they did not say.
    """

    ticket: Ticket
    node_id: int | None
    code: int = 0
    session: float | None = None


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """A request got no usable answer: the connection, the deadline, or unreadable bytes."""

    ticket: Ticket
    error: Exception


Event = (
    Subscribed
    | Unsubscribed
    | CloseRequested
    | TopicsNamed
    | Polled
    | Drained
    | ListenerDone
    | CommitRejected
    | Answered
    | CoordinatorFound
    | RequestFailed
    | Tick
)


# -- effects -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request and report the reply under the ticket.

    Args:
        ticket: what the reply must carry.
        request: the message.
        node_id: the coordinator, None for any broker.
        timeout: seconds from now.
        look: with FindCoordinator: ask, too, how long a session is, and report both at once. While
            that is not answered, no coordinator is found.
    """

    ticket: Ticket
    request: FindCoordinatorRequest | ConsumerGroupHeartbeatRequest
    node_id: int | None
    timeout: float
    look: bool = False


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Give up the connection that heartbeats to a broker take."""

    node_id: int


@dataclass(frozen=True, slots=True)
class LookForTopics:
    """Ask for metadata: an assignment has a topic whose name is not known."""


class Note(Enum):
    """What a person should hear once."""

    DRAIN_CUT = "a batch was still in hand when its partitions had to go; it may be delivered again"
    LISTENER_AWAITED = (
        "what on_revoked runs for is lost; this member joins again when it has returned, or late"
    )
    SESSION_ASSUMED = (
        "the brokers do not say how long a session is (it takes the right to describe the configs "
        "of the group, or of the cluster); set session_timeout if group.consumer.session.timeout.ms"
        " is another"
    )
    INSTANCE_IN_USE = (
        "another member has the group instance id; this one joins when it is gone, or its session"
    )
    ANSWER_ABSURD = "the coordinator's answer makes no sense; this member joins again"
    TOPICS_UNNAMED = (
        "partitions of topics are assigned that no metadata names: they are not read meanwhile"
    )
    NOT_PERMITTED = "the coordinator does not permit it; asked again until it does"


Effect = Send | Disconnect | LookForTopics | CallListener | Tell[Note] | Raise | Done
