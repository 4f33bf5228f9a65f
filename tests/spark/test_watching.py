"""What is told of groups while their logs are read: when, once, and the same in any pieces."""

import pickle
from collections.abc import Iterable, Iterator
from random import Random

import pyarrow as pa
import pytest

from kgroup.marshal.messages import Kind
from kgroup.spark.coordination.beating import MISSING, ZOMBIE, Limits
from kgroup.spark.coordination.declared import COMMIT_LOG, LOOKS, RAW
from kgroup.spark.coordination.schema import Row
from kgroup.spark.coordination.silver import RawRecord
from kgroup.spark.coordination.tables import arrow_of
from kgroup.spark.coordination.watching import (
    COLUMNS,
    COMMIT,
    LOOK,
    RECORD,
    STUCK,
    Piece,
    Watch,
)
from tests.spark.claims import Claims
from tests.spark.coordinator import T0

LIMITS = Limits(silent=0.75, stuck=60_000)


_TABLES = {RECORD: RAW, COMMIT: COMMIT_LOG, LOOK: LOOKS}


def piece(batch: int, order: int, row: Row) -> Piece:
    table = arrow_of(_TABLES[order], [row]).select(COLUMNS[order])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return Piece(batch, order, sink.getvalue().to_pybytes())


def look(batch: int, at: float, high: int | None = None, partition: int = 0) -> Piece:
    """Return a look, `at` seconds from the beginning."""
    ts = T0 + int(at * 1000)
    return piece(batch, LOOK, {"topic": "t", "partition": partition, "ts": ts, "high": high})


def record(batch: int, each: RawRecord) -> Piece:
    return piece(batch, RECORD, each._asdict())


def commit(batch: int, at: float, offset: int | None, log_offset: int, group: str = "g") -> Piece:
    place = {"log_partition": 7, "log_offset": log_offset, "append_ts": T0 + int(at * 1000)}
    said = {"group": group, "topic": "t", "partition": 0, "offset": offset}
    return piece(batch, COMMIT, {"tombstone": offset is None, **said, **place})


def told(rows: Iterable[Piece], *pieces: Iterable[Piece]) -> list[Row]:
    """Return what is told of rows, in one piece or several, with one more look behind them."""
    watch, found = Watch(), []
    for piece in (rows, *pieces, [look(10_000, 0)]):
        found += list(watch.take(piece, LIMITS))
        watch = pickle.loads(pickle.dumps(watch))
    return found


def chosen(rows: Iterable[Row], *names: str) -> list[tuple[object, ...]]:
    return [tuple(row.get(name) for name in names) for row in rows]


# -- claims ----------------------------------------------------------------------------------------


def test_an_owner_that_falls_silent_is_told_once_with_its_last_heartbeat() -> None:
    log = Claims()
    epoch = log.claim(0, "web/1")
    log.beat(2, "web/1", epoch)
    rows = [record(0, each) for each in log.records]
    rows += [look(0, 4.9), look(1, 5.1), look(2, 60)]
    (found,) = told(rows)
    assert found["kind"] == MISSING
    assert (found["ts"], found["last_ts"]) == (T0 + 5000, T0 + 2000)
    assert (found["client"], found["instance"], found["epoch"]) == ("web", "1", epoch)


def test_an_owner_that_beats_or_lets_go_in_time_is_not_told() -> None:
    log = Claims()
    epoch = log.claim(0, "web/1")
    for second in (2, 4, 6):
        log.beat(second, "web/1", epoch)
    log.release(7, "web/1", epoch)
    rows = [record(0, each) for each in log.records]
    assert told([*rows, look(0, 7), look(1, 60)]) == []


def test_a_silence_that_was_over_before_anybody_looked_is_told_all_the_same() -> None:
    log = Claims()
    epoch = log.claim(0, "web/1")
    log.beat(3.5, "web/1", epoch)
    rows = [record(0, each) for each in log.records]
    assert chosen(told([*rows, look(0, 4)]), "kind", "ts") == [(MISSING, T0 + 3000)]


def test_a_member_that_was_replaced_is_told_as_a_zombie() -> None:
    log = Claims()
    first = log.claim(0, "web/1")
    second = log.claim(4.5, "job/1")
    place = log.beat(5, "web/1", first)
    log.beat(6, "job/1", second)
    rows = [record(0, each) for each in log.records]
    found = chosen(told([*rows, look(0, 6)]), "kind", "client", "log_offset")
    assert found == [(MISSING, "web", None), (ZOMBIE, "web", place)]


