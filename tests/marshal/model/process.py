"""One process with kgroup's rules, reduced to what it writes, reads back and hands out.

Decides: the steps of a claim: CP read back, HB read back, then batches; at-most-once probes each
with a CM, commits, and hands out when its HB was read back; at-least-once beats after handing out.
Never: judges which process owns a key; its own `World` does, from the log.
"""

import math
from dataclasses import dataclass
from enum import Enum, auto
from random import Random
from typing import Final, Protocol

from kgroup.marshal.key_state import Key, KeyState
from kgroup.marshal.messages import Extension, Kind, Message, Reject, decode, write_extension
from kgroup.marshal.rules import Verdict, WorldRules
from kgroup.marshal.standing import standing_of
from kgroup.marshal.world import World
from tests.marshal.model.plan import STORM, Omission, Plan
from tests.marshal.model.shared import EPOCH, Entry, SharedLog, Shelf

_PATIENCE: Final = 30.0
_BATCH: Final = 5


class Phase(Enum):
    """What a process does about a key."""

    IDLE = auto()
    CLAIMING = auto()
    CONFIRMING = auto()
    OWNED = auto()
    PROBING = auto()
    PROBED = auto()
    BEATING = auto()
    RELEASING = auto()


class Surroundings(Protocol):
    """What a process sees of the world around it."""

    plan: Plan
    log: SharedLog
    shelf: Shelf
    dice: Random
    omitted: Omission | None

    def send(self, now: float, message: Message, headers: tuple[tuple[str, bytes], ...]) -> None:
        """Take a message on its way to the log."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a process.

    Args:
        client_id: stable over restarts.
        instance_id: of this process.
        skew: of its clock, seconds.
        interval: between heartbeats that it announces.
    """

    client_id: bytes
    instance_id: bytes
    skew: float
    interval: int


@dataclass(slots=True)
class Life:
    """One key, as a process has it."""

    phase: Phase = Phase.IDLE
    awaits: bytes = b""
    sent_at: float = 0.0
    retry_at: float = 0.0
    epoch: int = -1
    position: int = 0
    upto: int = 0
    lease_ends: float = 0.0


