"""The user data of the two sticky assignors, carried inside a member's subscription.

Decides: the bytes, and which form is in front of us (neither has a version field).
Never: decides whether user data or the subscription's own fields are believed;
see `kgroup.assignors.claims`.
KIPs: 54 (sticky, v0), 341 (v1 adds the generation), 429 (cooperative).

    sticky v0:          [ string topic, [int32] ] partitions
    sticky v1:          v0 | int32 generation_id
    cooperative-sticky: int32 generation_id (-1 = none)

Bytes that follow are ignored in every form, as Java does.
"""

from collections.abc import Iterable, Sequence

from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.classic_bytes import INT32, ClassicReader, ClassicWriter

STICKY = "user data of sticky"
COOPERATIVE = "user data of cooperative-sticky"


@dataclass(frozen=True, slots=True)
class StickyUserData:
    """What an eager sticky member held before it handed everything back.

    Args:
        partitions: in the order of the bytes.
        generation_id: the generation it held them in, None when not known.
    """

    partitions: Sequence[TopicPartition]
    generation_id: int | None


def encode_sticky_user_data(
    partitions: Iterable[TopicPartition], generation_id: int | None
) -> bytes:
    """Write version 1, or version 0 when there is no generation.

    Raises:
        LocalProtocolError: a name or a number does not fit its field.
    """
    writer = ClassicWriter(STICKY)
    writer.partitions(partitions)
    if generation_id is not None:
        writer.int32(generation_id)
    return writer.done()


def decode_sticky_user_data(data: bytes, names: dict[bytes, str] | None = None) -> StickyUserData:
    """Read version 1, or version 0 when fewer than four bytes follow the partitions.

    Args:
        data: of one member.
        names: topic names read before, by their bytes, see `ClassicReader`.

    Raises:
        DecodeError: neither form fits.
    """
    reader = ClassicReader(STICKY, data, names)
    partitions = reader.partitions()
    generation_id = reader.int32() if reader.left >= INT32.size else -1
    return StickyUserData(partitions, generation_id if generation_id >= 0 else None)


def encode_cooperative_user_data(generation_id: int | None) -> bytes:
    """Write the generation of the last assignment, or -1 before the first.

    Raises:
        LocalProtocolError: the number does not fit its field.
    """
    writer = ClassicWriter(COOPERATIVE)
    writer.int32(-1 if generation_id is None else generation_id)
    return writer.done()


def decode_cooperative_user_data(data: bytes) -> int | None:
    """Read the generation; None when there is none.

    Raises:
        DecodeError: fewer than four bytes.
    """
    generation_id = ClassicReader(COOPERATIVE, data).int32()
    return generation_id if generation_id >= 0 else None
