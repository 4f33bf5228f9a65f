"""ConsumerGroupHeartbeat, as a coordinator answers it.

Decides: the order of checks, what a join, a change and a farewell do, when sessions and revocations
end, and that a new target is not made sooner than an interval after the one before
(`broker_facts.md` K1-K3). Every change is in the log when it is answered, so that a move of the
coordinator loses nothing of a group; sessions begin anew.
Never: lets members of both protocols into one group: a classic group turns only while it is empty.
KIPs: 345 (instance ids), 848, 1082 (ids made by clients).
"""

import re
from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import Asked, Handler
from kgroup.testing.broker.cluster.cluster import Cluster, Topic
from kgroup.testing.broker.cluster.configuring import HEARTBEAT, SESSION
from kgroup.testing.broker.consumer_groups.assigning import ASSIGNORS, Place, Wish
from kgroup.testing.broker.consumer_groups.group import AWAY, ConsumerGroup
from kgroup.testing.broker.consumer_groups.member import ConsumerMember
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.coordinators import Coordinators
from kgroup.testing.broker.groups.group import Phase
from kgroup.testing.broker.groups.shard import Shard
from kgroup.values import dataclass
from kgroup.wire.messages import (
    ConsumerGroupHeartbeatAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatTopicPartitions,
)
from kgroup.wire.schema import Request

LEAVES: Final = -1
"""The epoch of a member that goes for good."""


@dataclass(frozen=True, slots=True)
class _Refused:
    """Why a heartbeat is refused, in the coordinator's words."""

    code: ErrorCode
    text: str | None = None


