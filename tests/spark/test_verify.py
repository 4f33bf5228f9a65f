"""What Spark answers about a table, and the verdict on it, beside a truth that was planted."""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as At
from pyarrow import parquet

from kgroup.cli import main
from kgroup.errors import ArgumentError
from kgroup.spark.counting import BUCKET, EXAMPLES, Span
from kgroup.spark.table import Table, TableError, open_session, rows_of, told_plainly
from kgroup.spark.verdict import FindingKind, PartitionRow, TableVerdict, Truth
from kgroup.spark.verify import Sides, verify
from kgroup.testing.kafka import RealKafka
from kgroup.types import TopicPartition
from tests.real.ground import PATIENCE, fresh, lay_ground
from tests.spark.worlds import World, ranges

pytestmark = pytest.mark.spark

Row = tuple[str | None, int | None, int | None]
SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
}
LARGE = 3 * BUCKET + 100


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="needs the extra 'spark'")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session, own = open_session(SETTINGS)
    yield session
    if own:
        session.stop()


def frame(spark: Any, rows: Sequence[Row]) -> Any:
    return spark.createDataFrame(list(rows), "topic string, partition int, offset bigint")


def saved(rows: Sequence[Row], folder: Path) -> str:
    """Write rows as two files of Parquet, and return where."""
    path = folder / fresh("table")
    path.mkdir()
    for half in range(2):
        topics, partitions, offsets = (
            zip(*rows[half::2], strict=True) if rows[half::2] else ((),) * 3
        )
        columns = {
            "topic": pa.array(topics, pa.string()),
            "partition": pa.array(partitions, pa.int32()),
            "offset": pa.array(offsets, pa.int64()),
        }
        parquet.write_table(pa.table(columns), path / f"{half}.parquet")
    return str(path)


def table_of(spark: Any, rows: Sequence[Row], topic: str = "t") -> Any:
    frame(spark, rows).createOrReplaceTempView("records")
    return rows_of(spark, Table(name="records", topic=topic))


def rows_in(offsets: Sequence[int], partition: int = 0, topic: str = "t") -> list[Row]:
    return [(topic, partition, offset) for offset in offsets]


class Logs:
    """The logs of several partitions.

    Args:
        worlds: partition -> what it has.
    """

    def __init__(self, worlds: dict[int, World]) -> None:
        self.worlds = worlds
        self.look = lambda partition, span: worlds[partition].look(partition, span)


def verdict_on(
    spark: Any, rows: Any, worlds: dict[int, World], ends: dict[int, int] | None = None
) -> TableVerdict:
    truth = Truth(
        topic="t",
        bounds={p: world.bounds for p, world in worlds.items()},
        given=ends is None,
        group="g",
        committed={p: each.committed for p, each in worlds.items() if each.committed is not None},
    )
    asked = None if ends is None else lambda: ends
    return verify(spark, rows, truth, Sides(log=Logs(worlds), ends=asked, say=lambda _: None))


# -- planted ---------------------------------------------------------------------------------------


def drawn(dice: Random) -> World:
    """Return a log with a few ranges that are lost, invisible or doubled in the table."""
    first = dice.choice([0, 0, 5, BUCKET - 3, 9 * BUCKET])
    bounds = Span(first, first + dice.choice([0, 1, 700, LARGE]))
    rows = set(range(*bounds))

    def some() -> range:
        begin = dice.randint(bounds.first, bounds.end)
        return range(begin, min(begin + dice.choice([1, 3, 400, BUCKET]), bounds.end))

    hidden = {each for _ in range(2) for each in some()} if dice.random() < 0.7 else set()
    rows -= {each for _ in range(dice.randint(0, 3)) for each in some()} | hidden
    there = sorted(rows)
    again = [dice.choice(there) for _ in range(dice.choice([0, 0, 1, 30]))] if there else []
    committed = dice.choice([None, bounds.first, bounds.end])
    return World(bounds, [*there, *again], hidden=hidden, committed=committed)


