"""What goes into the machine and what comes out of it.

Decides: the shapes of events (past participles) and effects (imperatives).
Never: carries either out.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from types import MappingProxyType

from kgroup.assignors import SentAssignment
from kgroup.machine.wishes import (
    CallListener,
    CloseRequested,
    CommitRejected,
    Done,
    Drained,
    EnforceRebalance,
    ListenerDone,
    Moment,
    Polled,
    Raise,
    Subscribed,
    Tell,
    Tick,
    Ticket,
    Unsubscribed,
)
from kgroup.membership.group_description import GroupInUse, Remembered
from kgroup.types import Generation
from kgroup.values import dataclass
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

__all__ = [
    "Answered",
    "AssignorDone",
    "AssignorFailed",
    "CallListener",
    "CloseRequested",
    "CommitRejected",
    "CoordinatorFound",
    "Disconnect",
    "Done",
    "Drained",
    "Effect",
    "EnforceRebalance",
    "Event",
    "GroupRequest",
    "GroupResponse",
    "ListenerDone",
    "MetadataChanged",
    "Moment",
    "Note",
    "Polled",
    "Raise",
    "RequestFailed",
    "RunAssignor",
    "SecondBeat",
    "SecondHeard",
    "Send",
    "Subscribed",
    "Tell",
    "Tick",
    "Unsubscribed",
]

GroupRequest = (
    FindCoordinatorRequest
    | JoinGroupRequest
    | SyncGroupRequest
    | HeartbeatRequest
    | LeaveGroupRequest
)
GroupResponse = JoinGroupResponse | SyncGroupResponse | HeartbeatResponse | LeaveGroupResponse


# -- events --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MetadataChanged:
    """The cluster view changed.

    Args:
        counts: topic -> partition count, 0 for a topic that is not there.
        places: topic -> a number that tells where its replicas are, of topics that this leader
            divides, if any member is in a rack (KIP-881).
    """

    counts: Mapping[str, int]
    places: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Answered:
    """A group request was answered.

    Args:
        ticket: of the request.
        response: the answer.
        in_use: with a JoinGroup that the group's members forbid: the members; None: not known.
    """

    ticket: Ticket
    response: GroupResponse
    in_use: GroupInUse | None = None


@dataclass(frozen=True, slots=True)
class SecondBeat:
    """One heartbeat that was sent beside the loop, and answered.

    Args:
        generation: under which it was sent.
        sent_at: instant of the member's clock.
        heard_at: the same, of the answer; the loop may hear of it much later.
        code: the error code, 0 for none.
    """

    generation: Generation
    sent_at: float
    heard_at: float
    code: int


@dataclass(frozen=True, slots=True)
class SecondHeard:
    """Heartbeats that were sent beside the loop were answered; see `kgroup.membership.second`.

    Args:
        beats: in the order in which they were answered, all that the loop has not heard of.
    """

    beats: tuple[SecondBeat, ...]


@dataclass(frozen=True, slots=True)
class CoordinatorFound:
    """FindCoordinator was answered.

    Args:
        ticket: of the request.
        node_id: broker that coordinates the group, None with an error.
        code: the error code, 0 for none.
        remembered: what the coordinator said when asked (`Send.recall`); None: nothing is known.
    """

    ticket: Ticket
    node_id: int | None
    code: int = 0
    remembered: Remembered | None = None


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """A request got no usable answer: the connection, the deadline, or unreadable bytes."""

    ticket: Ticket
    error: Exception


@dataclass(frozen=True, slots=True)
class AssignorDone:
    """The assignor returned.

    Args:
        ticket: of the run.
        assignments: encoded assignment per member id, one entry for every member.
        watched: topic -> partition count the assignment was made from.
        rejoin_after: seconds after which the assignor wants another round, None for never.
        sent: what to remember of it, None when nothing need be (eager, or nothing was made).
        places: see `MetadataChanged`; what the assignment was made from.
        places_now: the same at this moment: the view may have changed meanwhile.
    """

    ticket: Ticket
    assignments: tuple[tuple[str, bytes], ...]
    watched: Mapping[str, int]
    rejoin_after: float | None = None
    sent: SentAssignment | None = None
    places: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    places_now: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class AssignorFailed:
    """The assignor raised, its result cannot be sent, or the group cannot be described.

    Args:
        ticket: of the run.
        error: why; a `TimeoutError` when metadata did not come in time.
    """

    ticket: Ticket
    error: Exception


Event = (
    Subscribed
    | Unsubscribed
    | CloseRequested
    | EnforceRebalance
    | MetadataChanged
    | Polled
    | Drained
    | ListenerDone
    | CommitRejected
    | Answered
    | SecondHeard
    | CoordinatorFound
    | RequestFailed
    | AssignorDone
    | AssignorFailed
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
        recall: with FindCoordinator: ask the coordinator that is found what it remembers of this
            static member, and report both at once. Without an answer soon, nothing is remembered.
    """

    ticket: Ticket
    request: GroupRequest
    node_id: int | None
    timeout: float
    recall: bool = False


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Give up connections to a coordinator.

    Args:
        node_id: the broker.
        parked_only: only the connection that parked requests use.
    """

    node_id: int
    parked_only: bool


@dataclass(frozen=True, slots=True)
class RunAssignor:
    """Compute the group's assignment and report it under the ticket.

    Args:
        ticket: what the result must carry.
        protocol_name: the assignor the coordinator chose.
        members: every member with its subscription, in the order of the answer.
        generation_id: the round.
        sent: what this leader sent in the round before, None when it does not know.
        unasked: a returning static leader: only the group's topics are to be watched, beginning
            with what they were when the generation was made (KIP-814).
        node_id: the coordinator, for the question about that; None when it is not known.
        follows: as `unasked`, for a follower that may have come back: it only learns how many
            partitions of each topic were assigned, nothing when a round is on, and watches nothing.
    """

    ticket: Ticket
    protocol_name: str
    members: tuple[JoinGroupResponseMember, ...]
    generation_id: int
    sent: SentAssignment | None = None
    unasked: bool = False
    node_id: int | None = None
    follows: bool = False


class Note(Enum):
    """What a person should hear once."""

    SESSION_UNCONFIRMED = (
        "no coordinator confirms the session: what is owned is kept, not read, until one does"
    )
    DRAIN_CUT = "a batch was still in hand when its partitions had to go; it may be delivered again"
    LISTENER_AWAITED = (
        "what on_revoked runs for is lost; this member joins again when it has returned, or late"
    )
    ASSIGNING_LATE = (
        "this member leads and could not compute the assignment in time; it joins another round"
    )
    ROUND_FAILED = (
        "this member leads and could not assign the group; nothing was sent, the round is repeated"
    )
    JOIN_FAILING = (
        "the coordinator cannot complete the round; one member's subscription may be unreadable"
    )
    JOIN_ABSURD = "the coordinator's answer to JoinGroup makes no sense; it joins again"
    ASSIGNMENT_ABSURD = (
        "the leader's assignment cannot be read; this member owns nothing, and joins"
    )
    TOPICS_UNASKED = "the leader assigns topics that this member did not ask for; it joins later"
    NOT_PERMITTED = "the coordinator does not permit it; asked again until it does"


Effect = Send | Disconnect | CallListener | RunAssignor | Tell[Note] | Raise | Done
