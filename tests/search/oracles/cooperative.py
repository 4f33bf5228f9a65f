"""K1 and K2: a rebalance touches only what moves, and takes few rounds (KIP-429).

Decides: whether kept partitions were left alone, and whether there were too many generations.
Never: judges where partitions went.

K1: a partition that is in a cooperative member's assignment before and after a round keeps its
    claim, unless the member gave it up by its own doing, and its committed offset is not read
    again.
K2: one disturbance of a group at rest costs at most 1 generation (eager) or 2 (cooperative); n
    that overlap cost at most 2n + 1. Disturbances are: a member starts, stops or loses its
    membership or comes back under another id, a fault begins or ends, or a member rejoins on its
    own accord (a leader also because its assignor asked for that, or failed). While a fault lasts,
    the session of a member that was killed, or a JoinGroup, a group is not at rest. A member that
    the coordinator removed costs a generation more than its return, and so does a cooperative one
    that has not given back yet what a round took from it when it joins the next.
"""

from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    Delivered,
    Entry,
    Event,
    FaultStep,
    GenerationEntered,
    JoinIssued,
    MemberStarted,
    MemberStopped,
    OffsetRead,
    OwnershipStep,
    Phase,
    Source,
)
from kgroup.journal.faults import LETHAL
from kgroup.journal.periods import Ending, Period, PeriodKey, Periods
from kgroup.types import Cause, ChangeKind, Claim, RebalanceProtocol, TopicPartition

__all__ = ["OWN_ACCORD", "FewRounds", "KeptUntouched"]

OWN_ACCORD: Final = frozenset(
    cause.value
    for cause in (
        Cause.SUBSCRIBED,
        Cause.TOPICS_CHANGED,
        Cause.ENFORCED,
        Cause.REJOIN_DUE,
        Cause.ASSIGNMENT_FAILED,
        Cause.UNSUBSCRIBED,
    )
)
"""Causes for which a member joins although nobody else did anything."""


@dataclass(frozen=True, slots=True)
class _Holding:
    """What a member was given by a generation, and what it gave back since."""

    entry: Entry
    partitions: frozenset[TopicPartition]
    revoked: tuple[Period, ...] = ()


