"""Names a broker makes up: member ids, topic ids, producer ids, session ids.

Decides: that they look like Kafka's, never repeat within a cluster, and depend on its seed and the
order of asking alone.
Never: draws chance.

Java hash: Java's hash of a string, and the order in which hash maps of Java and Scala list strings.
Decides: which partition of the offsets topic a group belongs to, and in which order a broker walks
its members and protocols, which shows in answers (`broker_facts.md` B6, B12, F7). Never: is used
where order does not show.
"""

from base64 import urlsafe_b64encode
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256


class Mint:
    """The source of one cluster's names.

    Args:
        seed: same seed, same names.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._made = 0

    def uuid(self) -> bytes:
        """Return 16 bytes marked as a UUID of version 4."""
        self._made += 1
        made = bytearray(sha256(f"{self._seed}/{self._made}".encode()).digest()[:16])
        made[6] = made[6] & 0x0F | 0x40
        made[8] = made[8] & 0x3F | 0x80
        return bytes(made)

    def member_id(self, prefix: str) -> str:
        """Return `<prefix>-<uuid>`; the prefix is the client id, or the group instance id."""
        text = self.uuid().hex()
        cuts = (text[:8], text[8:12], text[12:16], text[16:20], text[20:])
        return f"{prefix}-{'-'.join(cuts)}"

    def plain_id(self) -> str:
        """Return 22 characters, as a coordinator of KIP-848 calls a classic member."""
        return urlsafe_b64encode(self.uuid()).decode().rstrip("=")

    def session_id(self) -> int:
        """Return a positive number of 31 bits, never 0."""
        return int.from_bytes(self.uuid()[:4], "big") & 0x7FFFFFFF or 1


# -- java hash -------------------------------------------------------------------------------------


_LOAD_FACTOR = 0.75
_SMALLEST = 16


def java_hash(text: str) -> int:
    """Return `text.hashCode()`: over UTF-16 units, a signed number of 32 bits."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return _signed(value)


@lru_cache(maxsize=4096)  # it is asked several times with every request
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


def trie_order(names: Iterable[str]) -> list[str]:
    """Return names in the order Scala's immutable `HashMap` of them is walked.

    It is a trie over 5 bits of the hash at a time, the lowest first; in each node, names that are
    alone at their place come before those that share one.
    """
    return _walked([(_mixed(java_hash(name)), name) for name in names])


def _walked(hashed: list[tuple[int, str]]) -> list[str]:
    places: dict[int, list[tuple[int, str]]] = {}
    for value, name in hashed:
        places.setdefault(value & 31, []).append((value >> 5, name))
    shared = [place for place in sorted(places) if len(places[place]) > 1]
    alone = [places[place][0][1] for place in sorted(places) if place not in shared]
    if len(places) == 1 and not any(value for value, _ in hashed):
        return [name for _, name in hashed]
    return alone + [name for place in shared for name in _walked(places[place])]


def _mixed(value: int) -> int:
    """Mix the bits of a hash as `scala.collection.Hashing.improve` does."""
    mixed = value + ~(value << 9) & 0xFFFFFFFF
    mixed ^= mixed >> 14
    mixed = mixed + (mixed << 4) & 0xFFFFFFFF
    return mixed ^ (mixed >> 10)


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


def _spread(value: int) -> int:
    unsigned = value & 0xFFFFFFFF
    return unsigned ^ (unsigned >> 16)
