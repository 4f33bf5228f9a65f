"""T4: the record data of a partition, of every magic and codec.

Decides: the first byte of an input says what is done to the rest before it is read, for a checksum
keeps most mutations from the code behind it. 0: nothing. 1: every checksum is set right. 2: the
rest is the header of a batch and its records before compression; length, codec and checksum are
made to fit. The second byte says how much may come out, and whether checksums are looked at.
"""

import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice, pairwise
from typing import Final

from crc32c import crc32c

from kgroup.errors import CorruptRecordError, DecodeError, UnsupportedCodecError
from kgroup.wire.compression import Codec, compress
from kgroup.wire.records import (
    AbortedTransactions,
    BatchView,
    LogBatch,
    MessageSetView,
    NewRecord,
    RecordColumns,
    Row,
    encode_batch,
    iter_batches,
)
from kgroup.wire.records.encode import seal
from kgroup.wire.records.header import unpack_header
from kgroup.wire.records.scan import STRIDE
from tests.search.fuzz.legacy_reference import read_set
from tests.search.fuzz.recorded import record_data
from tests.search.fuzz.records_reference import read_records
from tests.search.fuzz.reference import Refused
from tests.search.fuzz.target import MIB, Target, sure

_HEAD: Final = 2
_HEADER: Final = 61
_LENGTH_AT, _LENGTH_TO, _MAGIC_AT, _CRC_AT = 8, 12, 16, 17
_COMPARED: Final = 4
_OUTPUTS: Final = (1 << 16, 1 << 20, 1000, 0)
_APPEND_TIME: Final = 1 << 3


def check(data: bytes) -> bool:
    records, most, unchecked = prepared(data)
    sizes = [0]
    accepted = False
    mark_filter = AbortedTransactions([(1, 0), (9000, 3), (9001, 0)], max_output=most)
    try:
        for batch in iter_batches(records):
            sizes.append(sizes[-1] + batch.size)
            _filtered(mark_filter, batch)
            accepted |= _judge_batch(batch, most, check_crc=not unchecked)
    except DecodeError as error:
        sure(isinstance(error, CorruptRecordError | UnsupportedCodecError), "what kind", error)
    sure(sizes[-1] <= len(records), "batches lie within the data", sizes)
    sure(all(after > before for before, after in pairwise(sizes)), "each batch takes something")
    return accepted


def prepared(data: bytes) -> tuple[bytes, int, bool]:
    """Return the record data of an input, the most output, and whether checksums are passed by."""
    how, options = (data[0], data[1]) if len(data) >= _HEAD else (0, 0)
    rest = data[_HEAD:]
    match how % 3:
        case 1:
            rest = mended(rest)
        case 2:
            rest = packed(rest)
        case _:
            pass
    return rest, _OUTPUTS[options & 3], bool(options & 4)


def mended(data: bytes) -> bytes:
    """Set the checksum of each batch right, as far as batches can be found."""
    out = bytearray(data)
    at = 0
    while len(out) - at > _CRC_AT + 4:
        length = int.from_bytes(out[at + _LENGTH_AT : at + _LENGTH_TO], "big", signed=True)
        end = at + _LENGTH_TO + length
        if length < _CRC_AT or end > len(out):
            break
        if out[at + _MAGIC_AT] == 2:
            out[at + _CRC_AT : at + _CRC_AT + 4] = crc32c(bytes(out[at + 21 : end])).to_bytes(4)
        else:
            out[at + 12 : at + 16] = zlib.crc32(out[at + 16 : end]).to_bytes(4)
        at = end
    return bytes(out)


def packed(data: bytes) -> bytes:
    """Return a batch with the figures of a header, its records compressed as that says."""
    header = unpack_header(memoryview(data[:_HEADER].ljust(_HEADER, b"\0")), 0)
    codec = header.attributes & 7
    body = compress(Codec(codec), data[_HEADER:]) if codec < len(Codec) else data[_HEADER:]
    return seal(header._replace(magic=2), body)


def _filtered(mark_filter: AbortedTransactions, batch: LogBatch) -> None:
    with suppress(CorruptRecordError, UnsupportedCodecError):
        mark_filter.admits(batch)


def _judge_batch(batch: LogBatch, most: int, *, check_crc: bool) -> bool:
    _ = (batch.is_control, batch.is_transactional, batch.producer_id, batch.leader_epoch)
    _ = (batch.timestamp_type, batch.size, batch.next_offset)
    try:
        columns = batch.columns(check_crc=check_crc, max_output=most)
    except (CorruptRecordError, UnsupportedCodecError) as error:
        if isinstance(batch, BatchView):
            _judge_refusal(batch, error)
        else:
            _judge_old_refusal(batch, most, error, check_crc=check_crc)
        return False
    _judge_columns(batch, columns)
    if isinstance(batch, BatchView):
        _judge_records(batch, columns)
    else:
        rows = read_set(bytes(batch.data), most, check_crc=check_crc)
        sure(list(columns) == rows, "both readers agree on old messages", rows)
    return True