def expected_row(partition: int, world: World, outside: int) -> PartitionRow:
    right = world.right()
    return PartitionRow(
        tp=TopicPartition("t", partition),
        bounds=world.bounds,
        rows=len(world.rows),
        lost=right.lost,
        invisible=right.invisible,
        doubled=len(world.rows) - len(set(world.rows)),
        outside=outside,
        committed=world.committed,
        ahead=right.committed,
    )


@pytest.mark.parametrize("seed", range(3))
def test_what_was_planted_is_found_and_nothing_else(spark: Any, seed: int, tmp_path: Path) -> None:
    dice = Random(seed)
    worlds = {partition: drawn(dice) for partition in range(4)}
    outside = {partition: dice.choice([0, 0, 2]) for partition in worlds}
    nowhere: list[Row] = [("t", None, 4), ("t", 2, None), (None, 1, 3)][: dice.randint(0, 3)]
    unknown = rows_in([1, 2], partition=dice.choice([17, -1]))
    rows = [
        *(row for p, world in worlds.items() for row in rows_in(world.rows, p)),
        *(row for p, n in outside.items() for row in rows_in([worlds[p].bounds.end + 5] * n, p)),
        *nowhere,
        *unknown,
        *rows_in(range(50), topic="u"),
    ]
    dice.shuffle(rows)
    table = rows_of(spark, Table(name=saved(rows, tmp_path), topic="t"))
    verdict = verdict_on(spark, table, worlds)
    assert verdict.partitions == tuple(
        expected_row(p, world, outside[p]) for p, world in worlds.items()
    )
    found = {(finding.kind, finding.tp): finding for finding in verdict.findings}
    assert len(found) == len(verdict.findings)
    assert found.pop((FindingKind.OUTSIDE, None)).count == 2
    if nowhere:
        assert found.pop((FindingKind.NO_PLACE, None)).count == len(nowhere)
    for p, world in worlds.items():
        tp, lost = TopicPartition("t", p), world.right()
        if lost.lost:
            assert found.pop((FindingKind.LOST, tp)).examples == lost.examples
        again = [each for each, times in Counter(world.rows).items() if times > 1]
        if again:
            shown = found.pop((FindingKind.DOUBLED, tp)).examples
            assert shown[0].first == min(again)
        if outside[p]:
            assert found.pop((FindingKind.OUTSIDE, tp)).count == outside[p]
        if lost.committed:
            assert found.pop((FindingKind.AHEAD, tp)).count == lost.committed
    assert found == {}


def test_a_whole_table_is_clean(spark: Any) -> None:
    worlds = {0: World(Span(2, 90), [*range(2, 90)]), 1: World(Span(0, 0), [])}
    assert verdict_on(spark, table_of(spark, rows_in(range(2, 90))), worlds).clean


def test_an_empty_table_lacks_everything(spark: Any) -> None:
    verdict = verdict_on(spark, table_of(spark, []), {0: World(Span(4, 40), [], committed=9)})
    assert [(finding.kind, finding.count) for finding in verdict.findings] == [
        (FindingKind.LOST, 36),
        (FindingKind.AHEAD, 5),
    ]


def test_ranges_in_more_buckets_than_one_condition_names_are_found(spark: Any) -> None:
    end = 130 * BUCKET
    lost = [each * BUCKET + 7 for each in range(0, 130, 2)]
    spark.range(0, end).where(f"id % {2 * BUCKET} != 7").selectExpr(
        "'t' as topic", "0 as partition", "id as offset"
    ).createOrReplaceTempView("records")
    rows = rows_of(spark, Table(name="records", topic="t"))
    truth = Truth(topic="t", bounds={0: Span(0, end)}, given=True)
    verdict = verify(spark, rows, truth, Sides(say=lambda _: None))
    (finding,) = verdict.findings
    assert (finding.count, finding.examples) == (len(lost), tuple(ranges(lost))[:EXAMPLES])


