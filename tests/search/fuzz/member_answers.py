"""What a coordinator may say to a member, in its senses and out of them.

Decides: answers that a sound coordinator gives, and answers of random fields: any error code, ids,
generations and assignors of this group, of others and of none, bytes that are no assignment. One
in four of the latter goes through the codec in a drawn version, as it would over a connection.
"""

from typing import Any, Final

from kgroup.codes import ErrorCode
from kgroup.errors import UnsupportedVersionError
from kgroup.machine.wishes import Errand
from kgroup.membership.events import GroupResponse
from kgroup.membership.group_description import Remembered
from kgroup.membership.value import GroupMember
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    encode_assignment,
    encode_subscription,
)
from kgroup.wire.messages import (
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroupResponse,
    SyncGroupResponse,
)
from kgroup.wire.schema import decode, encode
from tests.search.fuzz.target import Tape

TOPICS: Final = ("t", "u", "v")
PARTITIONS: Final = tuple(TopicPartition(topic, number) for topic in TOPICS for number in (0, 1))

_CODES: Final = (0, 0, 0, 0, 14, 15, 16, 16, 22, 22, 25, 25, 27, 27, 27, 30, 79, 7, -1)
_RARE_CODES: Final = (*(23, 24, 26, 29, 81, 82, 84, 999) * 8, *(each.value for each in ErrorCode))
_NUMBERS: Final = (-1, 0, 1, 2, 3, -2, (1 << 31) - 1, -(1 << 31))
_IDS: Final = ("m-1", "", "m-2", "m-1 ", "é", "i-1-00000000-0000-0000-0000-000000000000")
_ASSIGNORS: Final = (None, "range", "cooperative-sticky", "sticky", "", "unheard")
_TYPES: Final = (None, "consumer", "consumer", "", "connect")
_SKIP: Final = 3


# -- sound answers -------------------------------------------------------------------------------


def sound_join(
    request: JoinGroupRequest, generation_id: int, number: int, *, leads: bool
) -> JoinGroupResponse:
    """Answer as a coordinator does in which this member is `m-<number>`."""
    if not request.member_id and request.group_instance_id is None:
        return JoinGroupResponse(
            error_code=ErrorCode.MEMBER_ID_REQUIRED, generation_id=-1, protocol_name=None,
            leader="", member_id=f"m-{number}", members=(),
        )  # fmt: skip
    member_id = request.member_id or f"m-{number}"
    row = JoinGroupResponseMember(
        member_id=member_id,
        group_instance_id=request.group_instance_id,
        metadata=request.protocols[0].metadata,
    )
    return JoinGroupResponse(
        generation_id=generation_id,
        protocol_type="consumer",
        protocol_name=request.protocols[0].name,
        leader=member_id if leads else "another",
        member_id=member_id,
        members=(row,) if leads else (),
    )


def sound_sync(topics: frozenset[str], chosen: int) -> SyncGroupResponse:
    """Answer with those partitions of subscribed topics that the bits of a number choose."""
    given = [tp for bit, tp in enumerate(PARTITIONS) if chosen >> bit & 1 and tp.topic in topics]
    return SyncGroupResponse(
        protocol_type="consumer",
        protocol_name=None,
        assignment=encode_assignment(MemberAssignment(tuple(given))),
    )


# -- arbitrary answers ---------------------------------------------------------------------------


def code(tape: Tape) -> int:
    """Return an error code: none, or one that means something to a group, as a rule."""
    return tape.pick(_RARE_CODES) if tape.chance(24) else tape.pick(_CODES)


def remembered(tape: Tape) -> Remembered:
    """Return what a coordinator may know of a static member's process before."""
    topics = frozenset(tape.pick(TOPICS) for _ in range(tape.below(3)))
    return Remembered(topics, frozenset(tape.pick(TOPICS) for _ in range(tape.below(3))))


def arbitrary(errand: Errand, member: GroupMember, tape: Tape) -> GroupResponse:
    """Return an answer of random fields to a request of a kind."""
    made: GroupResponse
    match errand:
        case Errand.JOIN_GROUP:
            made = _join(member, tape)
        case Errand.SYNC_GROUP:
            made = SyncGroupResponse(
                error_code=code(tape),
                protocol_type=tape.pick(_TYPES),
                protocol_name=_assignor(member, tape),
                assignment=_assignment(tape),
            )
        case Errand.HEARTBEAT:
            made = HeartbeatResponse(error_code=code(tape))
        case _:
            made = LeaveGroupResponse(error_code=code(tape))
    return _through_codec(made, tape) if tape.chance(4) else made


def _join(member: GroupMember, tape: Tape) -> JoinGroupResponse:
    own = member.identity.member_id or "m-1"
    if tape.below(2):
        return _led(member, own, tape)
    member_id = own if tape.below(2) else tape.pick(_IDS)
    rows = tuple(
        JoinGroupResponseMember(
            member_id=own if tape.below(2) else tape.pick(_IDS),
            group_instance_id=None if tape.below(2) else tape.pick(_IDS),
            metadata=_metadata(tape),
        )
        for _ in range(tape.below(4))
    )
    return JoinGroupResponse(
        error_code=code(tape),
        generation_id=_generation(member, tape),
        protocol_type=tape.pick(_TYPES),
        protocol_name=_assignor(member, tape),
        leader=member_id if tape.below(2) else tape.pick(_IDS),
        skip_assignment=tape.chance(_SKIP),
        member_id=member_id,
        members=rows,
    )


def _led(member: GroupMember, own: str, tape: Tape) -> JoinGroupResponse:
    """Return an answer that can be meant, of a group led by this member, another one, or none."""
    row = JoinGroupResponseMember(member_id=own, metadata=_metadata(tape))
    known = member.identity.generation
    return JoinGroupResponse(
        generation_id=tape.below(3) if known is None else known.generation_id + tape.below(2),
        protocol_type="consumer",
        protocol_name=member.settings.assignors[0].name,
        leader=own if tape.below(3) else tape.pick(_IDS),
        skip_assignment=tape.chance(_SKIP),
        member_id=own,
        members=(row,),
    )


def _generation(member: GroupMember, tape: Tape) -> int:
    known = member.identity.generation
    if known is not None and tape.below(2):
        return min(known.generation_id + tape.below(3), (1 << 31) - 1)
    return tape.pick(_NUMBERS)


def _assignor(member: GroupMember, tape: Tape) -> str | None:
    if tape.below(2):
        return member.settings.assignors[0].name
    return tape.pick(_ASSIGNORS)


def _metadata(tape: Tape) -> bytes:
    if tape.chance(4):
        return tape.take(tape.below(20))
    owned = tuple(tape.pick(PARTITIONS) for _ in range(tape.below(3)))
    return encode_subscription(MemberSubscription(topics=(tape.pick(TOPICS),), owned=owned))


def _assignment(tape: Tape) -> bytes:
    if tape.chance(4):
        return tape.take(tape.below(30))
    some = [tape.pick(PARTITIONS) for _ in range(tape.below(5))]
    odd = [TopicPartition("x", 7), TopicPartition("t", -1), TopicPartition("t", 99)]
    if tape.chance(4):
        some.append(tape.pick(odd))
    user_data = tape.take(3) if tape.chance(4) else None
    return encode_assignment(MemberAssignment(tuple(dict.fromkeys(some)), user_data))


def _through_codec(made: Any, tape: Tape) -> Any:
    version = tape.pick(type(made).VERSIONS)
    try:
        return decode(type(made), version, encode(made, version))
    except UnsupportedVersionError:
        return made
