"""What a run writes down, and the oracles that read it.

Decides: which oracles fit a plan, and what the journal of a run holds.
Never: changes the run.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from zlib import crc32

from kgroup.audit.oracles import Oracle
from kgroup.audit.oracles.watch import Violation, Watch
from kgroup.errors import DecodeError
from kgroup.journal import (
    CommitStep,
    CommitStored,
    Delivered,
    Entry,
    Event,
    RoundMember,
    RoundStored,
    Source,
)
from kgroup.testing.broker.groups.group import Group
from kgroup.testing.broker.groups.member import Member
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import decode_assignment, decode_subscription
from kgroup.wire.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kgroup.wire.schema import Request
from tests.search.oracles import simulation_oracles
from tests.search.oracles.commit_timing import AutoCommitBehindPoll
from tests.search.simulation.plan import CommitHabit, Plan

_MOST_VIOLATIONS: Final = 50
_MASK: Final = (1 << 64) - 1
_SPREAD: Final = 0x9E3779B97F4A7C15
_OFF_EDGE: Final = 0.314
"""Microseconds; round instants, which are common, are not at the edge of a rounding."""


class Recorder:
    """Takes the events of everybody.

    Args:
        watch: the oracles.
        clock: tells the instant; may be replaced before the first entry.
        keep: whether `entries` holds everything.
        ordered: whether entries of one instant have one order. With whole consumers they may stand
            in any: event loops differ in that, and nothing may depend on it.
    """

    def __init__(
        self, watch: Watch, clock: Callable[[], float], *, keep: bool, ordered: bool
    ) -> None:
        self.violations: list[Violation] = []
        self.entries: list[Entry] = []
        self.count: int = 0
        self.delivered: dict[TopicPartition, int] = {}
        """Offset behind the last record that anybody was given."""
        self.clock = clock
        self._watch = watch
        self._keep = keep
        self._ordered = ordered
        self._digest = 0

    def take(self, entry: Entry) -> None:
        """Judge one entry."""
        self.count += 1
        event = entry.event
        text = f"{int(entry.at * 1e6 + _OFF_EDGE)} {entry.source.process} {event.KIND}"
        if type(event) is Delivered:
            tp = event.claim.tp
            self.delivered[tp] = max(event.last + 1, self.delivered.get(tp, 0))
            text += f"{event.claim} {event.first} {event.last}"
        elif type(event) is CommitStep:
            text += f"{event.claim} {event.offset} {event.stage.value}"
        if self._ordered:
            self._digest = crc32(text.encode(), self._digest)
        else:
            self._digest = (self._digest + crc32(text.encode()) * _SPREAD) & _MASK
        if self._keep:
            self.entries.append(entry)
        found = self._watch.observe(entry)
        if found:
            self.violations.extend(found[: _MOST_VIOLATIONS - len(self.violations)])

    def add(self, rule: str, text: str, tp: TopicPartition | None = None) -> None:
        """Note a broken promise that no oracle sees."""
        if len(self.violations) < _MOST_VIOLATIONS:
            self.violations.append(Violation(rule, text, (), tp))

    def finish(self) -> None:
        """Judge what only the end shows."""
        self.violations.extend(self._watch.finish())

    @property
    def digest(self) -> str:
        """Equal for equal runs."""
        return f"{self.count}-{self._digest:0{8 if self._ordered else 16}x}"


class MemberSink:
    """The `Sink` of one life of one member.

    Args:
        recorder: takes its entries.
        source: stamps them.

    While it is `muted`, what it gets is forgotten: the process is dead.
    """

    def __init__(self, recorder: Recorder, source: Source) -> None:
        self.muted = False
        self._recorder = recorder
        self._source = source
        self._seq = 0

    def emit(self, event: Event) -> None:
        """Take one event."""
        if self.muted:
            return
        self._seq += 1
        now = self._recorder.clock()
        entry = Entry(source=self._source, seq=self._seq, at=now, wall=now, event=event)
        self._recorder.take(entry)


# -- promises --------------------------------------------------------------------------------------


_BEHIND: Final = "auto_commit_behind_poll"


@dataclass(slots=True)
class Known:
    """What oracles know while a run goes on.

    Args:
        partitions: topic -> partitions, of topics that are there.
        ends: partition -> offset after its last record, of those that must have been read.
    """

    partitions: dict[str, int] = field(default_factory=dict)
    ends: dict[TopicPartition, int] = field(default_factory=dict)


def promises(plan: Plan, known: Known, without: Collection[str] = ()) -> Mapping[str, Oracle]:
    """Return fresh oracles for a plan.

    Args:
        plan: of the run.
        known: filled while the run goes on.
        without: names of oracles to leave out.
    """
    by_itself = all(member.habit is CommitHabit.AUTO for member in plan.members)
    judges = simulation_oracles(
        partitions=known.partitions,
        ends=known.ends,
        clean_handover=by_itself,
        # Judged on the living members, which may have subscribed to other topics.
        without=("recovers", *without),
    )
    if by_itself and _BEHIND in judges:
        # A member says that it is done with records by its next poll only.
        return {**judges, _BEHIND: AutoCommitBehindPoll()}
    return judges


# -- truth -----------------------------------------------------------------------------------------


def stored(request: Request[Any], answer: object, group: Group | None) -> Iterator[Event]:
    """Yield what an answer of the coordinator shows to be stored.

    Args:
        request: what was asked.
        answer: what was answered.
        group: as it is at that moment.
    """
    if isinstance(request, OffsetCommitRequest) and isinstance(answer, OffsetCommitResponse):
        yield from _commits(request, answer)
    elif isinstance(request, SyncGroupRequest) and group is not None:
        accepted = isinstance(answer, SyncGroupResponse) and not answer.error_code
        if accepted and request.assignments:
            yield _round(group)


def _commits(request: OffsetCommitRequest, answer: OffsetCommitResponse) -> Iterator[Event]:
    good = {
        (topic.name, row.partition_index)
        for topic in answer.topics
        for row in topic.partitions
        if not row.error_code
    }
    outside = request.generation_id_or_member_epoch < 0
    for topic in request.topics:
        for row in topic.partitions:
            if (topic.name, row.partition_index) in good:
                yield CommitStored(
                    tp=TopicPartition(topic.name, row.partition_index),
                    offset=row.committed_offset,
                    member_id=None if outside else request.member_id,
                    generation_id=None if outside else request.generation_id_or_member_epoch,
                    leader_epoch=_epoch(row.committed_leader_epoch),
                )


def _epoch(number: int) -> int | None:
    return None if number < 0 else number


def _round(group: Group) -> RoundStored:
    protocol = group.protocol_name or ""
    members = tuple(_member(each, protocol) for each in group.members.values())
    return RoundStored(
        generation_id=group.generation_id, protocol_name=group.protocol_name, members=members
    )


def _member(member: Member, protocol: str) -> RoundMember:
    try:
        given = decode_assignment(member.assignment).partitions if member.assignment else ()
        asked = decode_subscription(member.metadata(protocol))
    except DecodeError:
        return RoundMember(member.member_id, member.instance_id, ())
    return RoundMember(
        member.member_id,
        member.instance_id,
        tuple(given),
        tuple(asked.topics),
        tuple(asked.owned),
        asked.generation_id,
    )
