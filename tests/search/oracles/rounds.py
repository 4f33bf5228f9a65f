"""S1, S5 and S10: a stored round gives each partition to one member that may have it now.

S1: an eager round hands out every partition of the topics its members subscribe to.
S5: a cooperative leader adds no partition to a member while another claims to own it in the
    current generation, whatever the assignor returned (KIP-429, KIP-792).
S10: a round names only topics that its members subscribe to and partitions that are there, each
    once; a leader that cannot assign sends no assignment.

Decides: what a leader may hand out. Of S1 it judges whether anything was left out.
Never: trusts the leader's word; it looks at the round as the coordinator stored it.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import ClassVar, Final

from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey
from kgroup.journal.events import (
    Entry,
    Event,
    FaultStep,
    JoinIssued,
    RequestSent,
    RoundFailed,
    RoundMember,
    RoundStored,
    Source,
)
from kgroup.types import TopicPartition

_COOPERATIVE: Final = frozenset({"cooperative-sticky"})
_EAGER: Final = frozenset({"range", "roundrobin", "sticky"})


class RoundRules:
    """S5, S10, S1: stored rounds, and rounds that failed.

    Args:
        partitions: topic -> how many partitions it has; looked at again at each round and each
            fault, so that it may grow. None when not known: then nothing is said about missing
            partitions.
        cooperative: names of cooperative assignors, for S5.
        eager: names of assignors that hand everything out in each round, for S1. A topic counts
            with the partitions it had at first: a leader may hear late of new ones.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {RoundStored, RoundFailed, RequestSent, JoinIssued, FaultStep}
    )

    APIS: ClassVar[frozenset[ApiKey]] = frozenset({ApiKey.SYNC_GROUP})

    __slots__ = ("_cooperative", "_eager", "_failed", "_first", "_most", "_partitions")

    def __init__(
        self,
        partitions: Mapping[str, int] | None = None,
        *,
        cooperative: Collection[str] = _COOPERATIVE,
        eager: Collection[str] = _EAGER,
    ) -> None:
        self._partitions = partitions
        self._first = dict(partitions or {})
        self._most = dict(partitions or {})
        self._cooperative = frozenset(cooperative)
        self._eager = frozenset(eager)
        self._failed: dict[Source, tuple[int, Entry]] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, RequestSent):
            if event.api is ApiKey.SYNC_GROUP and self._failed:
                return self._sent(entry, event)
        elif isinstance(event, FaultStep):
            self._look()  # a topic may grow, and be gone before the next round
        elif isinstance(event, RoundStored):
            self._look()
            return tuple(
                Violation(rule, f"generation {event.generation_id}: {text}", (entry,), tp)
                for rule, text, tp in self._wrong(event)
            )
        elif isinstance(event, RoundFailed):
            self._failed[entry.source] = (event.generation_id, entry)
        else:
            self._failed.pop(entry.source, None)
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _look(self) -> None:
        """Note which partitions there are."""
        for topic, count in (self._partitions or {}).items():
            self._most[topic] = max(count, self._most.get(topic, 0))

    def _sent(self, entry: Entry, event: RequestSent) -> tuple[Violation, ...]:
        generation_id, failed = self._failed.get(entry.source, (None, entry))
        if generation_id != event.generation_id or event.assignments == 0:
            return ()
        text = f"{entry.source} could not assign generation {generation_id}, but sent SyncGroup"
        return (Violation("S10", text, (failed, entry)),)

    def _wrong(self, event: RoundStored) -> Iterator[tuple[str, str, TopicPartition | None]]:
        given: dict[TopicPartition, RoundMember] = {}
        for member in event.members:
            for tp in member.partitions:
                if tp in given:
                    ids = f"{given[tp].member_id} and {member.member_id}"
                    yield "S10", f"{tp} is assigned to {ids}", tp
                given[tp] = member
                yield from self._unfit(member, tp)
        if event.protocol_name in self._cooperative:
            yield from _taken(event.members)
        elif event.protocol_name in self._eager:
            yield from self._left_out(event.members, given)

    def _unfit(
        self, member: RoundMember, tp: TopicPartition
    ) -> Iterator[tuple[str, str, TopicPartition | None]]:
        if member.topics and tp.topic not in member.topics:
            text = f"{member.member_id} is assigned {tp}, but does not subscribe to the topic"
            yield "S10", text, tp
        if self._partitions is not None and tp.partition >= self._most.get(tp.topic, 0):
            text = f"{member.member_id} is assigned {tp}, which never existed"
            yield "S10", text, tp

    def _left_out(
        self, members: tuple[RoundMember, ...], given: Collection[TopicPartition]
    ) -> Iterator[tuple[str, str, TopicPartition | None]]:
        wanted = {topic: None for member in members for topic in member.topics}
        for topic in wanted:
            count = min(self._first.get(topic, 0), (self._partitions or {}).get(topic, 0))
            for tp in (TopicPartition(topic, number) for number in range(count)):
                if tp not in given:
                    yield "S1", f"{tp} is subscribed to, but an eager round leaves it out", tp


def _taken(
    members: tuple[RoundMember, ...],
) -> Iterator[tuple[str, str, TopicPartition | None]]:
    """Yield partitions that are added to one member while another holds them."""
    newest = max((_generation(member) for member in members if member.owned), default=None)
    holders: dict[TopicPartition, list[str]] = {}
    for member in members:
        if _generation(member) == newest:
            for tp in member.owned:
                holders.setdefault(tp, []).append(member.member_id)
    for member in members:
        for tp in member.partitions:
            held = holders.get(tp)
            if held and member.member_id not in held:
                text = f"{tp} is added to {member.member_id} while {held[0]} owns it"
                yield "S5", text, tp


def _generation(member: RoundMember) -> int:
    return -1 if member.generation_id is None else member.generation_id
