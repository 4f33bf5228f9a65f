"""Records of coordination logs become the rows that Kafka's own decoder speaks of."""

import base64
from collections import Counter

import pyarrow as pa
import pytest

from kgroup.marshal.messages import (
    Extension,
    Kind,
    Message,
    Reject,
    decode,
    encode,
    write_extension,
)
from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination.schema import ddl, tagged, tagged_schema
from kgroup.spark.coordination.silver import RawRecord
from kgroup.spark.positions import mark, read_mark
from kgroup.wire.offsets_log import CommitKey, GroupKey, GroupMember, GroupValue, RecordType
from tests.spark.coordinator import TOPIC_ID, Log, chosen, recorded, scenario, silver_of
from tests.vectors import load
from tests.wire.offsets_keys import written


def told() -> list[dict[str, object]]:
    """Return what Kafka says of all records that somebody sees."""
    lines = [each for n in range(4) for each in load(f"consumer_offsets/partition-{n}")]
    return [each for each in lines if not each.get("control") and each["committed"]]


def test_each_commit_is_a_row_and_an_aborted_one_is_none() -> None:
    rows = silver_of(recorded())[d.COMMIT_LOG.name]
    expected = []
    for line in told():
        key, value = line["expected_key"], line["expected_value"]
        if key["type"] != "1":  # type: ignore[index]
            continue
        data = {} if isinstance(value, str) else value["data"]  # type: ignore[index]
        names = key["data"]  # type: ignore[index]
        topic_id = data.get("topicId")
        expected.append(
            (
                *(names["group"], names["topic"], names["partition"]),
                *(line["partition"], line["offset"], line["timestamp"]),
                *(data.get("offset"), data.get("metadata"), data.get("commitTimestamp")),
                None if topic_id == "AAAAAAAAAAAAAAAAAAAAAA" else topic_id,
                value == "<DELETE>",
            )
        )
    names = ("group", "topic", "partition", "log_partition", "log_offset", "append_ts", "offset")
    more = ("metadata", "commit_ts", "topic_id", "tombstone")
    assert chosen(rows, *names, *more) == expected
    assert len(expected) > 150


def test_a_commit_stands_under_the_generation_before_it() -> None:
    rows = silver_of(recorded())
    generations = sorted(
        (row for row in rows["generation"] if row["kind"] != "848 target"),
        key=lambda row: row["log_offset"],
    )
    for row in rows["commit_log"]:
        before = [
            each
            for each in generations
            if each["group"] == row["group"] and each["log_offset"] < row["log_offset"]
        ]
        stands = before[-1].get("generation") if before else None
        assert row["gen_by_order"] == stands
    assert any(row["gen_by_order"] for row in rows["commit_log"])


def test_what_stood_before_the_first_record_is_given() -> None:
    log = Log()
    log.commit(5)
    log.generation(8, {})
    log.commit(6)
    log.say(GroupKey(RecordType.GROUP, "g"), None)
    log.commit(7)
    rows = silver_of(log.records, {"g": 7, "other": 1})["commit_log"]
    assert [row["gen_by_order"] for row in rows] == [7, 8, None]


def test_members_and_their_partitions_are_rows() -> None:
    found = silver_of(recorded())
    members = {
        (each["memberId"], line["offset"]): each
        for line in told()
        if line["expected_key"]["type"] == "2"  # type: ignore[index]
        and line["expected_value"] != "<DELETE>"
        for each in line["expected_value"]["data"]["members"]  # type: ignore[index]
    }
    rows = [row for row in found["member"] if row["kind"] == "classic"]
    assert len(rows) == len(members)
    for row in rows:
        known = members[row["member_id"], row["log_offset"]]
        assert row["topics"] == known["subscription"]["topics"]
        assert row["instance_id"] == known["groupInstanceId"]
        assert (row["session_ms"], row["host"]) == (known["sessionTimeout"], known["clientHost"])
        assert row.get("unread") is None
    places = Counter((row["member_id"], row["log_offset"]) for row in found["assignment"])
    for key, known in members.items():
        assigned = known["assignment"]["assignedPartitions"]
        assert places[key] == sum(len(each["partitions"]) for each in assigned)


def test_members_of_kip_848_are_rows_of_three_kinds_with_ids_of_topics() -> None:
    found = silver_of(recorded())
    kinds = Counter(row["kind"] for row in found["member"])
    assert (kinds["member"], kinds["target"], kinds["current"]) == (14, 17, 26)
    current = [row for row in found["assignment"] if row["kind"] == "current"]
    assert all(row["topic_id"] and "topic" not in row for row in current)
    assert "revoking" in {row["kind"] for row in found["assignment"]}
    away = [row for row in found["member"] if row.get("generation") == -2]
    assert len(away) == 1