class Process:
    """One member.

    Args:
        who: its identity.
        around: the run that it is part of.
        keys: it wants.
        now: seconds since the run began.
        window: how far back it reads; None: to the beginning.
    """

    def __init__(
        self, who: Identity, around: Surroundings, keys: list[Key], now: float,
        *, window: float | None,
    ) -> None:  # fmt: skip
        self.who = who
        self.deaf_until = 0.0
        self._around = around
        self._window = window
        self._started = int((EPOCH + now + who.skew) * 1000)
        self._serial = 0
        self._keys = keys
        self.lives: dict[Key, Life] = {}
        self._begin(now)

    def step(self, now: float) -> None:
        """Read what there is, and do what is to be done."""
        if self._generation != self._around.log.generation:
            self._begin(now)
        if now >= max(STORM, self.deaf_until) or (
            now >= self.deaf_until and self._around.dice.random() < 0.7
        ):
            self._read(now)
        # Otherwise what was read before the last pause is all that is known.
        for key, life in self.lives.items():
            self._act(key, life, now)

    def differs(self, entries: list[Entry], rules: WorldRules) -> bool:
        """Tell whether a reader of the same records now sees another world."""
        if self._window is not None or self._generation != self._around.log.generation:
            return False
        again = World(rules)
        for entry in entries[: self._next]:
            again.apply(*entry)
        return self._around.omitted is None and again.digest() != self.world.digest()

    def _begin(self, now: float) -> None:
        """Read anew, having lost whatever was owned."""
        log, complete = self._around.log, self._window is None
        self._next = 0 if self._window is None else log.first_since(now - self._window)
        append_time = self._around.plan.append_time
        self.world = World(WorldRules(append_time=append_time, complete=complete))
        self._generation = log.generation
        self.lives = {key: Life() for key in self._keys}

    # -- reading -------------------------------------------------------------------------------

    def _read(self, now: float) -> None:
        entries = self._around.log.entries
        for entry in entries[self._next :]:
            self._heed(entry, self.world.apply(*entry), now)
        self._next = len(entries)
        for key, life in self.lives.items():
            if life.epoch >= 0 and not self._owns(key, life):
                self._drop(life, now)

    def _heed(self, entry: Entry, verdict: Verdict | Reject, now: float) -> None:
        if verdict is Verdict.PAUSED and self._around.dice.random() < 0.8:
            self._release_all(now)
        nonce = dict(entry.headers).get("kg-nonce", b"")
        if not nonce.startswith(self.who.instance_id):
            return
        for key, life in self.lives.items():
            if life.awaits == nonce:
                life.awaits = b""
                self._read_back(key, life, entry.offset, verdict, now)
                return
        if verdict is Verdict.ACCEPTED:
            self._phantom(entry, now)

    def _read_back(
        self, key: Key, life: Life, offset: int, verdict: Verdict | Reject, now: float
    ) -> None:
        """Go on with a key: its last message stands in the log."""
        match life.phase, verdict:
            case Phase.CLAIMING, Verdict.ACCEPTED:
                life.phase, life.epoch = Phase.CONFIRMING, offset
                life.position = self._start(key)
                self._say(Kind.HEARTBEAT, key, life, life.position, now)
            case Phase.CONFIRMING, Verdict.RENEWED:
                life.position = self._confirmed(key, life)
                life.phase = Phase.OWNED
            case Phase.OWNED, Verdict.RENEWED:
                pass
            case Phase.PROBING, Verdict.PROBED:
                life.phase = Phase.PROBED
            case Phase.BEATING, Verdict.RENEWED:
                self._hand_out(key, life, now)
                life.phase = Phase.OWNED
            case _:
                self._drop(life, now)
        if verdict is Verdict.RENEWED:
            # From before it was sent on, less a margin for what clocks do not agree on.
            life.lease_ends = life.sent_at + 2 * self.who.interval * 7 / 8

    def _phantom(self, entry: Entry, now: float) -> None:
        """A claim was given up, and is accepted after all: free the key, or let the lease end."""
        message = decode(entry.value)
        if isinstance(message, Reject) or self._around.dice.random() < 0.5:
            return
        key = Key(message.group_id, message.topic, message.partition)
        if self.lives[key].phase is Phase.IDLE:
            claim = Life(Phase.RELEASING, epoch=entry.offset, position=self._start(key))
            self._say(Kind.RELEASING_PARTITION, key, claim, claim.position, now)

    def _start(self, key: Key) -> int:
        """Where reading begins, at the place of the claim in the log."""
        logged = self.world.keys[key].offset
        committed = self._around.shelf.committed.get(key, 0)
        if self._around.omitted is Omission.COMMITTED:
            return max(logged, 0)
        if self._around.plan.at_most_once:
            return max(logged, committed)
        return logged if logged >= 0 else committed

    def _confirmed(self, key: Key, life: Life) -> int:
        """Where reading begins now that the first heartbeat stands.

        1. A reader that began late takes a claim for accepted that others refused.
        2. The owner, by their reading, has its next heartbeat in the log before ours.
        3. It has committed before it wrote that one: what is committed now says so.
        """
        if not self._around.plan.at_most_once:
            self._around.shelf.begin(key, life.position)
            return life.position
        return max(life.position, self._start(key))

    # -- acting --------------------------------------------------------------------------------

    def _act(self, key: Key, life: Life, now: float) -> None:
        dice = self._around.dice
        if life.awaits and now - life.sent_at > _PATIENCE:
            life.awaits = b""
            if life.phase is not Phase.OWNED:
                self._drop(life, now)
        if life.phase is Phase.IDLE:
            if now >= life.retry_at and self._may_claim(key, now):
                life.phase = Phase.CLAIMING
                self._say(Kind.CLAIMING_PARTITION, key, life, 0, now)
        elif life.phase is Phase.PROBED:
            self._commit(key, life, now)
        elif life.phase is Phase.OWNED and self._around.plan.at_most_once:
            if dice.random() < 0.05 and now < STORM:
                self._release(key, life, now)
            else:
                life.upto = life.position + dice.randint(1, _BATCH)
                if self._around.omitted is Omission.READ_BACK:
                    self._commit(key, life, now)
                    return
                life.phase = Phase.PROBING
                self._say(Kind.CLAIMING_MESSAGES, key, life, life.upto, now)
        elif life.phase is Phase.OWNED:
            self._serve(key, life, now)

    def _commit(self, key: Key, life: Life, now: float) -> None:
        """At most once: commit as the owner by all that was read, within the lease; then say so."""
        if now >= life.lease_ends:
            self._drop(life, now)
            return
        self._around.shelf.committed[key] = life.upto
        self._say(Kind.HEARTBEAT, key, life, life.upto, now)
        life.phase = Phase.BEATING
        if self._around.omitted is Omission.READ_BACK:
            self._hand_out(key, life, now)
            life.phase, life.awaits = Phase.OWNED, b""
            life.lease_ends = math.inf

    def _serve(self, key: Key, life: Life, now: float) -> None:
        """At least once: hand out, then say so."""
        if now < life.lease_ends:
            life.upto = life.position + self._around.dice.randint(1, _BATCH)
            self._hand_out(key, life, now)
        if life.awaits:
            return
        if self._around.dice.random() < 0.05 and now < STORM:
            self._release(key, life, now)
        elif now - life.sent_at > self.who.interval / 3:
            self._around.shelf.committed[key] = life.position
            self._say(Kind.HEARTBEAT, key, life, life.position, now)

    def _may_claim(self, key: Key, now: float) -> bool:
        if now < STORM and self._around.dice.random() < 0.1:
            return True
        world = self.world
        state = world.keys.get(key, KeyState(definite=self._window is None))
        time = world.time
        if not self._around.plan.append_time:
            time = int((EPOCH + now + self.who.skew) * 1000)
        elif now >= STORM:
            time = max(time, int((EPOCH + now - self._around.log.behind) * 1000))
        since = world.time if state.heard < 0 else state.heard
        return standing_of(state).free_at(since) <= time

    def _hand_out(self, key: Key, life: Life, now: float) -> None:
        by = life.epoch, self.who.client_id
        offsets = range(life.position, life.upto)
        once = self._around.plan.at_most_once
        self._around.shelf.hand_out(key, offsets, by, now, once=once)
        life.position = life.upto

    def _release(self, key: Key, life: Life, now: float) -> None:
        life.phase = Phase.RELEASING
        self._say(Kind.RELEASING_PARTITION, key, life, life.position, now)

    def _release_all(self, now: float) -> None:
        for key, life in self.lives.items():
            if life.phase is Phase.OWNED:
                self._release(key, life, now)

    def _owns(self, key: Key, life: Life) -> bool:
        state = self.world.keys[key]
        mine = state.is_owner(self.who.client_id, self.who.instance_id)
        return state.owned and mine and state.epoch == life.epoch

    def _drop(self, life: Life, now: float) -> None:
        life.phase, life.epoch, life.awaits = Phase.IDLE, -1, b""
        life.retry_at = now + self._around.dice.uniform(1, 30)

    def _say(self, kind: Kind, key: Key, life: Life, tail: int, now: float) -> None:
        self._serial += 1
        who = self.who
        life.awaits = b"%s-%d" % (who.instance_id, self._serial)
        life.sent_at = now
        time = int(EPOCH + now + who.skew)
        message = Message(kind, time, who.instance_id, who.client_id, *key, tail)
        epoch = None if kind is Kind.CLAIMING_PARTITION else life.epoch
        extension = Extension(epoch, self._started, who.interval, life.awaits)
        self._around.send(now, message, tuple(write_extension(extension)))
