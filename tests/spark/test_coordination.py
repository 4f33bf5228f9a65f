"""`kgroup spark coordination`: tables on a Spark, of recorded logs and of a real broker."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest
from pyarrow import dataset

from kgroup.cli import main
from kgroup.errors import ArgumentError, ConfigError
from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination import tables as t
from kgroup.spark.coordination.job import Job
from kgroup.spark.coordination.schema import (
    Layer,
    Row,
    Table,
    arrow_schema,
    ddl,
)
from kgroup.spark.coordination.silver import RawRecord
from kgroup.spark.coordination.store import Progress, Store
from kgroup.sync import Consumer
from kgroup.testing.kafka import RealKafka
from kgroup.types import TopicPartition
from tests.pages.coordination_queries import QUERIES
from tests.real.claiming import claiming, lay_log
from tests.spark.coordinator import Rows, claims_of, groups_of, recorded, scenario, silver_of
from tests.spark.ground import Reads, made, wait

pytestmark = pytest.mark.spark

_GROUPS = (d.REBALANCE, d.LAG, d.REWIND, d.STATUS)


def plain(table: Table, rows: Iterable[Row]) -> list[str]:
    """Return rows in a form that can be compared, in no order."""
    return sorted(repr([row.get(name) for name, _, _ in table.columns]) for row in rows)


def stored(store: Store, table: Table) -> list[str]:
    """Return the rows of a folder, read without a Spark: each of its jobs takes a while."""
    path = store.folder / table.name
    if not path.is_dir():
        return []
    whole = dataset.dataset(path, format="parquet", partitioning="hive")
    done = None if table.layer is Layer.GOLD else dataset.field("batch") <= store.progress().batch
    return plain(table, whole.to_table(filter=done).to_pylist())


def logs() -> list[RawRecord]:
    """Return what real groups did, two logs of claims, and records that cannot be read."""
    records = recorded()
    broken = [
        records[7]._replace(log_offset=100_000, value=b"\0\4\1"),
        records[8]._replace(log_offset=100_001, key=None),
    ]
    return [*records, *broken, *scenario("s04_reclaim"), *scenario("s05_garbled", 1)]


def laid(spark: Any, records: list[RawRecord], folder: Path, files: int = 1) -> Path:
    """Write records as another run would have kept them; return the folder."""
    rows = [record._asdict() for record in records]
    frame = t.rows_of(spark, d.RAW, rows).repartition(files)
    frame.write.parquet(str(folder / "raw"))
    return folder


def expected(records: list[RawRecord]) -> Rows:
    """Return all tables, made without a Spark."""
    silver = silver_of(records)
    gold = groups_of(silver)
    for number in (0, 1):
        claims = [each for each in records if each.src == "__marshal"]
        own = [each for each in claims if each.log_partition == number]
        for name, rows in claims_of(own).items():
            gold[name] += rows
    return silver | gold


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


# -- recorded logs ---------------------------------------------------------------------------------


def test_tables_are_told_to_arrow_as_they_are_to_spark(spark: Any) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - an extra

    for table in d.TABLES.values():
        frame = spark.createDataFrame([], ddl(table))
        assert to_arrow_schema(frame.schema).equals(arrow_schema(table))


def test_the_tables_of_a_folder_are_those_made_without_a_spark(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = logs()
    source, out = laid(spark, records, tmp_path / "kept"), tmp_path / "out"
    assert main(["spark", "coordination", "--from", str(source), "--out", str(out), "--json"]) == 0
    found, right, store = told(capsys), expected(records), Store(spark, out)
    for table in (*d.SILVER, *d.GOLD):
        assert stored(store, table) == plain(table, right[table.name]), table.name
        assert found["tables"].get(table.name, 0) == len(right[table.name])
    assert found["tables"]["raw"] == len(records)
    assert set(found["not_read"]) == {"10", "11", "12", "13", "14", "15"}
    assert sum(found["bad"].values()) == len(right["bad"]) > 2
    ends = {row["log_partition"]: row["digest"] for row in right["marshal_end"]}
    assert {row["log_partition"]: row["digest"] for row in found["marshal"]} == ends


def test_more_records_than_one_process_decodes_make_the_same_tables_in_any_order(
    spark: Any, tmp_path: Path
) -> None:
    records = logs()
    shuffled = list(records)
    Random(3).shuffle(shuffled)
    out = Store(spark, tmp_path / "out")
    kept = laid(spark, shuffled, tmp_path / "kept", files=5)
    Job(spark, out, lambda _: None).copy(kept, alone=len(records) - 1)
    right = expected(records)
    for table in (*d.SILVER, *d.GOLD):
        assert stored(out, table) == plain(table, right[table.name]), table.name


def test_each_table_is_a_function_of_frames(spark: Any) -> None:
    records = logs()
    frame = t.rows_of(spark, d.RAW, [record._asdict() for record in records])
    silver, right = t.silver(frame), expected(records)
    made_here = {
        d.OWNERSHIP: t.ownership(silver),
        d.ZOMBIE: t.zombie(silver),
        d.REWIND: t.rewind(silver),
    }
    for table, rows in made_here.items():
        assert rows.count() == len(right[table.name]), table.name


def test_the_same_folder_is_made_again_as_it_was(spark: Any, tmp_path: Path) -> None:
    records = recorded()[:60]
    source = laid(spark, records, tmp_path / "kept")
    store, right = Store(spark, tmp_path / "out"), silver_of(records)["commit_log"]
    assert right
    for _ in range(2):
        Job(spark, store, lambda _: None).copy(source)
        assert stored(store, d.COMMIT_LOG) == plain(d.COMMIT_LOG, right)


def test_a_folder_without_records_and_one_with_other_tables_are_refused(
    spark: Any, tmp_path: Path
) -> None:
    store = Store(spark, tmp_path / "out")
    job = Job(spark, store, lambda _: None)
    with pytest.raises(ArgumentError, match="a table raw"):
        job.copy(tmp_path)
    store.put(Progress(batch=0, source=str(tmp_path / "one")))
    with pytest.raises(ConfigError, match="a folder of its own"):
        job.copy(tmp_path / "two")


def test_tables_of_a_newer_version_are_left_alone(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "kept", tmp_path / "out"
    words = ["spark", "coordination", "--from", str(source), "--out", str(out)]
    Store(spark, out).put(Progress(batch=0, source=str(source)))
    progress = out / "_kgroup" / "progress.json"
    progress.write_text(progress.read_text().replace('"version": 1', '"version": 2'))
    assert main(words) == 2
    assert "a newer kgroup wrote them" in capsys.readouterr().err
    progress.write_text("{")
    assert main(words) == 2
    assert "progress.json" in capsys.readouterr().err


def test_a_person_is_told_of_each_table(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = logs()
    records = [
        *records[:40],
        *records[-40:],
        *(each for each in records if each.log_offset > 99_999),
    ]
    source, out = laid(spark, records, tmp_path / "kept"), tmp_path / "out"
    assert main(["spark", "coordination", "--from", str(source), "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    counts = dict(line.split() for line in lines[1:] if len(line.split()) == 2)
    assert int(counts["raw"]) == len(records)
    assert any(line.startswith("not readable: 1 x cannot read CommitValue") for line in lines)
    assert lines[-1] == f"DONE: {len(records):,} records are in {out}"


def test_each_query_of_the_page_fits_the_tables(spark: Any) -> None:
    for table in d.TABLES.values():
        t.empty(spark, table).createOrReplaceTempView(table.name)
    try:
        for name in d.TABLES:
            assert len(QUERIES[name]) == 3, name
            for _, query in QUERIES[name]:
                assert name in query
                assert spark.sql(query).columns, query
    finally:
        for name in d.TABLES:
            spark.catalog.dropTempView(name)


# -- a real broker ---------------------------------------------------------------------------------


@pytest.fixture
def reads(spark: Any, kafka: RealKafka, tmp_path: Path) -> Reads:
    return made(spark, kafka, tmp_path)


def tables_of(reads: Reads, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[Any, Store]:
    out = reads.folder / "out"
    words = ["--bootstrap", reads.kafka.bootstrap, "--out", str(out), "--json", *more]
    assert main(["spark", "coordination", *words]) == 0
    return told(capsys), Store(reads.spark, out)


def rows(store: Store, table: Table, group: str) -> list[Row]:
    """Return the rows of one group."""
    found = store.read(table, store.progress().batch).where(f"group = '{group}'").collect()
    return [row.asDict(recursive=True) for row in found]


def shown(reads: Reads, capsys: pytest.CaptureFixture[str]) -> dict[str, set[int]]:
    """Return member id -> partitions, as `kgroup groups show` says it."""
    capsys.readouterr()
    words = ["groups", "show", reads.group, "--bootstrap", reads.kafka.bootstrap, "--json"]
    assert main(words) == 0
    members = told(capsys)["members"]
    return {
        each["member_id"]: {place["partition"] for place in each["assigned"] or ()}
        for each in members
    }


def member(reads: Reads, name: str) -> "Consumer[Any, Any]":
    return Consumer(
        bootstrap_servers=reads.kafka.bootstrap,
        group_id=reads.group,
        client_id=name,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )


def has(consumer: "Consumer[Any, Any]", count: int) -> bool:
    consumer.getmany(timeout=0.1)
    return len(consumer.assignment()) == count


def lived(reads: Reads, capsys: pytest.CaptureFixture[str]) -> list[dict[str, set[int]]]:
    """Have one join, another join and leave, the first leave; return the owners in between."""
    seen = []
    with member(reads, "one") as one:
        one.subscribe(reads.ground.topic)
        wait(lambda: has(one, 3), "one has all partitions")
        seen.append(shown(reads, capsys))
        with member(reads, "two") as two:
            two.subscribe(reads.ground.topic)
            wait(lambda: has(one, 2) & has(two, 1), "both have theirs")
            seen.append(shown(reads, capsys))
        wait(lambda: has(one, 3), "one has all partitions again")
        seen.append(shown(reads, capsys))
        one.commit({TopicPartition(reads.ground.topic, p): 7 for p in range(3)})
        one.commit({TopicPartition(reads.ground.topic, 0): 4})
    return seen


def told_owners(store: Store, group: str) -> tuple[int, list[dict[str, set[int]]]]:
    """Return the last generation with members, and the owners in each, as the tables say."""
    generations = [row for row in rows(store, d.GENERATION, group) if row["n_members"]]
    generations.sort(key=lambda row: int(row["log_offset"]))
    assigned = rows(store, d.ASSIGNMENT, group)
    said = [
        {
            row["member_id"]: {
                each["partition"]
                for each in assigned
                if (each["member_id"], each["log_offset"])
                == (row["member_id"], generation["log_offset"])
            }
            for row in rows(store, d.MEMBER, group)
            if row["log_offset"] == generation["log_offset"]
        }
        for generation in generations
    ]
    return generations[-1]["generation"], said


@pytest.mark.real
def test_the_tables_say_what_the_coordinator_said(
    reads: Reads, capsys: pytest.CaptureFixture[str]
) -> None:
    reads.fill(10)
    seen = lived(reads, capsys)
    found, store = tables_of(reads, capsys)
    assert found["bad"] == {}
    last_generation, said = told_owners(store, reads.group)
    for owners in seen:
        assert owners in said
    commits = rows(store, d.COMMIT_LOG, reads.group)
    last = {
        row["partition"]: row["offset"]
        for row in sorted(commits, key=lambda row: int(row["log_offset"]))
    }
    assert last == reads.committed() == {0: 4, 1: 7, 2: 7}
    assert {row["gen_by_order"] for row in commits} == {last_generation}
    changes = sorted(rows(store, d.REBALANCE, reads.group), key=lambda row: int(row["log_offset"]))
    assert sum(row["joined"] for row in changes) == sum(row["left"] for row in changes) == 2
    assert changes[-1]["members"] == 0
    periods = rows(store, d.OWNERSHIP, reads.group)
    assert {row["client"] for row in periods} == {"one", "two"}
    assert all(row["to_ts"] is not None for row in periods)
    (rewind,) = rows(store, d.REWIND, reads.group)
    assert (rewind["partition"], rewind["from_position"], rewind["to_position"]) == (0, 7, 4)
    lags = {row["partition"]: row["lag"] for row in rows(store, d.LAG, reads.group)}
    assert lags == {0: 6, 1: 3, 2: 3}
    unowned = rows(store, d.UNOWNED, reads.group)
    assert {row["partition"] for row in unowned if row["to_ts"] is None} == {0, 1, 2}


def commit(reads: Reads, offset: int) -> None:
    with member(reads, "one") as one:
        one.subscribe(reads.ground.topic)
        wait(lambda: has(one, 3), "one has all partitions")
        one.commit({TopicPartition(reads.ground.topic, p): offset for p in range(3)})


@pytest.mark.real
def test_a_batch_that_was_killed_is_made_again_and_all_is_as_in_one_batch(
    reads: Reads, capsys: pytest.CaptureFixture[str]
) -> None:
    reads.fill(10)
    commit(reads, 3)
    _, store = tables_of(reads, capsys)
    progress = store.folder / "_kgroup" / "progress.json"
    before = progress.read_text()
    commit(reads, 5)
    tables_of(reads, capsys)
    # As if it had been killed while it wrote, and the group went on meanwhile.
    progress.write_text(before)
    shutil.rmtree(store.folder / "commit_log" / "batch=1")
    commit(reads, 8)
    for _ in range(2):  # the first finishes the batch that was begun
        tables_of(reads, capsys)
    commits = rows(store, d.COMMIT_LOG, reads.group)
    assert sorted(row["offset"] for row in commits) == [3, 3, 3, 5, 5, 5, 8, 8, 8]
    whole = Store(reads.spark, reads.folder / "whole")
    Job(reads.spark, whole, lambda _: None).copy(store.folder)
    for table in (d.RAW, *d.SILVER, *_GROUPS, d.OWNERSHIP, d.UNOWNED):
        assert stored(whole, table) == stored(store, table), table.name


@pytest.mark.real
def test_a_marshal_group_is_as_its_log_says(
    reads: Reads, capsys: pytest.CaptureFixture[str]
) -> None:
    log = anyio.run(lay_log, reads.kafka)
    reads.fill(5)
    options = claiming(log, bootstrap_servers=reads.kafka.bootstrap, group_id=reads.group)
    with Consumer(client_id="one", auto_offset_reset="earliest", **options) as one:
        one.subscribe(reads.ground.topic)
        wait(lambda: has(one, 3), "one has claimed all")
        one.commit()
    topic = ["--coordination-topic", log.topic]
    found, store = tables_of(reads, capsys, *topic)
    words = ["marshal", "state", "--digest", "--whole", "--json", *topic]
    assert main([*words, "--bootstrap", reads.kafka.bootstrap]) == 0
    (part,) = told(capsys)["coordination_partitions"]
    (end,) = found["marshal"]
    assert (end["digest"], end["next_offset"]) == (part["digest"], part["next_offset"])
    periods = rows(store, d.OWNERSHIP, reads.group)
    assert {(row["mode"], row["end_reason"]) for row in periods} == {("marshal", "released")}
    assert all(row["owner"].startswith("one") for row in periods)
    assert sorted(row["partition"] for row in periods) == [0, 1, 2]
    messages = rows(store, d.MARSHAL_MSG, reads.group)
    kinds = {row["type"] for row in messages}
    assert {"ClaimingPartition", "Heartbeat", "ReleasingPartition"} <= kinds
    assert rows(store, d.ZOMBIE, reads.group) == []
