"""A member with a hand on its clock: drives the machine by events alone."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kgroup.assignors import (
    BUILT_IN,
    Assignor,
    GroupAssignment,
    GroupSubscription,
    SentAssignment,
)
from kgroup.machine.claims import HoldingState
from kgroup.machine.wishes import Errand, Ticket
from kgroup.membership.events import (
    Answered,
    AssignorDone,
    AssignorFailed,
    CallListener,
    CoordinatorFound,
    Disconnect,
    Drained,
    Effect,
    EnforceRebalance,
    Event,
    ListenerDone,
    MetadataChanged,
    Moment,
    RunAssignor,
    Send,
    Subscribed,
    Tick,
)
from kgroup.membership.group_description import Remembered
from kgroup.membership.settings import MembershipSettings
from kgroup.membership.step import MemberRow, Step, next_deadline
from kgroup.membership.value import GroupMember
from kgroup.types import ChangeKind, Claim, MemberState, RebalanceProtocol, TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    decode_subscription,
    encode_assignment,
)
from kgroup.wire.messages import (
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroupResponse,
    SyncGroupResponse,
)
from tests.membership.machine import drive

E = TypeVar("E")


@dataclass
class Plain:
    """An assignor of somebody else's; its members only send back what they were given."""

    name: str = "plain"
    supported_protocols: tuple[RebalanceProtocol, ...] = (
        RebalanceProtocol.COOPERATIVE,
        RebalanceProtocol.EAGER,
    )

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        return GroupAssignment({member.member_id: () for member in group.members})


@dataclass
class Writing(Plain):
    """An assignor with user data of members: `made`, which is raised when it is an error."""

    made: object = None
    asked: list[tuple[Any, int | None]] = field(default_factory=list)

    def encode_user_data(self, owned: Any, generation_id: int | None) -> Any:
        self.asked.append((owned, generation_id))
        if isinstance(self.made, Exception):
            raise self.made
        return self.made


SESSION, HEARTBEAT, REBALANCE = 10.0, 3.0, 60.0
NODE = 7


def settings(
    *,
    assignors: Iterable[str | Assignor] = ("cooperative-sticky",),
    instance: str | None = None,
    backoff: float = 0.1,
    outlives: bool = False,
) -> MembershipSettings:
    return MembershipSettings(
        group_id="g",
        group_instance_id=instance,
        assignors=tuple(BUILT_IN[one] if isinstance(one, str) else one for one in assignors),
        session_timeout=SESSION,
        heartbeat_interval=HEARTBEAT,
        rebalance_timeout=REBALANCE,
        retry_backoff=backoff,
        retry_backoff_max=max(backoff, 1.0),
        outlives_lease=outlives,
    )


def partitions(*names: str) -> frozenset[TopicPartition]:
    """`"t-0"` -> TopicPartition("t", 0)."""
    return frozenset(
        TopicPartition(topic, int(number))
        for topic, _, number in (name.rpartition("-") for name in names)
    )