def test_what_nobody_owns_is_forgotten_after_an_hour() -> None:
    log = Claims()
    log.release(1, "web/1", log.claim(0, "web/1"))
    watch = Watch()
    list(watch.take([*(record(0, each) for each in log.records), look(0, 1)], LIMITS))
    list(watch.take([look(1, 2)], LIMITS))
    large = len(pickle.dumps(watch))
    list(watch.take([look(2, 3700), look(3, 3702)], LIMITS))
    list(watch.take([look(4, 3704)], LIMITS))
    assert len(pickle.dumps(watch)) < large - 50


# -- lag -------------------------------------------------------------------------------------------


def test_a_group_that_is_behind_and_commits_nothing_further_is_told_once() -> None:
    rows = [commit(0, 0, 5, 1), look(0, 1, high=5)]
    rows += [look(1, 30, high=9), commit(2, 60, 5, 2), look(2, 91, high=20), look(3, 200, high=30)]
    (found,) = told(rows)
    assert (found["kind"], found["group"]) == (STUCK, "g")
    assert (found["position"], found["lag"], found["log_offset"]) == (5, 15, 1)
    assert (found["ts"], found["last_ts"]) == (T0 + 90_000, T0)


@pytest.mark.parametrize(
    "rows",
    [
        [commit(0, 0, 5, 1), look(0, 1, high=5), look(1, 500, high=5)],
        [commit(0, 0, 5, 1), look(0, 1, high=9), commit(1, 50, 6, 2), look(1, 100, high=9)],
        [commit(0, 0, 5, 1), look(0, 1, high=9), commit(1, 50, None, 2), look(1, 500, high=9)],
        [commit(0, 0, 5, 1), look(0, 1, high=9), look(1, 500, high=9, partition=1)],
    ],
    ids=["not behind", "it goes on", "it is deleted", "another partition"],
)
def test_other_groups_are_not_told(rows: list[Piece]) -> None:
    assert told(rows) == []


# -- in pieces -------------------------------------------------------------------------------------


def many(random: Random) -> Iterator[Piece]:
    """Yield a long story of one key and one topic, with silences and zombies."""
    log = Claims()
    at, epochs = 0.0, {"web/1": 0, "job/1": 0}
    offset = 0
    for batch in range(60):
        for _ in range(random.randrange(4)):
            who, gap = random.choice(["web/1", "job/1"]), random.choice([0.5, 1, 2, 3.5, 6])
            at += gap
            kind = random.choice([Kind.HEARTBEAT, Kind.HEARTBEAT, Kind.CLAIMING_PARTITION])
            place = log.say(at, kind, who, epoch=epochs[who] if kind is Kind.HEARTBEAT else None)
            if kind is Kind.CLAIMING_PARTITION:
                epochs[who] = place
            yield record(batch, log.records[-1])
        offset += random.choice([0, 0, 0, 3])
        yield commit(batch, at, offset, batch)
        yield look(batch, at + 0.1, high=offset + random.choice([0, 4]))


@pytest.mark.parametrize("seed", range(20))
def test_rows_in_pieces_of_any_size_and_order_or_twice_are_told_alike(seed: int) -> None:
    random = Random(seed)
    rows = list(many(random))
    whole = told(rows)
    assert {row["kind"] for row in whole} >= {MISSING, ZOMBIE}
    cuts = sorted(random.sample(range(len(rows)), 12))
    pieces = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    pieces = [[*piece, *random.sample(piece, len(piece) // 2)] for piece in pieces]
    for piece in pieces:
        random.shuffle(piece)
    assert told([], *pieces) == whole


@pytest.mark.parametrize("seed", range(10))
def test_heartbeats_like_others_are_told_as_if_each_was_read_in_full(seed: int) -> None:
    rows = [each for each in many(Random(seed)) if each.order == RECORD]
    whole = told(each._replace(batch=0) for each in rows)
    assert {row["kind"] for row in whole} >= {MISSING, ZOMBIE}
    assert told(each._replace(batch=batch) for batch, each in enumerate(rows)) == whole
