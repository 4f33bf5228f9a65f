"""Moves of one process, each computed once: (process, move) -> what becomes of it.

Decides: how each thing that may happen to a process is carried out, and what of it the coordinator
must know. Nothing here depends on other processes, so the results hold in every state of the world.
Never: decides what may happen when; `world` does.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from kgroup.frozen import replace
from kgroup.machine.claims import HoldingState
from kgroup.membership.events import (
    AssignorDone,
    AssignorFailed,
    CloseRequested,
    CoordinatorFound,
    Drained,
    ListenerDone,
    MetadataChanged,
    Polled,
    RunAssignor,
    Subscribed,
    Tick,
)
from kgroup.membership.step import MemberRow
from kgroup.membership.value import GroupMember
from kgroup.types import Leave
from tests.membership.machine import Machine
from tests.search.exhaustive.canon import canonical, key_of, later, newer
from tests.search.exhaustive.facts import Facts, facts_of
from tests.search.exhaustive.process import Given, Known, Lane, Orphan, Process, Stage
from tests.search.exhaustive.running import Broken, Running
from tests.search.exhaustive.scope import NOW, TICK, TOPIC, Scope
from tests.search.simulation.world.leading import lead


def assigned(
    run: RunAssignor, member: GroupMember, standing: int | None
) -> AssignorDone | AssignorFailed:
    """Return what the assignor of a leader returns.

    Args:
        run: what it was asked.
        member: the leader.
        standing: how many partitions the coordinator has assigned, None while a round is on; for a
            static leader that came back and only looks (KIP-814), or a follower that may have.
    """
    counts = dict(member.counts)
    if run.follows:
        return AssignorDone(run.ticket, (), {} if standing is None else {TOPIC: standing})
    if run.unasked:
        return AssignorDone(run.ticket, (), counts if standing is None else {TOPIC: standing})
    try:
        return lead(run, member.settings.assignors, counts, NOW)
    except Exception as error:  # noqa: BLE001 - as the real errand: the round fails
        return AssignorFailed(run.ticket, error)


# -- interning -------------------------------------------------------------------------------------


V = TypeVar("V")


@dataclass(slots=True)
class Interned(Generic[V]):
    """Values by number.

    Args:
        key: equal for values that count as one.
        values: by number.
    """

    key: Callable[[V], Hashable]
    values: list[V] = field(default_factory=list)
    _numbers: dict[Hashable, int] = field(default_factory=dict)

    def number(self, value: V) -> int:
        """Return the number of a value, a new one if it was never met."""
        key = self.key(value)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.values)
            self.values.append(value)
        return number

    def __len__(self) -> int:
        return len(self.values)


# -- local -----------------------------------------------------------------------------------------


UNBORN: Final = 0
GONE: Final = 1
KILLED: Final = 2
_FIRST: Final = 3

_RELEASE_TICKS: Final = 2


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a process.

    Args:
        number: its new number, or `GONE`.
        orphans: requests it left on their way.
        let_go: it does not read the answer to its parked request any more.
        broken: the promise that was broken on the way, None for none.
    """

    number: int
    orphans: tuple[Orphan, ...] = ()
    let_go: bool = False
    broken: str | None = None


class Local:
    """All processes that were met, and what may become of each.

    Args:
        scope: settings.
        steps: the machine; another one than kgroup's to see that a fault in it is found.
    """

    def __init__(self, scope: Scope, steps: Machine) -> None:
        self.scope = scope
        self.rows: dict[str, MemberRow] = {}
        """Rows that fired, by name."""
        self._steps = steps
        self._processes: Interned[Process] = Interned(_key)
        self._facts: list[Facts] = []
        self._done: dict[tuple[Any, ...], Result] = {}

    def process(self, number: int) -> Process:
        """Return a process by its number."""
        return self._processes.values[number - _FIRST]

    def facts(self, number: int) -> Facts:
        """Return what can be seen of a process."""
        return self._facts[number - _FIRST]

    @property
    def met(self) -> int:
        """How many processes there are."""
        return len(self._processes)

    def born(self, slot: int) -> Result:
        """Start a process."""
        return self._remembered((slot, "born"), lambda: self._born(slot))

    def do(self, number: int, slot: int, what: str, *how: Any) -> Result:
        """Have something happen to a process."""
        key = (number, slot, what, *how)
        result = self._done.get(key)
        if result is None:
            act = _MOVES[what]
            result = self._remembered(key, lambda: self._moved(number, slot, act, how))
        return result

    # -- how -----------------------------------------------------------------------------------

    def _remembered(self, key: tuple[Any, ...], make: Callable[[], Result]) -> Result:
        result = self._done.get(key)
        if result is None:
            try:
                result = make()
            except Broken as broken:
                result = Result(GONE, broken=str(broken))
            self._done[key] = result
        return result

    def _born(self, slot: int) -> Result:
        member = GroupMember.new(self.scope.member(slot), NOW)
        running = Running(slot, Process(member), self._steps)
        running.on(MetadataChanged({TOPIC: self.scope.partitions}))
        running.on(Subscribed(frozenset({TOPIC})))
        return self._result(running)

    def _moved(
        self, number: int, slot: int, act: Callable[..., None], how: tuple[Any, ...]
    ) -> Result:
        running = Running(slot, self.process(number), self._steps)
        act(running, *how)
        running.skim()
        return self._result(running)

    def _result(self, running: Running) -> Result:
        for row in running.rows:
            self.rows.setdefault(str(row), row)
        running.settle()
        if running.over:
            _kill(running)
            return Result(GONE, tuple(running.orphans), running.let_go)
        number = self._number(canonical(running.process))
        return Result(number, tuple(running.orphans), running.let_go)

    def _number(self, process: Process) -> int:
        number = self._processes.number(process)
        if number == len(self._facts):
            self._facts.append(facts_of(process, self.scope))
        return number + _FIRST


