"""What a member may say of itself that is not so: pools of bad claims and bad bytes.

Decides: which kinds of nonsense a leader has to live with: other versions, other assignors,
members that slept through generations, and programs that write anything.
Never: holds what the description of a group refuses before an assignor is asked.
KIPs: 54, 341 and 429 (user data of Kafka's own assignors), 792.
"""

from collections.abc import Sequence
from typing import Final

from kgroup.types import TopicPartition
from kgroup.wire.user_data import encode_cooperative_user_data, encode_sticky_user_data

__all__ = ["FOREIGN", "FORGED", "GENERATIONS", "NUMBERS", "forge"]

_MOST: Final = 2**31 - 1
FOREIGN: Final = "gone"
"""A topic that has no metadata."""

GENERATIONS: Final = (None, 7, 6, 0, _MOST)
NUMBERS: Final = (0, 1, 2, 3, 9, -1, _MOST)
"""Partition numbers in claims, most of which exist in no small topic."""

_GARBAGE: Final = (
    *(None, b"", b"\x00", b"\xff" * 9, b"{}", b'{"t": 1e999, "\xc3\x28": [null]}'),
    b"\x7f\xff\xff\xff" * 3,  # counts beyond any length
    b"\x80\x00\x00\x00" * 3,  # negative ones
    b"\x00\x00\x00\x01" + bytes(2),  # a topic without a name
    b"\xff" * 70_000,
    bytes(70_000),
)
_FORGERIES: Final = 6
FORGED: Final = _FORGERIES + len(_GARBAGE)
"""How many kinds of user data there are; the first is what the member would send itself."""


def forge(
    kind: int, own: bytes | None, claim: Sequence[TopicPartition], generation_id: int | None
) -> bytes | None:
    """Return user data of one kind.

    Args:
        kind: 0 to `FORGED` - 1.
        own: what the assignor under test makes of the claim.
        claim: what the member says it holds.
        generation_id: and since when.
    """
    match kind:
        case 0:
            return own
        case 1:
            return encode_sticky_user_data(claim, generation_id)
        case 2:
            return encode_sticky_user_data(claim, None)
        case 3:
            return encode_cooperative_user_data(generation_id)
        case 4:
            return (own or encode_sticky_user_data(claim, generation_id))[:-1]
        case 5:
            return (own or b"") + b"\x00\xff more"
        case _:
            return _GARBAGE[kind - _FORGERIES]
