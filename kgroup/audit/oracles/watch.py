"""What an oracle is, and how one history is shown to many of them.

Decides: the shape of an oracle and of a violation, and which oracles see which entry.
Never: says which promises there are, or changes what an oracle finds.

Entries come in order of time, merged over all members. An oracle keeps state in memory that is
bounded by members, partitions and periods of ownership, never by records.
A simulation shows some hundred thousand entries a second, and most oracles look at two or three
kinds of events. An oracle names these in `KINDS: ClassVar[frozenset[type[Event]]]` and sees no
others. One that looks at requests and answers of a few APIs names these in
`APIS: ClassVar[frozenset[ApiKey]]`. An oracle without these attributes sees everything.
One whose findings about a partition rest only on what concerns that partition, or no partition,
says `ONE_PARTITION: ClassVar[bool] = True`: several can judge a run, a share of it each.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Protocol

from kgroup.codes import ApiKey
from kgroup.journal.events import AnswerReceived, Entry, Event, RequestSent
from kgroup.types import TopicPartition
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise, with what proves it.

    Args:
        rule: its id, as in the catalogue of properties (`docs/event-log.md`).
        text: what happened, with its numbers.
        entries: the entries that prove it, in order of time.
        tp: the partition it is about, None when it is about a member.
        oracle: name of the oracle that found it, empty when it was given none; see `Watch`.
    """

    rule: str
    text: str
    entries: tuple[Entry, ...]
    tp: TopicPartition | None = None
    oracle: str = ""


class Oracle(Protocol):
    """Watches one history; each entry is shown once, in order of time."""

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry and return what it breaks."""
        ...

    def finish(self) -> tuple[Violation, ...]:
        """Return what only the end of the history shows; called once."""
        ...


_Observe = Callable[[Entry], tuple[Violation, ...]]
_Kind = type[Event] | tuple[type[Event], ApiKey]
"""A kind of events; for requests and answers with their API."""


class Watch:
    """Shows one history to some oracles; an oracle itself.

    Args:
        oracles: fresh ones, as they are or by name; what one with a name finds bears it.
    """

    __slots__ = ("_by_kind", "_classes", "_oracles")

    def __init__(self, oracles: Iterable[Oracle] | Mapping[str, Oracle]) -> None:
        every = tuple(oracles.values() if isinstance(oracles, Mapping) else oracles)
        names = tuple(oracles) if isinstance(oracles, Mapping) else ("",) * len(every)
        self._oracles = tuple(zip(names, every, strict=True))
        self._classes = tuple(map(type, every))
        self._by_kind: dict[_Kind, tuple[tuple[str, _Observe], ...]] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry and return what it breaks, in the order of the oracles."""
        event = entry.event
        kind: _Kind = type(event)
        if type(event) is RequestSent or type(event) is AnswerReceived:
            kind = (type(event), event.api)
        watching = self._by_kind.get(kind)
        if watching is None:
            watching = self._choose(kind)
        found: tuple[Violation, ...] = ()
        for name, observe in watching:
            broken = observe(entry)
            if broken:
                found += _signed(broken, name)
        return found

    def finish(self) -> tuple[Violation, ...]:
        """Return what only the end of the history shows; called once."""
        return tuple(
            violation
            for name, oracle in self._oracles
            for violation in _signed(oracle.finish(), name)
        )

    @property
    def watching(self) -> Mapping[type[Event], int]:
        """How many oracles look at each kind of event that was shown so far."""
        counts: dict[type[Event], int] = {}
        for kind, those in self._by_kind.items():
            event = kind[0] if isinstance(kind, tuple) else kind
            counts[event] = max(len(those), counts.get(event, 0))
        return MappingProxyType(counts)

    def _choose(self, kind: _Kind) -> tuple[tuple[str, _Observe], ...]:
        key: Any = kind  # a class can be hashed, even if what is made of it cannot
        those = (self._oracles[place] for place in _looking(self._classes, key))
        chosen = tuple((name, oracle.observe) for name, oracle in those)
        self._by_kind[kind] = chosen
        return chosen


def looks_at_one_partition(oracle: type[Oracle]) -> bool:
    """Tell whether what an oracle finds about a partition rests on that partition only."""
    return bool(getattr(oracle, "ONE_PARTITION", False))


def judge(oracles: Iterable[Oracle], entries: Iterable[Entry]) -> tuple[Violation, ...]:
    """Show a whole history to some oracles and return everything they find, in order."""
    watch = Watch(oracles)
    found: list[Violation] = []
    for entry in entries:
        found.extend(watch.observe(entry))
    found.extend(watch.finish())
    return tuple(found)


def _signed(found: tuple[Violation, ...], name: str) -> tuple[Violation, ...]:
    return tuple(replace(each, oracle=name) for each in found) if name else found


@lru_cache(maxsize=1024)  # a simulation watches with the same oracles again and again
def _looking(oracles: tuple[type[Oracle], ...], kind: _Kind) -> tuple[int, ...]:
    """Return the places of those that look at a kind of events."""
    return tuple(place for place, oracle in enumerate(oracles) if _wants(oracle, kind))


def _wants(oracle: type[Oracle], kind: _Kind) -> bool:
    event, api = kind if isinstance(kind, tuple) else (kind, None)
    kinds: frozenset[type[Event]] | None = getattr(oracle, "KINDS", None)
    apis: frozenset[ApiKey] | None = getattr(oracle, "APIS", None)
    return (kinds is None or event in kinds) and (apis is None or api is None or api in apis)
