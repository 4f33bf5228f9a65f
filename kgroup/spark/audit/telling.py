"""Whose a line is that the sieve cannot read: told on a worker, line by line.

Decides: who writes which events.
Never: says what is wrong with a line; that is for the judge.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from kgroup.errors import DecodeError
from kgroup.journal import CommitStored, FaultStep, RoundStored, decode_entry
from kgroup.journal.verifiable import is_printed
from kgroup.words import Word

STORED: Final = ("commit_stored", "fault", "round_stored")
"""Events that no member writes."""


class TellKind(Word):
    """Who wrote a line: a member, who made faults, or who watched the coordinator."""

    OWN = "own"
    FAULT = "fault"
    STORED = "stored"


TOLD: Final = "kind: string, group: string"


def tell(batches: Iterable[Any]) -> Iterator[Any]:
    """Return whose lines are that the sieve cannot read; Arrow in and out.

    A line that is none has neither kind nor group.
    """
    import pyarrow as pa  # noqa: PLC0415 - optional

    form = pa.struct([("kind", pa.string()), ("group", pa.string())])
    for lines in batches:
        yield pa.array([told(line) for line in lines.to_pylist()], form)


def told(line: bytes) -> dict[str, str | None]:
    """Return who wrote a line, and its group; see `tell`."""
    text = line.decode("utf-8", "replace")
    if is_printed(text):
        return {"kind": TellKind.OWN.value, "group": None}
    try:
        entry = decode_entry(text)
    except DecodeError:
        return {"kind": None, "group": None}
    kind = TellKind.OWN
    if isinstance(entry.event, FaultStep):
        kind = TellKind.FAULT
    elif isinstance(entry.event, CommitStored | RoundStored):
        kind = TellKind.STORED
    return {"kind": kind.value, "group": entry.source.group}