class Heartbeats:
    """ConsumerGroupHeartbeat of one cluster.

    Args:
        context: clock and settings.
        coordinators: the groups.
        cluster: the topics.
    """

    def __init__(self, context: Context, coordinators: Coordinators, cluster: Cluster) -> None:
        self._context = context
        self._coordinators = coordinators
        self._cluster = cluster
        for shard in coordinators.shards:
            shard.on_loaded = partial(self._begin_sessions, shard)

    @property
    def handlers(self) -> dict[type[Request[Any]], Handler]:
        """What is answered here."""
        return {ConsumerGroupHeartbeatRequest: self.heartbeat}

    def heartbeat(
        self, asked: Asked, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        """Answer ConsumerGroupHeartbeat."""
        answer = self._answer(asked, request)
        if not isinstance(answer, _Refused):
            return answer
        return ConsumerGroupHeartbeatResponse(
            error_code=answer.code,
            error_message=answer.text,
            member_epoch=0,
            heartbeat_interval_ms=0,
        )

    def _answer(
        self, asked: Asked, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse | _Refused:
        code = self._coordinators.refusal(asked.node_id, request.group_id)
        refused = _fault(request) or (_Refused(code) if code else None)
        if refused is not None:
            return refused
        shard = self._coordinators.shard_of(request.group_id)
        group = self._group(shard, request)
        if isinstance(group, _Refused):
            return group
        if request.member_epoch < 0:
            return self._farewell(group, request)
        member = self._member(group, asked, request)
        if isinstance(member, _Refused):
            return member
        return self._alive(group, member, request)

    # -- who is asking ---------------------------------------------------------------------------

    def _group(
        self, shard: Shard, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroup | _Refused:
        group_id, joins = request.group_id, request.member_epoch == 0
        classic = shard.groups.get(group_id)
        if classic is not None and (not joins or classic.phase is not Phase.EMPTY):
            text = f"Group {group_id} is not a consumer group."
            return _Refused(ErrorCode.GROUP_ID_NOT_FOUND, text)
        group = shard.consumer_groups.get(group_id)
        if group is None and not joins:
            text = f"Group {group_id} not found."
            return _Refused(ErrorCode.GROUP_ID_NOT_FOUND, text)
        return shard.turn(group_id) if group is None else group

    def _member(
        self, group: ConsumerGroup, asked: Asked, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerMember | _Refused:
        if request.member_epoch == 0:
            return self._joining(group, asked, request)
        named = group.static_member(request.instance_id)
        member = group.members.get(request.member_id) if request.instance_id is None else named
        if member is None:
            return _unknown(group, request)
        if member.member_id != request.member_id:
            text = (
                f"Static member {request.member_id} with instance id {request.instance_id} was "
                f"fenced by member {member.member_id}."
            )
            return _Refused(ErrorCode.FENCED_INSTANCE_ID, text)
        fault = group.fault_of_epoch(member, request.member_epoch, _owned(request))
        return member if fault is None else _Refused(ErrorCode.FENCED_MEMBER_EPOCH, fault)

    def _joining(
        self, group: ConsumerGroup, asked: Asked, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerMember | _Refused:
        member_id, instance_id = request.member_id, request.instance_id
        there = group.static_member(instance_id)
        if there is not None and there.member_id != member_id:
            if there.epoch != AWAY:
                text = (
                    f"Static member {member_id} with instance id {instance_id} cannot join the "
                    "group because the instance id is owned by "
                    f"{there.member_id} member."
                )
                return _Refused(ErrorCode.UNRELEASED_INSTANCE_ID, text)
            return group.replace(there, member_id)
        member = group.members.get(member_id)
        limit = self._context.settings.consumer_max_size
        if member is None and limit is not None and len(group.members) >= limit:
            text = f"The consumer group has reached its maximum capacity of {limit} members."
            return _Refused(ErrorCode.GROUP_MAX_SIZE_REACHED, text)
        if member is None:
            member = ConsumerMember(
                member_id, instance_id, asked.client_id or "", asked.client_host
            )
            group.members[member_id] = member
        return member

    # -- a member that lives ---------------------------------------------------------------------

    def _alive(
        self, group: ConsumerGroup, member: ConsumerMember, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        self._learn(group, member, request)
        self._look_at_topics(group)
        now, settings = self._context.agenda.now, self._context.settings
        if group.epoch > group.target_epoch and (
            now - group.target_at >= settings.consumer_assignment_interval
        ):
            self._assign(group)
        owned = _owned(request)
        had = frozenset(member.assigned)
        group.reconcile(member, owned)
        self._renew(group, member)
        self._bound_revocation(group, member)
        whole = request.member_epoch == 0 or (
            request.rebalance_timeout_ms != -1
            and (request.subscribed_topic_names is not None or request.subscribed_topic_regex)
            and request.topic_partitions is not None
        )
        shows = whole or member.assigned.keys() != had
        return ConsumerGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=int(self._times(group)[1] * 1000),
            assignment=_assignment(member.assigned) if shows else None,
        )

    def _learn(
        self, group: ConsumerGroup, member: ConsumerMember, request: ConsumerGroupHeartbeatRequest
    ) -> None:
        """Take what a heartbeat says; another subscription asks for another target."""
        asked_for = member.asks_for
        if request.rebalance_timeout_ms != -1:
            member.rebalance_timeout = request.rebalance_timeout_ms / 1000
        if request.rack_id is not None:
            member.rack_id = request.rack_id
        if request.server_assignor is not None:
            member.assignor = request.server_assignor
        if request.subscribed_topic_names is not None:
            member.topics = frozenset(request.subscribed_topic_names)
        if request.subscribed_topic_regex is not None:
            member.regex = request.subscribed_topic_regex or None
        if member.asks_for != asked_for:
            group.epoch += 1

    def _look_at_topics(self, group: ConsumerGroup) -> None:
        """Let topics that came, went or grew ask for another target."""
        seen = {
            topic.topic_id: len(topic.partitions)
            for member in group.members.values()
            for topic in self._topics_of(member)
        }
        if seen == group.seen:
            return
        if group.seen and group.epoch == group.target_epoch:
            group.epoch += 1
        group.seen = seen

    def _topics_of(self, member: ConsumerMember) -> Iterable[Topic]:
        fits = None if member.regex is None else re.compile(member.regex)
        for name, topic in self._cluster.topics.items():
            if name in member.topics or (fits is not None and fits.fullmatch(name)):
                yield topic

    def _assign(self, group: ConsumerGroup) -> None:
        wishes = {
            member_id: Wish(
                topics=frozenset(topic.topic_id for topic in self._topics_of(member)),
                has=group.target.get(member_id, frozenset()),
                order=member.instance_id or member_id,
            )
            for member_id, member in group.members.items()
        }
        group.target = ASSIGNORS[group.assignor](group.seen, wishes)
        group.target_epoch, group.target_at = group.epoch, self._context.agenda.now

    # -- timers ----------------------------------------------------------------------------------

    def _times(self, group: ConsumerGroup) -> tuple[float, float]:
        """Return a group's session time-out and heartbeat interval, seconds."""
        settings = self._context.settings
        own = self._coordinators.configs.get(group.group_id, {})
        session, beat = own.get(SESSION), own.get(HEARTBEAT)
        return (
            settings.consumer_session_timeout if session is None else int(session) / 1000,
            settings.consumer_heartbeat_interval if beat is None else int(beat) / 1000,
        )

    def _begin_sessions(self, shard: Shard) -> None:
        """Begin every session anew, as a coordinator that has read its log does."""
        for group in shard.consumer_groups.values():
            for member in group.members.values():
                self._renew(group, member)
                self._bound_revocation(group, member)

    def _renew(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        if member.session is not None:
            member.session.cancel()
        ends = partial(self.expel, group, member)
        session, _ = self._times(group)
        member.session = self._context.agenda.after(session, ends)

    def _bound_revocation(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """Bound the time a member may take to give up what others wait for."""
        if not member.revoking:
            if member.revocation is not None:
                member.revocation.cancel()
            member.revocation = None
        elif member.revocation is None:
            ends = partial(self.expel, group, member)
            member.revocation = self._context.agenda.after(member.rebalance_timeout, ends)

    @staticmethod
    def expel(group: ConsumerGroup, member: ConsumerMember) -> None:
        """Remove a member that is there still; its next heartbeat is refused (25)."""
        if group.members.get(member.member_id) is member:
            group.remove(member)

    # -- a member that goes ----------------------------------------------------------------------

    def _farewell(
        self, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse | _Refused:
        member = group.members.get(request.member_id)
        named = group.static_member(request.instance_id)
        if request.instance_id is not None and named is not None and named is not member:
            text = (
                f"Static member {request.member_id} with instance id {request.instance_id} was "
                f"fenced by member {named.member_id}."
            )
            return _Refused(ErrorCode.FENCED_INSTANCE_ID, text)
        if member is None or (request.instance_id is not None and named is None):
            return _unknown(group, request)
        if request.member_epoch == LEAVES:
            group.remove(member)
        else:
            member.epoch, member.revoking, member.waits = AWAY, {}, False
            self._bound_revocation(group, member)
        return ConsumerGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=request.member_epoch,
            heartbeat_interval_ms=0,
        )


# -- requests --------------------------------------------------------------------------------------


def _fault(request: ConsumerGroupHeartbeatRequest) -> _Refused | None:
    """Say what is wrong with a request whatever the group is (K3)."""
    text = None
    if not request.member_id:
        text = "MemberId can't be empty."
    elif not request.group_id:
        text = "GroupId can't be empty."
    elif request.member_epoch == 0:
        text = _fault_of_join(request)
    elif request.member_epoch == AWAY and request.instance_id is None:
        text = "InstanceId can't be null."
    if text is not None:
        return _Refused(ErrorCode.INVALID_REQUEST, text)
    assignor = request.server_assignor
    if assignor is not None and assignor not in ASSIGNORS:
        known = ", ".join(ASSIGNORS)
        text = f"ServerAssignor {assignor} is not supported. Supported assignors: {known}."
        return _Refused(ErrorCode.UNSUPPORTED_ASSIGNOR, text)
    return _fault_of_regex(request.subscribed_topic_regex)


def _fault_of_join(request: ConsumerGroupHeartbeatRequest) -> str | None:
    if request.rebalance_timeout_ms == -1:
        return "RebalanceTimeoutMs must be provided in first request."
    if request.topic_partitions is None or request.topic_partitions:
        return "TopicPartitions must be empty when (re-)joining."
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        return (
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
            "(re-)joining."
        )
    return None


def _fault_of_regex(regex: str | None) -> _Refused | None:
    try:
        re.compile(regex or "")
    except re.error as error:
        text = f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}."
        return _Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, text)
    return None


def _unknown(group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest) -> _Refused:
    text = f"Member {request.member_id} is not a member of group {group.group_id}."
    return _Refused(ErrorCode.UNKNOWN_MEMBER_ID, text)


def _owned(request: ConsumerGroupHeartbeatRequest) -> frozenset[Place] | None:
    if request.topic_partitions is None:
        return None
    return frozenset(
        (row.topic_id, number) for row in request.topic_partitions for number in row.partitions
    )


def _assignment(assigned: Iterable[Place]) -> ConsumerGroupHeartbeatAssignment:
    numbers: dict[bytes, list[int]] = {}
    for topic_id, number in sorted(assigned):
        numbers.setdefault(topic_id, []).append(number)
    return ConsumerGroupHeartbeatAssignment(
        topic_partitions=tuple(
            ConsumerGroupHeartbeatTopicPartitions(topic_id=topic_id, partitions=tuple(found))
            for topic_id, found in numbers.items()
        )
    )
