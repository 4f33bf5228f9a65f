"""Agreement with aiokafka's own reader and writer, and what damage may do."""

import random
from collections.abc import Iterator

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from kgroup.errors import DecodeError
from kgroup.wire.records import Codec, MessageSetView, NewRecord, Row, encode_batch, iter_batches
from kgroup.wire.records.encode import seal
from kgroup.wire.records.header import BatchHeader
from tests.wire.records.golden import record_data

MAX_OUTPUT = 1 << 20


each_seed = pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))]
)


def some_records(chance: random.Random) -> list[NewRecord]:
    def some_bytes(longest: int) -> bytes | None:
        size = chance.choice([0, 3, chance.randrange(longest)])
        return chance.choice([None, bytes(size), chance.randbytes(size)])

    now = chance.choice([0, 1_700_000_000_000])
    return [
        NewRecord(
            some_bytes(40),
            some_bytes(400),
            tuple((f"h{n}", some_bytes(20)) for n in range(chance.choice([0, 0, 1, 3]))),
            now + chance.randrange(chance.choice([1, 50, 5_000, 500_000])),
        )
        for _ in range(chance.choice([1, 5, 70, 300]))
    ]


def their_rows(data: bytes) -> Iterator[Row]:
    batch = DefaultRecordBatch(data)
    assert batch.validate_crc()
    for each in batch:
        yield each.offset, each.timestamp, each.key, each.value, tuple(each.headers)


@pytest.mark.parametrize("codec", Codec)
@each_seed
def test_aiokafka_reads_what_is_written_here(codec: Codec, seed: int) -> None:
    data = encode_batch(some_records(random.Random(seed)), codec=codec)
    (batch,) = iter_batches(data)
    assert list(batch.columns()) == list(their_rows(data))


@pytest.mark.parametrize("codec", Codec)
@each_seed
def test_what_aiokafka_writes_is_read_here(codec: Codec, seed: int) -> None:
    records = some_records(random.Random(100 + seed))
    builder = DefaultRecordBatchBuilder(2, codec.value, 0, -1, -1, -1, 1 << 24)
    for offset, each in enumerate(records):
        builder.append(offset, each.timestamp, each.key, each.value, list(each.headers))
    data = bytes(builder.build())
    (batch,) = iter_batches(data)
    assert list(batch.columns()) == list(their_rows(data))
    assert batch.columns().values() == [each.value for each in records]


def read_all(data: bytes) -> None:
    for batch in iter_batches(data):
        rows = list(batch.columns(check_crc=False, max_output=MAX_OUTPUT))
        assert isinstance(batch, MessageSetView) or len(rows) == batch.count


@pytest.mark.parametrize("name", ["mixed", "many", "random1", "compacted_drop_some"])
@pytest.mark.parametrize("codec", [codec.name.lower() for codec in Codec])
def test_a_mutated_batch_reads_or_raises_our_own_error(name: str, codec: str) -> None:
    data = record_data(f"{name}_{codec}")
    chance = random.Random(f"{name}{codec}")
    for _ in range(150):
        mutated = bytearray(data)
        for _ in range(chance.choice([1, 1, 2, 5])):
            mutated[chance.randrange(len(data))] = chance.randrange(256)
        try:
            read_all(bytes(mutated))
        except DecodeError:
            continue


@given(st.binary(max_size=300))
def test_random_bytes_read_or_raise_our_own_error(data: bytes) -> None:
    try:
        read_all(data)
    except DecodeError:
        return


@given(st.sampled_from(Codec), st.binary(max_size=200), st.integers(0, 3))
def test_a_random_body_reads_or_raises_our_own_error(codec: Codec, body: bytes, count: int) -> None:
    header = BatchHeader(attributes=codec.value, last_offset_delta=10, record_count=count)
    try:
        read_all(seal(header, body))
    except DecodeError:
        return
