"""The short way of reading a log: it leads where reading every record leads."""

import random
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import pytest

from kgroup.marshal.catching_up import CatchUp
from kgroup.marshal.key_state import Key
from kgroup.marshal.messages import Extension, Kind, Message, Reject, encode, write_extension
from kgroup.marshal.rules import Compat, Verdict, WorldRules
from kgroup.marshal.world import World
from kgroup.wire.records import Headers
from tests.marshal.golden import SCENARIOS, Scenario
from tests.marshal.logs import START, columns_of
from tests.marshal.model.run import play

Record = tuple[int, int, bytes | None, Sequence[tuple[str, bytes | None]]]

RULES = [
    WorldRules(append_time, complete, compat)
    for append_time in (True, False)
    for complete in (True, False)
    for compat in Compat
]


class Counting(World):
    """A world that counts what is read in full."""

    looks = 0

    def apply(self, *row: Any) -> Verdict | Reject:
        self.looks += 1
        return super().apply(*row)


def essence(world: World) -> object:
    return world.digest(), world.since, world.rejects, world.next_offset


def read_in_full(rules: WorldRules, records: Iterable[Record]) -> World:
    world = World(rules)
    for record in records:
        world.apply(*record)
    return world


def caught_up(rules: WorldRules, records: Sequence[Record], size: int = 1000) -> Counting:
    """Read pieces of so many records, two of which make a batch."""
    world = Counting(rules)
    short = CatchUp(world)
    for first in range(0, len(records), 2 * size):
        columns = columns_of(records[first : first + 2 * size])
        rows = columns.raw_rows()
        while piece := list(islice(rows, size)):
            short.fold(columns, piece)
    return world


def same(records: Sequence[Record]) -> bool:
    """Tell whether both ways lead to the same world, by all rules, in pieces of any size."""
    return all(
        essence(caught_up(rules, records, size)) == essence(read_in_full(rules, records))
        for rules in RULES
        for size in (1, 7, 1000)
    )


# Ids of one byte are one object wherever they are read: they must not do for an owner.
BEAT = Message(Kind.HEARTBEAT, START, b"i", b"A", b"g", b"t", 0, 10)
CLAIM = BEAT._replace(kind=Kind.CLAIMING_PARTITION, tail=0)
PEER = Extension(0, 1_000, 60, b"1")


def words_of(peer: Extension | None, *more: tuple[str, bytes | None]) -> Headers:
    return () if peer is None else (*write_extension(peer), *more)


def record(message: Message, words: Headers, *, after: int = 0, timestamp: int = 0) -> Record:
    """Return a record whose message, and timestamp unless one is given, is so much later."""
    message = message._replace(time=message.time + after)
    return 0, timestamp or message.time * 1000, encode(message), words


def story_with(*records: Record) -> list[Record]:
    """Return a claim and two heartbeats, records, and two heartbeats more."""
    words = words_of(PEER)
    story = [record(CLAIM, words_of(PEER._replace(epoch=None)))]
    story += [record(BEAT._replace(tail=at), words, after=at) for at in (11, 12)]
    story += records
    story += [record(BEAT._replace(tail=at), words, after=at) for at in (20, 21)]
    return [(offset, *each[1:]) for offset, each in enumerate(story)]


def value(text: bytes, words: Headers) -> Record:
    return 0, START * 1000, text, words


