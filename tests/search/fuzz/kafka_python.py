"""kafka-python's reading of messages, next to ours: written by others, from the same definitions.

Decides: which classes go together, and which fields: those of one name. What kafka-python reads in
a way of its own is skipped, by name.
Never: judges what kafka-python cannot read; it speaks fewer versions.
"""

import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it reads its schemas in a deprecated way
    from kafka import codec
    from kafka.protocol import admin, consumer, metadata, producer, sasl
    from kafka.protocol.consumer.metadata import (
        ConsumerProtocolAssignment,
        ConsumerProtocolSubscription,
    )
    from kafka.record import MemoryRecords

from kgroup.wire.schema import Message
from kgroup.wire.source import Step, layout_of
from kgroup.wire.vocabulary import BlobForm

__all__ = [
    "ConsumerProtocolAssignment",
    "ConsumerProtocolSubscription",
    "MemoryRecords",
    "class_of",
    "codec",
    "differences",
    "speaks",
]

_ROOMS: Final = (consumer, admin, metadata, producer, sasl)
OWN_WAY: Final = frozenset({"ApiVersionsResponse"})
"""Classes with a reader of their own there, which leaves fields out."""
SETS: Final = "authorized_operations"
"""The end of the names of bit fields, which become sets there."""
ABSENT_UUID: Final = bytes(16)


@cache
def class_of(cls: Any) -> Any:
    """Return kafka-python's class of the same name, None when it has none."""
    found = (getattr(room, cls.__name__, None) for room in _ROOMS)
    return next((each for each in found if each is not None), None)


def speaks(cls: type[Message], version: int) -> bool:
    """Tell whether kafka-python has a class for a message in a version."""
    known: Any = cls  # mypy takes the hash of a message for that of its class
    other = class_of(known)
    return other is not None and version <= other.max_version and cls.__name__ not in OWN_WAY


def differences(ours: Any, theirs: Any, version: int, at: str = "") -> Iterator[str]:
    """Yield where two readings of one message differ."""
    if isinstance(ours, Message):
        layout = layout_of(type(ours), version)
        for step in layout.present + layout.tagged:
            if not step.name.endswith(SETS):
                yield from _field(step, ours, theirs, version, f"{at}.{step.name}")
    elif isinstance(ours, tuple) and theirs is not None and len(ours) == len(theirs):
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, version, f"{at}[{place}]")
    elif ours != _plain(theirs):
        yield f"{at}: {ours!r} here, {theirs!r} there"


def _field(step: Step, ours: Any, theirs: Any, version: int, at: str) -> Iterator[str]:
    value, other = getattr(ours, step.name), getattr(theirs, step.name)
    if isinstance(step.form, BlobForm) and value is not None:
        value = bytes(value)
    if other is None and value in (step.default, ABSENT_UUID):
        return  # a tagged field at its default is None there, and so is no uuid
    yield from differences(value, other, version, at)


def _plain(value: Any) -> Any:
    return value.bytes if hasattr(value, "bytes") else value  # a uuid
