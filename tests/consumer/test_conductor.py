"""The conductor with a machine that is not a group: its promises to any machine and effects."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

import anyio
import pytest
from anyio.abc import ByteStream, TaskGroup

from kgroup.backends.conductor import Conductor
from kgroup.machine.wishes import Done, Moment, Raise, Tick
from kgroup.net.ports import Ports
from kgroup.types import Claim, Membership, MemberState

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Lamp:
    """A value: how often it was switched, when it goes out, how often it has gone out."""

    switched: int = 0
    due: float = math.inf
    out: int = 0


@dataclass(frozen=True)
class Say:
    """An effect: say a word, after some seconds."""

    word: str
    after: float = 0.0


@dataclass(frozen=True)
class Switch:
    """An event: switch it, for some seconds, with these effects; `quiet`: the snapshot hides it."""

    lasts: float = math.inf
    effects: tuple[Say | Raise | Done, ...] = ()
    quiet: bool = False


Effect = Say | Raise | Done


@dataclass(frozen=True)
class Turn:
    member: Lamp
    effects: tuple[Effect, ...] = ()


class Switchboard:
    """Steps a lamp; keeps each event with its instant."""

    def __init__(self) -> None:
        self.steps: list[tuple[float, Switch | Tick]] = []
        self.chances: list[float] = []
        self.looks = 0

    def new(self, now: float) -> Lamp:
        return Lamp()

    def step(self, member: Lamp, event: Switch | Tick, moment: Moment) -> Turn:
        self.steps.append((moment.now, event))
        self.chances.append(moment.chance)
        if member.due <= moment.now:
            member = replace(member, due=math.inf, out=member.out + 1)
        if isinstance(event, Tick):
            return Turn(member)
        due = moment.now + event.lasts
        switched = member.switched + (0 if event.quiet else 1)
        return Turn(replace(member, switched=switched, due=due), event.effects)

    def next_deadline(self, member: Lamp) -> float:
        return member.due

    def shows_more(self, before: Lamp, after: Lamp) -> bool:
        return (before.switched, before.out) != (after.switched, after.out)

    def delivers_until(self, member: Lamp, claim: Claim) -> float:
        return member.due

    def snapshot(self, member: Lamp) -> Membership:
        self.looks += 1
        return Membership("g", MemberState.STABLE, rebalances=member.switched)


@dataclass
class Speaker:
    """Carries out what a lamp wants said."""

    heard: list[str] = field(default_factory=list)
    passed: list[tuple[Effect, ...]] = field(default_factory=list)

    def carry_out(self, effects: tuple[Effect, ...], tasks: TaskGroup) -> None:
        if effects:
            self.passed.append(effects)
        for effect in effects:
            if isinstance(effect, Say):
                tasks.start_soon(self._say, effect)

    async def _say(self, effect: Say) -> None:
        await anyio.sleep(effect.after)
        self.heard.append(effect.word)


async def no_network(host: str, port: int) -> ByteStream:
    raise OSError("there is no network here")


class Room:
    """A conductor with its machine and its effects."""

    def __init__(self) -> None:
        ports = Ports(no_network, anyio.current_time, anyio.current_time, Random(0))
        self.board = Switchboard()
        self.speaker = Speaker()
        self.conductor = Conductor[Lamp, Switch, Effect](self.board, ports)

    async def during(self, act: Callable[[], None], seconds: float) -> None:
        """Run the conductor, act, and look again after some seconds."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.conductor.run, self.speaker)
            await anyio.sleep(1.0)
            act()
            await anyio.sleep(seconds)
            tasks.cancel_scope.cancel()


@pytest.fixture
def room() -> Room:
    return Room()


async def test_an_event_applies_at_once_and_its_effects_wait_for_the_run(room: Room) -> None:
    room.conductor.apply(Switch(effects=(Say("on"),)))
    assert room.conductor.member.switched == 1
    assert room.speaker.heard == []
    await room.during(lambda: None, 0.1)
    assert room.speaker.heard == ["on"]


async def test_effects_are_carried_out_once_and_in_order(room: Room) -> None:
    def act() -> None:
        room.conductor.apply(Switch(effects=(Say("a"), Say("b"))))
        room.conductor.apply(Switch(effects=(Say("c"),)))

    await room.during(act, 3.0)
    assert room.speaker.passed == [(Say("a"), Say("b"), Say("c"))]


