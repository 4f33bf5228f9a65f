"""How many rounds a group took to form, and how often it has committed, by its coordinator's word.

Decides: that a round counts when the coordinator has stored its assignment: the generation of the
last such record before a moment; and that a commit counts when it is stored.
Never: asks a member; finds fault with brokers that show nobody their offsets topic.
"""

from collections.abc import Iterator
from typing import Final

import anyio

from kgroup import Consumer, Record, TopicPartition
from kgroup.errors import KGroupError
from kgroup.testing.kafka.ready import offsets_partition
from kgroup.wire.classic_bytes import ClassicReader

Stored = Record[bytes | None, bytes | None]

_TOPIC: Final = "__consumer_offsets"
_GROUP_KEY: Final = 2
"""Version of a key that says "this is about a group", not about an offset of it."""
_OFFSET_KEYS: Final = (0, 1)
_BEFORE: Final = 5.0
_WAIT: Final = 5.0


def rounds(bootstrap: str, group: str, began: float, until: float) -> int | None:
    """Return the generation that a new group had reached, None when nobody says.

    Args:
        bootstrap: of the brokers.
        group: its name.
        began: when its first member was started, seconds since the epoch.
        until: when it is asked about.
    """
    last = None
    for record in _stored(bootstrap, group, began) or ():
        if record.timestamp <= until * 1000:
            last = next(_generation(group, record.key, record.value), last)
    return last


def commits(bootstrap: str, group: str, began: float) -> int | None:
    """Return how often an offset of a group was stored since a moment, None when nobody says.

    Args:
        bootstrap: of the brokers.
        group: its name.
        began: seconds since the epoch.
    """
    found = _stored(bootstrap, group, began) or ()
    # A coordinator that keeps its offsets elsewhere stores none: then nobody says.
    return sum(bool(each.value) and _is_offset(group, each.key) for each in found) or None


def _stored(bootstrap: str, group: str, began: float) -> list[Stored] | None:
    """Return what coordinators have stored in the partition of a group, None when nobody says."""
    try:
        return anyio.run(_read, bootstrap, group, began)
    except (KGroupError, TimeoutError):
        return None


async def _read(bootstrap: str, group: str, began: float) -> list[Stored]:
    reader = Consumer(bootstrap_servers=bootstrap, allow_auto_create_topics=False)
    async with reader:
        partitions = (await reader.find_partitions(_TOPIC, timeout=_WAIT))[_TOPIC]
        tp = TopicPartition(_TOPIC, offsets_partition(group, len(partitions)))
        first = (await reader.offsets_for_times({tp: int((began - _BEFORE) * 1000)}))[tp]
        end = (await reader.end_offsets(tp))[tp]
        if first is None:
            return []
        reader.assign([tp])
        reader.seek(tp, first.offset, until=end)
        return [record async for record in reader]


def _is_offset(group: str, key: bytes | None) -> bool:
    """Return whether a key is about an offset of a group."""
    if not key:
        return False
    told = ClassicReader("the key of an offset", key)
    return told.int16() in _OFFSET_KEYS and told.string() == group


def _generation(group: str, key: bytes | None, value: bytes | None) -> Iterator[int]:
    """Yield the generation that a record of the offsets topic tells of a group, if it does."""
    if not key or not value:
        return
    told = ClassicReader("the key of a group", key)
    if told.int16() != _GROUP_KEY or told.string() != group:
        return
    found = ClassicReader("a group", value)
    found.int16()  # its version; what is read stands in all of them
    found.string()
    yield found.int32()
