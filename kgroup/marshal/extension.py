"""What kgroup says beside a message: record headers, which the original library never sees.

Decides: the names of the headers, their bytes, and who counts as a peer without them.
Never: changes a payload; a trailing field would make a message unreadable to the original.

    kg-v       1: the sender keeps kgroup's rules; a record without it comes from another library
    kg-epoch   offset of the accepted claim under which a heartbeat, release or probe is written
    kg-start   start of the sender's process, milliseconds since the epoch: who is the later twin
    kg-hi      heartbeat interval, whole seconds: half the lease that the sender asks for
    kg-max     of a sign of presence: how many partitions of the topic its sender takes at most
    kg-nonce   tells a claim of which it is not known whether it was written
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from kgroup.marshal.messages import Reject

__all__ = ["NONCE", "Extension", "read_extension", "write_extension"]

_VERSION: Final = "kg-v"
_EPOCH: Final = "kg-epoch"
_START: Final = "kg-start"
_INTERVAL: Final = "kg-hi"
_MOST: Final = "kg-max"
NONCE: Final = "kg-nonce"

_DIGITS: Final = 19
_INTERVALS: Final = range(1, 61)


class Extension(NamedTuple):
    """The headers of one record of kgroup's.

    Args:
        epoch: offset of the claim; None in a claim itself.
        started: of the sender's process, milliseconds since the epoch.
        interval: between heartbeats, seconds, 1 to 60.
        nonce: of a claim.
        most: partitions that the sender takes at most, None for any number.
    """

    epoch: int | None = None
    started: int | None = None
    interval: int | None = None
    nonce: bytes | None = None
    most: int | None = None


def read_extension(headers: Iterable[tuple[str, bytes | None]]) -> Extension | Reject | None:
    """Read the headers of a record.

    Args:
        headers: (key, value), in order; of several with one key the last counts.

    Returns:
        What they say; None when their sender does not keep kgroup's rules; `Reject.HEADER` when
        it does, and one of them is nonsense.
    """
    found = dict(headers)
    if _VERSION not in found:
        return None
    try:
        epoch, started = _number(found.get(_EPOCH)), _number(found.get(_START))
        interval, most = _number(found.get(_INTERVAL)), _number(found.get(_MOST))
    except ValueError:
        return Reject.HEADER
    if interval is not None and interval not in _INTERVALS:
        return Reject.HEADER
    return Extension(epoch, started, interval, found.get(NONCE), most)


def write_extension(extension: Extension) -> list[tuple[str, bytes]]:
    """Write the headers of a record; what is None is left out."""
    words: list[tuple[str, bytes]] = [(_VERSION, b"1")]
    numbers = (
        (_EPOCH, extension.epoch),
        (_START, extension.started),
        (_INTERVAL, extension.interval),
        (_MOST, extension.most),
    )
    words += [(name, b"%d" % number) for name, number in numbers if number is not None]
    if extension.nonce is not None:
        words.append((NONCE, extension.nonce))
    return words


def _number(value: bytes | None) -> int | None:
    if value is None:
        return None
    if len(value) > _DIGITS or not value.isdigit():
        raise ValueError(f"{value[:_DIGITS]!r} is no number of up to {_DIGITS} digits")
    return int(value)
