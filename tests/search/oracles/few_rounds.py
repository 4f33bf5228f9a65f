"""K2: a rebalance takes few rounds (KIP-429).

K2: one disturbance of a group at rest costs at most 1 generation (eager) or 2 (cooperative); n
    that overlap cost at most 2n + 1. Disturbances are: a member starts, stops, loses its
    membership or comes back under another id; a fault begins or ends; a member rejoins on its own
    accord, a leader also because its assignor asked for that, or failed.
    While a fault, the session of a killed member or a JoinGroup lasts, a group is not at rest.
    One generation more is granted for a member that the coordinator removed, and for a cooperative
    one that joins before it has given back what the last round took from it.

Decides: whether there were too many generations.
Never: judges where partitions went.
"""

from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    Entry,
    Event,
    FaultStep,
    GenerationEntered,
    JoinIssued,
    MemberStarted,
    MemberStopped,
    OwnershipStep,
    Phase,
    Source,
)
from kgroup.journal.faults import LETHAL
from kgroup.types import ChangeKind, RebalanceProtocol
from tests.search.oracles import excuses
from tests.search.oracles.cooperative import OWN_ACCORD


@dataclass(frozen=True, slots=True)
class _Window:
    """Disturbances that overlap, and the generations they cost.

    `late` are generations in which a member still held what the one before took from it; `removed`
    are former ids of members that came back before the generation without them was entered.
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
                self._dying[target] = entry.at + self._missed_after.get(target, 0.0)
            case _:
                pass

    def _joins(self, source: Source, event: JoinIssued) -> None:
        """Note what a JoinGroup tells about the generation before."""
        group, former = source.group, self._seen.get(source)
        window = self._windows.get(group)
        if former is None or window is None:
            return
        newest = self._known.get(group)
        if excuses.removed_before_its_round(event, former.generation_id, newest):
            removed = window.removed | {former.member_id}
            self._windows[group] = replace(window, removed=removed)
        elif excuses.holds_what_was_taken(event.owned, former.assignment):
            late = window.late | {former.generation_id}
            self._windows[group] = replace(window, late=late)

    def _resting(self, group: str | None, at: float) -> bool:
        """Tell whether nothing is under way that will cost a generation by itself."""
        dying = any(excuses.not_missed_yet(at, until) for until in self._dying.values())
        return not (self._faults or dying or excuses.a_join_is_under_way(self._joining, group))

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
