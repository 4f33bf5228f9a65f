"""Many oracles over one history: each entry is shown only to those that look at its kind.

Decides: who sees what; whom an entry does not concern costs nothing.
Never: changes what an oracle finds, or the order in which it is told.

A simulation shows some hundred thousand entries a second to all oracles, and most of them look at
two or three kinds of events. An oracle names these in a class attribute,
`KINDS: ClassVar[frozenset[type[Event]]]`; one without it is shown everything.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from kgroup.journal.events import Entry, Event
from kgroup.journal.oracles.violation import Oracle, Violation

__all__ = ["Watch", "judge"]

_Observe = Callable[[Entry], tuple[Violation, ...]]


class Watch:
    """Shows one history to some oracles; an oracle itself.

    Args:
        oracles: fresh ones, as they are or by name; what one with a name finds bears it.
    """

    __slots__ = ("_by_kind", "_oracles")

    def __init__(self, oracles: Iterable[Oracle] | Mapping[str, Oracle]) -> None:
        every = tuple(oracles.values() if isinstance(oracles, Mapping) else oracles)
        names = tuple(oracles) if isinstance(oracles, Mapping) else ("",) * len(every)
        self._oracles = tuple(zip(names, every, strict=True))
        self._by_kind: dict[type[Event], tuple[tuple[str, _Observe], ...]] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry and return what it breaks, in the order of the oracles."""
        watching = self._by_kind.get(type(entry.event))
        if watching is None:
            watching = self._choose(type(entry.event))
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
        return MappingProxyType({kind: len(those) for kind, those in self._by_kind.items()})

    def _choose(self, kind: type[Event]) -> tuple[tuple[str, _Observe], ...]:
        chosen = tuple(
            (name, oracle.observe) for name, oracle in self._oracles if _wants(oracle, kind)
        )
        self._by_kind[kind] = chosen
        return chosen


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


def _wants(oracle: Oracle, kind: type[Event]) -> bool:
    kinds: frozenset[type[Event]] | None = getattr(oracle, "KINDS", None)
    return kinds is None or kind in kinds
