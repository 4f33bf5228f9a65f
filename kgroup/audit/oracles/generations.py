"""S1: one owner per partition in a generation.

Decides: when one generation gives a partition to two members.
Never: blames a member that writes nothing more; a killed process cannot say that it stopped.

S1: in one generation at most one member life has a partition in its assignment.
"""

from typing import Final

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    Entry,
    GenerationEntered,
    MemberStarted,
    MemberStopped,
    OwnershipStep,
    Source,
)
from kgroup.types import ChangeKind, TopicPartition
from kgroup.values import dataclass

_GRANTING: Final = frozenset({MemberStarted, MemberStopped, OwnershipStep, GenerationEntered})


@dataclass(frozen=True, slots=True)
class _Grant:
    """What one member holds by its latest generation."""

    generation_id: int
    partitions: frozenset[TopicPartition]
    entry: Entry


class OneOwnerPerGeneration:
    """S1: no partition is in two members' assignments of one generation."""

    __slots__ = ("_grants", "_instances", "_suspected")

    def __init__(self) -> None:
        self._grants: dict[Source, _Grant] = {}
        self._instances: dict[Source, str | None] = {}
        self._suspected: dict[Source, Violation] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        if not self._suspected and type(entry.event) not in _GRANTING:
            return ()
        source, event = entry.source, entry.event
        ends = isinstance(event, MemberStopped) or (
            isinstance(event, OwnershipStep) and event.kind is ChangeKind.LOST
        )
        suspicion = self._suspected.pop(source, None)
        proved = () if suspicion is None or ends else (suspicion,)
        if ends:
            self._grants.pop(source, None)
        if isinstance(event, MemberStarted):
            self._instances[source] = event.group_instance_id
        if isinstance(event, GenerationEntered):
            grant = _Grant(event.generation_id, frozenset(event.assignment), entry)
            self._grants[source] = grant
            self._suspect(source, grant)
        return proved

    def finish(self) -> tuple[Violation, ...]:
        """Report nothing: a member that wrote nothing more may have been dead."""
        return ()

    def _suspect(self, source: Source, grant: _Grant) -> None:
        """Note a member that must not write as an owner any more; its next entry is the proof."""
        for other, theirs in self._grants.items():
            if other == source or other.group != source.group or self._is_twin(source, other):
                continue
            both = theirs.partitions & grant.partitions
            if both and theirs.generation_id == grant.generation_id:
                tp = min(both)
                self._suspected[other] = Violation(
                    "S1",
                    f"{tp} and {len(both) - 1} more are assigned to {other} and to {source} "
                    f"in generation {grant.generation_id}",
                    (theirs.entry, grant.entry),
                    tp,
                )

    def _is_twin(self, source: Source, other: Source) -> bool:
        """Tell whether the other is an earlier life of the same static member (T2 judges it)."""
        instance = self._instances.get(source)
        return instance is not None and instance == self._instances.get(other)
