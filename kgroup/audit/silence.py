"""How long partitions were silent, in each rebalance and over the run.

Decides: what counts as one rebalance, why it came, and which members moved in it.
Never: says how long is too long.

Rounds that follow each other within `rest` seconds are one rebalance (a cooperative one has two);
it lasts from its first membership event to its last. A silence is the time between two deliveries
of a partition, by any member; it belongs to every rebalance it overlaps. A killed member's
partitions are silent from its last delivery on, so that silence begins before the rebalance.
Before the first delivery and after the last there is no silence.
"""

from dataclasses import field

from kgroup.audit.verdict import Rebalance
from kgroup.journal import (
    Delivered,
    Entry,
    FaultStep,
    GenerationEntered,
    JoinIssued,
    MemberStarted,
    MemberStopped,
    OwnershipStep,
    Phase,
)
from kgroup.types import TopicPartition
from kgroup.values import dataclass


@dataclass(slots=True)
class _Era:
    """One rebalance: from its first membership event to its last."""

    began_at: float
    latest: float
    generations: dict[int, None] = field(default_factory=dict)
    causes: dict[str, None] = field(default_factory=dict)
    changed: set[TopicPartition] = field(default_factory=set)
    longest: dict[TopicPartition, float] = field(default_factory=dict)


class Silences:
    """Follows deliveries and rebalances; show it every entry, in order of time.

    Args:
        rest: seconds without membership events that end a rebalance.
    """

    __slots__ = ("_began_at", "_eras", "_last", "_longest", "_reasons", "_rest")

    def __init__(self, rest: float = 2.0) -> None:
        self._rest = rest
        self._began_at: float | None = None
        self._eras: list[_Era] = []
        self._reasons: list[str] = []
        self._last: dict[TopicPartition, float] = {}
        self._longest: dict[TopicPartition, float] = {}

    def observe(self, entry: Entry) -> None:
        """Take one entry."""
        if self._began_at is None:
            self._began_at = entry.at
        label = entry.source.member
        match entry.event:
            case Delivered(claim=claim):
                self._delivered(claim.tp, entry.at)
            case GenerationEntered(generation_id=generation_id):
                self._era(entry.at).generations[generation_id] = None
            case JoinIssued(cause=cause):
                self._because(self._era(entry.at), cause)
            case OwnershipStep(claims=claims, cause=cause):
                era = self._era(entry.at)
                self._because(era, cause)
                era.changed.update(claim.tp for claim in claims)
            case MemberStarted():
                self._reasons.append(f"{label} started")
            case MemberStopped():
                self._reasons.append(f"{label} stopped")
            case FaultStep(phase=Phase.BEGIN, fault=fault, target=target):
                self._reasons.append(f"{fault} of {target}")
            case _:
                pass

    def longest(self, tp: TopicPartition) -> float | None:
        """Return the longest silence of a partition, None with fewer than two deliveries."""
        return self._longest.get(tp)

    def longest_in(self, tp: TopicPartition, *, moved: bool) -> float | None:
        """Return the longest silence in a rebalance in which a partition moved, or stayed."""
        found = [
            era.longest[tp]
            for era in self._eras
            if tp in era.longest and (tp in era.changed) is moved
        ]
        return max(found, default=None)

    def rebalances(self) -> tuple[Rebalance, ...]:
        """Return all rebalances, in order of time."""
        if self._eras:
            self._take_reasons(self._eras[-1])
        return tuple(self._rebalance(era) for era in self._eras)

    def _era(self, now: float) -> _Era:
        if not self._eras or now - self._eras[-1].latest > self._rest:
            self._eras.append(_Era(now, now))
        era = self._eras[-1]
        era.latest = max(era.latest, now)
        self._take_reasons(era)
        return era

    def _take_reasons(self, era: _Era) -> None:
        """Give what happened to members since the last membership event to this rebalance."""
        era.causes.update(dict.fromkeys(self._reasons))
        self._reasons.clear()

    @staticmethod
    def _because(era: _Era, cause: str) -> None:
        if cause:
            era.causes[cause] = None

    def _delivered(self, tp: TopicPartition, now: float) -> None:
        before = self._last.get(tp)
        self._last[tp] = now
        if before is None:
            return
        self._longest[tp] = max(now - before, self._longest.get(tp, 0.0))
        for era in reversed(self._eras):
            if era.latest < before:
                break
            era.longest[tp] = max(now - before, era.longest.get(tp, 0.0))

    def _rebalance(self, era: _Era) -> Rebalance:
        moved = tuple(sorted(era.changed))
        stayed = tuple(sorted(era.longest.keys() - era.changed))
        return Rebalance(
            began_at=era.began_at - (self._began_at or 0.0),
            generations=tuple(era.generations),
            causes=tuple(era.causes),
            moved=moved,
            stayed=stayed,
            silence_moved=_most(era, moved),
            silence_stayed=_most(era, stayed),
        )


def _most(era: _Era, tps: tuple[TopicPartition, ...]) -> float | None:
    return max((era.longest[tp] for tp in tps if tp in era.longest), default=None)
