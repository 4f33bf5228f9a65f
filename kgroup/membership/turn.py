"""The work of one step: the member so far, the effects so far, what was raised inside.

Decides: how a ticket is drawn and a change is queued; small moves every action needs.
Never: outlives the step; what goes in and what comes out are frozen.
"""

from dataclasses import field

from kgroup.frozen import replace
from kgroup.machine.backoff import Backoff
from kgroup.machine.claims import Holdings
from kgroup.machine.coordinator import Coordinator, CoordinatorTrigger
from kgroup.machine.lease import Lease
from kgroup.machine.rows import Row
from kgroup.machine.wishes import Errand, Ticket
from kgroup.membership.events import (
    AssignorDone,
    CallListener,
    Effect,
    GroupRequest,
    Moment,
    Send,
)
from kgroup.membership.given_up import GivenUp
from kgroup.membership.group_description import GroupInUse
from kgroup.membership.triggers import Action, Guard, Trigger
from kgroup.membership.value import GroupMember, Identity, Leadership, Round, Wishes
from kgroup.types import Cause, ChangeKind, Claim, MemberState, OwnershipChange, TopicPartition
from kgroup.values import dataclass
from kgroup.wire.messages import JoinGroupResponse


@dataclass(slots=True)
class Turn:
    """One step in the making.

    Args:
        member: the value, replaced as the step goes on.
        moment: when, and with which luck.
        cause: why, should ownership change.
        effects: in the order they are to be carried out.
        raised: triggers the actions raised for the round, in order.
        asked: triggers the actions raised for the coordinator table, in order.
        fired: rows that fired.
        ignored: what was raised in a state that has no row for it; seldom anything.
        joined: the JoinGroup answer being applied.
        leads: this member is the leader of the answer being applied.
        assigned: the decoded assignment being applied.
        user_data: what came with it.
        assignor: the assignor's result being applied.
        error: the error being applied.
        in_use: the group that the answer being applied keeps this member out of.
    """

    member: GroupMember
    moment: Moment
    cause: Cause = Cause.GROUP_REBALANCED
    effects: list[Effect] = field(default_factory=list)
    raised: list[Trigger] = field(default_factory=list)
    asked: list[CoordinatorTrigger] = field(default_factory=list)
    fired: list[Row[MemberState, Trigger, Guard, Action]] = field(default_factory=list)
    ignored: tuple[tuple[MemberState, Trigger], ...] = ()
    joined: JoinGroupResponse | None = None
    leads: bool = False
    assigned: frozenset[TopicPartition] = frozenset()
    user_data: bytes | None = None
    assignor: AssignorDone | None = None
    error: Exception | None = None
    in_use: GroupInUse | None = None

    @property
    def now(self) -> float:
        """The instant of the step."""
        return self.moment.now

    def put_round(self, new: Round) -> None:
        """Replace what is known of the round."""
        self.member = replace(self.member, round=new)

    def put_lead(self, new: Leadership) -> None:
        """Replace what is kept as a leader."""
        self.member = replace(self.member, lead=new)

    def put_identity(self, new: Identity) -> None:
        """Replace the identity, whole, and with it what was asked under the one before."""
        self.member = replace(self.member, identity=new, given_up=_given_up(self.member, new))

    def put_wishes(self, new: Wishes) -> None:
        """Replace what the application asks for."""
        self.member = replace(self.member, wishes=new)

    def put_holdings(self, new: Holdings) -> None:
        """Replace what is owned."""
        self.member = replace(self.member, holdings=new)

    def put_lease(self, new: Lease) -> None:
        """Replace the lease."""
        self.member = replace(self.member, lease=new)

    def put_coordinator(self, new: Coordinator) -> None:
        """Replace what is known of the coordinator."""
        self.member = replace(self.member, coordinator=new)

    def draw(self, errand: Errand) -> Ticket:
        """Draw a ticket."""
        ticket = Ticket(errand, self.member.next_ticket, self.now)
        self.member = replace(self.member, next_ticket=ticket.serial + 1)
        return ticket

    def send(self, ticket: Ticket, request: GroupRequest, timeout: float) -> None:
        """Send to the coordinator; the answer says what one that was given up would have said."""
        self._put_given_up(self.member.given_up.without(ticket.errand))
        self.effects.append(Send(ticket, request, self.member.coordinator.node_id, timeout))

    def give_up(self, ticket: Ticket | None) -> None:
        """Await an answer no more, but that a twin has the place."""
        if ticket is not None and _has_place(self.member):
            self._put_given_up(self.member.given_up.taking(ticket))

    def _put_given_up(self, new: GivenUp) -> None:
        if new is not self.member.given_up:
            self.member = replace(self.member, given_up=new)

    def call_listener(
        self, kind: ChangeKind, *, added: tuple[Claim, ...] = (), removed: tuple[Claim, ...] = ()
    ) -> None:
        """Queue one call of the listener; calls are made in the order they were queued."""
        member = self.member
        change = OwnershipChange(
            kind=kind,
            added=added,
            kept=member.holdings.kept_beside(added),
            removed=removed,
            cause=self.cause,
            generation=member.identity.generation,
            serial=member.next_change,
        )
        self.member = replace(
            member, changes=(*member.changes, change), next_change=change.serial + 1
        )
        self.effects.append(CallListener(change))

    def backoff(self, attempts: int, longest: float) -> float:
        """Return the pause after `attempts` failures in a row, spread by a fifth either way."""
        initial = self.member.settings.retry_backoff
        return Backoff(initial, longest, failures=attempts).pause(self.moment.chance)

    def longest_backoff(self) -> float:
        """Return the pause that the others grow to, spread like them."""
        longest = self.member.settings.retry_backoff_max
        return Backoff(longest, longest, failures=1).pause(self.moment.chance)


def _has_place(member: GroupMember) -> bool:
    """Tell whether there is a place that a twin could have taken (KIP-345)."""
    return member.settings.group_instance_id is not None and member.identity.member_id is not None


def _given_up(member: GroupMember, new: Identity) -> GivenUp:
    """Return what is given up once the member has the identity `new`."""
    before = member.identity
    lost = new.member_id == before.member_id and new.generation is None
    if not lost or not _has_place(member):
        return GivenUp()
    given_up = member.given_up
    if member.heartbeat is not None:
        given_up = given_up.taking(member.heartbeat)
    return replace(given_up, generation=before.generation or given_up.generation)
