"""What a leader checks in a batch before it looks at its producer.

Decides: the code and the text of each refusal, in a broker's order: base offset, size, checksum,
figures, records.
Never: changes a batch or a log.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from crc32c import crc32c

from kgroup.codes import ErrorCode
from kgroup.errors import CorruptRecordError, UnsupportedCodecError
from kgroup.values import dataclass
from kgroup.wire.compression import MAX_OUTPUT, decompress
from kgroup.wire.records import BatchView, RecordColumns
from kgroup.wire.records import header as layout

_NEVER_MIND: Final = (1 << 63) - 1


class Refusal(NamedTuple):
    """Why a batch is not taken.

    Args:
        code: of the partition's answer.
        message: of the partition's answer; None = that of the code.
        records: index in the batch and message of each record that is at fault (KIP-467).
    """

    code: ErrorCode
    message: str | None = None
    records: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """What a topic's configs say about its batches.

    Args:
        stamps_appends: message.timestamp.type is LogAppendTime.
        is_compacted: cleanup.policy includes compact.
        max_bytes: max.message.bytes.
        oldest: message.timestamp.before.max.ms.
        newest: message.timestamp.after.max.ms; without limit unless the topic sets it.
    """

    stamps_appends: bool
    is_compacted: bool
    max_bytes: int
    oldest: int
    newest: int

    @classmethod
    def of(cls, configs: Mapping[str, str], max_message_bytes: int) -> "Rules":
        """Read a topic's configs.

        Args:
            configs: by Kafka's names.
            max_message_bytes: message.max.bytes of the broker.
        """
        return cls(
            configs.get("message.timestamp.type", "CreateTime") == "LogAppendTime",
            "compact" in configs.get("cleanup.policy", "delete"),
            int(configs.get("max.message.bytes", max_message_bytes)),
            int(configs.get("message.timestamp.before.max.ms", _NEVER_MIND)),
            int(configs.get("message.timestamp.after.max.ms", _NEVER_MIND)),
        )


def check(batch: BatchView, rules: Rules, now_ms: int) -> Refusal | RecordColumns:
    """Judge a batch of a producer.

    Args:
        batch: whole, of magic 2.
        rules: of its topic.
        now_ms: the leader's calendar.

    Returns:
        Its records, when it may be taken.
    """
    refusal = _outside(batch, rules)
    if refusal is not None:
        return refusal
    try:
        columns = batch.columns(check_crc=False)
    except UnsupportedCodecError:
        return Refusal(ErrorCode.UNKNOWN_SERVER_ERROR)
    except CorruptRecordError as error:
        if not _can_be_unpacked(batch):
            return Refusal(ErrorCode.UNKNOWN_SERVER_ERROR)
        return Refusal(ErrorCode.INVALID_RECORD, str(error))
    return _records(columns, batch, rules, now_ms) or columns


def _can_be_unpacked(batch: BatchView) -> bool:
    try:
        decompress(batch.codec, batch.data[layout.HEADER_SIZE :], max_output=MAX_OUTPUT)
    except CorruptRecordError:
        return False
    return True


def _outside(batch: BatchView, rules: Rules) -> Refusal | None:
    header = batch.header
    if header.base_offset:
        return Refusal(
            ErrorCode.INVALID_RECORD,
            f"The baseOffset of the record batch should be 0, but it is {header.base_offset}",
        )
    if batch.size > rules.max_bytes:
        return Refusal(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"The record batch size is {batch.size} bytes which exceeds the maximum configured"
            f" value of {rules.max_bytes}.",
        )
    if crc32c(batch.data[layout.CRC_FROM :]) != header.crc:
        return Refusal(ErrorCode.CORRUPT_MESSAGE, "Record is corrupt (stored crc is wrong)")
    return _figures(batch)


def _figures(batch: BatchView) -> Refusal | None:
    header = batch.header
    offsets = header.last_offset_delta + 1
    if offsets <= 0:
        message = f"Batch has an invalid offset range: [0, {header.last_offset_delta}]"
    elif header.record_count <= 0:
        message = f"Invalid reported count for record batch: {header.record_count}"
    elif offsets != header.record_count:
        message = f"Inconsistent batch offset range and count of records {header.record_count}"
    elif batch.is_control:
        message = "Clients are not allowed to write control records"
    elif header.producer_id >= 0 and header.base_sequence < 0:
        message = f"Invalid sequence number {header.base_sequence} in record batch"
    else:
        return None
    return Refusal(ErrorCode.INVALID_RECORD, message)


def _records(columns: RecordColumns, batch: BatchView, rules: Rules, now_ms: int) -> Refusal | None:
    expected = range(batch.base_offset, batch.base_offset + len(columns))
    if list(columns.offsets) != [*expected]:
        return Refusal(ErrorCode.INVALID_RECORD, "Offsets of the records are not 0, 1, 2 ...")
    if rules.is_compacted and None in (keys := columns.keys()):
        faults = tuple(
            (index, "Compacted topic cannot accept message without key in topic partition.")
            for index, key in enumerate(keys)
            if key is None
        )
        return Refusal(ErrorCode.INVALID_RECORD, _SEVERAL, faults)
    if rules.stamps_appends:
        return None
    faults = tuple(
        (index, f"Timestamp {timestamp} of message with offset {index} is out of range.")
        for index, timestamp in enumerate(columns.timestamps)
        if timestamp >= 0 and not -rules.newest <= now_ms - timestamp <= rules.oldest
    )
    return Refusal(ErrorCode.INVALID_TIMESTAMP, _SEVERAL, faults) if faults else None


_SEVERAL: Final = "One or more records have been rejected due to record errors"
