"""K3: a group that has come to rest is balanced, by its assignor's own definition.

Decides: which assignments range, roundrobin, sticky and cooperative-sticky may end with.
Never: counts what was moved to get there; the assignors' own tests do.

K3: at the end of a run the last round is balanced. range: the subscribers of a topic differ by at
    most one partition of it. roundrobin: members that all subscribe to the same differ by at most
    one. sticky and cooperative-sticky: no member has two more than another that could take one
    of them (KIP-54). A group whose members have all stopped or died never came to rest.
"""

from collections.abc import Iterator
from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    Entry,
    Event,
    MemberStarted,
    MemberStopped,
    RoundMember,
    RoundStored,
    Source,
)
from kgroup.journal.faults import Faults


class Balanced:
    """K3: the last round of each group.

    Args:
        rest: seconds without another round after which the group counts as at rest.
        ends_at: monotonic seconds at which the run ends; None judges the last round whenever it
            was made.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset({MemberStopped, RoundStored}) | Faults.KINDS

    __slots__ = ("_alive", "_ends_at", "_faults", "_last", "_rest")

    def __init__(self, rest: float = 5.0, *, ends_at: float | None = None) -> None:
        self._rest = rest
        self._ends_at = ends_at
        self._last: dict[str | None, Entry] = {}
        self._alive: dict[Source, bool] = {}
        self._faults = Faults()

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        if isinstance(entry.event, RoundStored):
            self._last[entry.source.group] = entry
        elif isinstance(entry.event, MemberStarted | MemberStopped):
            self._alive[entry.source] = isinstance(entry.event, MemberStarted)
        self._faults.observe(entry)
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Judge the last round of each group."""
        return tuple(
            Violation("K3", f"group {group}: {text}", (entry,))
            for group, entry in self._last.items()
            if self._ends_at is None or self._ends_at - entry.at >= self._rest
            if not self._deserted(group)
            for text in _uneven(entry)
        )

    def _deserted(self, group: str | None) -> bool:
        """Tell whether nobody was left to come to rest.

        1. A cooperative round takes partitions away, which the next one will give to others;
        2. everybody dies, or closes, before that one.
        """
        lives = [source for source in self._alive if source.group == group]
        left = [each for each in lives if self._alive[each] and not self._faults.is_dead(each)]
        return bool(lives) and not left


def _uneven(entry: Entry) -> Iterator[str]:
    event = entry.event
    assert isinstance(event, RoundStored)
    members = event.members
    if any(member.partitions and not member.topics for member in members):
        return  # subscriptions are not known
    match event.protocol_name:
        case "range":
            yield from _by_topic(members)
        case "roundrobin" if len({frozenset(member.topics) for member in members}) == 1:
            yield from _far_apart({member.member_id: len(member.partitions) for member in members})
        case "sticky" | "cooperative-sticky":
            yield from _could_take(members)
        case _:
            pass


def _by_topic(members: tuple[RoundMember, ...]) -> Iterator[str]:
    for topic in sorted({topic for member in members for topic in member.topics}):
        counts = {
            member.member_id: sum(1 for tp in member.partitions if tp.topic == topic)
            for member in members
            if topic in member.topics
        }
        yield from (f"{text} of {topic}" for text in _far_apart(counts))


def _far_apart(counts: dict[str, int]) -> Iterator[str]:
    most, least = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
    if counts[most] - counts[least] > 1:
        yield f"{most} has {counts[most]} partitions and {least} has {counts[least]}"


def _could_take(members: tuple[RoundMember, ...]) -> Iterator[str]:
    for rich in members:
        topics = {tp.topic for tp in rich.partitions}
        for poor in members:
            movable = sorted(topics & set(poor.topics))
            if movable and len(rich.partitions) - len(poor.partitions) > 1:
                yield (
                    f"{rich.member_id} has {len(rich.partitions)} partitions and "
                    f"{poor.member_id} has {len(poor.partitions)}, and could take one of "
                    f"{movable[0]}"
                )
