"""The embedded protocol `consumer`: what members put into JoinGroup and leaders into SyncGroup.

Decides: the bytes of a subscription and of an assignment, versions 0 to 3.
Never: judges what it read (a claim may name partitions that do not exist); see `assignors`.
KIPs: 345 (static members are not in the blob), 429 (v1), 792 (v2, generation), 881 (v3, rack).

    Subscription: int16 version | [string] topics | bytes? user_data
      v1+         | [ string topic, [int32] ] owned
      v2+         | int32 generation_id (-1 = none)
      v3+         | string? rack_id
    Assignment:   int16 version | [ string topic, [int32] ] partitions | bytes? user_data

Newer versions may only append: they are read as version 3, and the rest is ignored.
The bytes are stable: a broker compares a member's metadata and rebalances when they differ
(KAFKA-12898), so topics and owned partitions are sorted the way Java sorts them.
A broker that cannot read topics and user data of one member wedges the whole group, so nothing
leaves here that has not been written field by field from checked values.
"""

from collections.abc import Iterable, Sequence

from kgroup.errors import DecodeError, UnsupportedVersionError
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.classic_bytes import ClassicReader, ClassicWriter, utf16_order

NEWEST_VERSION = 3

SUBSCRIPTION = "consumer protocol subscription"
ASSIGNMENT = "consumer protocol assignment"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSubscription:
    """What one member tells the leader when it joins.

    Args:
        topics: names it subscribes to, as read; a repetition means nothing.
        owned: partitions it holds and would like to keep; empty below version 1.
        generation_id: the generation it was given them in, None when not known.
        rack: where it runs, None when not known.
        user_data: bytes of the assignor's own, None without.
        version: the version it was written in, which may be newer than ours.
    """

    topics: tuple[str, ...]
    owned: Sequence[TopicPartition] = ()
    generation_id: int | None = None
    rack: str | None = None
    user_data: bytes | None = None
    version: int = NEWEST_VERSION


@dataclass(frozen=True, slots=True)
class MemberAssignment:
    """What the leader gives one member.

    Args:
        partitions: in the order of the bytes.
        user_data: bytes of the assignor's own, None without.
    """

    partitions: Sequence[TopicPartition] = ()
    user_data: bytes | None = None


def encode_subscription(subscription: MemberSubscription, version: int = NEWEST_VERSION) -> bytes:
    """Write a subscription; equal subscriptions give equal bytes whatever their order.

    Args:
        subscription: its own `version` is not looked at.
        version: 0 to 3; fields the version lacks are left out, as Java does.

    Raises:
        UnsupportedVersionError: the version is not one of ours.
        LocalProtocolError: a name or a number does not fit its field.
    """
    _check_version(SUBSCRIPTION, version)
    writer = ClassicWriter(SUBSCRIPTION)
    writer.int16(version)
    writer.int32(len(subscription.topics))
    for topic in sorted(subscription.topics, key=utf16_order):
        writer.string(topic)
    writer.nullable_bytes(subscription.user_data)
    if version >= 1:
        writer.partitions(_sorted_partitions(subscription.owned))
    if version >= 2:
        generation_id = subscription.generation_id
        writer.int32(-1 if generation_id is None else generation_id)
    if version >= 3:
        writer.nullable_string(subscription.rack)
    return writer.done()


def decode_subscription(data: bytes, names: dict[bytes, str] | None = None) -> MemberSubscription:
    """Read a subscription of any version.

    A version 1 that ends before its owned partitions is read as version 0: old Sarama clients
    write it, and failing the round over it would stop the group.

    Args:
        data: what the member sent.
        names: topic names read before, by their bytes; more are added. A leader passes one
            dictionary for all members, so that a name is one string (see `ClassicReader`).

    Raises:
        DecodeError: the bytes are cut off, contradict themselves or have a negative version.
    """
    reader = ClassicReader(SUBSCRIPTION, data, names)
    version = _read_version(SUBSCRIPTION, reader)
    topics = tuple(reader.names())
    user_data = reader.nullable_bytes()
    if version == 1 and not reader.left:
        version = 0
    owned = reader.partitions() if version >= 1 else ()
    generation_id = reader.int32() if version >= 2 else -1
    rack = reader.nullable_string() if version >= 3 else None
    return MemberSubscription(
        topics=topics,
        owned=owned,
        generation_id=generation_id if generation_id >= 0 else None,
        rack=rack or None,
        user_data=user_data,
        version=version,
    )


def encode_assignment(
    assignment: MemberAssignment,
    version: int = NEWEST_VERSION,
    names: dict[str, bytes] | None = None,
) -> bytes:
    """Write an assignment; topics in order of first appearance, partitions in order.

    Args:
        assignment: of one member.
        version: 0 to 3; the bytes are the same but for the number.
        names: topic names written before, with their bytes; more are added. A leader passes one
            dictionary for all members.

    Raises:
        UnsupportedVersionError: the version is not one of ours.
        LocalProtocolError: a name or a number does not fit its field.
    """
    _check_version(ASSIGNMENT, version)
    writer = ClassicWriter(ASSIGNMENT, names)
    writer.int16(version)
    writer.partitions(assignment.partitions)
    writer.nullable_bytes(assignment.user_data)
    return writer.done()


def decode_assignment(data: bytes) -> MemberAssignment:
    """Read an assignment of any version.

    No bytes at all mean no partitions: a coordinator sends them to a member that the leader
    did not mention.

    Raises:
        DecodeError: the bytes are cut off, contradict themselves or have a negative version.
    """
    if not data:
        return MemberAssignment()
    reader = ClassicReader(ASSIGNMENT, data)
    _read_version(ASSIGNMENT, reader)
    partitions = tuple(reader.partitions())
    return MemberAssignment(partitions, reader.nullable_bytes())


def _sorted_partitions(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    return sorted(partitions, key=lambda tp: (utf16_order(tp.topic), tp.partition))


def _check_version(what: str, version: int) -> None:
    if not 0 <= version <= NEWEST_VERSION:
        raise UnsupportedVersionError(what, f"version {version}, known are 0 to {NEWEST_VERSION}")


def _read_version(what: str, reader: ClassicReader) -> int:
    version = reader.int16()
    if version < 0:
        raise DecodeError(what, f"version {version} is negative", position=0)
    return version