class KeptUntouched:
    """K1: kept partitions see nothing of a cooperative round.

    Not every revocation of a kept partition is wrong:
    1. generation 5 takes t-0 away, its listener runs (a revocation cannot be taken back);
    2. the member rejoins meanwhile, and generation 6 gives t-0 back to it;
    3. the listener returns, the claim ends, and generation 7 gives t-0 to it anew.
    So only a revocation that began inside the generation that gave the partition counts.

    Args:
        periods: a follower shared with other oracles of the same history.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {Delivered, GenerationEntered, JoinIssued, MemberStopped, OffsetRead, OwnershipStep}
    )

    __slots__ = ("_delivered", "_holdings", "_periods")

    def __init__(self, periods: Periods | None = None) -> None:
        self._periods = Periods() if periods is None else periods
        self._holdings: dict[Source, _Holding] = {}
        self._delivered: dict[PeriodKey, Entry] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        if isinstance(entry.event, Delivered):
            key = (entry.source, entry.event.claim)
            if key not in self._delivered:
                self._delivered[key] = entry
            return ()
        for period in self._periods.observe(entry):
            if period.ended is entry:
                self._ended(period)
        match entry.event:
            case GenerationEntered() as event:
                return self._entered(entry, event)
            case JoinIssued(member_id=None):
                self._holdings.pop(entry.source, None)  # it comes back as somebody new
            case OffsetRead(claim=claim):
                return self._read_again(entry, claim)
            case _:
                pass
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _ended(self, period: Period) -> None:
        holding = self._holdings.get(period.source)
        if holding is None:
            return
        if period.ending is Ending.LOST:
            del self._holdings[period.source]
        elif period.revoking is not None and _by_round(period.revoking, holding.entry):
            revoked = (*holding.revoked, period)
            self._holdings[period.source] = replace(holding, revoked=revoked)

    def _entered(self, entry: Entry, event: GenerationEntered) -> tuple[Violation, ...]:
        source = entry.source
        before = self._holdings.pop(source, None)
        if event.protocol is not RebalanceProtocol.COOPERATIVE:
            return ()
        now = frozenset(event.assignment)
        self._holdings[source] = _Holding(entry, now)
        if before is None:
            return ()
        kept = before.partitions & now
        return tuple(
            Violation(
                "K1",
                f"{source} keeps {period.claim.tp} over a round, but gave {period.claim} up",
                (before.entry, period.ended or entry, entry),
                period.claim.tp,
            )
            for period in before.revoked
            if period.claim.tp in kept
        )

    def _read_again(self, entry: Entry, claim: Claim) -> tuple[Violation, ...]:
        delivered = self._delivered.get((entry.source, claim))
        if delivered is None:
            return ()
        text = f"{entry.source} read the committed offset of {claim} again while it holds it"
        return (Violation("K1", text, (delivered, entry), claim.tp),)


def _by_round(revoking: Entry, generation: Entry) -> bool:
    """Tell whether a revocation was decided inside a generation, not by the member's own doing.

    A busy listener may hear in the next generation of what was decided in the one before.
    """
    event, entered = revoking.event, generation.event
    assert isinstance(entered, GenerationEntered)
    if revoking.seq < generation.seq or not isinstance(event, OwnershipStep):
        return False
    decided_here = event.generation_id in (None, entered.generation_id)
    return decided_here and event.cause not in OWN_ACCORD


@dataclass(frozen=True, slots=True)
class _Window:
    """Disturbances that overlap, and the generations they cost.

    Args:
        disturbances: entries that tell of them.
        generations: that were entered since.
        latest: when the newest one was.
        protocol: of that one.
        late: generations in which a member still held what the one before took from it.
        removed: former ids of members that came back before the generation without them was
            entered.
    """

    disturbances: tuple[Entry, ...] = ()
    generations: frozenset[int] = frozenset()
    latest: float = 0.0
    protocol: RebalanceProtocol | None = None
    late: frozenset[int] = frozenset()
    removed: frozenset[str] = frozenset()

    @property
    def bound(self) -> int:
        more = len(self.late) + len(self.removed)
        if len(self.disturbances) != 1:
            return 2 * len(self.disturbances) + 1 + more
        return more + (1 if self.protocol is RebalanceProtocol.EAGER else 2)


class FewRounds:
    """K2: generations per disturbance.

    Args:
        rest: seconds without a new generation after which the group counts as at rest.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {FaultStep, GenerationEntered, JoinIssued, MemberStarted, MemberStopped, OwnershipStep}
    )

    __slots__ = (
        "_dying",
        "_faults",
        "_joining",
        "_known",
        "_missed_after",
        "_rest",
        "_seen",
        "_windows",
    )

    def __init__(self, rest: float = 5.0) -> None:
        self._rest = rest
        self._joining: dict[Source, None] = {}
        self._windows: dict[str | None, _Window] = {}
        self._faults: Counter[tuple[str, str]] = Counter()
        self._seen: dict[Source, GenerationEntered] = {}
        self._missed_after: dict[str, float] = {}
        self._dying: dict[str, float] = {}
        self._known: dict[str | None, int] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, GenerationEntered):
            self._seen[entry.source] = event
            self._joining.pop(entry.source, None)
            return self._entered(entry, event)
        if isinstance(event, FaultStep):
            self._fault(event)
        if _disturbs(entry) or self._comes_back(entry):
            self._disturbed(entry)
        self._follow(entry)
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _fault(self, event: FaultStep) -> None:
        if event.fault in LETHAL:
            for source in [each for each in self._joining if each.member == event.target]:
                del self._joining[source]
            return
        key = (event.fault, event.target)
        self._faults[key] += 1 if event.phase is Phase.BEGIN else -1
        if self._faults[key] <= 0:
            del self._faults[key]

    def _follow(self, entry: Entry) -> None:
        """Note who is on its way into the group, or out of it."""
        source = entry.source
        match entry.event:
            case MemberStarted(session_timeout=session, heartbeat_interval=interval):
                self._missed_after[source.member] = (session or 0.0) + (interval or 0.0)
            case MemberStopped():
                self._joining.pop(source, None)
            case JoinIssued() as event:
                self._joining[source] = None
                self._joins(source, event)
            case FaultStep(fault=fault, phase=Phase.BEGIN, target=target) if fault in LETHAL:
                # The coordinator misses a member that was killed when its session is over, and
                # the others hear of the round with their next heartbeat.
                self._dying[target] = entry.at + self._missed_after.get(target, 0.0)
            case _:
                pass

    def _joins(self, source: Source, event: JoinIssued) -> None:
        """Note what a JoinGroup tells about the generation before."""
        group, former = source.group, self._seen.get(source)
        window = self._windows.get(group)
        if former is None or window is None:
            return
        if event.member_id is None and self._known.get(group) == former.generation_id:
            # 1. it is removed, and a round begins; 2. it hears of that, and joins; 3. the round of
            # step 1 is over already, so that another one is needed for it.
            removed = window.removed | {former.member_id}
            self._windows[group] = replace(window, removed=removed)
        elif set(event.owned) - set(former.assignment):
            # 1. a round takes partitions from two members; 2. one has given them back, and joins;
            # 3. the other one must join as well, and still has its own.
            late = window.late | {former.generation_id}
            self._windows[group] = replace(window, late=late)

    def _resting(self, group: str | None, at: float) -> bool:
        """Tell whether nothing is under way that will cost a generation by itself.

        1. A member asks to join; 2. the owner of everything is long about giving it up, for which
        the round waits; 3. another disturbance comes: one round answers both, one more follows.
        """
        for target in [each for each, until in self._dying.items() if at > until]:
            del self._dying[target]
        joining = any(each.group == group for each in self._joining)
        return not (self._faults or self._dying or joining)

    def _comes_back(self, entry: Entry) -> bool:
        event = entry.event
        anew = isinstance(event, JoinIssued) and event.member_id is None
        return anew and entry.source in self._seen

    def _disturbed(self, entry: Entry) -> None:
        group = entry.source.group
        window = self._windows.get(group, _Window())
        if not self._resting(group, entry.at):
            window = replace(window, latest=entry.at)
        if window.generations and entry.at - window.latest > self._rest:
            window = _Window()
        self._windows[group] = replace(window, disturbances=(*window.disturbances, entry))

    def _entered(self, entry: Entry, event: GenerationEntered) -> tuple[Violation, ...]:
        group, generation = entry.source.group, event.generation_id
        if self._known.get(group) == generation:
            return ()  # a later member of the same round, or a static restart
        self._known[group] = generation
        window = self._windows.get(group, _Window())
        window = replace(
            window,
            generations=window.generations | {generation},
            latest=entry.at,
            protocol=event.protocol or window.protocol,
        )
        self._windows[group] = window
        if len(window.generations) != window.bound + 1:
            return ()
        text = (
            f"group {group}: {len(window.generations)} generations after "
            f"{len(window.disturbances)} disturbances, at most {window.bound} are expected"
        )
        return (Violation("K2", text, (*window.disturbances, entry)),)


def _disturbs(entry: Entry) -> bool:
    match entry.event:
        case MemberStarted() | MemberStopped():
            return True
        case FaultStep():
            return True
        case OwnershipStep(kind=ChangeKind.LOST, phase=Phase.BEGIN):
            return True
        case JoinIssued(cause=cause):
            return cause in OWN_ACCORD
        case _:
            return False