class Driven:
    """One member; `on` steps it and returns the effects of that step."""

    def __init__(self, chosen: MembershipSettings | None = None) -> None:
        self.now = 1000.0
        self.member = GroupMember.new(chosen or settings(), self.now)
        self.effects: list[Effect] = []
        self.fired: list[MemberRow] = []
        self.asked: list[Ticket] = []

    # -- stepping --------------------------------------------------------------------------

    def on(self, event: Event, *, after: float = 0.0) -> tuple[Effect, ...]:
        self.now += after
        return drive(self, self.member, event, Moment(self.now)).effects

    def stepped(self, _before: GroupMember, _event: Event, result: Step) -> None:
        self.member = result.member
        self.effects.extend(result.effects)
        self.fired.extend(result.rows)

    def send(self, effect: Send) -> None:
        self.asked.append(effect.ticket)

    def run_assignor(self, effect: RunAssignor) -> None:
        self.asked.append(effect.ticket)

    def disconnect(self, effect: Disconnect) -> None: ...

    def call_listener(self, effect: CallListener) -> None: ...

    def end(self, error: Exception | None) -> None: ...

    @property
    def state(self) -> MemberState:
        return self.member.state

    def is_in(self, state: MemberState) -> bool:
        return self.member.state is state

    def expect(self, state: MemberState) -> None:
        """A call, so that a type checker does not take the state for settled afterwards."""
        assert self.member.state is state

    @property
    def deadline(self) -> float:
        return next_deadline(self.member)

    def sent(self, kind: type[E]) -> list[E]:
        """Requests of one class, in the order they were sent."""
        return [
            effect.request
            for effect in self.effects
            if isinstance(effect, Send) and isinstance(effect.request, kind)
        ]

    def did(self, kind: type[E]) -> list[E]:
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def ticket(self, errand: Errand) -> Ticket:
        """The latest ticket drawn for an errand."""
        for ticket in reversed(self.asked):
            if ticket.errand is errand:
                return ticket
        raise AssertionError(f"no {errand} was sent")

    # -- answers ---------------------------------------------------------------------------

    def found(self, code: int = 0, remembered: Remembered | None = None) -> tuple[Effect, ...]:
        node = NODE if code == 0 else None
        ticket = self.ticket(Errand.FIND_COORDINATOR)
        return self.on(CoordinatorFound(ticket, node, code, remembered))

    def joined(
        self, generation: int = 1, *, leader: str = "other", member_id: str = "m-1", code: int = 0
    ) -> tuple[Effect, ...]:
        return self.on(
            Answered(
                self.ticket(Errand.JOIN_GROUP),
                join_answer(self.member, generation, leader=leader, member_id=member_id, code=code),
            )
        )

    def assigned(
        self, *, rejoin_after: float | None = None, sent: SentAssignment | None = None
    ) -> tuple[Effect, ...]:
        ticket = self.ticket(Errand.RUN_ASSIGNOR)
        return self.on(AssignorDone(ticket, (("m-1", b""),), {"t": 4}, rejoin_after, sent))

    def assignor_fails(self, error: Exception) -> tuple[Effect, ...]:
        return self.on(AssignorFailed(self.ticket(Errand.RUN_ASSIGNOR), error))

    def synced(self, *names: str, code: int = 0, data: bytes | None = None) -> tuple[Effect, ...]:
        return self.on(
            Answered(self.ticket(Errand.SYNC_GROUP), sync_answer(*names, code=code, data=data))
        )

    def beat(self, code: int = 0) -> tuple[Effect, ...]:
        ticket = self.ticket(Errand.HEARTBEAT)
        return self.on(Answered(ticket, HeartbeatResponse(error_code=code)))

    def left(self, code: int = 0) -> tuple[Effect, ...]:
        ticket = self.ticket(Errand.LEAVE_GROUP)
        return self.on(Answered(ticket, LeaveGroupResponse(error_code=code)))

    def settle(self) -> None:
        """Let the listener return from everything, and have nothing in hand."""
        while True:
            if self.member.changes:
                self.on(ListenerDone(self.member.changes[0].serial))
                continue
            draining = self.member.holdings.having(HoldingState.DRAINING)
            if not draining:
                return
            self.on(Drained(draining))

    # -- whole stories ---------------------------------------------------------------------

    def subscribe(self, *topics: str) -> tuple[Effect, ...]:
        return self.on(Subscribed(frozenset(topics or ("t",))))

    def join(self, *names: str, generation: int = 1) -> "Driven":
        """Go from nothing to STABLE as a follower that owns `names`."""
        self.subscribe()
        self.found()
        if self.member.settings.group_instance_id is None:
            self.joined(0, code=79)
        self.joined(generation)
        self.synced(*names)
        self.settle()
        self.beat()
        return self

    def lead(self, *names: str, generation: int = 1) -> "Driven":
        """Go from nothing to STABLE as the leader, which owns `names`."""
        self.on(MetadataChanged({"t": 4}))
        self.subscribe()
        self.found()
        if self.member.settings.group_instance_id is None:
            self.joined(0, code=79)
        self.joined(generation, leader="m-1")
        self.assigned()
        self.synced(*names)
        self.settle()
        self.beat()
        return self

    def lead_again(self, generation: int) -> None:
        """Have a round begun, of which this member is the leader."""
        self.on(EnforceRebalance("x"))
        self.settle()
        if self.is_in(MemberState.BACKING_OFF):  # it keeps the pace
            self.on(Tick(), after=self.deadline - self.now)
        self.joined(generation, leader="m-1")

    def round(self, *names: str, generation: int) -> None:
        """Finish a round that is JOINING as a follower."""
        self.joined(generation)
        self.synced(*names)
        self.settle()
        self.beat()

    # -- reading ---------------------------------------------------------------------------

    def owned(self) -> frozenset[TopicPartition]:
        return self.member.holdings.partitions

    def claim(self, name: str) -> Claim:
        (tp,) = partitions(name)
        return next(claim for claim in self.member.holdings.claims if claim.tp == tp)

    def calls(self) -> list[tuple[ChangeKind, frozenset[TopicPartition]]]:
        """Listener calls that wait, as (kind, partitions)."""
        return [
            (
                change.kind,
                frozenset(
                    claim.tp
                    for claim in (
                        change.added if change.kind is ChangeKind.ASSIGNED else change.removed
                    )
                ),
            )
            for change in self.member.changes
        ]


def join_answer(
    member: GroupMember,
    generation: int = 1,
    *,
    leader: str = "other",
    member_id: str = "m-1",
    code: int = 0,
    skip: bool = False,
) -> JoinGroupResponse:
    listed = (JoinGroupResponseMember(member_id=member_id, metadata=b""),)
    return JoinGroupResponse(
        error_code=code,
        generation_id=-1 if code else generation,
        protocol_type="consumer",
        protocol_name=None if code else member.settings.assignors[0].name,
        leader=leader,
        member_id=member_id,
        members=listed if leader == member_id else (),
        skip_assignment=skip,
    )


def sync_answer(*names: str, code: int = 0, data: bytes | None = None) -> SyncGroupResponse:
    encoded = encode_assignment(MemberAssignment(tuple(sorted(partitions(*names)))))
    return SyncGroupResponse(
        error_code=code,
        protocol_type="consumer",
        protocol_name=None,
        assignment=encoded if data is None else data,
    )


def owned_in_join(member: Driven) -> frozenset[object]:
    request = member.sent(JoinGroupRequest)[-1]
    return frozenset(decode_subscription(request.protocols[0].metadata).owned)


def generation_in_join(member: Driven) -> int | None:
    request = member.sent(JoinGroupRequest)[-1]
    return decode_subscription(request.protocols[0].metadata).generation_id
