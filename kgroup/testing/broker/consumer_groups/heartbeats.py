"""ConsumerGroupHeartbeat, as a coordinator answers it.

Decides: the order of checks, and what a join, a change and a farewell do (`broker_facts.md` K1-K3);
the first join turns a classic group (K6). Every change is in the log when it is answered, so that a
move of the coordinator loses nothing of a group; sessions begin anew.
Never: sets timers or makes targets; `pace` does.
KIPs: 345 (instance ids), 848, 1082 (ids made by clients).
"""

import re
from collections.abc import Iterable
from typing import Any, Final

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import Asked, Handler
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.testing.broker.consumer_groups.assigning import ASSIGNORS, Place
from kgroup.testing.broker.consumer_groups.group import AWAY, ConsumerGroup
from kgroup.testing.broker.consumer_groups.member import ConsumerMember
from kgroup.testing.broker.consumer_groups.pace import Pace
from kgroup.testing.broker.consumer_groups.turning import CannotTurnError, upgraded
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.coordinators import Coordinators
from kgroup.testing.broker.groups.group import Group
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
        pace: targets and sessions.
    """

    def __init__(
        self, context: Context, coordinators: Coordinators, cluster: Cluster, pace: Pace
    ) -> None:
        self._context = context
        self._coordinators = coordinators
        self._cluster = cluster
        self._pace = pace

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
        if classic is not None and not joins:
            text = f"Group {group_id} is not a consumer group."
            return _Refused(ErrorCode.GROUP_ID_NOT_FOUND, text)
        if classic is not None and classic.members:
            return self._upgraded(shard, classic)
        group = shard.consumer_groups.get(group_id)
        if group is None and not joins:
            text = f"Group {group_id} not found."
            return _Refused(ErrorCode.GROUP_ID_NOT_FOUND, text)
        return shard.turn(group_id) if group is None else group

    def _upgraded(self, shard: Shard, classic: Group) -> ConsumerGroup | _Refused:
        """Turn a classic group with members; they hear of it with their next heartbeats."""
        if not self._context.settings.consumer_migration:
            text = (
                f"Cannot upgrade classic group {classic.group_id} to consumer group because online "
                "upgrade is disabled."
            )
            return _Refused(ErrorCode.GROUP_ID_NOT_FOUND, text)
        try:
            group = upgraded(classic, self._cluster)
        except CannotTurnError as error:
            return _Refused(ErrorCode.GROUP_ID_NOT_FOUND, str(error))
        shard.turn_to_consumer(group)
        for member in group.members.values():
            self._pace.renew(group, member)
        return group

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
            if there.epoch != AWAY and there.classic is None:
                text = (
                    f"Static member {member_id} with instance id {instance_id} cannot join the "
                    "group because the instance id is owned by "
                    f"{there.member_id} member."
                )
                return _Refused(ErrorCode.UNRELEASED_INSTANCE_ID, text)
            there = group.replace(there, member_id)
            there.classic = None
            return there
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
        self._pace.advance(group)
        owned = _owned(request)
        had = frozenset(member.assigned)
        group.reconcile(member, owned)
        self._pace.renew(group, member)
        self._pace.bound_revocation(group, member)
        whole = request.member_epoch == 0 or (
            request.rebalance_timeout_ms != -1
            and (request.subscribed_topic_names is not None or request.subscribed_topic_regex)
            and request.topic_partitions is not None
        )
        shows = whole or member.assigned.keys() != had
        return ConsumerGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=int(self._pace.times(group)[1] * 1000),
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
            self._pace.let_go(group, member)
        else:
            member.epoch, member.revoking, member.waits = AWAY, {}, False
            self._pace.bound_revocation(group, member)
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
