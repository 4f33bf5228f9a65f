"""Which partition of the coordination topic a topic's claims are written to.

Decides: the hash of the original library, which is of the topic's name alone; group, partition
    and client play no part (its PROTOCOL.md says otherwise; its code is what peers run).
Never: how many partitions there are; metadata say so.
"""

from hashlib import md5
from typing import Final

__all__ = ["coordination_partition"]

_TAKEN: Final = 8
"""Bytes of the digest that count, as a little-endian integer."""


def coordination_partition(topic: str, partitions: int) -> int:
    """Return the coordination partition of a topic.

    Args:
        topic: its name.
        partitions: of the coordination topic, at least 1.

    Raises:
        ValueError: there are no partitions.
    """
    if partitions < 1:
        raise ValueError(f"the coordination topic has {partitions} partitions; it needs 1 or more")
    digest = md5(topic.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:_TAKEN], "little") % partitions
