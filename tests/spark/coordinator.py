"""Coordination logs for tests: written as a coordinator would, or recorded; and their tables.

Decides: that the tables are made without a Spark, by the functions that it runs.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination.claims import claims
from kgroup.spark.coordination.lag import positions
from kgroup.spark.coordination.ownership import ownership
from kgroup.spark.coordination.schema import Row, Table
from kgroup.spark.coordination.silver import OFFSETS_TOPIC, RawRecord, Silver
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    encode_assignment,
    encode_subscription,
)
from kgroup.wire.offsets_log import (
    CommitKey,
    CommitValue,
    GroupKey,
    GroupMember,
    GroupValue,
    Key,
    RecordType,
)
from kgroup.wire.schema import Message, encode
from tests.marshal.golden import Scenario
from tests.vectors import load
from tests.wire.offsets_keys import written

Rows = dict[str, list[Row]]
T0 = 1_700_000_000_000
TOPIC_ID = bytes(range(16))


class Log:
    """One partition of `__consumer_offsets`; a record comes each second.

    Args:
        number: of the partition.
    """

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.records: list[RawRecord] = []
        self.now = T0

    def add(self, key: bytes | None, value: bytes | None) -> int:
        """Append a record; return its offset."""
        self.now += 1000
        place = (self.number, len(self.records), self.now, True)
        self.records.append(RawRecord(OFFSETS_TOPIC, *place, key, value))
        return len(self.records) - 1

    def say(self, key: Key, value: Message | None, version: int = 0) -> int:
        """Append what a coordinator says of a key; None removes it."""
        raw = None if value is None else version.to_bytes(2, "big") + encode(value, version)
        return self.add(written(key), raw)

    def generation(
        self,
        number: int,
        assigned: Mapping[str, Iterable[tuple[str, int]]],
        *,
        group: str = "g",
        instances: Mapping[str, str] | None = None,
    ) -> int:
        """Append a generation: member id -> its partitions; the first member leads."""
        members = tuple(
            GroupMember(
                member_id=member,
                group_instance_id=(instances or {}).get(member),
                client_id=f"client-{member}",
                client_host="/h",
                rebalance_timeout=300_000,
                session_timeout=45_000,
                subscription=encode_subscription(MemberSubscription(topics=("t",))),
                assignment=encode_assignment(
                    MemberAssignment([TopicPartition(*place) for place in places])
                ),
            )
            for member, places in assigned.items()
        )
        value = GroupValue(
            protocol_type="consumer",
            generation=number,
            protocol="range" if members else None,
            leader=next(iter(assigned), None),
            current_state_timestamp=self.now + 600,
            members=members,
        )
        return self.say(GroupKey(RecordType.GROUP, group), value, 3)

    def commit(
        self,
        offset: int | None,
        *,
        group: str = "g",
        topic: str = "t",
        partition: int = 0,
        metadata: str = "",
    ) -> int:
        """Append a commit, or with None its removal."""
        key = CommitKey(RecordType.COMMIT, group, topic, partition)
        if offset is None:
            return self.say(key, None)
        value = CommitValue(
            offset=offset, metadata=metadata, commit_timestamp=self.now + 1000, topic_id=TOPIC_ID
        )
        return self.say(key, value, 4)


def recorded() -> list[RawRecord]:
    """Return what real groups did, without what aborted transactions committed."""
    found = []
    for number in range(4):
        for line in load(f"consumer_offsets/partition-{number}"):
            if line.get("control") or not line["committed"]:
                continue
            value = None if line["value"] is None else bytes.fromhex(line["value"])
            place = (number, line["offset"], line["timestamp"], False)
            found.append(RawRecord(OFFSETS_TOPIC, *place, bytes.fromhex(line["key"]), value))
    return found


def scenario(name: str, number: int = 0) -> list[RawRecord]:
    """Return a log of claims that was recorded from the original library."""
    known = Scenario.read(name)
    return [
        RawRecord(
            "__marshal",
            number,
            record.offset,
            record.timestamp,
            known.append_time,
            None,
            record.value,
            [{"key": key, "value": value} for key, value in record.headers],
        )
        for record in known.records
    ]


# -- tables ----------------------------------------------------------------------------------------


def silver_of(records: Iterable[RawRecord], generations: Mapping[str, int] | None = None) -> Rows:
    """Return the silver tables of records in order."""
    return _gathered(d.SILVER, _read(records, Silver(generations)))


def _read(records: Iterable[RawRecord], reader: Silver) -> Iterator[tuple[Table, Row]]:
    for record in records:
        yield from reader.rows(record)


def groups_of(silver: Rows, log_end: Iterable[Row] = ()) -> Rows:
    """Return the gold tables of all groups of Kafka's coordinator."""
    ends = list(log_end)
    topics = {row["topic_id"]: row["topic"] for row in silver["commit_log"] if row.get("topic_id")}
    tables = (d.GENERATION, d.MEMBER, d.ASSIGNMENT, d.COMMIT_LOG)
    names = sorted({row["group"] for table in tables for row in silver[table.name]})
    found: list[tuple[Table, Row]] = []
    for group in names:
        own = {
            table.name: [row for row in silver[table.name] if row["group"] == group]
            for table in tables
        }
        own[d.LOG_END.name] = ends
        found += [*ownership(group, own, topics), *positions(group, own)]
    return _gathered(d.GOLD, found)


def claims_of(records: Iterable[RawRecord], *, complete: bool = True) -> Rows:
    """Return the gold tables of a log of claims."""
    return _gathered(d.GOLD, claims(records, complete=complete))


def _gathered(tables: Iterable[Table], rows: Iterable[tuple[Table, Row]]) -> Rows:
    found: Rows = {table.name: [] for table in tables}
    for table, row in rows:
        found[table.name].append(row)
    return found


def chosen(rows: Iterable[Row], *names: str) -> list[tuple[Any, ...]]:
    """Return some columns of rows."""
    return [tuple(row.get(name) for name in names) for row in rows]
