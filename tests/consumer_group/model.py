"""A coordinator of KIP-848 in a hundred lines, as 4.3.1 behaves: for random lives of members.

Decides: epochs, targets a second after what asked for them, and which partition whose revocation
another member waits for. Never: as a product; the in-process broker will be one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kgroup.codes import ErrorCode
from kgroup.wire.messages import (
    ConsumerGroupHeartbeatAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatTopicPartitions,
)

Place = tuple[bytes, int]


@dataclass
class Known:
    """What the coordinator knows of one member."""

    topics: frozenset[str]
    rebalance: float
    expires_at: float
    epoch: int = 0
    before: int = -1
    assigned: frozenset[Place] = frozenset()
    revoking: frozenset[Place] = frozenset()
    revoke_by: float = float("inf")

    @property
    def holds(self) -> frozenset[Place]:
        return self.assigned | self.revoking


@dataclass
class Coordinator:
    """One group."""

    topics: Mapping[str, tuple[bytes, int]]
    session: float
    interval: float
    epoch: int = 0
    target_epoch: int = 0
    target: dict[str, frozenset[Place]] = field(default_factory=dict)
    assigned_at: float = -10.0
    members: dict[str, Known] = field(default_factory=dict)

    # -- time --------------------------------------------------------------------------------

    def pass_time(self, now: float) -> None:
        for member_id, known in list(self.members.items()):
            if now >= min(known.expires_at, known.revoke_by):
                self._remove(member_id)
        if self.epoch > self.target_epoch and now >= self.assigned_at + 1.0:
            self._assign(now)

    def begin_sessions(self, now: float) -> None:
        """Begin every session anew, as a coordinator that has taken over does."""
        for known in self.members.values():
            known.expires_at = now + self.session
            if known.revoking:
                known.revoke_by = now + known.rebalance

    def expel(self, member_id: str) -> None:
        """Remove a member as an administrator does."""
        self._remove(member_id)

    def _remove(self, member_id: str) -> None:
        del self.members[member_id]
        self.target.pop(member_id, None)
        self.epoch += 1

    def _assign(self, now: float) -> None:
        """Deal every partition, one after the other: many move, which is the harder case."""
        given: dict[str, set[Place]] = {member_id: set() for member_id in self.members}
        for name, (topic_id, count) in sorted(self.topics.items()):
            takers = sorted(each for each, known in self.members.items() if name in known.topics)
            for number in range(count):
                if takers:
                    taker = takers[(number + self.epoch) % len(takers)]
                    given[taker].add((topic_id, number))
        self.target = {member_id: frozenset(places) for member_id, places in given.items()}
        self.target_epoch, self.assigned_at = self.epoch, now

    # -- requests ----------------------------------------------------------------------------

    def heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, now: float
    ) -> ConsumerGroupHeartbeatResponse:
        self.pass_time(now)
        member_id, epoch = request.member_id, request.member_epoch
        known = self.members.get(member_id)
        if epoch < 0:
            if known is None:
                return refused(ErrorCode.UNKNOWN_MEMBER_ID)
            self._remove(member_id)
            return _said(member_id, epoch, 0.0, None)
        if known is None and epoch:
            return refused(ErrorCode.UNKNOWN_MEMBER_ID)
        owned = _places(request)
        if known is None:
            topics = frozenset(request.subscribed_topic_names or ())
            known = Known(topics, request.rebalance_timeout_ms / 1000, now)
            self.members[member_id] = known
            self.epoch += 1
            if len(self.members) == 1:
                self._assign(now)
        elif epoch and self._fences(known, epoch, owned):
            return refused(ErrorCode.FENCED_MEMBER_EPOCH)
        if request.subscribed_topic_names is not None:
            topics = frozenset(request.subscribed_topic_names)
            if topics != known.topics:
                known.topics = topics
                self.epoch += 1
        known.expires_at = now + self.session
        before = known.assigned
        self._reconcile(member_id, known, owned, now)
        whole = request.rebalance_timeout_ms > 0 and owned is not None
        shown = known.assigned if whole or known.assigned != before else None
        return _said(member_id, known.epoch, self.interval, shown)

    @staticmethod
    def _fences(known: Known, epoch: int, owned: frozenset[Place] | None) -> bool:
        if epoch == known.epoch:
            return False
        listed = owned is not None and owned <= known.assigned
        return not (epoch == known.before and listed)

    def _reconcile(
        self, member_id: str, known: Known, owned: frozenset[Place] | None, now: float
    ) -> None:
        if known.revoking and (owned is None or owned & known.revoking):
            return
        known.revoking, known.revoke_by = frozenset(), float("inf")
        target = self.target.get(member_id, frozenset())
        if self.target_epoch == 0 or (known.epoch == self.target_epoch == 0):
            return
        kept, gone = known.assigned & target, known.assigned - target
        if gone and (owned is None or owned & gone):
            known.assigned, known.revoking = kept, gone
            known.revoke_by = now + known.rebalance
            return
        held = frozenset[Place]().union(
            *(each.holds for name, each in self.members.items() if name != member_id)
        )
        known.assigned = kept | (target - held)
        if known.epoch != self.target_epoch:
            known.before, known.epoch = known.epoch, max(self.target_epoch, 1)


def _places(request: ConsumerGroupHeartbeatRequest) -> frozenset[Place] | None:
    if request.topic_partitions is None:
        return None
    return frozenset(
        (row.topic_id, number) for row in request.topic_partitions for number in row.partitions
    )


def _said(
    member_id: str, epoch: int, interval: float, assigned: frozenset[Place] | None
) -> ConsumerGroupHeartbeatResponse:
    rows = None
    if assigned is not None:
        ids = sorted({topic_id for topic_id, _ in assigned})
        rows = ConsumerGroupHeartbeatAssignment(
            topic_partitions=tuple(
                ConsumerGroupHeartbeatTopicPartitions(
                    topic_id=topic_id,
                    partitions=tuple(sorted(n for each, n in assigned if each == topic_id)),
                )
                for topic_id in ids
            )
        )
    return ConsumerGroupHeartbeatResponse(
        member_id=member_id,
        member_epoch=epoch,
        heartbeat_interval_ms=round(interval * 1000),
        assignment=rows,
    )


def refused(code: ErrorCode) -> ConsumerGroupHeartbeatResponse:
    """Return an answer that is an error."""
    return ConsumerGroupHeartbeatResponse(error_code=code, member_epoch=0, heartbeat_interval_ms=0)
