"""The groups of one partition of the offsets topic: what is in memory, and what is in its log.

Decides: what survives when another broker takes the partition over (R16 as corrected by
`broker_facts.md` A11, F2-F5): the last round whose assignment the leader handed in, committed
offsets, and nothing of a round that was still running.
Never: decides which broker has the partition; `coordinators` does.
"""

from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import field

from kgroup.codes import ErrorCode
from kgroup.testing.broker.agenda import Timer
from kgroup.testing.broker.consumer_groups.group import ConsumerGroup
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.answers import join_refused, sync_refused
from kgroup.testing.broker.groups.group import Group, Phase
from kgroup.testing.broker.groups.joining import Joining
from kgroup.testing.broker.groups.member import Member, UnreadableMetadataError
from kgroup.testing.broker.groups.rounds import Rounds, subscribed_topics
from kgroup.testing.broker.groups.syncing import Syncing
from kgroup.testing.broker.offsets.store import OffsetStore, Retention
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True)
class StoredGroup:
    """A group as the log has it.

    Args:
        generation_id: of the last stored round, or of the moment it became empty.
        protocol_type: None for a group without members that never had any.
        protocol_name: None for an empty group.
        leader_id: None for an empty group.
        members: copies without timers and parked requests.
        emptied_at: see `Group`.
    """

    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    leader_id: str | None
    members: tuple[Member, ...]
    emptied_at: float | None


