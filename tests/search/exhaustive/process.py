"""One process of the small world: its machine's value, its calls, what its application knows.

Decides: shapes only. A process is a frozen value; two equal ones have the same future.
Never: steps the machine; `running` does.
"""

from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Final

from kgroup.machine.wishes import Errand, Ticket
from kgroup.membership.events import GroupRequest, RunAssignor
from kgroup.membership.given_up import GivenUp
from kgroup.membership.group_description import Remembered
from kgroup.membership.value import GroupMember
from kgroup.types import Claim
from kgroup.wire.messages import (
    DescribeGroupsRequest,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    SyncGroupResponse,
)

Answer = JoinGroupResponse | SyncGroupResponse | HeartbeatResponse | LeaveGroupResponse
Asked = GroupRequest | DescribeGroupsRequest

GONE: Final = 0
"""Serial of any claim of which only this is known: it is over, on_revoked has not returned."""


class Lane(IntEnum):
    """The connection of a call: one request is served at a time (R18)."""

    JOIN = 1
    BEAT = 2
    ANY = 3
    LOCAL = 4

    __hash__ = int.__hash__  # part of most keys of a search


class Stage(Enum):
    """Where a call stands."""

    SENT = "on its way"
    PARKED = "parked"
    ANSWERED = "its answer is on its way"
    BROKEN = "its connection broke"
    MUTE = "nothing will come before its deadline"


def lane_of(errand: Errand) -> Lane:
    """Return the connection an errand uses; JoinGroup and SyncGroup have one of their own."""
    match errand:
        case Errand.JOIN_GROUP | Errand.SYNC_GROUP:
            return Lane.JOIN
        case Errand.HEARTBEAT | Errand.LEAVE_GROUP | Errand.CONSUMER_GROUP_HEARTBEAT:
            return Lane.BEAT
        case Errand.FIND_COORDINATOR:
            return Lane.ANY
        case Errand.RUN_ASSIGNOR:
            return Lane.LOCAL


@dataclass(frozen=True, slots=True)
class Call:
    """One request, or one run of the assignor, that has not come back.

    Args:
        ticket: of the machine.
        lane: its connection.
        node_id: 1 for the coordinator, 2 for the broker that was it; 0 for any.
        request: what was sent, or what the assignor was asked.
        stage: where it stands.
        answer: on its way, with ANSWERED.
        deadline: when it fails.
        recall: the search also asks what is remembered of a static member.
    """

    ticket: Ticket
    lane: Lane
    node_id: int
    request: GroupRequest | RunAssignor
    deadline: float
    stage: Stage = Stage.SENT
    answer: Answer | None = None
    recall: bool = False


@dataclass(frozen=True, slots=True)
class Given:
    """An answer with its number: equal answers have one number, which is quicker to compare.

    Args:
        number: of the answer.
        answer: itself, None for none.
    """

    number: int
    answer: Answer | None = field(compare=False)

    def __hash__(self) -> int:
        return self.number  # part of many keys of a search


@dataclass(frozen=True, slots=True)
class Known:
    """What is remembered of a static member, with its number as in `Given`."""

    number: int
    remembered: Remembered | None = field(compare=False)


@dataclass(frozen=True, slots=True)
class Orphan:
    """A request of a closed connection: it arrives before the clock moves, or never.

    Args:
        slot: of the process that sent it.
        node_id: see `Call`.
        request: what was sent.
    """

    slot: int
    node_id: int
    request: GroupRequest


@dataclass(frozen=True, slots=True)
class Account:
    """The lease as the search reckons it by itself, from the answers alone (S3).

    Args:
        confirmed_at: sending time of the last heartbeat answered 0 or REBALANCE_IN_PROGRESS.
        synced_at: the same of a heartbeat answered 0 in the synced generation, of an answered
            JoinGroup, of a SyncGroup answered 0.
        synced: the generation that was synced last, None since a JoinGroup was answered.
    """

    confirmed_at: float | None = None
    synced_at: float | None = None
    synced: int | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """One process.

    Args:
        member: the machine's value.
        calls: what has not come back, in the order sent.
        announced: claims of which on_assigned has returned and neither on_revoked nor on_lost has
            been called.
        account: see `Account`.
        stalled: the application does not poll.
    """

    member: GroupMember
    calls: tuple[Call, ...] = ()
    announced: frozenset[Claim] = frozenset()
    account: Account = Account()
    stalled: bool = False

    @property
    def given_up(self) -> GivenUp:
        """What was given up and may still be answered; there are no commits here."""
        given_up, asked = self.member.given_up, {call.ticket for call in self.calls}
        return GivenUp(
            given_up.heartbeat if given_up.heartbeat in asked else None,
            given_up.round if given_up.round in asked else None,
        )
