"""A log without a cluster, and what it takes to write to it and to read it."""

from kgroup.testing.broker.logs.log import AppendResult, Log
from kgroup.wire.compression import Codec
from kgroup.wire.records import BatchView, NewRecord, encode_batch, iter_batches
from tests.testing.broker.driver import surroundings

NOW = 1_700_000_000_000
"""The broker's calendar, milliseconds."""
EVERYTHING = 1 << 30
"""More bytes than any log has."""


def new_log(**configs: str) -> Log:
    return Log(surroundings(), {key.replace("_", "."): value for key, value in configs.items()})


def append(
    log: Log,
    *values: bytes,
    epoch: int = 0,
    timestamp: int = 1000,
    codec: Codec = Codec.NONE,
    producer: tuple[int, int] | None = None,
    sequence: int = 0,
    transactional: bool = False,
) -> AppendResult:
    records = [NewRecord(b"k", value, (), timestamp) for value in values or (b"v",)]
    batch = (
        encode_batch(records, codec=codec)
        if producer is None
        else encode_batch(
            records,
            codec=codec,
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=sequence,
            transactional=transactional,
        )
    )
    return log.append(batch, epoch=epoch, now_ms=NOW)


def views(data: bytes) -> list[BatchView]:
    found = []
    for view in iter_batches(data):
        assert isinstance(view, BatchView)
        view.verify()
        found.append(view)
    return found
