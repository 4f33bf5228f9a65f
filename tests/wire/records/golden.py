"""Golden record data as the reader should hand it out."""

from typing import Any

from kgroup.wire.records import BatchView, Row, iter_batches
from tests.vectors import load


def lines(*names: str) -> list[dict[str, Any]]:
    """All lines of some files of `records/`."""
    return [line for name in names for line in load(f"records/{name}")]


def record_data(name: str, file: str = "v2") -> bytes:
    """The record data of one named line."""
    (line,) = (line for line in lines(file) if line["name"] == name)
    return bytes.fromhex(line["hex"])


def hex_bytes(field: str | dict[str, Any] | None) -> bytes | None:
    """A key or a value: hex, null, or a long repetition."""
    match field:
        case None:
            return None
        case str():
            return bytes.fromhex(field)
        case _:
            return bytes.fromhex(field["unit_hex"]) * int(field["times"])


def batch_rows(batch: dict[str, Any]) -> list[Row]:
    """What Java reads from one batch."""
    return [
        (
            record["offset"],
            record["timestamp"],
            hex_bytes(record["key"]),
            hex_bytes(record["value"]),
            tuple((name, hex_bytes(value)) for name, value in record.get("headers", ())),
        )
        for record in batch["records"]
    ]


def batches_of(data: bytes | memoryview) -> list[BatchView]:
    """Record data that is known to be of magic 2."""
    found = []
    for batch in iter_batches(data):
        assert isinstance(batch, BatchView)
        found.append(batch)
    return found
