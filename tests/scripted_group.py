"""The classic coordinator of one group, as far as tests of one member and its peers need it.

Decides: the join barrier, generations, sync, sessions, commits and leaving, as real brokers answer
them (`broker_facts.md` B, C, D, E, S), on top of a `ScriptedCluster`.
Never: loads, logs, expires offsets, or evicts who does not sync: the in-process broker does.

Everything happens inside requests, except what only time can do: `run` expires sessions and ends
rounds that are too long. A script may answer any request itself (`broker.once`), may have a code
answered to an API from now on (`errors`), and may add phantoms: members that are always there.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import anyio

from kgroup.codes import ApiKey, ErrorCode
from kgroup.net.pulse import Pulse
from kgroup.testing.scripted import Answer, Delayed, Held, ScriptedBroker
from kgroup.testing.scripted_cluster import ScriptedCluster
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberSubscription,
    decode_assignment,
    encode_subscription,
)
from kgroup.wire.messages import (
    DescribeGroupsRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kgroup.wire.schema import Message, Request
from tests.scripted_answers import join_refused, left, offsets_answer, refused
from tests.scripted_members import (
    Committed,
    GroupPhase,
    ScriptedMember,
    commits_of,
    describe_answer,
    members_listed,
)

__all__ = ["ScriptedGroup"]


class ScriptedGroup:
    """One group of a scripted cluster.

    Args:
        cluster: its brokers answer for the group; the one that `cluster.coordinator` names is
            the coordinator, the others say so.
        latency: seconds from a request to its answer.

    `errors` (API -> code) is answered before anything else is looked at. `accepted` holds all
    commits in the coordinator's order.
    """

    def __init__(self, cluster: ScriptedCluster, *, latency: float = 0.0) -> None:
        self.cluster = cluster
        self.latency = latency
        self.phase = GroupPhase.EMPTY
        self.generation_id = 0
        self.protocol_name: str | None = None
        self.leader: str | None = None
        self.members: dict[str, ScriptedMember] = {}
        self.pending: set[str] = set()
        self.errors: dict[ApiKey, int] = {}
        self.accepted: list[Committed] = []
        self._ids = 0
        self._ends_at = math.inf
        self._changed = Pulse()
        self._rules: dict[type[Request[Any]], Callable[[Any], Answer]] = {
            JoinGroupRequest: self._join,
            SyncGroupRequest: self._sync,
            HeartbeatRequest: self._heartbeat,
            LeaveGroupRequest: self._leave,
            OffsetCommitRequest: self._commit,
            OffsetFetchRequest: self._fetch,
            DescribeGroupsRequest: self._describe,
        }
        for broker in cluster.brokers:
            for kind in self._rules:
                broker.on(kind, self._at(broker))

    # -- the script ------------------------------------------------------------------------

    @property
    def coordinator(self) -> ScriptedBroker:
        """The broker that answers for the group."""
        return self.cluster.broker(self.cluster.coordinator)

    def rebalance(self) -> None:
        """Begin a round, as if somebody had come: heartbeats are answered 27 from now on."""
        if self.members:
            self._prepare()

    def add_phantom(self, name: str, *topics: str, assignor: str = "cooperative-sticky") -> None:
        """Add a member that joins every round at once and claims what it was given last."""
        blob = encode_subscription(MemberSubscription(topics=topics))
        phantom = ScriptedMember(name, None, protocols={assignor: blob}, phantom=True)
        self.members[name] = phantom
        self._prepare()

    def forget_pending(self) -> None:
        """Let those who have an id and have not joined with it go away."""
        self.pending.clear()
        self._complete_round()

    def evict(self, member_id: str) -> None:
        """End a member's session now."""
        self._drop(self.members[member_id])

    def given(self, member_id: str) -> frozenset[TopicPartition]:
        """Return what the latest sync of the leader gave a member."""
        return frozenset(decode_assignment(self.members[member_id].assignment).partitions)

    def offset(self, tp: TopicPartition) -> int | None:
        """Return the committed offset, None when nothing is committed."""
        return next((each.offset for each in reversed(self.accepted) if each.tp == tp), None)

    async def run(self) -> None:
        """Do what only time can do, until cancelled."""
        while True:
            now = anyio.current_time()
            for member in [each for each in self.members.values() if self._expires(each) <= now]:
                self.evict(member.member_id)
            if self._ends_at <= now:
                self._end_round()
            due = min((self._expires(each) for each in self.members.values()), default=math.inf)
            with anyio.move_on_after(min(due, self._ends_at) - now):
                await self._changed.wait()

    def _expires(self, member: ScriptedMember) -> float:
        """D4: who waits in a join does not expire."""
        return math.inf if member.ready else member.heard_at + member.session

    # -- requests --------------------------------------------------------------------------

    def answer(self, request: Request[Any]) -> Answer:
        """Answer as the coordinator; for scripts that then do something to the answer."""
        code = self.errors.get(request.api_key)
        rule = self._rules[type(request)] if code is None else refused(code)
        said = rule(request)
        self._changed.fire()
        return said

    def _at(self, broker: ScriptedBroker) -> Callable[[Request[Any]], Answer]:
        def answer(request: Request[Any]) -> Answer:
            moved = broker.node_id != self.cluster.coordinator
            said = refused(ErrorCode.NOT_COORDINATOR)(request) if moved else self.answer(request)
            late = self.latency > 0 and isinstance(said, Message)
            return Delayed(said, self.latency) if late else said  # type: ignore[arg-type]

        return answer

    def _refusal(self, member_id: str, instance_id: str | None, generation_id: int | None) -> int:
        """C1, D1, E1: instance, member, generation; in this order."""
        if instance_id is not None:
            named = self._of_instance(instance_id)
            if named is not None and named.member_id != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        if member_id not in self.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if generation_id is not None and generation_id != self.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        return ErrorCode.NONE

    def _of_instance(self, instance_id: str) -> ScriptedMember | None:
        return next((m for m in self.members.values() if m.instance_id == instance_id), None)

    def _heartbeat(self, request: HeartbeatRequest) -> Answer:
        code = self._refusal(request.member_id, request.group_instance_id, request.generation_id)
        if not code:
            self.members[request.member_id].heard_at = anyio.current_time()
            if self.phase is GroupPhase.PREPARING:
                code = ErrorCode.REBALANCE_IN_PROGRESS
        return HeartbeatResponse(error_code=code)

    def _commit(self, request: OffsetCommitRequest) -> Answer:
        generation_id = request.generation_id_or_member_epoch
        code = self._refusal(request.member_id, request.group_instance_id, generation_id)
        if generation_id < 0 and not self.members:
            code = ErrorCode.NONE  # E3: an empty group takes it from anybody
        elif not code and self.phase is GroupPhase.COMPLETING:
            code = ErrorCode.REBALANCE_IN_PROGRESS
        if code:
            return refused(code)(request)
        if request.member_id in self.members:
            self.members[request.member_id].heard_at = anyio.current_time()
        self.accepted.extend(commits_of(request))
        return refused(ErrorCode.NONE)(request)

    def _fetch(self, request: OffsetFetchRequest) -> Answer:
        latest = {
            each.tp: (each.offset, each.metadata, each.leader_epoch) for each in self.accepted
        }
        return offsets_answer(request, latest)

    def _describe(self, request: DescribeGroupsRequest) -> Answer:
        return describe_answer(request, self.phase, self.protocol_name, self.members.values())

    def _leave(self, request: LeaveGroupRequest) -> Answer:
        codes = []
        for row in request.members:
            code = self._refusal(row.member_id, row.group_instance_id, None)
            if row.member_id in self.pending:
                self.pending.discard(row.member_id)
                code = ErrorCode.NONE
            elif not code:
                self._drop(self.members[row.member_id])
            codes.append(code)
        return left(request, codes)

    # -- join ------------------------------------------------------------------------------

    def _join(self, request: JoinGroupRequest) -> Answer:
        found = self._admit(request)
        if not isinstance(found, ScriptedMember):
            return found
        blobs = {each.name: each.metadata for each in request.protocols}
        changed = found.protocols != blobs
        found.protocols = blobs
        found.session = request.session_timeout_ms / 1000
        found.patience = request.rebalance_timeout_ms / 1000
        follows = found.member_id != self.leader
        if self.phase is GroupPhase.STABLE and follows and not changed:
            return self._joined(found)  # B15
        if self.phase is not GroupPhase.PREPARING:
            self._prepare()
        found.join = Held()  # B24: one that was parked before is never answered
        if not self._complete_round():
            return found.join
        found.join = None
        return self._joined(found)

    def _admit(self, request: JoinGroupRequest) -> ScriptedMember | Answer:
        """B1, B5, S1: who may join, and under which id."""
        member_id, instance_id = request.member_id, request.group_instance_id
        if not member_id:
            member_id = self._new_id()
            if instance_id is None:
                self.pending.add(member_id)
                code = ErrorCode.MEMBER_ID_REQUIRED
                return join_refused(code, member_id)
            return self._restart(request, member_id, instance_id)
        if member_id in self.pending:
            self.pending.discard(member_id)
            return self._add(member_id, instance_id)
        if refusal := self._refusal(member_id, instance_id, None):
            return join_refused(refusal, member_id)
        self.members[member_id].heard_at = anyio.current_time()
        return self.members[member_id]

    def _add(self, member_id: str, instance_id: str | None) -> ScriptedMember:
        member = ScriptedMember(member_id, instance_id, heard_at=anyio.current_time())
        self.members[member_id] = member
        return member

    def _restart(
        self, request: JoinGroupRequest, member_id: str, instance_id: str
    ) -> ScriptedMember | Answer:
        """S1, S2: a static member comes back under a new id, in Stable without a round.

        The new subscription is kept; nobody is told of it before the next round.
        """
        before = self._of_instance(instance_id)
        member = self._add(member_id, instance_id)
        if before is None:
            return member
        del self.members[before.member_id]
        led = self.leader == before.member_id
        if led:
            self.leader = member_id
        if before.join is not None:
            code = ErrorCode.FENCED_INSTANCE_ID
            before.join.release(join_refused(code, before.member_id))
        member.assignment, member.protocols = before.assignment, before.protocols
        member.session = before.session
        if self.phase is not GroupPhase.STABLE:
            return member
        member.protocols = {each.name: each.metadata for each in request.protocols}
        return self._joined(member, skip=led)

    def _new_id(self) -> str:
        self._ids += 1
        return f"member-{self._ids}"

    def _prepare(self) -> None:
        self.phase = GroupPhase.PREPARING
        longest = max((each.patience for each in self.members.values()), default=0.0)
        self._ends_at = anyio.current_time() + longest
        for member in self.members.values():
            held, member.sync = member.sync, None
            if held is not None:
                code = ErrorCode.REBALANCE_IN_PROGRESS
                held.release(SyncGroupResponse(error_code=code, assignment=b""))
        self._changed.fire()

    def _complete_round(self) -> bool:
        """Answer everybody who waits, when everybody does; the caller answers its own request."""
        waiting = [each for each in self.members.values() if each.join is not None]
        if self.pending or not waiting or not all(each.ready for each in self.members.values()):
            return False
        self.generation_id += 1
        self.phase = GroupPhase.COMPLETING
        self._ends_at = math.inf
        if self.leader not in {each.member_id for each in waiting}:
            self.leader = waiting[0].member_id
        self.protocol_name = self._elected()
        for member in waiting:
            held, member.join = member.join, None
            member.heard_at = anyio.current_time()
            if held is not None and held.asked is not None:
                held.release(self._joined(member))
        return True

    def _elected(self) -> str:
        """B12: the leader's first choice that all have."""
        assert self.leader is not None
        names = self.members[self.leader].protocols
        return next(n for n in names if all(n in m.protocols for m in self.members.values()))

    def _joined(self, member: ScriptedMember, *, skip: bool = False) -> JoinGroupResponse:
        assert self.protocol_name is not None
        leads = member.member_id == self.leader
        listed = members_listed(self.members.values(), self.protocol_name, self.generation_id)
        return JoinGroupResponse(
            generation_id=self.generation_id,
            protocol_type="consumer",
            protocol_name=self.protocol_name,
            leader=self.leader or "",
            member_id=member.member_id,
            members=listed if leads else (),
            skip_assignment=skip,
        )

    # -- sync and the end ------------------------------------------------------------------

    def _sync(self, request: SyncGroupRequest) -> Answer:
        """C1-C3."""
        code = self._refusal(request.member_id, request.group_instance_id, request.generation_id)
        if not code and self.phase is GroupPhase.PREPARING:
            code = ErrorCode.REBALANCE_IN_PROGRESS
        if code:
            return SyncGroupResponse(error_code=code, assignment=b"")
        member = self.members[request.member_id]
        if self.phase is GroupPhase.COMPLETING:
            if member.member_id != self.leader:
                member.sync = Held()
                return member.sync
            self._settle({each.member_id: each.assignment for each in request.assignments})
        return self._synced(member)

    def _settle(self, assignments: Mapping[str, bytes]) -> None:
        self.phase = GroupPhase.STABLE
        for member in self.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            member.heard_at = anyio.current_time()
            held, member.sync = member.sync, None
            if held is not None:
                held.release(self._synced(member))

    def _synced(self, member: ScriptedMember) -> SyncGroupResponse:
        return SyncGroupResponse(
            protocol_type="consumer",
            protocol_name=self.protocol_name,
            assignment=member.assignment,
        )

    def _drop(self, member: ScriptedMember) -> None:
        """Take a member out: C5, D7."""
        del self.members[member.member_id]
        if member.join is not None:
            code = ErrorCode.UNKNOWN_MEMBER_ID
            member.join.release(join_refused(code, member.member_id))
        if not self.members:
            self.phase = GroupPhase.EMPTY
            self.generation_id += 1
            self.leader = None
            self._ends_at = math.inf
        elif self.phase is not GroupPhase.PREPARING:
            self._prepare()
        else:
            self._complete_round()

    def _end_round(self) -> None:
        """B7, B9: who has not come back is removed; without anybody the group is empty."""
        self._ends_at = math.inf
        self.pending.clear()
        for member in [each for each in self.members.values() if not each.ready]:
            self.evict(member.member_id)
        self._complete_round()
