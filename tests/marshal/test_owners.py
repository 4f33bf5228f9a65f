"""Members are present while they own keys: kept as records move keys, whatever else there is."""

import random

import pytest

from kgroup.marshal.events import LogRead
from kgroup.marshal.messages import Extension, Kind, Message, encode, write_extension
from kgroup.marshal.rules import WorldRules
from kgroup.marshal.view import LogRow, LogView
from tests.marshal.counting import calls_of

START = 1_700_000_000
CLAIM, BEAT, RELEASE = Kind.CLAIMING_PARTITION, Kind.HEARTBEAT, Kind.RELEASING_PARTITION
TOPICS = ("t", "u", "t~members")


class Log:
    """A log that one view reads record by record."""

    def __init__(self) -> None:
        self.view = new_view()
        self.rows: list[LogRow] = []

    def say(
        self,
        kind: Kind,
        client: str,
        partition: int = 0,
        *,
        at: int = 0,
        interval: int = 60,
        topic: str = "t",
    ) -> LogRead:
        time = START + at
        who = client.encode()
        message = Message(kind, time, b"i", who, b"g", topic.encode(), partition, 0)
        words = tuple(write_extension(Extension(None, 1000, interval, b"1")))
        self.rows.append((len(self.rows), time * 1000, None, encode(message), words))
        return self.view.read(self.rows[-1:], len(self.rows))


def new_view() -> LogView:
    return LogView(0, "g", WorldRules(append_time=True, complete=True))


def until(seconds: int) -> int:
    return (START + seconds) * 1000


def test_owner_counts_as_present_until_its_last_claim_expires() -> None:
    log = Log()
    log.say(CLAIM, "A", 0, interval=60)
    log.say(CLAIM, "A", 1, interval=20)
    assert log.say(CLAIM, "A", 2, interval=40).presence == {"t": {b"A": until(120)}}
    assert log.say(RELEASE, "A", 0).presence == {"t": {b"A": until(80)}}
    assert log.say(RELEASE, "A", 1).presence == {"t": {b"A": until(80)}}
    assert log.say(RELEASE, "A", 2).presence == {}


def test_a_member_that_claims_anew_for_a_shorter_time_is_present_for_that_time() -> None:
    log = Log()
    log.say(CLAIM, "A", 0, interval=60)
    log.say(CLAIM, "A", 1, interval=20)
    assert log.say(CLAIM, "A", 0, at=120, interval=10).presence == {"t": {b"A": until(140)}}


def test_a_member_whose_last_key_another_takes_is_not_present() -> None:
    log = Log()
    log.say(CLAIM, "A", interval=20)
    assert log.say(CLAIM, "B", at=40, interval=20).presence == {"t": {b"B": until(80)}}


def moves(log: Log, partition: int) -> None:
    """Have a key claimed, confirmed and released, and its owner show itself."""
    log.say(CLAIM, "A", partition)
    log.say(BEAT, "A", partition)
    log.say(BEAT, "A", topic="t~members")
    log.say(RELEASE, "A", partition)


def calls_beside(owned: int) -> int:
    """Return how many calls the moves of one key take, where so many are owned already."""
    log = Log()
    for partition in range(owned):
        log.say(CLAIM, "B", partition)
    return calls_of(lambda: moves(log, owned))


def test_what_one_key_does_costs_the_same_however_many_keys_others_have() -> None:
    assert calls_beside(500) == calls_beside(5)


@pytest.mark.parametrize("seed", range(10))
def test_presence_equals_what_a_look_at_all_keys_shows(seed: int) -> None:
    dice, log, at = random.Random(seed), Log(), 0
    for _ in range(80):
        at += dice.choice((0, 0, 1, 5, 30))
        topic = dice.choice(TOPICS)
        read = log.say(
            dice.choice((CLAIM, BEAT, RELEASE)),
            dice.choice("ABC"),
            0 if topic == "t~members" else dice.randrange(3),
            at=at,
            interval=dice.choice((5, 20, 60)),
            topic=topic,
        )
        fresh = new_view()
        fresh.read(log.rows, len(log.rows))
        assert read.presence == fresh.opened(frozenset(), 0).presence