def _judge_old_refusal(
    batch: MessageSetView, most: int, error: DecodeError, *, check_crc: bool
) -> None:
    if not 0 <= batch.base_offset <= batch.last_offset < (1 << 63) - 1:
        return
    try:
        rows = read_set(bytes(batch.data), most, check_crc=check_crc)
    except (Refused, DecodeError):
        return
    sure(False, "refused, but the second reader accepts old messages", error, rows)


def _judge_columns(batch: LogBatch, columns: RecordColumns) -> None:
    offsets, size = columns.offsets, len(columns.buffer)
    sure(len(offsets) == len(columns.timestamps) == len(columns.bounds) // STRIDE, "columns alike")
    sure(all(later > earlier for earlier, later in pairwise(offsets)), "offsets rise", offsets)
    if offsets:
        sure(offsets[0] >= 0 and offsets[-1] <= batch.last_offset, "offsets in the batch", offsets)
        sure(isinstance(batch, BatchView) is False or offsets[0] >= batch.base_offset, "not before")
    sure(batch.next_offset > batch.base_offset >= 0, "a position moves on", batch.next_offset)
    sure(batch.next_offset < 1 << 63, "a position fits its field")
    for start, end in zip(columns.bounds[::STRIDE], columns.bounds[1::STRIDE], strict=True):
        sure(0 <= start <= size and end <= size, "a key within the buffer", start, end)
    for index, row in enumerate(islice(columns, STRIDE)):
        alone = (columns.key(index), columns.value(index), columns.headers(index))
        sure(row[2:] == alone, "a row is its fields", row, alone)
    sure(len(list(columns)) == len(offsets), "as many rows as offsets")


def _judge_records(batch: BatchView, columns: RecordColumns) -> None:
    header = batch.header
    sure(len(columns) == header.record_count, "as many records as announced")
    if (len(columns.buffer) + header.crc) % _COMPARED:
        return
    body = columns.buffer
    try:
        read = read_records(body, header.record_count, header.base_offset, header.base_timestamp)
    except Refused as error:
        sure(False, "accepted, but the second reader refuses", error, body)
        raise
    rows = list(columns)
    if header.attributes & _APPEND_TIME:
        read.rows[:] = [(row[0], header.max_timestamp, *row[2:]) for row in read.rows]
    sure(rows == read.rows, "both readers agree", rows, read.rows)
    sure(read.written == body or read.freedoms, "records are written as read", body, read.written)
    _written_again(rows)


def _written_again(rows: list[Row]) -> None:
    """What was read can be sent, and is read as the same."""
    if not rows or min(row[1] for row in rows) < -1:
        return
    new = [NewRecord(key, value, headers, time) for _, time, key, value, headers in rows]
    (batch,) = iter_batches(encode_batch(new))
    again = [row[1:] for row in batch.columns()]
    sure(again == [row[1:] for row in rows], "records come back as they were", again, rows)


def _judge_refusal(batch: BatchView, error: DecodeError) -> None:
    """A batch whose checksum and figures are right is refused for its records only."""
    header, body = batch.header, bytes(batch.data[_HEADER:])
    try:
        batch.verify()
        plain = batch.codec is Codec.NONE
    except DecodeError:
        return
    if not plain:
        return
    try:
        read = read_records(body, header.record_count, header.base_offset, header.base_timestamp)
    except Refused:
        return
    beyond = read.rows and read.rows[-1][0] > batch.last_offset
    sure(beyond, "refused, but the second reader accepts", error, body)


def read(data: bytes) -> object:
    records, most, unchecked = prepared(data)
    return [
        batch.columns(check_crc=not unchecked, max_output=most) for batch in iter_batches(records)
    ]


def corpus() -> list[bytes]:
    """What Java wrote; the same unpacked, so that mutations meet the records themselves."""
    return [*(bytes((how, 1)) + each for each in record_data() for how in (0, 1)), *_unpacked()]


def _unpacked() -> Iterator[bytes]:
    for data in record_data():
        for batch in iter_batches(data):
            if not isinstance(batch, BatchView):
                continue
            with suppress(DecodeError):  # some are damaged on purpose
                yield bytes((2, 1)) + bytes(batch.data[:_HEADER]) + batch.columns().buffer


def _room(data: bytes) -> int:
    _, most, _ = prepared(data)
    return 16 * len(data) + MIB + 40 * most


RECORDS: Final = Target(
    name="T4",
    about="record batches of every magic are read as a second reader reads them, or refused",
    corpus=corpus,
    check=check,
    read=read,
    tokens=(b"\x82SNAPPY\0", b"\x1f\x8b\x08", b"\x04\x22\x4d\x18", struct.pack("<I", 0xFD2FB528)),
    room=_room,
)