def test_records_that_are_not_decoded_are_counted_by_type() -> None:
    found = silver_of(recorded())
    assert {row["type"] for row in found["other"]} == {10, 11, 12, 13, 14, 15}
    assert found["bad"] == []


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (None, b"", "no key"),
        (b"\0", b"", "int16"),
        (written(CommitKey(RecordType.COMMIT, "g", "t", 0)), b"\0\4\0", "CommitValue"),
        (written(CommitKey(RecordType.COMMIT, "g", "t", 0)), b"\0\x09", "version 9"),
        (b"\0\1\0\3g", None, "string"),
    ],
)
def test_a_record_that_cannot_be_read_is_a_row_and_stops_nothing(
    key: bytes | None, value: bytes | None, reason: str
) -> None:
    log = Log(3)
    log.add(key, value)
    log.commit(4)
    found = silver_of(log.records)
    (bad,) = found["bad"]
    assert reason in bad["reason"]
    assert (bad["src"], bad["log_partition"], bad["log_offset"]) == ("__consumer_offsets", 3, 0)
    assert (bad["key"], bad["value"]) == (key, value)
    assert chosen(found["commit_log"], "offset") == [(4,)]


def test_bytes_of_a_member_that_cannot_be_read_are_kept() -> None:
    member = GroupMember(
        member_id="m", client_id="c", client_host="h", session_timeout=1, subscription=b"\0",
        assignment=b"\0\1",
    )  # fmt: skip
    value = GroupValue(
        protocol_type="consumer", generation=1, protocol="p", leader="m", members=(member,)
    )
    log = Log()
    log.say(GroupKey(RecordType.GROUP, "g"), value, 3)
    found = silver_of(log.records)
    (row,) = found["member"]
    assert (row["subscription"], row["assignment"]) == (b"\0", b"\0\1")
    assert "subscription" in row["unread"]
    assert "assignment" in row["unread"]
    assert found["assignment"] == []


def test_a_commit_of_a_query_names_query_and_batch() -> None:
    log = Log()
    log.commit(1, metadata=mark("q7", 12))
    log.commit(2, metadata=mark("q7", 13) + "\0")
    log.commit(3, metadata="kgroup/1;q=q7;b=x")
    rows = silver_of(log.records)["commit_log"]
    assert chosen(rows, "md_query", "md_batch") == [("q7", 12), ("q7", 13), (None, None)]
    assert rows[1]["metadata"].endswith("\0")
    assert read_mark("anything") is None


def test_ids_of_topics_are_written_as_kafka_prints_them() -> None:
    log = Log()
    log.commit(1)
    (row,) = silver_of(log.records)["commit_log"]
    assert base64.urlsafe_b64decode(row["topic_id"] + "==") == TOPIC_ID


# -- Marshal ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["s05_garbled", "s04_reclaim", "s08_zombie"])
def test_messages_are_rows_and_what_is_none_says_why(name: str) -> None:
    records = scenario(name)
    found = silver_of(records)
    expected: Counter[object] = Counter()
    for record in records:
        message = decode(record.value)
        expected[message.value if isinstance(message, Reject) else message.kind] += 1
    told = Counter[object](row["reason"] for row in found["bad"])
    told.update(Kind(row["type"].encode()) for row in found["marshal_msg"])
    assert told == expected


def message(text: Message, extension: Extension | None = None) -> RawRecord:
    headers = [] if extension is None else write_extension(extension)
    given = [{"key": key, "value": value} for key, value in headers]
    return RawRecord("__marshal", 1, 7, 9, True, None, encode(text), given)


BEAT = Message(Kind.HEARTBEAT, 1_700_000_000, b"i", b"c\xff", b"g", b"t", 3, 50)


def test_headers_of_kgroup_are_columns() -> None:
    (row,) = silver_of(
        [message(BEAT, Extension(epoch=4, started=9_999_999_999_999_999_999, interval=9))]
    )["marshal_msg"]
    assert (row["is_kgroup"], row["epoch"], row["interval_s"]) == (True, 4, 9)
    assert (row["client"], row["msg_ts"], row["offset"]) == ("c\\xff", 1_700_000_000_000, 50)
    assert row["started"] is None
    (plain,) = silver_of([message(BEAT)])["marshal_msg"]
    assert (plain["is_kgroup"], plain["epoch"]) == (False, None)


@pytest.mark.parametrize(
    ("beat", "reason"),
    [
        (BEAT._replace(partition=2**40), Reject.PARTITION_RANGE),
        (BEAT._replace(partition=-1), Reject.PARTITION_RANGE),
        (BEAT._replace(time=2**62), Reject.TIME_RANGE),
    ],
)
def test_a_figure_that_no_column_holds_is_not_readable(beat: Message, reason: Reject) -> None:
    (row,) = silver_of([message(beat)])["bad"]
    assert row["reason"] == reason.value


# -- columns ---------------------------------------------------------------------------------------


def test_rows_have_no_other_columns_than_are_declared_and_their_types() -> None:
    records = [*recorded(), *scenario("s05_garbled"), message(BEAT, Extension(epoch=1))]
    found = silver_of(records)
    for table in d.SILVER:
        names = {name for name, _, _ in table.columns}
        assert all(row.keys() <= names for row in found[table.name])
    rows = [tagged(table, row) for table in d.SILVER for row in found[table.name]]
    made = pa.RecordBatch.from_pylist(rows, tagged_schema(d.SILVER))
    assert made.num_rows == len(rows)
    for table in d.SILVER:
        back = [row for row in made.column(table.name).to_pylist() if row is not None]
        some = [{name: row.get(name) for name, _, _ in table.columns} for row in found[table.name]]
        assert back == some


def test_each_table_is_told_to_spark_with_all_of_its_columns() -> None:
    for table in d.TABLES.values():
        assert ddl(table).count("`") == 2 * len(table.columns)
        assert all(about for _, _, about in table.columns)
