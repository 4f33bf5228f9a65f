"""The committed offsets in one partition of the offsets topic, as its log has them.

Decides: which of two commits counts (the later one, also when the earlier one belongs to a
transaction that ends after it: `broker_facts.md` E6, KIP-98), and which partitions are unstable
because a transaction that is still open has offsets for them (KIP-447).
Never: judges which member may commit; `commits` does. Never forgets anything because another
broker takes the partition over: what was answered with 0 has been replicated.

Retention: What time does to committed offsets and to groups without members. Decides: which offsets
have expired at a check, and that a group without members and offsets goes (KIP-211;
`broker_facts.md` E8). With members, offsets of subscribed topics stay whatever their age; without,
they go when the group has been empty for the retention time, and those of a group that never had
members when their last commit is that old. What an open transaction has committed for stays. Never:
expires anything between two checks; no broker does. There is one timer, and only while there is
something to check, so that an idle broker is idle.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final, Protocol

from kgroup.testing.broker.agenda import Timer
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.group import Group, Phase
from kgroup.types import TopicPartition
from kgroup.values import dataclass

_NOTHING: Final[Mapping[TopicPartition, "Committed"]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """One committed offset.

    Args:
        offset: as committed; brokers take negative ones too (E4).
        leader_epoch: of the last record read, None = unknown.
        metadata: what the committer added; empty where it sent null.
        committed_at: instant in seconds.
        expires_at: instant that OffsetCommit 2 to 4 asked for; None = the broker's retention rules.
        number: order among all commits of the partition of the offsets topic; the store counts.
    """

    offset: int
    leader_epoch: int | None = None
    metadata: str = ""
    committed_at: float = 0.0
    expires_at: float | None = None
    number: int = 0


def _numbered(commit: Committed, number: int) -> Committed:
    return Committed(
        offset=commit.offset,
        leader_epoch=commit.leader_epoch,
        metadata=commit.metadata,
        committed_at=commit.committed_at,
        expires_at=commit.expires_at,
        number=number,
    )


@dataclass(slots=True)
class OffsetStore:
    """Offsets of all groups of one partition of the offsets topic.

    Args:
        committed: group id -> partition -> commit.
        pending: what open transactions have committed: producer id -> group id -> the same.
        written: how many commits there have been.
    """

    committed: dict[str, dict[TopicPartition, Committed]] = field(default_factory=dict)
    pending: dict[int, dict[str, dict[TopicPartition, Committed]]] = field(default_factory=dict)
    written: int = 0

    # -- looking ---------------------------------------------------------------------------------

    def of(self, group_id: str) -> Mapping[TopicPartition, Committed]:
        """Return what a group has committed; nothing for a group that is not known."""
        return self.committed.get(group_id, _NOTHING)

    def is_unstable(self, group_id: str, partition: TopicPartition) -> bool:
        """Whether an open transaction has an offset for a partition."""
        groups = (producer.get(group_id, _NOTHING) for producer in self.pending.values())
        return any(partition in offsets for offsets in groups)

    def has_open_transaction(self, group_id: str) -> bool:
        """Whether an open transaction has an offset for any partition of a group."""
        return any(group_id in producer for producer in self.pending.values())

    @property
    def group_ids(self) -> list[str]:
        """Groups that have offsets, also those that only transactions have committed for."""
        pending = (group_id for producer in self.pending.values() for group_id in producer)
        return list(dict.fromkeys([*self.committed, *pending]))

    # -- committing ------------------------------------------------------------------------------

    def commit(self, group_id: str, partition: TopicPartition, commit: Committed) -> None:
        """Make this the committed offset."""
        self.committed.setdefault(group_id, {})[partition] = self._next(commit)

    def hold(
        self, producer_id: int, group_id: str, partition: TopicPartition, commit: Committed
    ) -> None:
        """Keep an offset until its transaction ends.

        Args:
            producer_id: of the transactional producer.
            group_id: the group of the offset.
            partition: of any topic.
            commit: replaces one that the same transaction committed before.
        """
        groups = self.pending.setdefault(producer_id, {})
        groups.setdefault(group_id, {})[partition] = self._next(commit)

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        """Take a transaction's end marker in; a producer without offsets here changes nothing.

        Args:
            producer_id: of the transactional producer.
            committed: whether its offsets count from now on, unless a later one does; else they
                are dropped.
        """
        groups = self.pending.pop(producer_id, {})
        if not committed:
            return
        for group_id, offsets in groups.items():
            kept = self.committed.setdefault(group_id, {})
            for partition, commit in offsets.items():
                present = kept.get(partition)
                if present is None or present.number < commit.number:
                    kept[partition] = commit

    def _next(self, commit: Committed) -> Committed:
        self.written += 1
        return _numbered(commit, self.written)

    # -- removing --------------------------------------------------------------------------------

    def remove(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        """Remove offsets of a group, those of open transactions too."""
        gone = set(partitions)
        for groups in [self.committed, *self.pending.values()]:
            _take_out(groups, group_id, gone)

    def remove_group(self, group_id: str) -> None:
        """Remove all offsets of a group."""
        for groups in [self.committed, *self.pending.values()]:
            groups.pop(group_id, None)

    def remove_topic(self, topic: str) -> None:
        """Remove the offsets of all groups for a topic."""
        for group_id in self.group_ids:
            held = [producer.get(group_id, _NOTHING) for producer in self.pending.values()]
            known = [*self.of(group_id), *(each for offsets in held for each in offsets)]
            self.remove(group_id, [each for each in known if each.topic == topic])


def _take_out(
    groups: dict[str, dict[TopicPartition, Committed]], group_id: str, gone: set[TopicPartition]
) -> None:
    offsets = groups.get(group_id)
    if offsets is None:
        return
    for partition in gone & offsets.keys():
        del offsets[partition]
    if not offsets:
        del groups[group_id]


# -- retention -------------------------------------------------------------------------------------


class Kept(Protocol):
    """What retention looks after: one partition of the offsets topic."""

    groups: dict[str, Group]
    offsets: OffsetStore

    def forget(self, group_id: str) -> None:
        """Delete a group with its offsets."""


class Retention:
    """The checks of one coordinator for one partition of the offsets topic.

    Args:
        context: clock and settings.
        kept: what it looks after.

    Checks happen at `began` and every `offsets_retention_check` seconds from then on.
    """

    def __init__(self, context: Context, kept: Kept) -> None:
        self._context = context
        self._kept = kept
        self.began: float = 0.0
        self._timer: Timer | None = None

    def begin(self) -> None:
        """Count the checks from now on, as a coordinator that has loaded the partition does."""
        self.pause()
        self.began = self._context.agenda.now
        self.watch()

    def watch(self) -> None:
        """Make sure that the next check happens if there is something to check."""
        if self._timer is not None or not (self._kept.groups or self._kept.offsets.group_ids):
            return
        interval = self._context.settings.offsets_retention_check
        checks = math.floor((self._context.agenda.now - self.began) / interval) + 1
        self._timer = self._context.agenda.at(self.began + checks * interval, self._check)

    def pause(self) -> None:
        """Check no more until `watch` or `begin`."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        self._timer = None
        for group in [*self._kept.groups.values()]:
            self._tidy(group)
        self.watch()

    def _tidy(self, group: Group) -> None:
        offsets = self._kept.offsets
        expired = [
            partition
            for partition, commit in offsets.of(group.group_id).items()
            if self._has_expired(group, partition.topic, commit)
            and not offsets.is_unstable(group.group_id, partition)
        ]
        offsets.remove(group.group_id, expired)
        used = offsets.of(group.group_id) or offsets.has_open_transaction(group.group_id)
        if group.phase is Phase.EMPTY and not used:
            self._kept.forget(group.group_id)

    def _has_expired(self, group: Group, topic: str, commit: Committed) -> bool:
        began = _aging_since(group, topic, commit)
        if began is None:
            return False
        now = self._context.agenda.now
        if commit.expires_at is not None:
            return now >= commit.expires_at
        return now - began >= self._context.settings.offsets_retention


def _aging_since(group: Group, topic: str, commit: Committed) -> float | None:
    """Return the instant from which an offset ages, None while it does not."""
    if group.protocol_type is None:
        return commit.committed_at
    if group.phase is Phase.EMPTY:
        return commit.committed_at if group.emptied_at is None else group.emptied_at
    known = group.subscribed  # None also where the members are no consumers
    if group.phase is Phase.STABLE and known is not None and topic not in known:
        return commit.committed_at
    return None


def is_subscribed(group: Group, topic: str) -> bool:
    """Whether a group has to be taken for a reader of a topic.

    A consumer group whose topics are not known is taken for a reader of every topic: before its
    first round is complete, or when one of its subscriptions could not be read.
    """
    if group.subscribed is None:
        return group.protocol_type == "consumer"
    return topic in group.subscribed
