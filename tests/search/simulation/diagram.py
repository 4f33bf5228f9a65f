"""One run as a sequence diagram in text: who did what when, and what breaks a promise.

Decides: the lanes (members, then the coordinator), what is summed up, and where lines break. Time
goes down. `|` is a member in its generation, `:` one that is on its way into one, `.` one that
only runs; an arrow crosses the network; `>>>` marks what proves a violation.
Never: leaves out anything that proves one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from textwrap import wrap
from typing import Final

from kgroup.audit.oracles import Violation
from kgroup.journal import (
    BROKER,
    Entry,
    FaultStep,
    MemberStarted,
    MemberStopped,
    StateChanged,
)
from kgroup.types import MemberState, TopicPartition
from tests.search.simulation.diagram_words import Way, Words, plural, words
from tests.search.simulation.outcome import Outcome

__all__ = ["diagram"]

_COORDINATOR: Final = "coordinator"
_MARK: Final = ">>> "
_TIME: Final = 9
_NARROWEST: Final = 60
_LANES_SHARE: Final = 0.42
"""Of the width, at most, for lanes."""
_QUIET: Final = 0.5
"""Seconds of routine from which it is summed up in a line."""
_RESTING: Final = frozenset(
    {
        MemberState.UNSUBSCRIBED,
        MemberState.DORMANT,
        MemberState.LEFT,
        MemberState.FENCED,
        MemberState.FAILED,
    }
)

_RECORDS: Final = frozenset({"commit", "delivery", "stored commit"})
"""Routine that is shown of the partitions a violation is about."""

_NOT_COUNTED: Final = frozenset({"answer", "change of nothing"})

_Key = tuple[str, str, int]


@dataclass(slots=True)
class _Line:
    """What becomes one line, or several when it is long.

    Args:
        entry: the first one.
        said: its words, with the parts of all.
        proof: whether one of them proves a violation.
        ends: violations whose last proof is in it.
    """

    entry: Entry
    said: Words
    proof: bool = False
    ends: list[Violation] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join((self.said.text, *self.said.parts))


def diagram(outcome: Outcome, *, width: int = 100) -> str:
    """Return a run as text, line by line.

    Args:
        outcome: of `play(..., keep=True)`; without entries only the plan and the violations are
            told.
        width: columns; no line is wider, unless there are too many members for it.
    """
    width = max(width, _NARROWEST)
    told = [f"{outcome.schedule}", "", *str(outcome.plan).splitlines()]
    lines = [piece for line in told for piece in _wrapped(line, width, "    ")]
    lines += ["", *_verdicts(outcome.violations, width), ""]
    if outcome.entries:
        lines += _drawing(outcome, width)
    return "\n".join(line.rstrip() for line in lines)


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return wrap(text, width, subsequent_indent=indent) or [""]


def _verdicts(violations: Sequence[Violation], width: int) -> list[str]:
    if not violations:
        return ["nothing is broken"]
    counts = Counter(each.rule for each in violations)
    named = ", ".join(f"{rule} ({count})" if count > 1 else rule for rule, count in counts.items())
    first = violations[0]
    return [f"broken: {named}", *_wrapped(f"first {first.rule}: {first.text}", width, "    ")]


# -- lines -------------------------------------------------------------------------------------


def _drawing(outcome: Outcome, width: int) -> Iterator[str]:
    labels = [each.label for each in outcome.plan.members]
    seen = dict.fromkeys(
        each.source.member
        for each in outcome.entries
        if not isinstance(each.event, FaultStep) and each.source.process != BROKER
    )
    sheet = _Sheet(tuple(dict.fromkeys((*labels, *seen))), width)
    about = frozenset(each.tp for each in outcome.violations if each.tp is not None)
    lines = _joined(outcome.entries, outcome.violations)
    shown, rest = _cut(lines)
    yield sheet.head()
    for routine, run in groupby(shown, key=lambda line: _is_routine(line, about)):
        some = list(run)
        yield from _summary(sheet, some) if routine else _whole(sheet, some, width)
    if rest:
        yield f"    ... and {plural(rest, 'line')} more after that"


def _whole(sheet: "_Sheet", lines: Iterable[_Line], width: int) -> Iterator[str]:
    for line in lines:
        yield from sheet.draw(line)
        for violation in line.ends:
            yield from _wrapped(f"{_MARK}{violation.rule}: {violation.text}", width, _MARK)


def _summary(sheet: "_Sheet", lines: Sequence[_Line]) -> Iterator[str]:
    """Say in one line what went on meanwhile; nothing of what took no time."""
    if lines[-1].entry.at - lines[0].entry.at < _QUIET:
        return
    counts = Counter(line.said.routine for line in lines if line.said.routine not in _NOT_COUNTED)
    told = ", ".join(plural(count, name) for name, count in sorted(counts.items()))
    yield from sheet.rest(lines[-1].entry.at - lines[0].entry.at, told)


def _is_routine(line: _Line, about: frozenset[TopicPartition]) -> bool:
    if line.proof or not line.said.routine:
        return False
    if about:
        return line.said.routine not in _RECORDS or not line.said.tps & about
    return line.said.routine not in ("commit", "stored commit")


def _joined(entries: Iterable[Entry], violations: Sequence[Violation]) -> list[_Line]:
    """Return the lines: what one member says of many partitions at one instant is one."""
    ends = _ends(violations)
    proofs = {_key(entry) for each in violations for entry in each.entries}
    lines: list[_Line] = []
    for entry in entries:
        said = words(entry.event)
        line = _same(lines, entry, said)
        if line is None:
            line = _Line(entry, said)
            lines.append(line)
        else:
            line.said = _both(line.said, said)
        key = _key(entry)
        line.proof = line.proof or key in proofs
        line.ends += ends.get(key, ())
    return lines


def _same(lines: Sequence[_Line], entry: Entry, said: Words) -> _Line | None:
    """Return the line to which an entry adds a partition: of that member and instant."""
    for line in reversed(lines) if said.joins else ():
        if line.entry.source != entry.source or line.entry.at != entry.at:
            return None
        if line.said.joins == said.joins:
            return line
    return None


def _both(first: Words, second: Words) -> Words:
    parts = (*first.parts, *second.parts)
    tps = first.tps | second.tps
    return Words(first.text, first.way, first.routine, first.joins, parts, tps)


def _ends(violations: Sequence[Violation]) -> Mapping[_Key, list[Violation]]:
    ends: dict[_Key, list[Violation]] = {}
    for each in violations:
        if each.entries:
            ends.setdefault(_key(each.entries[-1]), []).append(each)
    return ends


def _key(entry: Entry) -> _Key:
    return entry.source.process, entry.source.member, entry.seq


def _cut(lines: list[_Line]) -> tuple[list[_Line], int]:
    """Return what is shown, and how much comes after the last proof."""
    last = max((place for place, line in enumerate(lines) if line.proof), default=len(lines) - 1)
    return lines[: last + 1], len(lines) - last - 1


# -- the sheet ---------------------------------------------------------------------------------


class _Sheet:
    """Lanes, and the state each is in.

    Args:
        members: labels, from left to right.
        width: columns.
    """

    def __init__(self, members: tuple[str, ...], width: int) -> None:
        room = int(width * _LANES_SHARE)
        self._step = min(8, max(3, room // (len(members) + 1)))
        self._places = {label: place * self._step for place, label in enumerate(members)}
        self._end = len(members) * self._step
        self._signs = dict.fromkeys(members, " ")
        self._text = max(20, width - len(_MARK) - _TIME - self._end - 3)

    def head(self) -> str:
        """Return the line that names the lanes."""
        names = "".join(label[: self._step - 1].ljust(self._step) for label in self._places)
        return f"{' ' * len(_MARK)}{'seconds'.rjust(_TIME - 2)}  {names}{_COORDINATOR}"

    def draw(self, line: _Line) -> Iterator[str]:
        """Return one thing that happens."""
        lanes, text = self._drawn(line)
        mark = _MARK if line.proof else " " * len(_MARK)
        at = f"{line.entry.at:{_TIME - 2}.3f}  "
        for piece in wrap(text, self._text, subsequent_indent="  "):
            yield f"{mark}{at}{lanes}  {piece}"
            mark, at, lanes = " " * len(_MARK), " " * _TIME, self._idle()

    def _drawn(self, line: _Line) -> tuple[str, str]:
        """Return the lanes, and what is said beside them."""
        source, event = line.entry.source, line.entry.event
        if isinstance(event, FaultStep):
            return self._dotted(self._places.get(event.target, self._end), "!"), line.text
        if source.process == BROKER:
            return self._dotted(self._end, "o"), f"{_COORDINATOR} {line.text}"
        lanes = self._crossed(self._places[source.member], line.said.way)
        self._note(line.entry)
        return lanes, f"{source.member} {line.text}"

    def rest(self, seconds: float, told: str) -> Iterator[str]:
        """Return a stretch in which nothing of note happens."""
        lanes = self._idle()
        at = "...".rjust(_TIME - 2)
        for piece in wrap(f"{seconds:.1f} s: {told}", self._text, subsequent_indent="  "):
            yield f"{' ' * len(_MARK)}{at}  {lanes}  {piece}"
            at = " " * (_TIME - 2)

    def _note(self, entry: Entry) -> None:
        member, event = entry.source.member, entry.event
        if isinstance(event, MemberStarted):
            self._signs[member] = "."
        elif isinstance(event, MemberStopped):
            self._signs[member] = " "
        elif isinstance(event, StateChanged):
            resting = "." if event.after in _RESTING else ":"
            self._signs[member] = "|" if event.after is MemberState.STABLE else resting

    def _idle(self) -> str:
        return "".join(sign.ljust(self._step) for sign in self._signs.values()) + "|"

    def _dotted(self, place: int, sign: str) -> str:
        lanes = self._idle()
        return f"{lanes[:place]}{sign}{lanes[place + 1 :]}"

    def _crossed(self, place: int, way: Way) -> str:
        """Return the lanes with an arrow, or with a dot where something happens."""
        if way is Way.NONE:
            return self._dotted(place, "o")
        start, end = ("o", ">") if way is Way.OUT else ("<", "o")
        return f"{self._idle()[:place]}{start}{'-' * (self._end - place - 1)}{end}"