def test_the_first_doubled_offsets_are_shown(spark: Any) -> None:
    offsets = [*range(LARGE), *range(10, 12), 60, BUCKET + 5]
    verdict = verdict_on(
        spark, table_of(spark, rows_in(offsets)), {0: World(Span(0, LARGE), offsets)}
    )
    (finding,) = verdict.findings
    assert (finding.count, finding.examples) == (4, (Span(10, 12), Span(60, 61)))


def test_rows_behind_the_log_are_told_from_those_that_came_meanwhile(spark: Any) -> None:
    rows = table_of(spark, rows_in([*range(10), 10, 11, 12, 30]))
    worlds = {0: World(Span(0, 10), [*range(10)])}
    late = verdict_on(spark, rows, worlds, ends={0: 12})
    assert [(each.kind, each.count) for each in late.findings] == [(FindingKind.OUTSIDE, 2)]
    assert verdict_on(spark, rows, worlds, ends={0: 31}).clean


# -- columns and places ----------------------------------------------------------------------------


def test_a_table_of_one_topic_needs_no_column_for_it(spark: Any) -> None:
    spark.sql("select 0Y as p, id as o from range(20)").createOrReplaceTempView("plain")
    rows = rows_of(spark, Table(name="plain", columns=("p", "o"), topic="t"))
    assert verdict_on(spark, rows, {0: World(Span(0, 20), [*range(20)])}).clean


def test_columns_may_be_parts_of_others_and_text(spark: Any) -> None:
    spark.sql(
        "select named_struct('t', 't', 'p', '0', 'o', string(id)) as place from range(20)"
        " union all select named_struct('t', 't', 'p', 'zero', 'o', '1')"
    ).createOrReplaceTempView("nested")
    columns = ("place.t", "place.p", "place.o")
    rows = rows_of(spark, Table(name="nested", columns=columns, topic="t"))
    verdict = verdict_on(spark, rows, {0: World(Span(0, 20), [*range(20)])})
    assert [(each.kind, each.count) for each in verdict.findings] == [(FindingKind.NO_PLACE, 1)]


@pytest.mark.parametrize(
    ("name", "columns", "told"),
    [
        ("nowhere", ("topic", "partition", "offset"), "the name of a table"),
        ("/nowhere/at/all", ("topic", "partition", "offset"), "a folder or file"),
        ("records", ("topic", "part", "offset"), "'part'"),
        ("records", ("partition", "topic", "offset"), None),
        ("records", ("topic", "partition", "score"), "double"),
    ],
)
def test_a_table_or_a_column_that_cannot_be_used_is_named(
    spark: Any, name: str, columns: tuple[str, ...], told: str | None
) -> None:
    spark.sql(
        "select 't' as topic, 0 as partition, 0L as offset, 0.5D as score"
    ).createOrReplaceTempView("records")
    table = Table(name=name, columns=columns, topic="t")
    if told is None:
        assert rows_of(spark, table).placed.count() == 0
        return
    with pytest.raises(ArgumentError, match=told):
        rows_of(spark, table)


def test_a_damaged_file_is_told_in_one_line(spark: Any, tmp_path: Path) -> None:
    path = Path(saved(rows_in(range(10)), tmp_path))
    for part in path.glob("*.parquet"):
        part.write_bytes(part.read_bytes()[:-30] + bytes(30))
    for checksum in path.glob(".*.crc"):
        checksum.unlink()

    def look() -> None:
        with told_plainly():
            rows = rows_of(spark, Table(name=str(path), topic="t"))
            verdict_on(spark, rows, {0: World(Span(0, 10), [*range(10)])})

    with pytest.raises(TableError) as raised:
        look()
    assert "\n" not in str(raised.value)


# -- the command -----------------------------------------------------------------------------------


