"""The actors of a script: what each was answered, and the requests that its steps become.

Decides: which id, generation and assignment a word of a script stands for at the moment of sending.
Never: knows more than an actor could: it learns from answers alone.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, assert_never

from kgroup.codes import ErrorCode
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    encode_assignment,
    encode_subscription,
)
from kgroup.wire.messages import (
    DeleteGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from kgroup.wire.schema import Message, Request
from tests.testing.differential.script import (
    TOPICS,
    Close,
    Commit,
    DeleteGroup,
    Fetch,
    Heartbeat,
    Join,
    Leave,
    Offer,
    OffsetDelete,
    Step,
    Sync,
)

GHOST = "ghost-00000000-0000-4000-8000-000000000000"

_BATCH_SINCE = 3
_GROUPS_SINCE = 8


@dataclass(slots=True)
class Known:
    """What one actor was answered.

    Args:
        member_id: the last id it was given.
        former: the one before.
        generation: of its last round, -1 before the first.
        protocol_type: of that round.
        protocol_name: of that round.
        leads: whether an answer said so.
        members: ids it was shown as leader.
    """

    member_id: str = ""
    former: str = ""
    generation: int = -1
    protocol_type: str = "consumer"
    protocol_name: str = ""
    leads: bool = False
    members: tuple[str, ...] = ()


def metadata_of(offer: Offer) -> bytes:
    """Return the bytes of an offer."""
    if offer.fault == "empty":
        return b""
    sound = encode_subscription(
        MemberSubscription(topics=offer.topics, user_data=b"mark %d" % offer.mark), 1
    )
    if offer.fault == "cut":
        return sound[:7]
    if offer.fault == "count":
        return sound[:2] + b"\x7f\xff\xff\xff" + sound[6:]
    return sound


@dataclass(slots=True)
class Cast:
    """All actors of one group.

    Args:
        group_id: the group.
        known: by actor.
        newest: highest generation in any answer.
    """

    group_id: str
    known: defaultdict[str, Known] = field(default_factory=lambda: defaultdict(Known))
    newest: int = 0

    def learn(self, actor: str, answer: Message) -> None:
        """Take an answer in."""
        if not isinstance(answer, JoinGroupResponse):
            return
        known = self.known[actor]
        required = answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
        if (required or not answer.error_code) and answer.member_id != known.member_id:
            known.former, known.member_id = known.member_id, answer.member_id
        if answer.error_code:
            return
        known.generation = answer.generation_id
        known.protocol_type = answer.protocol_type or "consumer"
        known.protocol_name = answer.protocol_name or ""
        known.leads = answer.leader == answer.member_id
        known.members = tuple(each.member_id for each in answer.members)
        self.newest = max(self.newest, answer.generation_id)

    # -- words -----------------------------------------------------------------------------------

    def member_id(self, actor: str, word: str) -> str:
        """Say which id a word stands for."""
        match word.split(" "):
            case ["own"]:
                return self.known[actor].member_id
            case ["old"]:
                return self.known[actor].former
            case ["of", other]:
                return self.known[other].member_id
            case ["ghost"]:
                return GHOST
            case _:
                return word

    def generation(self, actor: str, word: str) -> int:
        """Say which generation a word stands for."""
        for shift in (1, -1):
            base = word.removesuffix(f"{shift:+}")
            if base and base != word:
                return self.generation(actor, base) + shift
        if word == "own":
            return self.known[actor].generation
        return self.newest if word == "group" else int(word)

    # -- requests --------------------------------------------------------------------------------

    def request(self, step: Step) -> tuple[Request[Any], int]:
        """Return the request of a step that is none of closing, and its version."""
        actor = step.actor
        match step.ask:
            case Join() as ask:
                return self._join(actor, ask), ask.version
            case Sync() as ask:
                return self._sync(actor, ask), ask.version
            case Heartbeat() as ask:
                return (
                    HeartbeatRequest(
                        group_id=self.group_id,
                        generation_id=self.generation(actor, ask.generation),
                        member_id=self.member_id(actor, ask.member),
                        group_instance_id=ask.instance,
                    ),
                    ask.version,
                )
            case Commit() as ask:
                return self._commit(actor, ask), ask.version
            case Fetch() as ask:
                return self.fetch(ask.version, ask.topics), ask.version
            case Leave() as ask:
                return self._leave(actor, ask), ask.version
            case DeleteGroup() as ask:
                return DeleteGroupsRequest(groups_names=(self.group_id,)), ask.version
            case OffsetDelete() as ask:
                return self._offset_delete(ask), 0
            case Close():
                raise ValueError("closing is no request")
            case _:
                assert_never(step.ask)

    def _join(self, actor: str, ask: Join) -> JoinGroupRequest:
        protocols = (
            JoinGroupRequestProtocol(name=offer.name, metadata=metadata_of(offer))
            for offer in ask.offers
        )
        return JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=round(ask.session * 1000),
            rebalance_timeout_ms=round(ask.rebalance * 1000),
            member_id=self.member_id(actor, ask.member),
            group_instance_id=ask.instance,
            protocol_type=ask.protocol_type,
            protocols=tuple(protocols),
        )

    def _sync(self, actor: str, ask: Sync) -> SyncGroupRequest:
        known = self.known[actor]
        names: dict[str, str | None] = {
            "protocol_type": known.protocol_type,
            "protocol_name": known.protocol_name,
        }
        wrong = {"type": {"protocol_type": "connect"}, "name": {"protocol_name": "nosuch"}}
        if ask.names == "null":
            names = dict.fromkeys(names)
        return SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.generation(actor, ask.generation),
            member_id=self.member_id(actor, ask.member),
            group_instance_id=ask.instance,
            assignments=self._parts(known, ask.parts),
            **{**names, **wrong.get(ask.names, {})},
        )

    def _parts(self, known: Known, parts: str) -> tuple[SyncGroupRequestAssignment, ...]:
        members: tuple[str, ...] = known.members if known.leads else ()
        match parts:
            case "none":
                members = ()
            case "half":
                members = members[::2]
            case "strangers":
                members = (*members, GHOST)
            case "forged":
                members = (known.member_id,)
        return tuple(
            SyncGroupRequestAssignment(member_id=each, assignment=_part(known, place))
            for place, each in enumerate(members)
        )

    def _commit(self, actor: str, ask: Commit) -> OffsetCommitRequest:
        metadata = None if ask.metadata is None else "m" * ask.metadata
        topics = (
            OffsetCommitRequestTopic(
                name=topic,
                partitions=tuple(
                    OffsetCommitRequestPartition(
                        partition_index=number,
                        committed_offset=ask.offset + number,
                        committed_leader_epoch=number if ask.version >= 6 else -1,
                        committed_metadata=metadata,
                    )
                    for number in range(2)
                ),
            )
            for topic in ask.topics
        )
        return OffsetCommitRequest(
            group_id=self.group_id,
            generation_id_or_member_epoch=self.generation(actor, ask.generation),
            member_id=self.member_id(actor, ask.member),
            group_instance_id=ask.instance,
            topics=tuple(topics),
        )

    def fetch(self, version: int, topics: tuple[str, ...] | None) -> OffsetFetchRequest:
        """Ask for the group's offsets; None = all."""
        if version < _GROUPS_SINCE:
            rows = (
                OffsetFetchRequestTopic(name=t, partition_indexes=(0, 1, 2)) for t in topics or ()
            )
            wanted = None if topics is None else tuple(rows)
            return OffsetFetchRequest(group_id=self.group_id, topics=wanted)
        found = (
            OffsetFetchRequestTopics(name=t, partition_indexes=(0, 1, 2)) for t in topics or ()
        )
        group = OffsetFetchRequestGroup(
            group_id=self.group_id, topics=None if topics is None else tuple(found)
        )
        return OffsetFetchRequest(groups=(group,))

    def _leave(self, actor: str, ask: Leave) -> LeaveGroupRequest:
        ids = [self.member_id(actor, each.member) for each in ask.members]
        if ask.version < _BATCH_SINCE:
            return LeaveGroupRequest(group_id=self.group_id, member_id=ids[0])
        members = (
            MemberIdentity(member_id=member_id, group_instance_id=each.instance)
            for member_id, each in zip(ids, ask.members, strict=True)
        )
        return LeaveGroupRequest(group_id=self.group_id, members=tuple(members))

    def _offset_delete(self, ask: OffsetDelete) -> OffsetDeleteRequest:
        partitions = tuple(OffsetDeleteRequestPartition(partition_index=n) for n in range(2))
        topics = (OffsetDeleteRequestTopic(name=t, partitions=partitions) for t in ask.topics)
        return OffsetDeleteRequest(group_id=self.group_id, topics=tuple(topics))


def _part(known: Known, place: int) -> bytes:
    given = (TopicPartition(TOPICS[place % 2], place // 2),)
    mark = b"%d/%d" % (known.generation, place)
    return encode_assignment(MemberAssignment(given, mark))
