"""Records of one partition of a Fetch answer: in order, and damage is an error."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from kgroup.consumer.buffer.chunk import Chunk, read_chunk
from kgroup.errors import CorruptRecordError, UnsupportedCodecError
from kgroup.wire.messages import AbortedTransaction, PartitionData
from kgroup.wire.records import MAX_OUTPUT, BatchHeader, Codec, NewRecord, encode_batch
from kgroup.wire.records.encode import seal
from tests.wire.records.golden import lines
from tests.wire.records.old_messages import message, message_set, wrapper

TRANSACTIONAL, CONTROL = 1 << 4, 1 << 5
ABORT, COMMIT, UNKNOWN = (struct.pack(">hh", 0, kind) for kind in (0, 1, 77))


@dataclass(frozen=True, slots=True)
class Part:
    """A batch as a test wants it, with a right checksum."""

    offset: int
    values: Sequence[bytes] = (b"v",)
    producer: int | None = None
    control: bytes | None = None
    codec: Codec = Codec.NONE

    @property
    def data(self) -> bytes:
        records = [NewRecord(self.control, value) for value in self.values]
        packed = encode_batch(records, codec=self.codec)
        attributes = self.codec.value
        attributes |= TRANSACTIONAL if self.producer is not None else 0
        attributes |= CONTROL if self.control is not None else 0
        return resealed(
            packed,
            self.offset,
            attributes=attributes,
            producer_id=-1 if self.producer is None else self.producer,
        )


def resealed(data: bytes, offset: int, **figures: int) -> bytes:
    """The batch with other figures in its header, and a checksum that says it is right."""
    header = BatchHeader._make(struct.unpack_from(">qiibIhiqqqhii", data))
    return seal(header._replace(base_offset=offset, **figures), data[61:])


def emptied(offset: int, count: int, **figures: int) -> bytes:
    """A batch that compaction has left nothing of but its place."""
    return seal(BatchHeader(base_offset=offset, last_offset_delta=count - 1, **figures), b"")


def read(
    *parts: bytes,
    at: int = 0,
    aborted: Sequence[tuple[int, int]] | None = None,
    check_crcs: bool = True,
    max_output: int = MAX_OUTPUT,
) -> Chunk:
    """Read an answer of these parts; read_committed when aborted transactions are given."""
    rows = tuple(AbortedTransaction(producer_id=p, first_offset=o) for p, o in aborted or ())
    data = PartitionData(
        partition_index=0, high_watermark=0, records=b"".join(parts), aborted_transactions=rows
    )
    return read_chunk(
        data,
        at,
        committed_only=aborted is not None,
        check_crcs=check_crcs,
        max_output=max_output,
    )


def offsets(chunk: Chunk) -> list[int]:
    """Take everything out."""
    found: list[int] = []
    for segment in chunk.take(None):
        found += segment.columns.offsets[segment.start : segment.stop]
    chunk.head()
    return found


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


# -- older formats -----------------------------------------------------------------------------


def test_formats_of_all_ages_in_one_answer_are_one_stretch_of_records() -> None:
    (line,) = (line for line in lines("legacy") if line["name"] == "mixed_magic")
    chunk = read(bytes.fromhex(line["hex"]))
    assert offsets(chunk) == [0, 1, 2, 3, 4]
    assert (chunk.at, chunk.next_offset, chunk.error) == (5, 5, None)


@pytest.mark.parametrize("magic", [0, 1])
def test_old_records_in_front_of_the_offset_asked_for_are_left_out(magic: int) -> None:
    inside = message_set(magic, *(range(7, 11) if magic == 0 else range(4)))
    for data in (wrapper(magic, 10, inside), message_set(magic, 7, 8, 9, 10)):
        chunk = read(data, at=9)
        assert offsets(chunk) == [9, 10]
        assert chunk.at == chunk.next_offset == 11


def test_an_old_message_that_was_compacted_to_its_end_moves_the_position() -> None:
    chunk = read(wrapper(1, 10, message_set(1, 3)), at=5)
    assert offsets(chunk) == [10]
    assert chunk.at == 11


def test_old_records_are_part_of_no_transaction() -> None:
    chunk = read(message_set(1, 0, 1), Part(2, producer=7).data, aborted=[(7, 0)])
    assert offsets(chunk) == [0, 1]
    assert chunk.at == 3


# -- N15: bad CRC ------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", Codec)
def test_only_records_before_a_bad_checksum_are_handed_out(codec: Codec) -> None:
    """N15."""
    good, bad, after = (Part(n, codec=codec).data for n in range(3))
    chunk = read(good, flipped(bad), after)
    assert offsets(chunk) == [0]
    assert chunk.at == chunk.next_offset == 1
    assert isinstance(chunk.error, CorruptRecordError)
    assert chunk.error.base_offset == 1


@pytest.mark.parametrize("magic", [0, 1])
def test_a_bad_checksum_of_an_old_message_is_an_error_at_its_offset(magic: int) -> None:
    """N15."""
    data = message(magic, 0) + flipped(message(magic, 1)) + message(magic, 2)
    chunk = read(data)
    assert offsets(chunk) == [0]
    assert isinstance(chunk.error, CorruptRecordError)
    assert (chunk.error.base_offset, chunk.at) == (1, 1)


def test_checksums_are_left_alone_when_they_are_not_wanted() -> None:
    """N15."""
    bad = Part(0).data
    bad = bad[:17] + bytes(4) + bad[21:]
    chunk = read(bad, flipped(message(1, 1)), check_crcs=False)
    assert offsets(chunk) == [0, 1]
    assert chunk.error is None


# -- N16: lengths ------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [-(1 << 31), -1, 0, 13, 48])
def test_a_length_that_is_none_ends_the_answer_with_an_error(length: int) -> None:
    """N16."""
    bad = bytearray(Part(1).data)
    struct.pack_into(">i", bad, 8, length)
    chunk = read(Part(0).data, bytes(bad))
    assert offsets(chunk) == [0]
    assert isinstance(chunk.error, CorruptRecordError)
    assert (chunk.error.base_offset, chunk.at) == (1, 1)


def test_a_cut_off_tail_is_asked_for_again_and_is_no_error() -> None:
    """N16."""
    whole = Part(1).data
    for end in range(len(whole)):
        chunk = read(Part(0).data, whole[:end])
        assert offsets(chunk) == [0]
        assert (chunk.at, chunk.error) == (1, None)


@pytest.mark.parametrize("kept", [1, 16, 60, 65])
def test_an_answer_without_a_whole_batch_is_damaged(kept: int) -> None:
    """N16: beyond the set; a broker sends the first batch whole, however large (KIP-74)."""
    chunk = read(Part(5).data[:kept], at=5)
    assert isinstance(chunk.error, CorruptRecordError)
    assert (chunk.error.base_offset, chunk.at, chunk.next_offset) == (5, 5, 5)


def test_an_answer_without_bytes_is_no_news() -> None:
    chunk = read(at=5)
    assert (chunk.at, chunk.next_offset, chunk.error) == (5, 5, None)


# -- N17: figures ------------------------------------------------------------------------------

LIES: dict[str, dict[str, int]] = {
    "no records": {"record_count": 0},
    "negative count": {"record_count": -1},
    "one more": {"record_count": 3, "last_offset_delta": 2},
    "one less": {"record_count": 1},
    "huge count": {"record_count": (1 << 31) - 1, "last_offset_delta": (1 << 31) - 1},
    "negative delta": {"last_offset_delta": -1},
    "most negative delta": {"last_offset_delta": -(1 << 31)},
    "delta too small": {"last_offset_delta": 0},
}


@pytest.mark.parametrize("check_crcs", [True, False])
@pytest.mark.parametrize("lie", LIES)
def test_figures_that_lie_deliver_nothing_and_nothing_behind_them(
    lie: str, check_crcs: bool
) -> None:
    """N17: the checksum is right, whether or not it is looked at."""
    bad = resealed(Part(1, (b"a", b"b")).data, 1, **LIES[lie])
    chunk = read(Part(0).data, bad, Part(3).data, check_crcs=check_crcs)
    assert offsets(chunk) == [0]
    assert isinstance(chunk.error, CorruptRecordError)
    assert (chunk.error.base_offset, chunk.at) == (1, 1)


@pytest.mark.parametrize("base_offset", [-1, -(1 << 63), (1 << 63) - 1])
def test_an_impossible_offset_is_never_a_position(base_offset: int) -> None:
    """N17."""
    chunk = read(resealed(Part(0).data, base_offset), check_crcs=False)
    assert isinstance(chunk.error, CorruptRecordError)
    assert (offsets(chunk), chunk.at) == ([], 0)


def test_offsets_that_fall_within_a_batch_are_damage() -> None:
    """N17."""
    body = bytearray(encode_batch([NewRecord(None, None)] * 3)[61:])
    body[-4] = 0  # offset delta of the last record
    chunk = read(seal(BatchHeader(last_offset_delta=2, record_count=3), bytes(body)))
    assert offsets(chunk) == []
    assert isinstance(chunk.error, CorruptRecordError)
    assert "offsets do not rise" in chunk.error.reason


@pytest.mark.parametrize("again", [0, 1])
def test_a_batch_from_before_its_neighbour_is_damage(again: int) -> None:
    """N17: progress never backwards."""
    chunk = read(Part(0).data, Part(1).data, Part(again).data, Part(2).data)
    assert offsets(chunk) == [0, 1]
    assert isinstance(chunk.error, CorruptRecordError)
    assert (chunk.error.base_offset, chunk.at) == (again, 2)


def test_old_messages_that_go_backwards_are_damage() -> None:
    """N17."""
    chunk = read(message_set(1, 4, 5, 5), at=4)
    assert offsets(chunk) == [4, 5]
    assert isinstance(chunk.error, CorruptRecordError)
    assert chunk.at == 6


def test_an_overlapping_batch_yields_each_offset_once() -> None:
    """N17: each offset once."""
    chunk = read(Part(0, [b"a", b"b"]).data, Part(1, [b"b", b"c"]).data)
    assert offsets(chunk) == [0, 1, 2]
    assert chunk.at == 3


def test_batches_from_before_the_offset_asked_for_are_left_out() -> None:
    chunk = read(Part(0).data, Part(1).data, Part(2, [b"a", b"b", b"c"]).data, at=3)
    assert offsets(chunk) == [3, 4]
    assert (chunk.at, chunk.error) == (5, None)


# -- N18: unknown formats ----------------------------------------------------------------------


def test_an_unknown_magic_ends_the_answer_with_an_error_that_names_it() -> None:
    """N18."""
    future = bytearray(Part(1).data)
    future[16] = 3
    chunk = read(Part(0).data, bytes(future))
    assert offsets(chunk) == [0]
    assert isinstance(chunk.error, UnsupportedCodecError)
    assert "magic 3" in chunk.error.reason
    assert chunk.at == 1


@pytest.mark.parametrize("codec_id", [5, 6, 7])
def test_an_unknown_codec_ends_the_answer_with_an_error_that_names_it(codec_id: int) -> None:
    """N18."""
    unknown = resealed(Part(1).data, 1, attributes=codec_id)
    chunk = read(Part(0).data, unknown, Part(2).data)
    assert offsets(chunk) == [0]
    assert isinstance(chunk.error, UnsupportedCodecError)
    assert f"codec {codec_id}" in chunk.error.reason
    assert chunk.at == 1


def test_reserved_attribute_bits_change_nothing() -> None:
    """N18: bits 7 to 15; bit 6 is the delete horizon (KIP-534)."""
    chunk = read(resealed(Part(0).data, 0, attributes=0x7F80))
    assert offsets(chunk) == [0]


# -- N19: marks --------------------------------------------------------------------------------


@pytest.mark.parametrize("committed_only", [True, False])
@pytest.mark.parametrize("key", [ABORT, COMMIT, UNKNOWN, b"", b"\0", b"\0" * 9])
def test_a_mark_of_any_type_is_never_seen_and_moves_the_position(
    key: bytes, committed_only: bool
) -> None:
    """N19: also of an unknown type, and without a transaction."""
    parts = [Part(0).data, Part(1, producer=9, control=key).data, Part(2).data]
    chunk = read(*parts, aborted=[] if committed_only else None)
    assert offsets(chunk) == [0, 2]
    assert (chunk.at, chunk.error) == (3, None)


def test_a_second_abort_mark_ends_no_later_transaction() -> None:
    """N19: two abort marks of one transaction, and another one after them."""
    chunk = read(
        Part(0, producer=9).data,
        Part(1, producer=9, control=ABORT).data,
        Part(2, producer=9, control=ABORT).data,
        Part(3, producer=9).data,
        Part(4, producer=9, control=COMMIT).data,
        aborted=[(9, 0)],
    )
    assert offsets(chunk) == [3]
    assert chunk.at == 5


def test_a_mark_without_a_producer_is_never_seen() -> None:
    """N19."""
    mark = resealed(Part(0, control=ABORT).data, 0, attributes=CONTROL)
    for aborted in (None, [(9, 0)]):
        chunk = read(mark, Part(1).data, aborted=aborted)
        assert offsets(chunk) == [1]


def test_a_mark_that_cannot_be_read_is_no_guess() -> None:
    """N19: what follows an abort mark that cannot be read may be aborted or not."""
    mark = resealed(Part(1, producer=9, control=ABORT).data, 1, record_count=2, last_offset_delta=1)
    chunk = read(Part(0, producer=9).data, mark, Part(3, producer=9).data, aborted=[(9, 0)])
    assert offsets(chunk) == []
    assert isinstance(chunk.error, CorruptRecordError)
    assert chunk.at == 1


# -- N20: nothing left -------------------------------------------------------------------------


@pytest.mark.parametrize("codec", Codec)
def test_emptied_batches_move_the_position_by_their_offsets(codec: Codec) -> None:
    """N20."""
    chunk = read(emptied(0, 10, attributes=codec.value), emptied(12, 5, attributes=codec.value))
    assert chunk.head() is None
    assert (chunk.at, chunk.next_offset, chunk.error) == (17, 17, None)


def test_a_batch_that_lost_its_last_records_moves_the_position_behind_them() -> None:
    """N20."""
    chunk = read(resealed(Part(0).data, 0, last_offset_delta=9))
    assert offsets(chunk) == [0]
    assert chunk.at == 10


# -- memory ------------------------------------------------------------------------------------


def test_a_small_part_of_an_answer_keeps_nothing_else_of_it() -> None:
    part = Part(0).data
    frame = bytearray(part + bytes(100_000))
    data = PartitionData(
        partition_index=0,
        high_watermark=0,
        records=memoryview(frame)[: len(part)],
        aborted_transactions=None,
    )
    chunk = read_chunk(data, 0, committed_only=False, check_crcs=True)
    del data
    frame.clear()  # refused for as long as anybody looks at it
    assert offsets(chunk) == [0]


# -- N21: bombs --------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD, Codec.LZ4, Codec.SNAPPY])
def test_a_batch_that_inflates_beyond_the_bound_is_damage(codec: Codec) -> None:
    """N21."""
    bomb = Part(1, [bytes(100_000)], codec=codec).data
    chunk = read(Part(0).data, bomb, Part(2).data, max_output=50_000)
    assert offsets(chunk) == [0]
    assert isinstance(chunk.error, CorruptRecordError)
    assert "50000 bytes" in chunk.error.reason
    assert chunk.at == 1


def test_a_bomb_in_place_of_a_mark_is_damage() -> None:
    """N21: marks are read at once, so the bound holds for them too."""
    mark = Part(1, [bytes(100_000)], producer=9, control=ABORT, codec=Codec.GZIP).data
    chunk = read(Part(0, producer=9).data, mark, aborted=[(9, 0)], max_output=50_000)
    assert isinstance(chunk.error, CorruptRecordError)
    assert "50000 bytes" in chunk.error.reason
