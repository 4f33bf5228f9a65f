"""How long partitions were silent, in each rebalance and over the run.

Decides: what counts as one rebalance, and who moved in it.
Never: says how long is too long.

Rounds that follow each other within `rest` seconds are one rebalance (a cooperative one has two).
A silence is the time between two deliveries of a partition, whoever made them; it belongs to every
rebalance it overlaps. Before the first delivery and after the last there is none.
"""

from dataclasses import dataclass, field

from kgroup.audit.verdict import Rebalance
from kgroup.journal import Delivered, Entry, GenerationEntered, JoinIssued, OwnershipStep
from kgroup.types import TopicPartition

__all__ = ["Silences"]


@dataclass(slots=True)
class _Era:
    """From the beginning of one rebalance to the beginning of the next."""

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

    __slots__ = ("_began_at", "_eras", "_last", "_longest", "_moved", "_rest")

    def __init__(self, rest: float = 2.0) -> None:
        self._rest = rest
        self._began_at: float | None = None
        self._eras: list[_Era] = []
        self._last: dict[TopicPartition, float] = {}
        self._longest: dict[TopicPartition, float] = {}
        self._moved: set[TopicPartition] = set()

    def observe(self, entry: Entry) -> None:
        """Take one entry."""
        if self._began_at is None:
            self._began_at = entry.at
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
                tps = {claim.tp for claim in claims}
                era.changed |= tps
                self._moved |= tps & self._last.keys()
            case _:
                pass

    def longest(self, tp: TopicPartition) -> float | None:
        """Return the longest silence of a partition, None with fewer than two deliveries."""
        return self._longest.get(tp)

    def moved(self, tp: TopicPartition) -> bool:
        """Tell whether a partition began or ended a period after it was first delivered."""
        return tp in self._moved

    def rebalances(self) -> tuple[Rebalance, ...]:
        """Return all rebalances, in order of time."""
        return tuple(self._rebalance(era) for era in self._eras)

    def _era(self, now: float) -> _Era:
        if not self._eras or now - self._eras[-1].latest > self._rest:
            self._eras.append(_Era(now, now))
        era = self._eras[-1]
        era.latest = max(era.latest, now)
        return era

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
            era.longest[tp] = max(now - before, era.longest.get(tp, 0.0))
            if era.began_at <= before:
                break

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