OURS = words_of(PEER)
ODD: dict[str, list[Record]] = {
    "another nonce": [record(BEAT, words_of(PEER._replace(nonce=b"2")), after=13)],
    "a nonce with the names of headers": [record(BEAT, words_of(PEER._replace(nonce=b"kg-v\x02")))],
    "a nonce without a value": [record(BEAT, (*OURS[:-1], ("kg-nonce", None)))],
    "no nonce": [record(BEAT, OURS[:-1])],
    "an epoch that comes last": [record(BEAT, (*OURS, ("kg-epoch", b"7")))],
    "another last header": [record(BEAT, (*OURS[:-1], ("other", b"1")))],
    "a position further back": [record(BEAT._replace(tail=1), OURS, after=13)],
    "a clock that goes back": [record(BEAT, OURS, after=-30)],
    "a higher epoch": [record(BEAT, words_of(PEER._replace(epoch=9)), after=13)],
    "a lower epoch": [record(BEAT, words_of(PEER._replace(epoch=-1))), record(BEAT, OURS)],
    "no epoch": [record(BEAT, words_of(PEER._replace(epoch=None)))] * 2,
    "no headers": [record(BEAT, (), after=13), record(BEAT, (), after=14)],
    "headers of nobody": [record(BEAT, (("kg-epoch", b"0"),))] * 2,
    "nonsense in a header": [record(BEAT, (("kg-v", b"1"), ("kg-hi", b"x"), ("kg-nonce", b"")))],
    "a release": [record(BEAT._replace(kind=Kind.RELEASING_PARTITION, tail=15), OURS)],
    "another owner": [record(BEAT._replace(client_id=b"B", instance_id=b"i2"), ())] * 2,
    "the same owner anew": [
        record(BEAT._replace(kind=Kind.RELEASING_PARTITION, tail=15), OURS),
        record(CLAIM, words_of(PEER._replace(epoch=None)), after=13),
        record(BEAT, words_of(PEER._replace(epoch=4)), after=13),
    ],
    "a sign of presence": [record(BEAT._replace(topic=b"t~members"), OURS)] * 2,
    "a pause": [
        record(Message(Kind.RELEASE_GROUP, START, b"i", b"x", b"g", b"", 0, START + 9), ())
    ],
    "a time that cannot be": [record(BEAT, OURS, after=10**9, timestamp=START * 1000)],
    "a time of the broker's that cannot be": [record(BEAT, OURS, timestamp=1)],
    "no timestamp": [record(BEAT, OURS, timestamp=-1)],
    "another version": [value(b"Heartbeat/2/%d/i/A/g/t/0/30" % START, OURS)],
    "a sign in front of the time": [value(b"Heartbeat/1/+%d/i/A/g/t/0/30" % START, OURS)],
    "a sign in front of the position": [value(b"Heartbeat/1/%d/i/A/g/t/0/+30" % START, OURS)],
    "a negative position": [value(b"Heartbeat/1/%d/i/A/g/t/0/-3" % START, OURS)],
    "a blank in the position": [value(b"Heartbeat/1/%d/i/A/g/t/0/ 3" % START, OURS)],
    "no position": [value(b"Heartbeat/1/%d/i/A/g/t/0/" % START, OURS)],
    "a field too few": [value(b"Heartbeat/1/%d/i/A/g/t/0" % START, OURS)],
    "a field too many": [value(b"Heartbeat/1/%d/i/A/g/t/0/3/3" % START, OURS)],
    "a position of nineteen digits": [value(b"Heartbeat/1/%d/i/A/g/t/0/%d" % (START, 2**62), OURS)],
    "a position of too many": [value(b"Heartbeat/1/%d/i/A/g/t/0/%d" % (START, 2**63), OURS)],
    "a time of too many digits": [value(b"Heartbeat/1/%d/i/A/g/t/0/3" % 2**63, OURS)],
    "no time": [value(b"Heartbeat/1//i/A/g/t/0/3", OURS)],
    "zeros in front": [value(b"Heartbeat/1/%d/i/A/g/t/00/030" % START, OURS)] * 2,
    "nothing": [(0, START * 1000, None, OURS)],
    "an empty value": [value(b"", OURS)],
}
"""Records between heartbeats that are like each other."""


@pytest.mark.parametrize("name", ODD)
def test_what_is_not_like_the_heartbeats_before_it_is_read_in_full(name: str) -> None:
    assert same(story_with(*ODD[name]))


@pytest.mark.parametrize("name", ODD)
def test_a_log_without_headers_comes_to_the_same(name: str) -> None:
    assert same([(offset, time, text, ()) for offset, time, text, _ in story_with(*ODD[name])])


@pytest.mark.parametrize("name", SCENARIOS)
def test_logs_of_the_original_come_to_the_same(name: str) -> None:
    scenario = Scenario.read(name)
    for view in scenario.views[:1]:
        seen = scenario.seen(view)
        assert same([(each.offset, each.timestamp, each.value, each.headers) for each in seen])


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_drawn_logs_come_to_the_same(seed: int) -> None:
    outcome = play(seed)
    assert same([tuple(entry) for entry in outcome.entries])  # type: ignore[misc]


def test_shuffled_oddities_come_to_the_same() -> None:
    dice = random.Random(1)
    pool = [each for records in ODD.values() for each in story_with(*records)]
    dice.shuffle(pool)
    assert same([(offset, *each[1:]) for offset, each in enumerate(pool)])


def test_heartbeats_of_a_tenure_are_read_in_full_once() -> None:
    beats = [record(BEAT._replace(tail=tail), OURS) for tail in range(500)]
    records = [(offset, *beat[1:]) for offset, beat in enumerate(beats, start=10)]
    world = caught_up(RULES[0], records)
    assert world.looks == 1
    assert world.keys[Key(b"g", b"t", 0)].offset == 499


def test_what_is_remembered_of_senders_that_come_and_go_has_a_bound() -> None:
    """As many senders as records, of one key: each is believed once, and none comes again."""
    world = World(RULES[0])
    short = CatchUp(world)
    for number in range(1000):
        words = words_of(PEER._replace(epoch=number))
        columns = columns_of([record(BEAT._replace(client_id=b"%d" % number), words)])
        short.fold(columns, columns.raw_rows())
    assert short.remembered < 10
