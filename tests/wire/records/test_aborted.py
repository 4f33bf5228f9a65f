"""What a consumer of either isolation level hands out, and what marks say."""

from collections.abc import Iterable
from typing import Any

import pytest

from kgroup.errors import CorruptRecordError
from kgroup.wire.records import (
    AbortedTransactions,
    BatchHeader,
    BatchView,
    Codec,
    ControlType,
    NewRecord,
    control_type,
    encode_batch,
)
from kgroup.wire.records.encode import encode_record, seal
from tests.wire.records.golden import batches_of, lines, record_data

TRANSACTIONAL, CONTROL = 1 << 4, 1 << 5
P1, P2 = 9001, 9002


def made(base_offset: int, producer_id: int, attributes: int, *keys: bytes | None) -> BatchView:
    body = b"".join(
        encode_record(NewRecord(key, b"v"), offset_delta=delta, timestamp_delta=0)
        for delta, key in enumerate(keys)
    )
    header = BatchHeader(
        base_offset=base_offset,
        attributes=attributes,
        last_offset_delta=max(len(keys) - 1, 0),
        producer_id=producer_id,
        record_count=len(keys),
    )
    (batch,) = batches_of(seal(header, body))
    return batch


def data(base_offset: int, producer_id: int, records: int = 1) -> BatchView:
    return made(base_offset, producer_id, TRANSACTIONAL, *[b"k"] * records)


def mark(base_offset: int, producer_id: int, key: bytes | None) -> BatchView:
    return made(base_offset, producer_id, TRANSACTIONAL | CONTROL, key)


ABORT, COMMIT, UNKNOWN = b"\0\0\0\0", b"\0\0\0\1", b"\0\0\x01\0"


def admitted(aborted: Iterable[tuple[int, int]], *batches: BatchView) -> list[int]:
    transactions = AbortedTransactions(aborted)
    return [batch.base_offset for batch in batches if transactions.admits(batch)]


def interleaved() -> dict[str, Any]:
    (line,) = (each for each in lines("control") if each["name"] == "interleaved_transactions")
    return line


def test_interleaved_transactions_are_kept_apart() -> None:
    line = interleaved()
    batches = batches_of(bytes.fromhex(line["hex"]))
    aborted = [(each["producer_id"], each["first_offset"]) for each in line["aborted_transactions"]]
    for order in (aborted, aborted[::-1]):
        transactions = AbortedTransactions(order)
        committed = [
            offset
            for batch in batches
            if transactions.admits(batch)
            for offset in batch.columns().offsets
        ]
        assert committed == line["read_committed"]
    seen = [offset for b in batches if not b.is_control for offset in b.columns().offsets]
    assert seen == line["read_uncommitted"]
    assert batches[-1].next_offset == line["next_offset"]


def test_nothing_aborted_leaves_out_marks_only() -> None:
    assert admitted([], data(0, P1), mark(1, P1, COMMIT), made(2, -1, 0, b"k")) == [0, 2]


def test_a_producer_may_go_on_after_its_abort_mark() -> None:
    batches = (data(0, P1), mark(1, P1, ABORT), data(2, P1), mark(3, P1, COMMIT))
    assert admitted([(P1, 0)], *batches) == [2]


def test_a_transaction_that_begins_within_a_batch_takes_the_whole_batch() -> None:
    assert admitted([(P1, 2)], data(0, P1, records=3), data(3, P2)) == [3]


def test_a_commit_mark_of_another_producer_ends_nothing() -> None:
    assert admitted([(P1, 0)], data(0, P1), mark(1, P2, COMMIT), data(2, P1)) == []


def test_a_second_abort_mark_or_one_without_a_transaction_changes_nothing() -> None:
    batches = (mark(0, P2, ABORT), data(1, P1), mark(2, P1, ABORT), mark(3, P1, ABORT), data(4, P1))
    assert admitted([(P1, 1)], *batches) == [4]


@pytest.mark.parametrize("key", [UNKNOWN, b"", b"\0\0\0", None])
def test_an_unknown_mark_is_left_out_and_ends_nothing(key: bytes | None) -> None:
    assert admitted([(P1, 0)], mark(0, P1, key), data(1, P1)) == []


def test_an_emptied_control_batch_ends_nothing() -> None:
    emptied = made(0, P1, TRANSACTIONAL | CONTROL)
    assert control_type(emptied.columns()) is None
    assert admitted([(P1, 0)], emptied, data(1, P1)) == []


def test_idempotent_records_of_an_aborted_producer_are_no_part_of_its_transaction() -> None:
    assert admitted([(P1, 0)], made(0, P1, 0, b"k")) == [0]


def test_an_abort_mark_that_cannot_be_read_is_not_guessed() -> None:
    damaged = bytearray(mark(0, P1, ABORT).data)
    damaged[-1] ^= 1
    (batch,) = batches_of(bytes(damaged))
    with pytest.raises(CorruptRecordError):
        AbortedTransactions([(P1, 0)]).admits(batch)


def test_the_bound_on_output_holds_for_marks_too() -> None:
    body = encode_record(NewRecord(ABORT, bytes(10_000)), offset_delta=0, timestamp_delta=0)
    plain = encode_batch([NewRecord(ABORT, bytes(10_000))], codec=Codec.GZIP)[61:]
    header = BatchHeader(
        attributes=TRANSACTIONAL | CONTROL | Codec.GZIP.value, producer_id=P1, record_count=1
    )
    (batch,) = batches_of(seal(header, plain))
    with pytest.raises(CorruptRecordError, match="1000 bytes"):
        AbortedTransactions([(P1, 0)], max_output=1000).admits(batch)
    assert not AbortedTransactions([(P1, 0)], max_output=len(body)).admits(batch)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("commit", ControlType.COMMIT),
        ("abort", ControlType.ABORT),
        ("leader_change", ControlType.LEADER_CHANGE),
    ],
)
def test_marks_say_what_java_reads(name: str, expected: ControlType) -> None:
    (batch,) = batches_of(record_data(name, "control"))
    assert batch.is_control
    assert control_type(batch.columns()) == (0, expected)