def test_the_command_tells_programs_what_it_found(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bounds = tmp_path / "bounds.json"
    bounds.write_text('{"t": {"0": [0, 10]}, "u": {"0": [0, 3]}}')
    path = saved([*rows_in([0, 1, 2, 2, 5, 9, 10]), *rows_in(range(3), topic="u")], tmp_path)
    words = ["spark", "verify", path, "--bounds", str(bounds), "--json"]
    assert main([*words, "--topic", "t"]) == 1
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert (found["clean"], found["log_asked"]) == (False, False)
    assert [(each["kind"], each["count"], each["ranges"]) for each in found["findings"]] == [
        ("lost", 5, [[3, 5], [6, 9]]),
        ("doubled", 1, [[2, 3]]),
        ("outside the log", 1, []),
    ]
    assert "no log was asked" in found["notes"][0]
    assert "5 offsets have no row" in printed.err
    assert main([*words, "--topic", "u"]) == 0
    assert json.loads(capsys.readouterr().out)["clean"]


def test_the_command_tells_a_person_what_it_found(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bounds = tmp_path / "bounds.json"
    bounds.write_text('{"t": {"0": [0, 10], "1": [5, 5]}}')
    words = ["spark", "verify", saved(rows_in(range(0, 10, 3)), tmp_path), "--topic", "t"]
    assert main([*words, "--bounds", str(bounds)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["t-0", "0", "10", "4", "6", "0", "0", "0"]
    assert lines[3].split() == ["all", "10", "4", "6", "0", "0", "0"]
    assert lines[-2] == "PROBLEM lost t-0: 6 offsets without a row: 1-2, 4-5, 7-8"
    assert lines[-1] == "NOT CLEAN: 1 problem (lost)"


# -- real brokers ----------------------------------------------------------------------------------


def written(kafka: RealKafka) -> tuple[str, list[int]]:
    """Fill a partition; return its topic and the offsets of records of aborted transactions."""

    async def lay() -> str:
        ground = await lay_ground(kafka, 1)
        await ground.fill(5)
        return ground.topic

    topic = anyio.run(lay)
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap, "transactional.id": fresh("verified")}
    )
    with closing(producer):
        producer.init_transactions(PATIENCE)
        for end in (producer.abort_transaction, producer.commit_transaction) * 2:
            producer.begin_transaction()
            for _ in range(3):
                producer.produce(topic, b"in doubt", partition=0)
            producer.flush(PATIENCE)
            end(PATIENCE)
    # Five records, and four times three and a mark.
    return topic, [5, 6, 7, 13, 14, 15]


def commit(kafka: RealKafka, group: str, topic: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
    with closing(consumer):
        consumer.commit(offsets=[At(topic, 0, offset)], asynchronous=False)


@pytest.mark.real
def test_lost_records_are_told_from_what_nobody_sees_on_a_real_broker(
    spark: Any, kafka: RealKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic, aborted = written(kafka)
    group, marks = fresh("verifiers"), [8, 12, 16, 20]
    commit(kafka, group, topic, 21)
    unseen = {*aborted, *marks}
    rows = rows_in([each for each in range(21) if each not in unseen], topic=topic)
    whole = saved(rows, tmp_path)
    words = ["--topic", topic, "--group", group, "--bootstrap", kafka.bootstrap, "--json"]
    committed = ["--isolation", "read_committed"]
    assert main(["spark", "verify", whole, *words, *committed]) == 0
    (row,) = json.loads(capsys.readouterr().out)["partitions"]
    assert (row["end"], row["rows"], row["invisible"], row["committed"]) == (21, 11, 10, 21)
    # Whoever reads all transactions sees the aborted ones too.
    assert main(["spark", "verify", whole, *words]) == 1
    lost = json.loads(capsys.readouterr().out)["findings"][0]
    assert (lost["count"], lost["ranges"]) == (6, [[5, 8], [13, 16]])
    holed = saved([row for row in rows if row[2] not in (3, 10)], tmp_path)
    assert main(["spark", "verify", holed, *words, *committed]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [(each["kind"], each["count"], each["ranges"]) for each in found] == [
        ("lost", 2, [[3, 4], [10, 11]]),
        ("commit ahead of the table", 2, []),
    ]
