"""The record data of one partition of a Fetch answer, batch by batch.

Decides: where each batch begins and ends, and whether it is whole: checksum (N15), length (N16),
figures (N17), magic and codec (N18).
Never: decompresses a batch before its records are asked for; reads beyond the data: a batch that is
cut off at the end is normal, the broker cuts by size and not by batch.

KIP-98 (magic 2). Magic 0 and 1 begin with offset i64 and size i32 too, and have magic at the same
place, so one loop serves them all, mixed as they come; `message_sets` reads them.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

from crc32c import crc32c

from kgroup.errors import CorruptRecordError, UnsupportedCodecError
from kgroup.values import dataclass
from kgroup.wire.compression import MAX_OUTPUT, Codec, decompress
from kgroup.wire.records import header as layout
from kgroup.wire.records.columns import RecordColumns
from kgroup.wire.records.header import BatchHeader, TimestampType, unpack_header
from kgroup.wire.records.loops import scan
from kgroup.wire.records.message_sets import SHORTEST, MessageSetView, read_messages

_MAGIC_AT: Final = 16
_SHORTEST: Final = (*SHORTEST, layout.HEADER_SIZE - layout.LENGTH_TO)
_SHORTEST_OF_ALL: Final = min(_SHORTEST)


def iter_batches(data: bytes | memoryview) -> Iterator["LogBatch"]:
    """Yield every complete batch; nothing but lengths and magic has been checked.

    Args:
        data: `records` of one partition of a Fetch answer, from any number of log segments.

    Raises:
        CorruptRecordError: a length is too small to be one; what follows cannot be found.
        UnsupportedCodecError: a batch of a format that cannot be read here.
    """
    view = memoryview(data)
    at, end = 0, len(view)
    while end - at > _MAGIC_AT:
        base_offset = int.from_bytes(view[at : at + 8], "big", signed=True)
        length = int.from_bytes(view[at + 8 : at + layout.LENGTH_TO], "big", signed=True)
        magic = view[at + _MAGIC_AT]
        if length < (_SHORTEST[magic] if magic <= layout.MAGIC else _SHORTEST_OF_ALL):
            raise CorruptRecordError(
                f"the batch at offset {base_offset}",
                f"it declares a length of {length} bytes, too few for magic {magic}",
                position=at,
                base_offset=base_offset,
            )
        start, at = at, at + layout.LENGTH_TO + length
        if at > end:
            return
        if magic == layout.MAGIC:
            yield BatchView(unpack_header(view, start), view[start:at])
        elif magic < layout.MAGIC:
            messages = read_messages(view, start, at)
            at = start + messages.size
            yield messages
        else:
            raise UnsupportedCodecError(
                f"the batch at offset {base_offset}",
                f"magic {magic} is a format unknown to this release; a newer one may read it",
                position=start,
            )


@dataclass(frozen=True, slots=True)
class BatchView:
    """One complete batch inside an answer: its header's figures, and its records on demand.

    Before `verify` or `columns` has passed, any figure but `size` may be damaged: move a position
    by `next_offset` of a skipped batch only after `verify`, which takes microseconds, or at least
    after `check_figures`.

    Args:
        header: the figures as they stand on the wire.
        data: the whole batch, a view into the answer.
    """

    header: BatchHeader
    data: memoryview

    @property
    def base_offset(self) -> int:
        """Offset of the first record when it was written; compaction may have removed that one."""
        return self.header.base_offset

    @property
    def last_offset(self) -> int:
        """Offset of the last record when it was written, whether or not it is still there."""
        return self.header.base_offset + self.header.last_offset_delta

    @property
    def next_offset(self) -> int:
        """Where to go on after this batch, even if it has no records left (N20)."""
        return self.last_offset + 1

    @property
    def leader_epoch(self) -> int | None:
        """Epoch of the leader that wrote it, None when not set (KIP-101)."""
        return _absent_below_zero(self.header.partition_leader_epoch)

    @property
    def codec(self) -> Codec:
        """How the records are compressed.

        Raises:
            UnsupportedCodecError: ids 5 to 7 stand for nothing yet.
        """
        codec_id = self.header.attributes & layout.CODEC_MASK
        try:
            return Codec(codec_id)
        except ValueError as error:
            raise UnsupportedCodecError(
                f"the batch at offset {self.base_offset}",
                f"compression codec {codec_id} is unknown; known are 0 to {len(Codec) - 1}",
            ) from error

    @property
    def timestamp_type(self) -> TimestampType:
        """Whether producers set the timestamps, or the broker one for all (KIP-32)."""
        appended = self.header.attributes & layout.LOG_APPEND_TIME
        return TimestampType.LOG_APPEND_TIME if appended else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        """Whether the records belong to a transaction (KIP-98)."""
        return bool(self.header.attributes & layout.TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Whether the records are the broker's marks, which no application ever sees (KIP-98)."""
        return bool(self.header.attributes & layout.CONTROL)

    @property
    def producer_id(self) -> int | None:
        """Id of an idempotent or transactional producer, None for a plain one."""
        return _absent_below_zero(self.header.producer_id)

    @property
    def producer_epoch(self) -> int | None:
        """Epoch of that producer, None for a plain one."""
        return _absent_below_zero(self.header.producer_epoch)

    @property
    def base_sequence(self) -> int | None:
        """Sequence number of the first record, None for a plain producer and in control batches."""
        return _absent_below_zero(self.header.base_sequence)

    @property
    def max_timestamp(self) -> int | None:
        """Latest timestamp, milliseconds; None when no record has one."""
        return _absent_below_zero(self.header.max_timestamp)

    @property
    def delete_horizon(self) -> int | None:
        """When its tombstones and marks may go, milliseconds; None if not set (KIP-534)."""
        marked = self.header.attributes & layout.DELETE_HORIZON
        return self.header.base_timestamp if marked else None

    @property
    def count(self) -> int:
        """Records that are there; 0 in a batch that compaction has emptied."""
        return self.header.record_count

    @property
    def size(self) -> int:
        """Bytes of the whole batch, header included, as they came."""
        return len(self.data)

    def verify(self) -> None:
        """Check the checksum, then the header's figures against each other.

        Raises:
            CorruptRecordError: nothing in this batch may be used.
        """
        actual = crc32c(self.data[layout.CRC_FROM :])
        if actual != self.header.crc:
            raise self._corrupt(
                f"its CRC-32C is {actual:#010x}, the header says {self.header.crc:#010x}"
            )
        self.check_figures()

    def check_figures(self) -> None:
        """Check the header's figures against each other; the checksum is not looked at.

        Raises:
            CorruptRecordError: nothing in this batch may be used.
        """
        header = self.header
        if header.base_offset < 0:
            raise self._corrupt("offsets begin at 0")
        if not 0 <= header.last_offset_delta < layout.MAX_OFFSET - header.base_offset:
            raise self._corrupt(f"its last offset is {header.last_offset_delta} after its first")
        if not 0 <= header.record_count <= header.last_offset_delta + 1:
            raise self._corrupt(
                f"{header.record_count} records cannot have {header.last_offset_delta + 1} offsets"
            )

    def columns(self, *, check_crc: bool = True, max_output: int = MAX_OUTPUT) -> RecordColumns:
        """Decompress and find all records.

        Args:
            check_crc: False only when `verify` has passed.
            max_output: most bytes the records may inflate to.

        Raises:
            CorruptRecordError: nothing in this batch may be used.
            UnsupportedCodecError: its codec is unknown, or its library is missing.
        """
        if check_crc:
            self.verify()
        else:
            self.check_figures()
        body = self._body(max_output)
        header = self.header
        try:
            offsets, timestamps, bounds = scan(
                body, header.record_count, header.base_offset, header.base_timestamp
            )
        except ValueError as error:
            raise self._corrupt(str(error)) from error
        if len(offsets) and offsets[-1] > self.last_offset:
            raise self._corrupt(f"offset {offsets[-1]} is beyond its last, {self.last_offset}")
        if header.attributes & layout.LOG_APPEND_TIME:
            timestamps = [header.max_timestamp] * len(offsets)
        return RecordColumns(body, offsets, timestamps, bounds)

    def _body(self, max_output: int) -> bytes:
        payload = self.data[layout.HEADER_SIZE :]
        if not payload and not self.header.record_count:
            return b""  # emptied by compaction: nothing was compressed, whatever the attributes say
        try:
            return decompress(self.codec, payload, max_output=max_output)
        except CorruptRecordError as error:
            raise self._corrupt(f"{error.what}: {error.reason}") from error

    def _corrupt(self, reason: str) -> CorruptRecordError:
        offset = self.header.base_offset
        return CorruptRecordError(f"the batch at offset {offset}", reason, base_offset=offset)


LogBatch: TypeAlias = BatchView | MessageSetView
"""A batch of any magic. What only `BatchView` has is not in the older formats."""


def _absent_below_zero(figure: int) -> int | None:
    return None if figure < 0 else figure
