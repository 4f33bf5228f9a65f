"""One run from one seed: a group, a storm of troubles, then rest, and a look at what is left.

Decides: what is drawn, and what a group must come to once nothing goes wrong any more.
Never: lets luck in from anywhere but the seed.
"""

import math
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Final

from kgroup.marshal.admission import AdmissionStage
from kgroup.marshal.rules import ClaimPolicy, Guarantee
from kgroup.types import Leave
from tests.marshal.room.habits import Habits
from tests.marshal.room.limits import LAST, Limits, level_of
from tests.marshal.room.log import RoomLog
from tests.marshal.room.node import Node
from tests.marshal.room.room import Room, Trouble

_BACK_OFF: Final = 45.0
_CLOSING: Final = 10.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run.

    Args:
        broken: promises, in order.
        transcript: hash of all that happened.
        rows: how often each row fired.
        batch_moves: how often a batch went from one stage to another.
        handed_out: batches.
    """

    broken: tuple[str, ...]
    transcript: str
    rows: Counter[str]
    batch_moves: Counter[tuple[AdmissionStage, AdmissionStage]]
    handed_out: int


class _Play:
    def __init__(self, seed: int, *, brief: bool = False, limited: bool = False) -> None:
        self.brief = brief
        self.dice = dice = Random(seed)
        self.guarantee = dice.choice(list(Guarantee))
        self.policy = dice.choice([ClaimPolicy.FAIR] * 4 + list(ClaimPolicy))
        self.interval = dice.choice([20] if brief else [60, 60, 20, 5])
        append_time = dice.random() < 0.8
        self.skewed = 0.0 if append_time else dice.choice([0.0, 0.0, 1.0, 90.0, 3600.0])
        most = 4 if brief else 7
        counts = {f"t{n}": dice.randrange(1, most) for n in range(dice.choice([1, 1, 1, 2]))}
        level = dice.choice([0.0, 0.01, 0.05])
        trouble = Trouble(*(level * dice.random() for _ in range(5)))
        self.room = Room(dice, RoomLog(append_time=append_time), counts, trouble)
        self.room.coordinator_refuses = (
            self.guarantee is Guarantee.AT_LEAST_ONCE and dice.random() < 0.1
        )
        if self.skewed:
            self.room.judge.strict_until = 0.0
        self.number = 0
        self.names = [f"m{n}" for n in range(dice.randrange(1, 5))]
        # Of dice of its own: what else is drawn from a seed is the same with limits and without.
        self.limits = Limits(Random(f"limits of {seed}")) if limited else None

    def habits(self) -> Habits:
        dice = self.dice
        return Habits(
            poll_every=dice.choice([1.0, 3.0, 10.0]),
            work=dice.choice([0.01, 0.5, 5.0, 40.0]),
            commits=dice.choice([1.0, 0.5, 0.0]),
            rewinds=dice.choice([0.0, 0.0, 0.1]),
            listens=dice.choice([0.01, 0.01, 2.0, 20.0]),
            read_delay=dice.choice([0.01, 0.05, 0.5, 3.0]),
            skew=self.dice.choice([-1, 0, 1]) * self.skewed,
        )

    def enter(self, client_id: str, *, takes: float = 0.1) -> Node:
        self.number += 1
        settings = self.room.settings(
            client_id,
            self.number,
            interval=self.interval,
            guarantee=self.guarantee,
            policy=self.policy,
            is_static=self.dice.random() < 0.8,
            rebalance_timeout=300.0,
            max_claims=None if self.limits is None else self.limits.of(client_id),
        )
        return self.room.enter(settings, self.habits(), takes)

    # -- what goes wrong -------------------------------------------------------------------

    def disturb(self) -> None:
        dice, room = self.dice, self.room
        living = room.living()
        node = dice.choice(living) if living else None
        what = dice.choice(_TROUBLES)
        if node is None or what is None:
            if len(living) < 4:
                self.enter(f"m{len(self.names)}")
                self.names.append(f"m{len(self.names)}")
            return
        what(self, node)

    def restart(self, node: Node) -> None:
        node.dead = True
        self.enter(node.settings.client_id, takes=self.dice.choice([0.1, 5.0, 60.0]))

    def kill(self, node: Node) -> None:
        node.dead = True

    # A stopped node sleeps until that is over, whatever is drawn after it: a shorter stop ends
    # none that was drawn before.

    def pause(self, node: Node) -> None:
        until = self.room.now + self.dice.choice([10.0, 100.0, 300.0])
        node.paused_until = max(node.paused_until, until)

    def deafen(self, node: Node) -> None:
        until = self.room.now + self.dice.choice([10.0, 100.0, 300.0])
        node.deaf_until = max(node.deaf_until, until)

    def mute(self, node: Node) -> None:
        until = self.room.now + self.dice.choice([10.0, 100.0, 300.0])
        node.mute_until = max(node.mute_until, until)

    def cut_off(self, node: Node) -> None:
        self.deafen(node)
        self.mute(node)

    def stop_polling(self, node: Node) -> None:
        node.lazy_until = max(node.lazy_until, self.room.now + self.dice.choice([10.0, 350.0]))

    def truncate(self, _: Node) -> None:
        room = self.room
        room.log.truncate(self.dice.randrange(1, 8))
        room.judge.loose_until = room.now + 310.0  # the last deaf one may notice as late
        for node in room.nodes:
            node.heard()

    def set_clock_back(self, _: Node) -> None:
        self.room.log.behind += self.dice.uniform(0, 100)

    def jump(self, node: Node) -> None:
        if self.skewed:
            node.gets(skew=self.dice.choice([-1, 0, 1]) * self.skewed)

    def pause_group(self, _: Node) -> None:
        self.room.pause_group(self.dice.choice([0, 5, 60]))

    def grow(self, _: Node) -> None:
        counts = {topic: min(many + 1, 8) for topic, many in self.room.counts.items()}
        self.room.grow(counts)

    def close(self, node: Node) -> None:
        node.close(self.dice.choice(list(Leave)), _CLOSING / 2, _CLOSING)

    # -- the run ---------------------------------------------------------------------------

    def storm(self) -> None:
        for name in self.names:
            self.enter(name, takes=self.dice.choice([0.1, 1.0]))
        for _ in range(self.dice.randrange(3, 6 if self.brief else 14)):
            self.room.run(self.dice.choice([0.05, 1.0, 10.0, 40.0, 20.0 if self.brief else 150.0]))
            self.disturb()

    def calm(self) -> None:
        room = self.room
        room.trouble = Trouble()
        for node in room.nodes:
            lasts = max(node.paused_until, node.deaf_until, node.mute_until, node.lazy_until)
            room.run(max(lasts - room.now, 0.0) if node.lives else 0.0)
        # A heartbeat that is under way for minutes renews its sender's claim when it arrives, and
        # nobody can have that key before the lease is over, its sender no sooner than others.
        room.run(max(room.arrived_by - room.now, 0.0))
        staying = [node for node in room.living() if node.leave_by == math.inf]
        if all(node.settings.max_claims is not None for node in staying):
            self.enter(LAST)  # it takes all that is left, at least
        for node in room.nodes:
            node.gets(skew=0.0, listens=0.01, work=0.5, rewinds=0.0, poll_every=5.0)

    def settle(self) -> None:
        """See what the group comes to."""
        room, judge = self.room, self.room.judge
        pause = 60.0
        room.run(pause + 2 * self.interval + 30.0 + _BACK_OFF + 2 * self.skewed)
        for node in room.living():
            if room.now > node.leave_by + 0.001:
                judge.breaks(f"{node.name}: did not end by its deadline")
        for tp in room.partitions():
            if room.owner_of(tp) is None:
                judge.breaks(f"{tp} is nobody's; the log has {room.log.state(tp)}")
        # Presence goes by the clocks of the senders, unless the broker's clock is used.
        if self.policy is ClaimPolicy.FAIR and self.skewed <= 1.0:
            room.run((10.0 if self.brief else 30.0) * len(room.partitions()) + 60.0)
            passed = room.log.skipped_until() / 1000 - room.log.clock(0.0)
            if passed > room.now:  # members that could not claim are waited for again then
                room.run(passed - room.now + 30.0 * len(room.partitions()))
            self._is_fair()
        before = [len(node.changes) for node in room.nodes]
        room.run(3.0 * self.interval + 60.0)
        if before != [len(node.changes) for node in room.nodes]:
            judge.breaks("ownership still changes")
        for node in room.nodes:
            node.lazy_until = room.now + 100.0
        room.run(60.0)
        for each in judge.unanswered():
            judge.breaks(f"not answered: {each}")

    def _is_fair(self) -> None:
        room, living = self.room, self.room.living()
        limits = {node.settings.client_id: node.settings.max_claims for node in living}
        if any(most is not None for most in limits.values()) and len(room.counts) > 1:
            return  # a limit leaves topics to others in the order in which they came
        for topic, count in room.counts.items():
            floor = level_of(count, limits.values())
            for node in living:
                mine = sum(claim.tp.topic == topic for claim in node.member.holdings.claims)
                most = limits[node.settings.client_id]
                least = floor if most is None else min(floor, most)
                rest = count > sum(floor if m is None else min(floor, m) for m in limits.values())
                if not least <= mine <= least + rest:
                    room.judge.breaks(f"{node.name} has {mine} of {count} of {topic}")


_TROUBLES: Final = (
    _Play.restart,
    _Play.restart,
    _Play.kill,
    _Play.pause,
    _Play.pause,
    _Play.deafen,
    _Play.mute,
    _Play.cut_off,
    _Play.stop_polling,
    _Play.truncate,
    _Play.set_clock_back,
    _Play.jump,
    _Play.pause_group,
    _Play.grow,
    _Play.close,
    None,
    None,
)


def play(seed: int, *, brief: bool = False, limited: bool = False) -> Outcome:
    """Play one run.

    Args:
        seed: of everything.
        brief: whether leases and storms are short.
        limited: whether some members take no more than so many partitions.
    """
    run = _Play(seed, brief=brief, limited=limited)
    run.storm()
    run.calm()
    run.settle()
    judge = run.room.judge
    batches = sum(len(node.handed_out) for node in run.room.nodes)
    words = tuple(judge.broken), judge.transcript()
    return Outcome(*words, judge.rows, judge.batch_moves, batches)
