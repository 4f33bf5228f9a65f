"""What a coordinator knows of one group: members, phase, generation, and questions about them.

Decides: which member is fenced, unknown or late (`refusal`), which protocols are common ground,
the leader when the leader is gone, and which assignor is chosen; all as real brokers do, hash
order included (`broker_facts.md` B6, B8, B12, B13, C1, D1).
Never: sets timers or answers requests; `rounds` does.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import field

from kgroup.codes import ErrorCode
from kgroup.testing.broker.agenda import Timer
from kgroup.testing.broker.groups.member import Member
from kgroup.testing.broker.mint import bucket_order, trie_order
from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.values import dataclass
from kgroup.words import Word


class Phase(Word):
    """State of a group; the values are those of DescribeGroups."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(slots=True)
class Group:
    """One classic group.

    Args:
        group_id: its name; "" exists for commits without membership.
        kind: rule set of its coordinator; it decides ties and the order of members.
        phase: its state.
        was: the phase before; a round that began in Empty waits for its initial delay.
        generation_id: rises with each round and whenever the group becomes empty.
        protocol_type: of its members, such as `consumer`; None before the first.
        protocol_name: the assignor chosen for the present generation, None without one.
        leader_id: member id, None without members.
        members: by member id, in order of joining.
        pending: ids that were handed out and have not joined; each with the end of its life.
        unsynced: members of the present generation that have not sent SyncGroup.
        newcomers: somebody joined during the present window of the initial delay.
        subscribed: topics of all members; None when unknown or not a consumer group.
        emptied_at: when it became empty, for the retention of offsets; None = is not, or never was.
        join_timer: end of the round, or of the present window of the initial delay.
        sync_timer: until when every member must have sent SyncGroup.
        wedged: the old coordinator lost the operation that would complete the round (B14).
    """

    group_id: str
    kind: CoordinatorKind = CoordinatorKind.NEW
    phase: Phase = Phase.EMPTY
    was: Phase = Phase.EMPTY
    generation_id: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    pending: dict[str, Timer] = field(default_factory=dict)
    unsynced: set[str] = field(default_factory=set)
    newcomers: bool = False
    subscribed: frozenset[str] | None = None
    emptied_at: float | None = None
    join_timer: Timer | None = field(default=None, repr=False)
    sync_timer: Timer | None = field(default=None, repr=False)
    wedged: bool = False

    # -- questions -------------------------------------------------------------------------------

    def static_member(self, instance_id: str | None) -> Member | None:
        """Return the member of an instance id, None without one."""
        if instance_id is None:
            return None
        return next((m for m in self.members.values() if m.instance_id == instance_id), None)

    def refusal(
        self, member_id: str, instance_id: str | None, generation_id: int | None = None
    ) -> ErrorCode:
        """Judge the sender: the instance, then the member, then the generation; in this order.

        Args:
            member_id: as in the request.
            instance_id: as in the request; None = the request names none.
            generation_id: None = not to be judged.
        """
        if instance_id is not None:
            named = self.static_member(instance_id)
            if named is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if named.member_id != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        if member_id not in self.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if generation_id is not None and generation_id != self.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        return ErrorCode.NONE

    def supports(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member with these assignors has common ground with those that are here."""
        offered = list(names)
        if self.phase is Phase.EMPTY:
            return bool(protocol_type) and bool(offered)
        common = self.candidates() if self.members else set(offered)
        return protocol_type == self.protocol_type and any(name in common for name in offered)

    def candidates(self) -> set[str]:
        """Return the assignors that every member supports."""
        offers = [{name for name, _ in member.protocols} for member in self.members.values()]
        return set.intersection(*offers)

    def elected(self) -> str:
        """Return the assignor with most votes; a tie goes to the first in hash order (B12, A5)."""
        candidates = self.candidates()
        votes = Counter(member.vote(candidates) for member in self.in_hash_order())
        most = max(votes.values())
        order = trie_order if self.kind is CoordinatorKind.OLD else bucket_order
        return next(name for name in order(votes) if votes[name] == most)

    def in_hash_order(self) -> list[Member]:
        """Return the members as the broker walks them (B6)."""
        scala = self.kind is CoordinatorKind.OLD
        return [self.members[member_id] for member_id in bucket_order(self.members, scala=scala)]

    @property
    def rebalance_timeout(self) -> float:
        """The longest of all members, in seconds (R4)."""
        return max((member.rebalance_timeout for member in self.members.values()), default=0.0)

    @property
    def waiting(self) -> int:
        """How many members wait in JoinGroup."""
        return sum(member.join is not None for member in self.members.values())

    @property
    def all_joined(self) -> bool:
        """Whether every member waits and no id that was handed out is missing."""
        return not self.pending and self.waiting == len(self.members)

    # -- changes ---------------------------------------------------------------------------------

    def enter(self, phase: Phase) -> None:
        """Go to another phase."""
        self.was, self.phase = self.phase, phase

    def add(self, member: Member, protocol_type: str) -> None:
        """Take a member in; the first one leads, and its protocol type is the group's."""
        self.protocol_type = protocol_type
        self.leader_id = self.leader_id or member.member_id
        self.members[member.member_id] = member
        self.forget_pending(member.member_id)

    def forget_pending(self, member_id: str) -> bool:
        """Take an id that was handed out back; False when it is none."""
        timer = self.pending.pop(member_id, None)
        if timer is not None:
            timer.cancel()
        return timer is not None

    def remove(self, member_id: str) -> None:
        """Take a member or a pending id out; another member leads when it was the leader."""
        member = self.members.pop(member_id, None)
        if member is not None:
            member.quiet()
        if self.leader_id == member_id:
            self.leader_id = next((each.member_id for each in self.in_hash_order()), None)
        self.forget_pending(member_id)
        self.unsynced.discard(member_id)

    def replace(self, before: str, member: Member) -> None:
        """Put a static member that came back in the place of its former self; it keeps the lead.

        What the former self owes it goes on owing: if it had not sent SyncGroup, nobody can any
        more, and the end of that term begins a round.
        """
        del self.members[before]
        self.members[member.member_id] = member
        if self.leader_id == before:
            self.leader_id = member.member_id

    def elect_joined_leader(self) -> bool:
        """Make sure that the leader waits in JoinGroup; False when no member does (B8)."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].join is not None:
            return True
        for member in self.in_hash_order():
            if member.join is not None:
                self.leader_id = member.member_id
                return True
        return False
