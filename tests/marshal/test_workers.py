"""How many keys each client works on: a claim of a long free key costs the same in any log."""

import random
from collections import Counter

import pytest

from kgroup.marshal.catching_up import CatchUp
from kgroup.marshal.key_state import Key
from kgroup.marshal.messages import Extension, Kind, Message, encode, write_extension
from kgroup.marshal.presence import PATIENCE_MS
from kgroup.marshal.rules import WorldRules
from kgroup.marshal.shares import Workers
from kgroup.marshal.world import World
from kgroup.wire.records import Headers
from tests.marshal.counting import calls_of
from tests.marshal.logs import START, columns_of

LATER = PATIENCE_MS // 1000 + 1
CLAIM, BEAT, RELEASE = Kind.CLAIMING_PARTITION, Kind.HEARTBEAT, Kind.RELEASING_PARTITION


class Log:
    """A world, and members that write for it."""

    def __init__(self) -> None:
        self.world = World(WorldRules(append_time=True, complete=True))

    def say(self, kind: Kind, at: int, who: bytes, partition: int, topic: bytes = b"t") -> None:
        state = self.world.keys.get(Key(b"g", topic, partition))
        epoch = state.epoch if state and kind is not CLAIM else None
        row = record(self.world.next_offset, kind, at, who, partition, epoch, topic)
        self.world.apply(*row)

    def adopt(self, at: int, who: bytes, partition: int, interval: int) -> None:
        """Write the heartbeat of a claim that was not read, because reading began behind it."""
        offset = self.world.next_offset + 1
        _, time, value, _ = record(offset, BEAT, at, who, partition, None)
        words = write_extension(Extension(offset - 1, 1_000, interval, b"1"))
        self.world.apply(offset, time, value, words)

    def begin(self, at: int, who: bytes, partition: int, topic: bytes = b"t") -> None:
        self.say(CLAIM, at, who, partition, topic)
        self.say(BEAT, at, who, partition, topic)


def record(
    offset: int,
    kind: Kind,
    at: int,
    who: bytes,
    partition: int,
    epoch: int | None,
    topic: bytes = b"t",
) -> tuple[int, int, bytes, Headers]:
    time = START + at
    message = Message(kind, time, who + b"-1", who, b"g", topic, partition)
    words = write_extension(Extension(epoch, 1_000, 60, b"1"))
    return offset, time * 1000, encode(message), tuple(words)


def calls_of_late_claims(topic: bytes, keys: int) -> int:
    """Return how many calls twenty late claims take, where so many keys are owned already."""
    log, mine = Log(), range(keys, keys + 21)
    for partition in range(keys):
        log.begin(0, b"busy", partition, topic)
    for partition in mine:
        log.say(CLAIM, 0, b"x", partition)
        log.say(RELEASE, 0, b"x", partition)
    log.say(BEAT, 1, b"lazy", 0, b"t~members")
    log.begin(LATER + 1, b"busy", mine[0])

    def claim_late() -> None:
        for partition in mine[1:]:
            log.begin(LATER + 1, b"busy", partition)

    calls = calls_of(claim_late)
    waits = log.world.presences.waits(b"g", log.world.time)
    assert waits[b"t"][b"lazy"].skipped_until > log.world.time
    return calls


@pytest.mark.parametrize("topic", [b"t", b"other"])
def test_a_late_claim_costs_the_same_however_many_keys_there_are(topic: bytes) -> None:
    assert calls_of_late_claims(topic, 500) == calls_of_late_claims(topic, 5)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_kept_is_what_a_look_at_all_keys_would_say(seed: int) -> None:
    dice, log, at = random.Random(seed), Log(), 0
    for partition in range(8):
        log.begin(0, b"a", partition)
    world = log.world
    workers = Workers(list(world.keys), world.keys, world.time)
    for _ in range(600):
        at += dice.choice([0, 0, 1, 7, 40])
        partition = dice.randrange(8)
        kind, who = dice.choice([CLAIM, BEAT, BEAT, RELEASE]), dice.choice([b"a", b"b"])
        log.say(kind, at, who, partition)
        if dice.random() < 0.1:
            log.adopt(at, who, partition, dice.choice([5, 60]))
        workers.changed(Key(b"g", b"t", partition), world.time)
        if dice.random() < 0.5:
            states = world.keys.values()
            works = [s.client_id for s in states if s.nobodys_since(world.time) is None]
            assert workers.working(world.time) == Counter(works)


class Twice:
    """Two worlds of one log: one applies record by record, the other reads what is stored."""

    def __init__(self, *, append_time: bool) -> None:
        self.rules = WorldRules(append_time=append_time, complete=True)
        self.single, self.read = World(self.rules), World(self.rules)
        self.rows = list[tuple[int, int, bytes, Headers]]()

    def say(self, kind: Kind, at: int, who: bytes, partition: int, topic: bytes = b"t") -> None:
        state = self.single.keys.get(Key(b"g", topic, partition))
        epoch = state.epoch if state and kind is not CLAIM else None
        self.rows.append(record(len(self.rows), kind, at, who, partition, epoch, topic))
        self.single.apply(*self.rows[-1])

    def begin(self, at: int, who: bytes, partition: int) -> None:
        self.say(CLAIM, at, who, partition)
        self.say(BEAT, at, who, partition)

    def agrees(self) -> bool:
        """Read what was said: all at once, and one by one."""
        columns, alone = columns_of(self.rows), World(self.rules)
        CatchUp(self.read).fold(columns, columns.raw_rows())
        reader = CatchUp(alone)
        for row in columns.raw_rows():
            reader.fold(columns, [row])
        return self.read.digest() == self.single.digest() == alone.digest()


@pytest.mark.parametrize("append_time", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_both_ways_of_reading_count_an_owner_that_goes_on_after_its_claim_expired(
    seed: int, append_time: bool
) -> None:
    dice, at, log = random.Random(seed), 0, Twice(append_time=append_time)
    for _ in range(120):
        at += dice.choice([0, 1, 20, 35, 125])
        who = dice.choice([b"a", b"b", b"c"])
        for each in (b"a", b"b", b"c"):
            if dice.random() < 0.5:
                log.say(BEAT, at, each, 0, b"t~members")
        for key, state in log.single.keys.items():
            if state.owned and state.client_id == who and dice.random() < 0.6:
                late = 0 if append_time else dice.choice([0, 0, 0, 10, 130])
                kind = dice.choice([BEAT] * 9 + [RELEASE])
                log.say(kind, max(at - late, 0), who, key.partition)
        log.say(CLAIM, at, who, dice.randrange(8))
    assert log.agrees()


def test_heartbeat_after_the_claim_expired_counts_in_both_ways_of_reading() -> None:
    log = Twice(append_time=True)
    for free in (5, 6):
        log.say(CLAIM, 0, b"x", free)
        log.say(RELEASE, 0, b"x", free)
    log.say(BEAT, 0, b"a", 0, b"t~members")
    log.begin(0, b"a", 0)
    log.say(BEAT, 1, b"a", 0)
    log.say(BEAT, 60, b"a", 0, b"t~members")
    log.say(BEAT, 119, b"a", 0, b"t~members")
    log.begin(LATER + 91, b"b", 5)
    log.say(BEAT, LATER + 92, b"a", 0)
    log.begin(LATER + 93, b"b", 6)
    assert log.agrees()