@dataclass(slots=True)
class Shard:
    """One partition of the offsets topic.

    Args:
        partition: its number.
        context: of the cluster.
        groups: in the memory of the present coordinator, by group id.
        stored: the groups in the log, by group id.
        offsets: the committed offsets in the log.
        consumer_groups: groups of KIP-848, by group id; all that they are is in the log.
        on_loaded: called when the log was read.
        loading: the present coordinator is still reading the log.
        reading: ends the loading.
    """

    partition: int
    context: Context
    groups: dict[str, Group] = field(default_factory=dict)
    stored: dict[str, StoredGroup] = field(default_factory=dict)
    offsets: OffsetStore = field(default_factory=OffsetStore)
    consumer_groups: dict[str, ConsumerGroup] = field(default_factory=dict)
    on_loaded: Callable[[], None] | None = None
    loading: bool = False
    reading: Timer | None = None
    rounds: Rounds = field(init=False)
    joining: Joining = field(init=False)
    syncing: Syncing = field(init=False)
    retention: Retention = field(init=False)

    def __post_init__(self) -> None:
        self.rounds = Rounds(self.context, self.store)
        self.joining = Joining(self.context, self.rounds)
        self.syncing = Syncing(self.context, self.rounds)
        self.retention = Retention(self.context, self)

    def make(self, group_id: str) -> Group:
        """Return a group, a new one if it is not there."""
        group = self.groups.setdefault(group_id, Group(group_id, self.context.coordinator))
        self.retention.watch()
        return group

    def turn(self, group_id: str) -> ConsumerGroup:
        """Return a new group of KIP-848; a classic one without members turns into it (K6)."""
        self._forget_classic(group_id)
        group = self.consumer_groups[group_id] = ConsumerGroup(group_id)
        return group

    def turn_to_consumer(self, group: ConsumerGroup) -> None:
        """Put a group of KIP-848 in the place of a classic one; who waits is told to come again."""
        classic = self.groups[group.group_id]
        for member in classic.members.values():
            code = ErrorCode.REBALANCE_IN_PROGRESS
            if member.join is not None:
                refused = join_refused(code, member.join.version, member.member_id)
                self.rounds.answer_join(member, refused)
            self.rounds.answer_sync(member, sync_refused(code))
        self._forget_classic(group.group_id)
        self.consumer_groups[group.group_id] = group

    def turn_to_classic(self, group: Group) -> None:
        """Put a classic group in the place of one of KIP-848; sessions begin anew."""
        for left_behind in self.consumer_groups.pop(group.group_id).members.values():
            left_behind.quiet()
        self.groups[group.group_id] = group
        with suppress(UnreadableMetadataError):
            group.subscribed = subscribed_topics(group)
        for member in group.members.values():
            self.rounds.renew(group, member)
        self.store(group)
        self.retention.watch()

    def turn_back(self, group_id: str) -> None:
        """Make room for a classic group in the place of one of KIP-848 without members (K6)."""
        group = self.consumer_groups.get(group_id)
        if group is not None and not group.members:
            del self.consumer_groups[group_id]

    def forget(self, group_id: str) -> None:
        """Delete a group and its traces; its generations begin at 1 again (B11)."""
        self._forget_classic(group_id)
        consumers = self.consumer_groups.pop(group_id, None)
        self.offsets.remove_group(group_id)
        for member in () if consumers is None else consumers.members.values():
            member.quiet()

    def _forget_classic(self, group_id: str) -> None:
        group = self.groups.pop(group_id, None)
        self.stored.pop(group_id, None)
        if group is not None:
            _silence(group)

    # -- moving ----------------------------------------------------------------------------------

    def resign(self, code: ErrorCode) -> None:
        """Give the partition up in good order: parked requests are answered (F2)."""
        for group in self.groups.values():
            for member in group.members.values():
                if member.join is not None:
                    refused = join_refused(code, member.join.version, member.member_id)
                    self.rounds.answer_join(member, refused)
                self.rounds.answer_sync(member, sync_refused(code))
        self.drop()

    def drop(self) -> None:
        """Lose what was in memory, as when the broker dies; no request is answered."""
        for group in self.groups.values():
            _silence(group)
        for consumers in self.consumer_groups.values():
            for member in consumers.members.values():
                member.quiet()
        self.groups = {}
        self.loading = False
        if self.reading is not None:
            self.reading.cancel()
        self.retention.pause()

    def load(self, seconds: float) -> None:
        """Begin to read the log.

        Args:
            seconds: how long it takes; at 0 it is done at once.
        """
        self.drop()
        self.loading = True
        if seconds > 0:
            self.reading = self.context.agenda.after(seconds, self._loaded)
        else:
            self._loaded()

    def _loaded(self) -> None:
        self.loading = False
        for group_id, stored in self.stored.items():
            group = self._restored(group_id, stored)
            self.groups[group_id] = group
            for member in group.members.values():
                self.rounds.renew(group, member)  # F5
        for group_id in self.offsets.group_ids:  # E3: some were never more than offsets
            if group_id not in self.consumer_groups:
                self.make(group_id)
        self.retention.begin()
        if self.on_loaded is not None:
            self.on_loaded()

    def _restored(self, group_id: str, stored: StoredGroup) -> Group:
        group = Group(
            group_id,
            self.context.coordinator,
            phase=Phase.STABLE if stored.members else Phase.EMPTY,
            generation_id=stored.generation_id,
            protocol_type=stored.protocol_type,
            protocol_name=stored.protocol_name,
            leader_id=stored.leader_id,
            members={member.member_id: copy(member) for member in stored.members},
            emptied_at=stored.emptied_at,
        )
        with suppress(UnreadableMetadataError):
            group.subscribed = subscribed_topics(group)
        return group

    def store(self, group: Group) -> None:
        """Write a group to the log as it is now."""
        self.stored[group.group_id] = StoredGroup(
            group.generation_id,
            group.protocol_type,
            group.protocol_name,
            group.leader_id,
            tuple(_on_paper(member) for member in group.members.values()),
            group.emptied_at,
        )


def _on_paper(member: Member) -> Member:
    written = copy(member)
    written.join = written.sync = written.session = None
    written.is_new = False
    return written


def _silence(group: Group) -> None:
    """Call every timer of a group off."""
    for member in group.members.values():
        member.quiet()
    timers = (group.join_timer, group.sync_timer, *group.pending.values())
    for timer in timers:
        if timer is not None:
            timer.cancel()
