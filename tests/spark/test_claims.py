"""What a log of claims says as tables: the same as `kgroup marshal state`."""

from itertools import pairwise

import pytest

from kgroup.marshal.messages import Kind
from kgroup.marshal.rules import WorldRules
from kgroup.marshal.survey import standings
from kgroup.marshal.world import World
from kgroup.spark.coordination.silver import RawRecord, headers_of, word
from tests.marshal.golden import SCENARIOS
from tests.spark.claims import TTL, Claims
from tests.spark.coordinator import T0, Rows, chosen, claims_of, scenario


def world_of(records: list[RawRecord]) -> World:
    world = World(WorldRules(append_time=records[0].append_time, complete=True))
    for record in records:
        world.apply(record.log_offset, record.append_ts, record.value, headers_of(record))
    return world


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_owners_at_the_end_and_the_digest_are_those_of_the_log(name: str) -> None:
    records = scenario(name)
    gold, world = claims_of(records), world_of(records)
    expected = {
        (word(key.group), word(key.topic), key.partition): word(standing.client_id)
        for key, standing in standings(world)
        if world.keys[key].owned_at(world.time)
    }
    names = ("group", "topic", "partition", "owner", "to_ts")
    rows = chosen(gold["ownership"], *names)
    assert {(g, t, p): owner for g, t, p, owner, to_ts in rows if to_ts is None} == expected
    (end,) = gold["marshal_end"]
    assert (end["digest"], end["next_offset"]) == (world.digest(), world.next_offset)
    assert end["rejected"] == world.rejects.total()


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_key_never_has_two_owners(name: str) -> None:
    rows = claims_of(scenario(name))["ownership"]
    keys = {(row["group"], row["topic"], row["partition"]) for row in rows}
    for key in keys:
        own = [row for row in rows if (row["group"], row["topic"], row["partition"]) == key]
        own.sort(key=lambda row: int(row["from_offset"]))
        for one, later in pairwise(own):
            assert one["to_ts"] is not None
            assert one["to_ts"] <= later["from_ts"]


# -- one key, step by step -------------------------------------------------------------------------


def periods(gold: Rows) -> list[tuple[object, ...]]:
    found = chosen(gold["ownership"], "owner", "instance", "epoch", "from_ts", "to_ts")
    reasons = chosen(gold["ownership"], "end_reason")
    return [
        (f"{owner}/{process}", epoch, begins - T0, None if ends is None else ends - T0, *reason)
        for (owner, process, epoch, begins, ends), reason in zip(found, reasons, strict=True)
    ]


def test_a_release_ends_a_period_and_the_key_is_free_until_the_next_claim() -> None:
    log = Claims()
    epoch = log.claim(0, "web/1")
    log.beat(1, "web/1", epoch)
    log.release(2, "web/1", epoch)
    log.claim(3, "job/1")
    gold = log.gold()
    assert periods(gold) == [
        ("web/1", 0, 0, 2000, "released"),
        ("job/1", 3, 3000, None, None),
    ]
    assert chosen(gold["unowned"], "from_ts", "to_ts") == [(T0 + 2000, T0 + 3000)]


def test_a_claim_that_nobody_renews_ends_by_itself() -> None:
    log = Claims()
    epoch = log.claim(0, "web/1")
    log.beat(1, "web/1", epoch)
    log.claim(9, "job/1")
    assert periods(log.gold()) == [
        ("web/1", 0, 0, 1000 + TTL, "expired"),
        ("job/1", 2, 9000, None, None),
    ]


def test_a_claim_is_over_at_the_end_of_the_log_too() -> None:
    log = Claims()
    log.claim(0, "web/1")
    log.say(9, Kind.CLAIMING_MESSAGES, "job/1")
    assert periods(log.gold()) == [("web/1", 0, 0, TTL, "expired")]


def test_a_later_process_of_the_same_client_succeeds_the_former_at_once() -> None:
    log = Claims()
    epoch = log.claim(0, "web/1")
    log.beat(1, "web/1", epoch)
    log.claim(2, "web/2")
    assert periods(log.gold()) == [
        ("web/1", 0, 0, 2000, "succeeded"),
        ("web/2", 2, 2000, None, None),
    ]


def test_a_heartbeat_of_a_former_owner_is_a_zombie() -> None:
    log = Claims()
    epoch = log.claim(0, "web/1")
    now = log.claim(9, "job/1")
    late = log.beat(10, "web/1", epoch, 7)
    log.beat(10, "job/1", now)
    (row,) = log.gold()["zombie"]
    assert (row["log_offset"], row["client"], row["epoch"]) == (late, "web", epoch)
    assert (row["owner_client"], row["owner_epoch"]) == ("job", now)
    assert (row["type"], row["took_over"]) == ("Heartbeat", False)


def test_a_heartbeat_of_the_original_library_that_takes_a_fresh_key_is_a_zombie() -> None:
    log = Claims()
    epoch = log.claim(0, "web/1")
    log.beat(1, "web/1", epoch)
    log.beat(2, "old/1", 0)
    # The original library writes no headers.
    log.records[-1] = log.records[-1]._replace(headers=[])
    gold = log.gold()
    assert chosen(gold["zombie"], "client", "owner_client", "took_over") == [("old", "web", True)]
    assert periods(gold) == [
        ("web/1", 0, 0, 2000, "taken by a heartbeat"),
        ("old/1", 2, 2000, None, None),
    ]


def test_heartbeats_that_are_far_apart_are_gaps() -> None:
    log = Claims()
    epoch = log.claim(0, "web/1")
    for at in (1, 2, 5, 12):
        log.beat(at, "web/1", epoch)
    gold = log.gold()
    names = ("client", "epoch", "gap_ms", "ttl_ms", "expired")
    assert chosen(gold["hb_gap"], *names) == [
        ("web", 0, 3000, TTL, False),
        ("web", 0, 7000, TTL, True),
    ]
    assert periods(gold) == [
        ("web/1", 0, 0, 5000 + TTL, "expired"),
        ("web/1", 0, 12000, None, None),
    ]


def test_a_refused_claim_changes_nothing() -> None:
    log = Claims()
    log.claim(0, "web/1")
    log.claim(1, "job/1")
    gold = log.gold()
    assert periods(gold) == [("web/1", 0, 0, None, None)]
    assert gold["zombie"] == []


def test_an_empty_log_has_no_rows() -> None:
    assert not any(claims_of([]).values())
