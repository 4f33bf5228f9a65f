"""What Kafka's VerifiableConsumer prints, as entries of an event log.

Decides: which entries a line stands for. The tool names no group, no host and no generation, and
its clock is the wall's, in milliseconds; a claim is what was assigned and not yet revoked, and is
numbered here. Where a claim begins to read, what is fetched and what is done it does not tell.
Never: guesses an entry that no line stands for, but the first of a log whose head is missing.
Source: `org.apache.kafka.tools.VerifiableConsumer`, 4.3.1.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kgroup.errors import DecodeError
from kgroup.journal.events import (
    CommitStage,
    CommitStep,
    Delivered,
    Entry,
    Event,
    MemberStarted,
    MemberStopped,
    OwnershipStep,
    Phase,
    Source,
    UnknownEvent,
)
from kgroup.types import ChangeKind, Claim, TopicPartition

CLIENT: Final = "VerifiableConsumer"
_WHAT: Final = "line of a VerifiableConsumer"
_SAYS_NOTHING_NEW: Final = frozenset({"record_data", "shutdown_requested"})
"""Each record besides its range, and a close before it is done."""


def is_printed(line: str) -> bool:
    """Tell whether a line is one that the tool prints."""
    if not line.startswith('{"timestamp":'):
        return False
    try:
        _row(line)
    except DecodeError:
        return False
    return True


class Verifiable:
    """Reads what one process of the tool, or several one after the other, printed to a file.

    Args:
        name: of the file; its last part without endings is the member's.
    """

    def __init__(self, name: str) -> None:
        self._member = Path(name).name.split(".")[0]
        self._source: Source | None = None
        self._seq = 0
        self._commits = 0
        self._claims: dict[TopicPartition, Claim] = {}

    def entries(self, line: str, where: str) -> list[Entry]:
        """Return what a line stands for; nothing for one that repeats what others say.

        Raises:
            DecodeError: it is not a line of the tool.
        """
        row = _row(line)
        try:
            at = row["timestamp"] / 1000
            events = list(self._events(row))
        except (KeyError, TypeError, ValueError) as error:
            raise DecodeError(_WHAT, f"{row.get('name')!r} cannot be read ({error!r})") from error
        if self._source is None or isinstance(events[0] if events else None, MemberStarted):
            self._source = Source(host="", process=str(row["timestamp"]), member=self._member)
            self._seq = 0
            if not (events and isinstance(events[0], MemberStarted)):
                events.insert(0, MemberStarted(client=CLIENT))
        return [self._entry(self._source, at, event, where) for event in events]

    def _entry(self, source: Source, at: float, event: Event, where: str) -> Entry:
        self._seq += 1
        return Entry(source=source, seq=self._seq, at=at, wall=at, event=event, where=where)

    def _events(self, row: Mapping[str, Any]) -> Iterator[Event]:
        match row["name"]:
            case "startup_complete":
                yield MemberStarted(client=CLIENT)
            case "shutdown_complete":
                yield MemberStopped("closed", left=True)
            case "partitions_assigned":
                yield from self._moved(ChangeKind.ASSIGNED, map(_tp, row["partitions"]))
            case "partitions_revoked":
                yield from self._moved(ChangeKind.REVOKED, map(_tp, row["partitions"]))
            case "records_consumed":
                for each in row["partitions"]:
                    first, last = int(each["minOffset"]), int(each["maxOffset"])
                    yield Delivered(self._claim(_tp(each)), first, last, int(each["count"]))
            case "offsets_committed":
                yield from self._committed(row)
            case name if name not in _SAYS_NOTHING_NEW:
                yield UnknownEvent(str(name))

    def _moved(self, kind: ChangeKind, tps: Iterable[TopicPartition]) -> Iterator[Event]:
        listed = list(tps)
        if kind is ChangeKind.ASSIGNED:
            self._claims |= {tp: Claim(tp, self._claim(tp).serial + 1) for tp in listed}
        claims = tuple(map(self._claim, listed))
        if claims:
            for phase in Phase:
                yield OwnershipStep(kind=kind, phase=phase, claims=claims)

    def _committed(self, row: Mapping[str, Any]) -> Iterator[Event]:
        self._commits += 1
        stage = CommitStage.OK if row["success"] else CommitStage.ERROR
        for each in row["offsets"]:
            claim, offset = self._claim(_tp(each)), int(each["offset"])
            for step in (CommitStage.REQUESTED, stage):
                yield CommitStep(stage=step, commit_id=self._commits, claim=claim, offset=offset)

    def _claim(self, tp: TopicPartition) -> Claim:
        """Return the latest claim of a partition; number 0 was never assigned."""
        return self._claims.get(tp) or Claim(tp, 0)


def _row(line: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise DecodeError(_WHAT, f"not JSON ({error})") from error
    if not (isinstance(row, dict) and "v" not in row and {"timestamp", "name"} <= row.keys()):
        raise DecodeError(_WHAT, "an object with 'timestamp' and 'name' is expected")
    return row


def _tp(row: Mapping[str, Any]) -> TopicPartition:
    return TopicPartition(str(row["topic"]), int(row["partition"]))
