"""What a coordinator knows of one group of KIP-848, and how it moves a member to its target.

Decides: which epochs are accepted, what a member is to give up before it gets more, and what it is
given of what nobody else has (`broker_facts.md` K1, K2, K4).
Never: sets timers, or reads requests; `pace`, `heartbeats` and `classic_members` do.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import field

from kgroup.codes import ErrorCode
from kgroup.testing.broker.consumer_groups.assigning import ASSIGNORS, Place, Target
from kgroup.testing.broker.consumer_groups.member import ConsumerMember
from kgroup.values import dataclass
from kgroup.words import Word

AWAY = -2
"""The epoch of a static member that will come back."""
_EPOCHS_SINCE = 9
"""First version of OffsetCommit that has member epochs in mind."""


class ConsumerPhase(Word):
    """State of a group; the values are those of ConsumerGroupDescribe."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


@dataclass(slots=True)
class ConsumerGroup:
    """One group of KIP-848.

    Args:
        group_id: its name.
        epoch: rises with each change that asks for another target.
        members: by member id, in order of joining.
        target: what each is to have.
        target_epoch: the group's epoch when the target was made.
        target_at: instant of that; the next one is not made at once.
        seen: topic id -> number of partitions, of the topics subscribed to, when last looked at.
    """

    group_id: str
    epoch: int = 1
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    target: Target = field(default_factory=dict)
    target_epoch: int = 1
    target_at: float = float("-inf")
    seen: dict[bytes, int] = field(default_factory=dict)

    # -- questions -------------------------------------------------------------------------------

    @property
    def phase(self) -> ConsumerPhase:
        """Its state."""
        if not self.members:
            return ConsumerPhase.EMPTY
        if self.epoch > self.target_epoch:
            return ConsumerPhase.ASSIGNING
        if all(self._reconciled(each) for each in self.members.values()):
            return ConsumerPhase.STABLE
        return ConsumerPhase.RECONCILING

    def _reconciled(self, member: ConsumerMember) -> bool:
        return member.epoch == self.target_epoch and not (member.revoking or member.waits)

    @property
    def assignor(self) -> str:
        """Name of the assignor most members ask for; the default without a wish."""
        votes = Counter(each.assignor for each in self.members.values() if each.assignor)
        return max(sorted(votes), key=lambda name: votes[name], default=next(iter(ASSIGNORS)))

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        """Return the member of an instance id, None without one."""
        if instance_id is None:
            return None
        return next((m for m in self.members.values() if m.instance_id == instance_id), None)

    def held_by_others(self, member: ConsumerMember) -> frozenset[Place]:
        """Return what members other than this one have, or have not said that they gave up."""
        others = (each.holds for each in self.members.values() if each is not member)
        return frozenset[Place]().union(*others)

    def is_held_up(self, member: ConsumerMember) -> bool:
        """Whether anything of a member's target belongs to others still."""
        missing = self.target.get(member.member_id, frozenset()) - member.assigned.keys()
        return bool(missing & self.held_by_others(member))

    def only_classic_without(self, *members: ConsumerMember) -> bool:
        """Whether there are others than these, and all of them speak the classic protocol."""
        others = [each for each in self.members.values() if each not in members]
        return bool(others) and all(each.classic is not None for each in others)

    # -- refusals --------------------------------------------------------------------------------

    def fault_of_epoch(
        self, member: ConsumerMember, epoch: int, owned: frozenset[Place] | None
    ) -> str | None:
        """Say what is wrong with the epoch of a heartbeat, None when it is accepted.

        The previous epoch is, from a member whose answer may have been lost: what it owns is all
        still its own.
        """
        known = member.epoch
        missed = owned is not None and owned <= member.assigned.keys()
        if epoch == known or (epoch == member.before and epoch < known and missed):
            return None
        size = "smaller" if epoch < known else "greater"
        return (
            f"The consumer group member has a {size} member epoch ({epoch}) than the one known by "
            f"the group coordinator ({known}). The member must abandon all its partitions and "
            "rejoin."
        )

    def refusal_of_commit(
        self, member_id: str, epoch: int, version: int, places: Iterable[Place]
    ) -> ErrorCode:
        """Judge an OffsetCommit (K4).

        Args:
            member_id: empty without membership.
            epoch: negative without membership.
            version: of the request.
            places: what is committed.
        """
        if epoch < 0 and not self.members:
            return ErrorCode.NONE
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if version < _EPOCHS_SINCE and member.classic is None:
            return ErrorCode.UNSUPPORTED_VERSION
        since = {**member.assigned, **member.revoking}
        held = all(place in since and since[place] <= epoch for place in places)
        if epoch == member.epoch or (0 <= epoch < member.epoch and held):
            return ErrorCode.NONE
        stale = member.classic is None
        return ErrorCode.STALE_MEMBER_EPOCH if stale else ErrorCode.ILLEGAL_GENERATION

    def refusal_of_fetch(self, member_id: str | None, epoch: int) -> ErrorCode:
        """Judge an OffsetFetch; one that names no member is none (K4)."""
        if not member_id and epoch < 0:
            return ErrorCode.NONE
        member = self.members.get(member_id or "")
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if epoch == member.epoch else ErrorCode.STALE_MEMBER_EPOCH

    # -- changes ---------------------------------------------------------------------------------

    def remove(self, member: ConsumerMember) -> None:
        """Take a member out; the rest is divided anew."""
        member.quiet()
        del self.members[member.member_id]
        self.target.pop(member.member_id, None)
        self.epoch += 1

    def replace(self, before: ConsumerMember, member_id: str) -> ConsumerMember:
        """Let a static member come back under another id, with what it had."""
        before.quiet()
        del self.members[before.member_id]
        self.target[member_id] = self.target.pop(before.member_id, frozenset())
        before.member_id = member_id
        self.members[member_id] = before
        return before

    def reconcile(self, member: ConsumerMember, owned: frozenset[Place] | None) -> None:
        """Move a member towards its target.

        Args:
            member: with an epoch that was accepted.
            owned: what it says it has, None when it does not say.
        """
        if member.revoking:
            if owned is None or owned & member.revoking.keys():
                return
            member.revoking = {}
        elif member.epoch == self.target_epoch and not member.waits:
            return
        self._next_assignment(member, owned)

    def _next_assignment(self, member: ConsumerMember, owned: frozenset[Place] | None) -> None:
        target = self.target.get(member.member_id, frozenset())
        kept = {place: since for place, since in member.assigned.items() if place in target}
        gone = {place: since for place, since in member.assigned.items() if place not in target}
        if gone and (owned is None or owned & gone.keys()):
            # It stays in its epoch until it says that it has given up.
            member.assigned, member.revoking, member.before = kept, gone, member.epoch
            return
        taken = self.held_by_others(member)
        new = target - kept.keys()
        member.waits = bool(new & taken)
        if member.epoch != self.target_epoch:
            member.before, member.epoch = member.epoch, self.target_epoch
        member.assigned = {**kept, **dict.fromkeys(new - taken, member.epoch)}
