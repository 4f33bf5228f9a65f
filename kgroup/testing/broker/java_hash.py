"""Java's hash of a string, and the order in which its hash maps list strings.

Decides: which partition of the offsets topic a group belongs to, and in which order a broker walks
its members and protocols, which shows in answers (`broker_facts.md` B6, B12, F7).
Never: is used where order does not show.
"""

from collections.abc import Iterable

__all__ = ["bucket_order", "group_partition", "java_hash"]

_LOAD_FACTOR = 0.75
_SMALLEST = 16


def java_hash(text: str) -> int:
    """Return `text.hashCode()`: over UTF-16 units, a signed number of 32 bits."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return _signed(value)


def group_partition(group_id: str, partitions: int) -> int:
    """Return the partition of the offsets topic that holds a group.

    As `Utils.abs(groupId.hashCode) % partitions`, where the smallest number counts as 0.
    """
    value = java_hash(group_id)
    return (0 if value == -(1 << 31) else abs(value)) % partitions


def bucket_order(names: Iterable[str], *, scala: bool = False) -> list[str]:
    """Return names in the order a hash map of them is walked.

    Args:
        names: in the order in which they were put in.
        scala: whether it is Scala's `mutable.HashMap`, which sorts the names of one bucket by hash;
            in Java's `HashMap` they keep the order given.
    """
    known = list(names)
    size = _SMALLEST
    while len(known) > size * _LOAD_FACTOR:
        size *= 2
    if scala:
        known.sort(key=lambda name: _signed(_spread(java_hash(name))))
    return sorted(known, key=lambda name: _spread(java_hash(name)) & (size - 1))


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


def _spread(value: int) -> int:
    unsigned = value & 0xFFFFFFFF
    return unsigned ^ (unsigned >> 16)
