"""What time does to committed offsets and to groups without members.

Decides: which offsets have expired at a check, and that a group without members and offsets goes
(KIP-211; `broker_facts.md` E8). With members, offsets of subscribed topics stay whatever their age;
without, they go when the group has been empty for the retention time, and those of a group that
never had members when their last commit is that old. What an open transaction has committed for
stays.
Never: expires anything between two checks; no broker does.

There is one timer, and only while there is something to check, so that an idle broker is idle.
"""

import math
from typing import Protocol

from kgroup.testing.broker.agenda import Timer
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.group import Group, Phase
from kgroup.testing.broker.offsets.store import Committed, OffsetStore

__all__ = ["Kept", "Retention", "is_subscribed"]


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
