"""Records of both coordination logs to rows of the silver tables.

Decides: which rows a record makes. A record that cannot be read makes one, with the reason; it
stops nothing. A commit stands under the generation that was complete before it in its log.
Never: looks at two log partitions together; the order within one is the caller's.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias, assert_never

from kgroup.errors import DecodeError
from kgroup.marshal.messages import Reject, decode, read_extension
from kgroup.spark.coordination.declared import (
    ASSIGNMENT,
    BAD,
    COMMIT_LOG,
    GENERATION,
    MARSHAL_MSG,
    MEMBER,
    OTHER,
)
from kgroup.spark.coordination.schema import Row, Table
from kgroup.spark.positions import read_mark
from kgroup.wire.consumer_protocol import MemberAssignment, MemberSubscription
from kgroup.wire.offsets_log import (
    AssignedPartitions,
    CommitKey,
    CommitValue,
    CurrentAssignmentValue,
    EpochValue,
    GroupKey,
    GroupMember,
    GroupValue,
    Key,
    MemberKey,
    MemberValue,
    OtherKey,
    PatternKey,
    RecordType,
    TargetEpochValue,
    TargetPartitions,
    TargetValue,
    Unreadable,
    assignment_of,
    read_key,
    read_value,
    subscription_of,
)
from kgroup.wire.schema import Message
from kgroup.wire.vocabulary import ZERO_UUID

OFFSETS_TOPIC: Final = "__consumer_offsets"

CLASSIC: Final = "classic"
KIP_848: Final = "848"
NEW_TARGETS: Final = "848 target"
_MEMBER_KINDS: Final = {
    RecordType.MEMBER: "member",
    RecordType.TARGET: "target",
    RecordType.CURRENT: "current",
}
_LARGEST: Final = 2**63
_LATEST: Final = 2**53
_PARTITIONS: Final = 2**31

Found: TypeAlias = Iterator[tuple[Table, Row]]


class RawRecord(NamedTuple):
    """A record of a coordination log; the columns of `raw`."""

    src: str
    log_partition: int
    log_offset: int
    append_ts: int
    append_time: bool
    key: bytes | None
    value: bytes | None
    headers: Sequence[Mapping[str, Any]] | None = None

    @property
    def place(self) -> Row:
        """Where it stands."""
        return {
            "log_partition": self.log_partition,
            "log_offset": self.log_offset,
            "append_ts": self.append_ts,
        }


def headers_of(record: RawRecord) -> list[tuple[str, bytes | None]]:
    """Return the headers of a record as pairs."""
    return [(each["key"], each["value"]) for each in record.headers or ()]


class Silver:
    """Reads records; those of one log partition must come in their order.

    Args:
        generations: group -> generation or epoch that stands before the first record; of groups
            without one nothing.
    """

    def __init__(self, generations: Mapping[str, int] | None = None) -> None:
        self._generations = dict(generations or {})
        self._keys: dict[bytes | None, Key | DecodeError] = {}

    def rows(self, record: RawRecord) -> Found:
        """Yield the rows of a record, each with its table."""
        if record.src != OFFSETS_TOPIC:
            yield _message(record)
            return
        key = self.key(record.key)
        if isinstance(key, DecodeError):
            yield BAD, _bad(record, str(key))
            return
        try:
            value = read_value(key, record.value).value
        except DecodeError as error:
            yield BAD, _bad(record, str(error))
            return
        yield from self._told(record, key, value)

    def stands(self, group: str) -> int | None:
        """Return the generation or epoch of a group at the last record, None without one."""
        return self._generations.get(group)

    def key(self, data: bytes | None) -> Key | DecodeError:
        """Read each different key once."""
        found = self._keys.get(data)
        if found is None:
            try:
                found = read_key(data)
            except DecodeError as error:
                found = error
            self._keys[data] = found
        return found

    def _told(self, record: RawRecord, key: Key, value: Message | None) -> Found:
        gone = record.value is None
        match key:
            case CommitKey():
                assert value is None or isinstance(value, CommitValue)
                generation = self._generations.get(key.group)
                yield COMMIT_LOG, _commit(key, value, generation) | record.place
            case GroupKey():
                yield from self._group(key, value, record.place)
            case MemberKey():
                yield from _member(key, value, record.place)
            case PatternKey():
                return
            case OtherKey():
                yield OTHER, {"type": key.type, "tombstone": gone, **record.place}
            case _:
                assert_never(key)

    def _group(self, key: GroupKey, value: Message | None, place: Row) -> Found:
        row: Row = {"group": key.group, "tombstone": value is None, **place}
        match key.type:
            case RecordType.GROUP:
                assert value is None or isinstance(value, GroupValue)
                self._stands(key.group, None if value is None else value.generation)
                yield from _generation(row, value, place)
            case RecordType.EPOCH:
                assert value is None or isinstance(value, EpochValue)
                epoch = None if value is None else value.epoch
                self._stands(key.group, epoch)
                yield GENERATION, {**row, "kind": KIP_848, "generation": epoch}
            case RecordType.TARGET_EPOCH:
                assert value is None or isinstance(value, TargetEpochValue)
                epoch = None if value is None else value.assignment_epoch
                when = None if value is None else value.assignment_timestamp or None
                more = {"kind": NEW_TARGETS, "generation": epoch, "state_ts": when}
                yield GENERATION, row | more
            case _:
                return

    def _stands(self, group: str, generation: int | None) -> None:
        if generation is None:
            self._generations.pop(group, None)
        else:
            self._generations[group] = generation


def _bad(record: RawRecord, reason: str) -> Row:
    more = {"reason": reason, "key": record.key, "value": record.value}
    return {"src": record.src, **record.place, **more}


# -- commits ---------------------------------------------------------------------------------------


def _commit(key: CommitKey, value: CommitValue | None, generation: int | None) -> Row:
    row: Row = {
        "group": key.group,
        "topic": key.topic,
        "partition": key.partition,
        "tombstone": value is None,
        "gen_by_order": generation,
    }
    if value is None:
        return row
    query, batch = read_mark(value.metadata) or (None, None)
    return row | {
        "commit_ts": value.commit_timestamp,
        "offset": value.offset,
        "leader_epoch": _known(value.leader_epoch),
        "topic_id": printed(value.topic_id),
        "metadata": value.metadata,
        "expire_ts": _known(value.expire_timestamp),
        "md_query": query,
        "md_batch": batch,
    }


def printed(topic_id: bytes) -> str | None:
    """Return the id of a topic as Kafka prints it, None of no id."""
    if topic_id == ZERO_UUID:
        return None
    return base64.urlsafe_b64encode(topic_id).decode().rstrip("=")


def _known(number: int) -> int | None:
    return None if number < 0 else number


# -- classic groups --------------------------------------------------------------------------------


def _generation(row: Row, value: GroupValue | None, place: Row) -> Found:
    if value is None:
        yield GENERATION, {**row, "kind": CLASSIC}
        return
    yield (
        GENERATION,
        row
        | {
            "generation": value.generation,
            "kind": CLASSIC,
            "protocol_type": value.protocol_type,
            "protocol": value.protocol,
            "leader": value.leader,
            "state_ts": _known(value.current_state_timestamp),
            "n_members": len(value.members),
        },
    )
    shared = {"group": row["group"], "generation": value.generation, "kind": CLASSIC, **place}
    for member in value.members:
        one = {**shared, "member_id": member.member_id}
        subscription = subscription_of(member.subscription, value.protocol_type)
        assignment = assignment_of(member.assignment, value.protocol_type)
        yield MEMBER, one | _classic(member, subscription, assignment)
        if isinstance(assignment, MemberAssignment):
            for tp in assignment.partitions:
                yield ASSIGNMENT, {**one, "topic": tp.topic, "partition": tp.partition}


def _classic(
    member: GroupMember,
    subscription: MemberSubscription | Unreadable,
    assignment: MemberAssignment | Unreadable,
) -> Row:
    row: Row = {
        "instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "host": member.client_host,
        "session_ms": member.session_timeout,
        "rebalance_ms": _known(member.rebalance_timeout),
        "tombstone": False,
    }
    wrong = [each for each in (subscription, assignment) if isinstance(each, Unreadable)]
    if wrong:
        row["unread"] = "; ".join(dict.fromkeys(each.reason for each in wrong))
    if isinstance(assignment, Unreadable):
        row["assignment"] = assignment.data
    if isinstance(subscription, Unreadable):
        return row | {"subscription": subscription.data}
    return row | {
        "rack": subscription.rack,
        "topics": list(subscription.topics),
        "owned": [{"topic": tp.topic, "partition": tp.partition} for tp in subscription.owned],
        "sub_generation": subscription.generation_id,
    }


# -- groups of KIP-848 -----------------------------------------------------------------------------


def _member(key: MemberKey, value: Message | None, place: Row) -> Found:
    one: Row = {"group": key.group, "member_id": key.member, **place}
    row = one | {"kind": _MEMBER_KINDS[key.type], "tombstone": value is None}
    match value:
        case MemberValue():
            row |= _subscribed(value)
        case TargetValue():
            yield from _assigned(one, "target", value.topic_partitions)
        case CurrentAssignmentValue():
            row |= {"generation": value.member_epoch, "state": value.state}
            one["generation"] = value.member_epoch
            yield from _assigned(one, "current", value.assigned_partitions)
            yield from _assigned(one, "revoking", value.partitions_pending_revocation)
        case _:
            pass
    yield MEMBER, row


def _subscribed(value: MemberValue) -> Row:
    classic = value.classic_member_metadata
    return {
        "instance_id": value.instance_id,
        "client_id": value.client_id,
        "host": value.client_host,
        "rack": value.rack_id,
        "session_ms": None if classic is None else classic.session_timeout_ms,
        "rebalance_ms": _known(value.rebalance_timeout_ms),
        "topics": list(value.subscribed_topic_names),
        "pattern": value.subscribed_topic_regex or None,
        "server_assignor": value.server_assignor,
    }


def _assigned(
    one: Row, kind: str, topics: Sequence[TargetPartitions | AssignedPartitions]
) -> Found:
    for each in topics:
        for partition in each.partitions:
            more = {"kind": kind, "topic_id": printed(each.topic_id), "partition": partition}
            yield ASSIGNMENT, one | more


# -- Marshal ---------------------------------------------------------------------------------------


def _message(record: RawRecord) -> tuple[Table, Row]:
    """Return what a message says; whether it is believed is for the log as a whole to say."""
    message = decode(record.value)
    refuse = partial(_refused, record)
    if isinstance(message, Reject):
        return refuse(message)
    peer = read_extension(headers_of(record))
    if isinstance(peer, Reject):
        return refuse(peer)
    if not 0 <= message.partition < _PARTITIONS:
        return refuse(Reject.PARTITION_RANGE)
    if abs(message.time) >= _LATEST:
        return refuse(Reject.TIME_RANGE)
    return MARSHAL_MSG, {
        **record.place,
        "type": message.kind.value.decode(),
        "msg_ts": message.time * 1000,
        "instance": word(message.instance_id),
        "client": word(message.client_id),
        "group": word(message.group_id),
        "topic": word(message.topic),
        "partition": message.partition,
        "offset": message.tail,
        "is_kgroup": peer is not None,
        "epoch": None if peer is None else _fitting(peer.epoch),
        "started": None if peer is None else _fitting(peer.started),
        "interval_s": None if peer is None else peer.interval,
        "most": None if peer is None else _fitting(peer.most),
    }


def _refused(record: RawRecord, why: Reject) -> tuple[Table, Row]:
    return BAD, _bad(record, why.value)


def word(data: bytes) -> str:
    """Return an id of a message as text; `kgroup marshal` shows it the same."""
    return data.decode(errors="backslashreplace")


def _fitting(number: int | None) -> int | None:
    return None if number is None or number >= _LARGEST else number
