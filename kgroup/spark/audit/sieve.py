"""One event log in one pass: whose its lines are, and what became of each claim.

Decides: what is plain. Of a member: numbered without a hole, in order of time, from its start to
its stop, never paused. Of a claim: assigned, its offset read, records delivered one behind the
other, and given up, each once and in this order. What claims of one partition are to each other is
`kgroup.spark.audit.passing`'s to say.
Never: says that a group is not well; that is for the judge. Keeps no line.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from re import Match
from types import MappingProxyType
from typing import Final, TypeAlias

from kgroup.errors import DecodeError
from kgroup.journal import decode_entry
from kgroup.journal.events import (
    CommitStage,
    CommitStep,
    CommitStored,
    Delivered,
    FaultStep,
    MemberStarted,
    MemberStopped,
    OffsetRead,
    OwnershipStep,
    Paused,
    Phase,
    PositionMove,
    PositionMoved,
    RoundStored,
    StateChanged,
)
from kgroup.journal.faults import StateCause
from kgroup.journal.verifiable import is_printed
from kgroup.spark.audit.belonging import Lines
from kgroup.spark.audit.form import BREAK, EVENTS, HEAD, STAMP
from kgroup.spark.audit.passing import Passed, Period
from kgroup.types import ChangeKind
from kgroup.values import dataclass
from kgroup.words import Word

Source: TypeAlias = tuple[str, str, str, str | None]
"""Host, process, member and group."""
_OK: Final = json.dumps(CommitStage.OK.value)
_RESET: Final = json.dumps(PositionMove.RESET.value)
_BEGIN: Final = json.dumps(Phase.BEGIN.value)
_REVOKED: Final = json.dumps(ChangeKind.REVOKED.value)
_BACK: Final = StateCause.HANDED_BACK.value
_STORED: Final = (CommitStored.KIND, RoundStored.KIND)


class TellKind(Word):
    """Who wrote a line: a member, who made faults, or who watched the coordinator."""

    OWN = "own"
    FAULT = "fault"
    STORED = "stored"


@dataclass(frozen=True, slots=True)
class Sieved:
    """What one log holds.

    Args:
        lines: of each source, and whose the lines are that do not fit.
        passed: group -> its claims; a group of which something here is not plain has none.
    """

    lines: tuple[Lines, ...]
    passed: Mapping[str | None, Passed]


class _Life:
    """What the lines of one source come to."""

    __slots__ = (
        "back", "begins", "claims", "counts", "ends", "first", "first_at", "foreign", "hole",
        "last_at", "late", "left", "periods", "seq", "source",
    )  # fmt: skip

    def __init__(self, source: Source) -> None:
        self.source = source
        self.counts: Counter[str] = Counter()
        self.first = (0, 0.0, 0.0)
        self.first_at = self.last_at = 0.0
        self.begins = self.ends = ""
        self.seq = 0
        self.hole = self.back = self.left = self.late = self.foreign = False
        self.periods: dict[str, Period] = {}
        self.claims: dict[tuple[str, int, int], Period] = {}

    def claim(self, topic: str, partition: int, serial: int) -> Period:
        """Return what is known of a claim."""
        key = (topic, partition, serial)
        found = self.claims.get(key)
        if found is None:
            found = self.claims[key] = Period(topic, partition)
        return found

    def period(self, text: str) -> Period:
        """Return what is known of a claim that is spelled so for the first time."""
        found = self.periods[text] = self.claim(*json.loads(text))
        return found

    def lines(self, path: str) -> Lines:
        """Return what they come to."""
        host, process, member, group = self.source
        faults, stored = self.counts[FaultStep.KIND], sum(self.counts[kind] for kind in _STORED)
        entries = self.counts.total()
        return Lines(
            path=path,
            source=(host, process, member),
            group=group,
            entries=entries,
            own=entries - faults - stored,
            faults=faults,
            stored=stored,
            first=self.first,
            first_at=self.first_at,
            last_at=self.last_at,
            why=self._why(stored),
        )

    def _why(self, stored: int) -> str | None:
        started, stopped = MemberStarted.KIND, MemberStopped.KIND
        whole = (self.counts[started], self.counts[stopped], self.begins, self.ends)
        if self.foreign:
            return "another client wrote a log"
        if self.hole:
            return "a log has a hole, or is not in order"
        if self.back:
            return "a clock went back"
        if stored:
            return "somebody watched the coordinator"
        if self.counts[Paused.KIND]:
            return "a member paused"
        if whole != (1, 1, started, stopped):
            return "a member did not start, or did not stop"
        return "a member revoked after it had left" if self.late else None


class Pass:
    """Takes the lines of one log, in order.

    Args:
        path: of the log.
    """

    __slots__ = ("_heads", "_latest", "_lives", "_number", "_odd", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._heads: dict[str, _Life] = {}
        self._lives: dict[Source, _Life] = {}
        self._odd: set[tuple[TellKind | None, str | None]] = set()
        self._latest = float("-inf")
        self._number = 0

    def take(self, lines: Sequence[str]) -> None:
        """Take some lines without their ends, each byte as a character."""
        heads, stamped, known, latest = self._heads, STAMP.match, _KNOWN, self._latest
        for number, line in enumerate(lines, self._number):
            head, _, rest = line.partition(BREAK)
            life = heads.get(head) or self._met(head)
            stamp = stamped(rest)
            if life is None or stamp is None:
                self._strange(line)
                continue
            seq, clock, wall, kind = stamp.groups()
            fits, work = known.get(kind, _UNKNOWN)
            event = fits(rest, stamp.end())
            if event is None:
                self._strange(line)
                continue
            at = float(clock)
            if at < latest:
                life.back = True
            else:
                latest = at
            life.counts[kind] += 1
            life.seq += 1
            if life.seq != int(seq):
                life.hole = True
            if not life.begins:
                life.begins, life.first, life.first_at = kind, (number, float(wall), at), at
            life.ends, life.last_at = kind, at
            if work is not None:
                work(life, at, event)
        self._latest = latest
        self._number += len(lines)

    def end(self) -> Sieved:
        """Return what the log holds."""
        lines = [life.lines(self._path) for life in self._lives.values() if life.counts]
        for kind, group in self._odd:
            own, faults, stored = (int(kind is each) for each in TellKind)
            lines.append(Lines(path=self._path, group=group, own=own, faults=faults, stored=stored))
        groups = dict.fromkeys(each.group for each in lines if each.source is not None)
        return Sieved(tuple(lines), {group: self._passed(group, lines) for group in groups})

    def _passed(self, group: str | None, lines: Iterable[Lines]) -> Passed:
        if self._odd or any(each.why for each in lines if each.group == group):
            return None
        lives = (life for life in self._lives.values() if life.source[3] == group)
        claims = [period.claimed() for life in lives for period in life.claims.values()]
        return None if None in claims else [each for each in claims if each is not None]

    def _met(self, head: str) -> _Life | None:
        if HEAD.fullmatch(head) is None:
            return None
        row = json.loads(head + "}")
        source = (row["host"], row["process"], row["member"], row.get("group"))
        life = self._heads[head] = self._lives.setdefault(source, _Life(source))
        return life

    def _strange(self, line: str) -> None:
        self._odd.add(told(line.encode("latin-1")))


# -- events ----------------------------------------------------------------------------------------

Work: TypeAlias = Callable[[_Life, float, Match[str]], None]


def _started(life: _Life, at: float, event: Match[str]) -> None:  # noqa: ARG001
    life.foreign = life.foreign or event[1] is not None


def _state(life: _Life, at: float, event: Match[str]) -> None:  # noqa: ARG001
    life.left = life.left or json.loads(event[1]) == _BACK


def _ownership(life: _Life, at: float, event: Match[str]) -> None:
    kind, phase, claims = event.groups()
    life.late = life.late or (life.left and kind == _REVOKED)
    step = kind[1].upper() if phase == _BEGIN else kind[1]
    for claim in json.loads(claims):
        life.claim(*claim).change(at, step)


def _offset_read(life: _Life, at: float, event: Match[str]) -> None:
    claim, offset = event.groups()
    period = life.periods.get(claim) or life.period(claim)
    period.read(at, None if offset is None else int(offset))


def _position(life: _Life, at: float, event: Match[str]) -> None:
    claim, offset, move = event.groups()
    period = life.periods.get(claim) or life.period(claim)
    period.move(at, int(offset), reset=move == _RESET)


def _deliver(life: _Life, at: float, event: Match[str]) -> None:
    claim, first, last, count = event.groups()
    period = life.periods.get(claim) or life.period(claim)
    period.deliver(at, int(first), int(last), int(count))


def _commit(life: _Life, at: float, event: Match[str]) -> None:
    stage, claim, offset = event.groups()
    if stage == _OK:
        (life.periods.get(claim) or life.period(claim)).commit(at, int(offset))


_WORK: Final[Mapping[str, Work]] = MappingProxyType(
    {
        MemberStarted.KIND: _started,
        StateChanged.KIND: _state,
        OwnershipStep.KIND: _ownership,
        OffsetRead.KIND: _offset_read,
        PositionMoved.KIND: _position,
        Delivered.KIND: _deliver,
        CommitStep.KIND: _commit,
    }
)
_Fits: TypeAlias = Callable[[str, int], Match[str] | None]
_KNOWN: Final[Mapping[str, tuple[_Fits, Work | None]]] = MappingProxyType(
    {kind: (pattern.fullmatch, _WORK.get(kind)) for kind, pattern in EVENTS.items()}
)
_UNKNOWN: Final[tuple[_Fits, Work | None]] = (lambda _, __: None, None)


# -- lines that do not fit ----------------------------------------------------------------------


def told(line: bytes) -> tuple[TellKind | None, str | None]:
    """Return who wrote a line, and its group; neither for a line that is none."""
    text = line.decode("utf-8", "replace")
    if is_printed(text):
        return TellKind.OWN, None
    try:
        entry = decode_entry(text)
    except DecodeError:
        return None, None
    if isinstance(entry.event, FaultStep):
        return TellKind.FAULT, entry.source.group
    if isinstance(entry.event, CommitStored | RoundStored):
        return TellKind.STORED, entry.source.group
    return TellKind.OWN, entry.source.group
