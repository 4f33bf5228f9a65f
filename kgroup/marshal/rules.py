"""By which rules a log is read, and what a record can turn out to be.

Decides: the names.
Never: applies them; `world` does.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

__all__ = ["Compat", "Verdict", "WorldRules"]

_PARTITIONS: Final = 100_000


class Compat(Enum):
    """What a record without kgroup's headers can do.

    AUTO: what it does among members of the original library: its heartbeat takes a key, whoever
        has it. STRICT: no more than the owner's heartbeat. GO: nobody's headers count.
    """

    AUTO = "auto"
    GO = "go"
    STRICT = "strict"


class Verdict(Enum):
    """What a message did."""

    ACCEPTED = "accepted"
    """A claim: its sender is the owner, under the offset of this record."""

    ADOPTED = "adopted"
    """A heartbeat of somebody who was not the owner, and is."""

    RENEWED = "renewed"
    RELEASED = "released"

    PROBED = "probed"
    """A claim of messages by the owner; it changes nothing."""

    PAUSED = "paused"

    REFUSED = "refused"
    """A claim of a key that is not free."""

    VOID = "void"
    """Of somebody who is not the owner, or not any more."""


@dataclass(frozen=True, slots=True)
class WorldRules:
    """How one coordination partition is read.

    Args:
        append_time: whether its records carry the broker's time.
        complete: whether nothing that it ever held is missing before the first record read.
        compat: what header-less records can do.
        partitions: a partition is below it; keeps nonsense from filling the memory.
    """

    append_time: bool
    complete: bool = False
    compat: Compat = Compat.AUTO
    partitions: int = _PARTITIONS
