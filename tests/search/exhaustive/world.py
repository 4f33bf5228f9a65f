"""The small world: processes, one coordinator, and every move that is possible in a state.

Decides: what may happen in a state, in which order the tame moves are listed, what a fault costs,
and whether two processes hold a partition at once (S1, S2).
Never: searches.

A state is a tuple of numbers: one per process, that of the coordinator, faults left, closes left.
The clock moves on only when nothing is in a hurry, that is when no message is on its way; moving on
all the same is a fault like any other ("late").
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from kgroup.membership.events import RunAssignor
from kgroup.membership.step import step
from kgroup.wire.messages import JoinGroupRequest
from tests.membership.machine import Machine
from tests.search.exhaustive.coming import Came, Coming
from tests.search.exhaustive.coordinator import Coordinator
from tests.search.exhaustive.counter import UPSETS
from tests.search.exhaustive.local import GONE, KILLED, UNBORN, Local, Result
from tests.search.exhaustive.process import Lane, Stage
from tests.search.exhaustive.scope import Fault, Mode, Scope

State = tuple[int, ...]

_LIVE: Final = KILLED + 1
_FAULTS_THAT_FENCE: Final = 2
_OF_LANES: Final = (Fault.CUT, Fault.MUTE)
_OF_PROCESSES: Final = (Fault.KILL, Fault.STALL)
_CRASHES: Final = (Fault.CRASH, Fault.LOAD)


class Move(NamedTuple):
    """One step of the world; there are millions of them.

    Args:
        name: what happens.
        slot: to which process, None for none.
        how: more of it.
        state: the world after it.
        tame: nothing unusual: a world that only makes such moves comes to rest.
        broken: the promise that was broken on the way.
    """

    name: str
    slot: int | None
    how: Any
    state: State
    tame: bool = True
    broken: str | None = None


@dataclass(slots=True)
class _Next:
    """A state in the making."""

    numbers: list[int]
    coordinator: int
    broken: str | None = None


@dataclass(slots=True)
class World:
    """One small world.

    Args:
        scope: its size.
        steps: the machine of all members.
        reduced: leave out orders that make no difference, see `_alone`.
    """

    scope: Scope
    steps: Machine = step
    reduced: bool = True
    local: Local = field(init=False)
    coming: Coming = field(init=False)

    def __post_init__(self) -> None:
        self.local = Local(self.scope, self.steps)
        self.coming = Coming(self.scope)

    @property
    def start(self) -> State:
        """No process has begun."""
        size = self.scope.members
        coordinator = self.coming.coordinators.number(Coordinator())
        return (*(UNBORN,) * size, coordinator, self.scope.faults, self.scope.closes)

    # -- what may happen -----------------------------------------------------------------------

    def moves(self, state: State) -> Iterator[Move]:
        """Yield every move, the tame ones first."""
        size = self.scope.members
        coordinator = self.coming.coordinators.values[state[size]]
        live = [(slot, number) for slot, number in enumerate(state[:size]) if number >= _LIVE]
        if self.reduced and not state[size + 1]:
            alone = self._alone(state, live)
            if alone:
                yield from alone
                return
        for slot, number in live:
            yield from self._messages(state, slot, number)
        for slot, number in live:
            yield from self._application(state, slot, number)
        hurried = any(self.local.facts(number).hurried for _, number in live)
        if not hurried:
            yield from self._clock(state, "the clock moves on", spent=0)
        yield from self._lives(state, coordinator)
        for place, orphan in enumerate(coordinator.orphans):
            yield self._orphan(state, place, orphan.slot)
        if state[size + 1] > 0:
            yield from self._faults(state, live, hurried=hurried)

    def _alone(self, state: State, live: list[tuple[int, int]]) -> list[Move]:
        """Return the moves of one process that need not be tried in another order with others'.

        It has something in hand for which the clock waits; nothing of it is on its way to the
        coordinator or parked there; no fault is left: whatever the others do can neither see these
        moves, nor prevent them, nor add to them. They also leave what it holds as it is, so that no
        state that S2 judges is skipped (a persistent set, invisible to the promise).
        """
        for slot, number in live:
            facts = self.local.facts(number)
            if not facts.private:
                continue
            moves = [*self._messages(state, slot, number), *self._application(state, slot, number)]
            if state[-1] > 0:
                moves.append(self._own(state, "closes", slot, ("close",)))
            if all(
                not move.broken and self._holds(move.state[slot]) == facts.holds for move in moves
            ):
                return moves
        return []

    def _holds(self, number: int) -> int:
        return self.local.facts(number).holds if number >= _LIVE else 0

    def _messages(self, state: State, slot: int, number: int) -> Iterator[Move]:
        facts, process = self.local.facts(number), self.local.process(number)
        for place in facts.awaits:
            call = process.calls[place]
            name = f"{type(call.request).__name__} arrives"
            yield self._arrival(state, slot, place, name)
        for place in facts.returns:
            call = process.calls[place]
            if isinstance(call.request, RunAssignor):
                yield self._assigned(state, slot, place)
            elif call.lane is Lane.ANY and call.stage is Stage.SENT:
                yield self._search(state, slot, place)
            else:
                what = "its connection is gone" if call.answer is None else "is answered"
                name = f"{type(call.request).__name__} {what}"
                yield self._own(state, name, slot, ("back", place))

    def _application(self, state: State, slot: int, number: int) -> Iterator[Move]:
        facts = self.local.facts(number)
        if facts.listening:
            yield self._own(state, "the listener returns", slot, ("listener",))
        if facts.draining:
            every = facts.draining
            yield self._own(state, "batches are finished", slot, ("drained", every))
            # Eager members wait for all of them.
            eager = self.scope.mode is Mode.EAGER
            for bits in () if eager else _single(every):
                yield self._own(state, "a batch is finished", slot, ("drained", bits))
        if facts.dormant:
            yield self._own(state, "the application polls again", slot, ("poll",))

    def _lives(self, state: State, coordinator: Coordinator) -> Iterator[Move]:
        size = self.scope.members
        for slot, number in enumerate(state[:size]):
            if number == UNBORN and (slot == 0 or state[slot - 1] != UNBORN):
                yield self._birth(state, "starts", slot)
            quiet = all(orphan.slot != slot for orphan in coordinator.orphans)
            if number == KILLED and self.scope.mode is Mode.STATIC and quiet:
                yield self._birth(state, "restarts", slot)
            if number >= _LIVE and state[size + 2] > 0:
                yield self._own(state, "closes", slot, ("close",))

    def _faults(
        self, state: State, live: list[tuple[int, int]], *, hurried: bool
    ) -> Iterator[Move]:
        kinds = self.scope.kinds
        if hurried and Fault.LATE in kinds:
            yield from self._clock(state, Fault.LATE.words, spent=1)
        for slot, number in live:
            for fault in _OF_LANES:
                for lane, node_id in self.local.facts(number).lanes if fault in kinds else ():
                    yield self._own(state, fault.words, slot, (fault.value, lane, node_id), fault)
            for fault in _OF_PROCESSES:
                if fault in kinds and not (
                    fault is Fault.STALL and self.local.facts(number).stalled
                ):
                    yield self._own(state, fault.words, slot, (fault.value,), fault)
        for kind in UPSETS:
            if kind in kinds:
                yield self._upset(state, kind)

    # -- how it happens ------------------------------------------------------------------------

    def _own(
        self,
        state: State,
        name: str,
        slot: int,
        what: tuple[Any, ...],
        fault: Fault | None = None,
    ) -> Move:
        # What `_move` does, with less of it: most moves touch no other process.
        size = self.scope.members
        result = self.local.do(state[slot], slot, *what)
        number, coordinator = result.number, state[size]
        if what[0] == "kill" and number == GONE:
            number = KILLED
        if result.orphans or result.let_go:
            coordinator = self.coming.left(coordinator, slot, result)
        spent = int(fault is not None), int(what[0] == "close")
        numbers = (*state[:slot], number, *state[slot + 1 : size])
        if number >= _LIVE and self.local.facts(number).fenced:
            begun = _Next([*numbers], coordinator, result.broken)
            return self._move(begun, Move(name, slot, what, state, not any(spent)), spent)
        after = (*numbers, coordinator, state[-2] - spent[0], state[-1] - spent[1])
        broken = result.broken or self._wrong(after)
        return Move(name, slot, what, after, not any(spent), broken)

    def _birth(self, state: State, name: str, slot: int) -> Move:
        begun = self._begun(state)
        self._put(begun, slot, self.local.born(slot))
        return self._move(begun, Move(name, slot, None, state, tame=False))

    def _search(self, state: State, slot: int, place: int) -> Move:
        recall = self.local.process(state[slot]).calls[place].recall
        known = self.coming.remembered(state[self.scope.members], slot, recall=recall)
        return self._own(state, "the coordinator is found", slot, ("found", place, known))

    def _assigned(self, state: State, slot: int, place: int) -> Move:
        request = self.local.process(state[slot]).calls[place].request
        assert isinstance(request, RunAssignor)
        standing = None
        if request.unasked and request.node_id is not None:
            standing = self.coming.assigned_count(state[self.scope.members])
        return self._own(state, "the assignor returns", slot, ("assigned", place, standing))

    def _arrival(self, state: State, slot: int, place: int, name: str) -> Move:
        call = self.local.process(state[slot]).calls[place]
        request = call.request
        assert not isinstance(request, RunAssignor)
        asked = call.node_id, request
        used = self._used(state, request)
        came = self.coming.arrives(
            state[self.scope.members], slot, (state[slot], place), asked, used
        )
        begun = self._begun(state)
        self._take(begun, came)
        self._put(begun, slot, self.local.do(begun.numbers[slot], slot, "put", place, came.given))
        self._pass_on(begun, came)
        return self._move(begun, Move(name, slot, came.given.answer, state))

    def _orphan(self, state: State, place: int, slot: int) -> Move:
        coordinator = self.coming.coordinators.values[state[self.scope.members]]
        used = self._used(state, coordinator.orphans[place].request)
        came = self.coming.orphan_arrives(state[self.scope.members], place, used)
        begun = self._begun(state)
        self._take(begun, came)
        self._pass_on(begun, came)
        name = f"{type(coordinator.orphans[place].request).__name__} of a closed connection arrives"
        return self._move(begun, Move(name, slot, None, state, tame=False))

    def _clock(self, state: State, name: str, *, spent: int) -> Iterator[Move]:
        for served in self.coming.later(state[self.scope.members]):
            begun = self._begun(state)
            self._take(begun, served)
            ticked = []
            for slot, number in enumerate(begun.numbers):
                if number >= _LIVE:
                    result = self.local.do(number, slot, "tick")
                    begun.numbers[slot] = result.number
                    begun.broken = begun.broken or result.broken
                    ticked.append((slot, result))
            self._pass_on(begun, served)
            for slot, result in ticked:
                begun.coordinator = self.coming.left(begun.coordinator, slot, result)
            yield self._move(begun, Move(name, None, None, state, not spent), (spent, 0))

    def _upset(self, state: State, kind: Fault) -> Move:
        served = self.coming.upset(state[self.scope.members], kind)
        begun = self._begun(state)
        self._take(begun, served)
        if kind in _CRASHES:
            self._everybody(begun, "crash")
        self._pass_on(begun, served)
        if kind is Fault.MOVE:
            self._everybody(begun, "move")
        return self._move(begun, Move(kind.words, None, None, state, tame=False), (1, 0))

    # -- pieces --------------------------------------------------------------------------------

    def _begun(self, state: State) -> _Next:
        size = self.scope.members
        return _Next(list(state[:size]), state[size])

    def _used(self, state: State, request: object) -> frozenset[str]:
        """Return ids that must not be given out again; only a newcomer is given one."""
        if not isinstance(request, JoinGroupRequest) or request.member_id:
            return frozenset()
        size = self.scope.members
        ids = self.coming.ids(state[size])
        for number in state[:size]:
            if number >= _LIVE:
                ids |= self.local.facts(number).ids
        return ids

    def _take(self, begun: _Next, served: Came) -> None:
        """Put a new coordinator in place; generations everywhere are counted from its own."""
        begun.coordinator = served.coordinator
        if served.shift:
            self._everybody(begun, "shift", served.shift)

    def _everybody(self, begun: _Next, what: str, *how: Any) -> None:
        for slot, number in enumerate(begun.numbers):
            if number >= _LIVE:
                self._put(begun, slot, self.local.do(number, slot, what, *how))

    def _pass_on(self, begun: _Next, served: Came) -> None:
        for slot, answer in served.replies:
            if begun.numbers[slot] >= _LIVE:
                self._put(begun, slot, self.local.do(begun.numbers[slot], slot, "reply", answer))

    def _put(self, begun: _Next, slot: int, result: Result) -> None:
        begun.numbers[slot] = result.number
        begun.broken = begun.broken or result.broken
        begun.coordinator = self.coming.left(begun.coordinator, slot, result)

    def _move(self, begun: _Next, move: Move, spent: tuple[int, int] = (0, 0)) -> Move:
        """Return a move, so far with the state it begins in, with the one it leads to."""
        faults, closes = move.state[-2] - spent[0], move.state[-1] - spent[1]
        self._end_fenced(begun, self.scope.faults - faults)
        after = (*begun.numbers, begun.coordinator, faults, closes)
        broken = begun.broken or self._wrong(after)
        return Move(move.name, move.slot, move.how, after, move.tame, broken)

    def _end_fenced(self, begun: _Next, happened: int) -> None:
        """Let processes end that are fenced; it takes two faults to fence one that has no twin.

        1. A static member restarts while a round is on; its new id is not in the log before that
        round is; 2. the coordinator resigns: the next reader of the log knows the old id alone.
        There is nothing in the answer to tell that from a twin, so the member ends (KIP-345).
        """
        for slot, number in enumerate(begun.numbers):
            if number < _LIVE or not self.local.facts(number).fenced:
                continue
            if self.scope.mode is not Mode.STATIC or happened < _FAULTS_THAT_FENCE:
                begun.broken = "T2: a member without a twin is fenced"
                continue
            self._put(begun, slot, self.local.do(number, slot, "kill"))
            begun.numbers[slot] = KILLED

    # -- judging -------------------------------------------------------------------------------

    def _wrong(self, state: State) -> str | None:
        taken, facts_of = 0, self.local.facts
        for number in state[: self.scope.members]:
            if number < _LIVE:
                continue
            facts = facts_of(number)
            if facts.wrong is not None:
                return facts.wrong
            if taken & facts.holds:
                return "S2: two members hold a partition at once, both leases good"
            taken |= facts.holds
        return None

    def at_rest(self, state: State) -> bool:
        """Whether the live members have everything, each partition once."""
        taken, anybody = 0, False
        for number in state[: self.scope.members]:
            if number < _LIVE:
                continue
            anybody = True
            facts = self.local.facts(number)
            if not facts.steady:
                return False
            taken |= facts.holds
        return not anybody or taken == (1 << self.scope.partitions) - 1


def _single(bits: int) -> list[int]:
    """Return each of several bits, nothing when there is but one."""
    single = [1 << place for place in range(bits.bit_length()) if bits >> place & 1]
    return single if len(single) > 1 else []
