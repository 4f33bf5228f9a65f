"""Batches are read as records are read one by one."""

from collections.abc import Iterable
from itertools import chain

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination.columns import Columns, records_of
from kgroup.spark.coordination.schema import Row, arrow_schema
from kgroup.spark.coordination.silver import RawRecord
from kgroup.wire.offsets_log import CommitKey, CommitValue, RecordType
from tests.spark.coordinator import TOPIC_ID, Log, Rows, recorded, scenario, silver_of

NAMES = {table.name: [name for name, _, _ in table.columns] for table in d.SILVER}


def batch_of(records: Iterable[RawRecord]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([each._asdict() for each in records], arrow_schema(d.RAW))


def read(records: list[RawRecord], size: int, generations: dict[str, int] | None = None) -> Rows:
    """Return the silver tables of records that come in batches."""
    reader = Columns(generations or {})
    found: Rows = {name: [] for name in NAMES}
    for begin in range(0, len(records), size):
        part = records[begin : begin + size]
        said = reader.rows(batch_of(part)).to_pylist()
        assert len(said) == len(part)
        found["commit_log"] += [each["plain"] for each in said if each["plain"] is not None]
        for row in chain.from_iterable(each["rest"] or () for each in said):
            found[row["table"]].append(row[row["table"]])
    return found


def whole(name: str, rows: Iterable[Row]) -> list[Row]:
    """Return rows with all columns, by their places: the order of a batch is not kept."""
    full = [{column: row.get(column) for column in NAMES[name]} for row in rows]
    return sorted(full, key=repr)


def same(records: list[RawRecord], size: int, generations: dict[str, int] | None = None) -> None:
    found, right = read(records, size, generations), silver_of(records, generations)
    for name in NAMES:
        assert whole(name, found[name]) == whole(name, right[name])


def test_what_real_groups_did_is_read_the_same() -> None:
    records = [*recorded(), *scenario("s05_garbled")]
    for size in (1, 7, 64, len(records)):
        same(records, size)


def test_a_record_comes_back_out_of_a_batch() -> None:
    records = [*recorded()[:50], *scenario("s07_rules")]
    assert list(records_of(batch_of(records))) == [
        each._replace(headers=each.headers or (None if each.headers is None else []))
        for each in records
    ]


COMMITS = st.builds(
    CommitValue,
    offset=st.integers(-(2**63), 2**63 - 1),
    leader_epoch=st.sampled_from([-1, 0, 7, 2**31 - 1]),
    metadata=st.sampled_from(["", "", "", "x", "\0"]),
    commit_timestamp=st.integers(0, 2**62),
    topic_id=st.sampled_from([TOPIC_ID, bytes(16)]),
)


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.sampled_from("gh"), st.sampled_from("tu"), COMMITS, st.integers(0, 4))
        | st.tuples(st.sampled_from("gh"), st.none(), st.integers(0, 9), st.none()),
        max_size=30,
    ),
    st.integers(1, 12),
)
def test_commits_and_generations_in_any_order_are_read_the_same(
    story: list[tuple[str, str | None, CommitValue | int, int | None]], size: int
) -> None:
    log = Log()
    for group, topic, what, version in story:
        if isinstance(what, CommitValue):
            assert topic is not None
            assert version is not None
            log.say(CommitKey(RecordType.COMMIT, group, topic, 3), what, version)
        else:
            log.generation(what, {}, group=group)
    same(log.records, size, {"h": 5})


@settings(max_examples=200)
@given(st.data())
def test_damaged_commits_are_read_the_same(data: st.DataObject) -> None:
    log = Log()
    for _ in range(6):
        log.commit(data.draw(st.integers(0, 9)))
    records = []
    for record in log.records:
        value = bytearray(record.value or b"")
        if data.draw(st.booleans()):
            value[data.draw(st.integers(0, len(value) - 1))] = data.draw(st.integers(0, 255))
        cut = data.draw(st.sampled_from([len(value), len(value), 24, 23, 0]))
        records.append(record._replace(value=bytes(value[:cut])))
    same(records, 6)