def _key(process: Process) -> Hashable:
    return process.member.settings.group_instance_id, key_of(process)


def moved(process: Process, slot: int, what: str, *how: Any) -> Process:
    """Return a process after something happened to it, as it is, in no canonical form."""
    running = Running(slot, process)
    _MOVES[what](running, *how)
    running.skim()
    running.settle()
    return running.process


# -- the moves -------------------------------------------------------------------------------------


def _back(running: Running, place: int) -> None:
    running.answered(place)


def _found(running: Running, place: int, known: Known) -> None:
    call = running.take(place)
    running.on(CoordinatorFound(call.ticket, 1, 0, known.remembered if call.recall else None))


def _assigned(running: Running, place: int, standing: int | None) -> None:
    call = running.take(place)
    assert isinstance(call.request, RunAssignor)
    running.on(assigned(call.request, running.process.member, standing))


def _put(running: Running, place: int, given: Given) -> None:
    """Note that a request has arrived: it is parked, or its answer is on its way."""
    calls, answer = list(running.process.calls), given.answer
    stage = Stage.PARKED if answer is None else Stage.ANSWERED
    calls[place] = replace(calls[place], stage=stage, answer=answer)
    running.process = replace(running.process, calls=tuple(calls))


def _reply(running: Running, given: Given) -> None:
    for place, call in enumerate(running.process.calls):
        if call.lane is Lane.JOIN and call.stage is Stage.PARKED:
            _put(running, place, given)


def _listener(running: Running) -> None:
    running.on(ListenerDone(running.process.member.changes[0].serial))


def _drained(running: Running, bits: int) -> None:
    member = running.process.member
    draining = member.holdings.having(HoldingState.DRAINING)
    running.on(Drained(tuple(claim for claim in draining if bits >> claim.tp.partition & 1)))


def _polled(running: Running) -> None:
    running.process = replace(running.process, stalled=False)
    running.on(Polled())


def _stalled(running: Running) -> None:
    running.process = replace(running.process, stalled=True)


def _ticked(running: Running) -> None:
    running.process = later(running.process, TICK)
    running.on(Tick() if running.process.stalled else Polled())
    running.time_out()


def _shifted(running: Running, shift: int) -> None:
    running.process = newer(running.process, shift)


def _cut(running: Running, lane: Lane, node_id: int) -> None:
    running.drop(lane, node_id)


def _mute(running: Running, lane: Lane, node_id: int) -> None:
    calls = []
    for call in running.process.calls:
        if (call.lane, call.node_id) == (lane, node_id) and call.stage is not Stage.BROKEN:
            running.let_go = running.let_go or call.stage is Stage.PARKED
            call = replace(call, stage=Stage.MUTE, answer=None)
        calls.append(call)
    running.process = replace(running.process, calls=tuple(calls))


def _moved_away(running: Running, *, dead: bool) -> None:
    """The other broker coordinates now; the connections of a dead one break."""
    if dead:
        running.drop(Lane.JOIN, 1)
        running.drop(Lane.BEAT, 1)
        running.orphans.clear()
    member = running.process.member
    known = member.coordinator
    if known.node_id is not None:
        known = replace(known, node_id=3 - known.node_id)
    calls = tuple(
        replace(call, node_id=3 - call.node_id) if call.node_id else call
        for call in running.process.calls
    )
    member = replace(member, coordinator=known)
    running.process = replace(running.process, member=member, calls=calls)


def _closed(running: Running) -> None:
    release_by = NOW + _RELEASE_TICKS * TICK
    running.on(CloseRequested(Leave.DEFAULT, "", release_by, release_by + TICK))


def _kill(running: Running) -> None:
    running.drop(Lane.JOIN, 1)
    running.drop(Lane.JOIN, 2)
    running.drop(Lane.BEAT, 1)
    running.drop(Lane.BEAT, 2)
    running.over = True


_MOVES: Final[Mapping[str, Callable[..., None]]] = MappingProxyType(
    {
        "back": _back,
        "found": _found,
        "assigned": _assigned,
        "put": _put,
        "reply": _reply,
        "listener": _listener,
        "drained": _drained,
        "poll": _polled,
        "stall": _stalled,
        "tick": _ticked,
        "shift": _shifted,
        "cut": _cut,
        "mute": _mute,
        "move": lambda running: _moved_away(running, dead=False),
        "crash": lambda running: _moved_away(running, dead=True),
        "close": _closed,
        "kill": _kill,
    }
)