async def test_events_of_one_instant_share_a_chance_so_that_their_order_changes_none(
    room: Room,
) -> None:
    for _ in range(3):
        room.conductor.apply(Switch())
        room.conductor.apply(Switch())
        await anyio.sleep(0.5)
    assert room.board.chances[::2] == room.board.chances[1::2]
    assert len(set(room.board.chances)) == 3


async def test_the_machine_is_woken_at_its_deadline(room: Room) -> None:
    await room.during(lambda: room.conductor.apply(Switch(lasts=3.25)), 5.0)
    began = room.board.steps[0][0]
    ticks = [at - began for at, event in room.board.steps if isinstance(event, Tick)]
    assert ticks == pytest.approx([3.25])
    assert room.conductor.member.out == 1


async def test_a_deadline_that_comes_nearer_wakes_it_earlier(room: Room) -> None:
    room.conductor.apply(Switch(lasts=60.0))
    await room.during(lambda: room.conductor.apply(Switch(lasts=0.25)), 0.5)
    assert room.conductor.member.out == 1


async def test_waiters_wake_only_for_changes_that_the_snapshot_shows(room: Room) -> None:
    moves: list[int] = []
    room.conductor.on_move = lambda lamp: moves.append(lamp.switched)
    room.conductor.apply(Switch(quiet=True))
    assert moves == []
    with anyio.move_on_after(1.0) as in_vain:
        await room.conductor.moved()
    assert in_vain.cancelled_caught
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(room.conductor.moved)
        await anyio.sleep(1.0)
        room.conductor.apply(Switch())
    assert moves == [1]


async def test_the_snapshot_is_made_once_per_visible_change(room: Room) -> None:
    first = room.conductor.snapshot()
    room.conductor.apply(Switch(quiet=True))
    assert room.conductor.snapshot() is first
    room.conductor.apply(Switch())
    assert room.conductor.snapshot().rebalances == 1
    assert room.board.looks == 2


async def test_the_conductor_ends_at_once_when_the_membership_is_done(room: Room) -> None:
    room.conductor.apply(Switch(effects=(Say("late", after=0.5), Done())))
    began = anyio.current_time()
    await room.conductor.run(room.speaker)
    assert anyio.current_time() == began
    assert room.conductor.finished
    assert room.conductor.failure is None
    assert room.speaker.heard == []


async def test_a_failure_ends_it_once_a_farewell_is_said(room: Room) -> None:
    error = OSError("the lamp is broken")
    effects = (Say("farewell", after=0.5), Say("too late", after=2.0), Raise(error))
    room.conductor.apply(Switch(effects=effects))
    began = anyio.current_time()
    await room.conductor.run(room.speaker)
    assert anyio.current_time() - began == pytest.approx(1.0)
    assert room.conductor.failure is error
    assert not room.conductor.finished
    assert room.speaker.heard == ["farewell"]


async def test_what_happened_beside_the_loop_is_heard_before_the_event_and_its_timers(
    room: Room,
) -> None:
    beside = [Switch(lasts=5.0), Switch(lasts=7.0)]
    room.conductor.heard = lambda: beside.pop(0) if beside else None
    room.conductor.apply(Tick())
    assert [event for _, event in room.board.steps] == [Switch(5.0), Switch(7.0), Tick()]


async def test_what_happened_beside_the_loop_is_heard_when_somebody_asks(room: Room) -> None:
    beside = [Switch()]
    room.conductor.heard = lambda: beside.pop(0) if beside else None
    room.conductor.catch_up()
    assert room.conductor.member.switched == 1
    room.conductor.catch_up()
    assert room.conductor.member.switched == 1


async def test_each_value_is_lent_before_anything_it_wants_is_begun(room: Room) -> None:
    lent: list[tuple[int, int]] = []
    room.conductor.lend = lambda lamp: lent.append((lamp.switched, len(room.speaker.passed)))
    await room.during(lambda: room.conductor.apply(Switch(effects=(Say("on"),))), 0.1)
    assert lent == [(1, 0)]
    assert len(room.speaker.passed) == 1
