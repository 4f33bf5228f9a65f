"""Logs of claims as 1,000 owned keys write them, and what a reader must find in them.

Decides: the messages: every key is claimed, beats every 20 seconds, and is released now and then.
Never: writes what a member would not.
"""

import random
from typing import Final, NamedTuple

from kgroup.marshal.key_state import Key
from kgroup.marshal.messages import Extension, Kind, Message, encode, write_extension
from kgroup.wire.records import Headers, NewRecord, encode_batch

SEED: Final = 20_250_101
KEYS: Final = 1_000
MEMBERS: Final = 50
GROUP: Final = "shop.billing"
TOPIC: Final = "orders"
INTERVAL: Final = 20
IN_A_BATCH: Final = 100
START: Final = 1_700_000_000
Row = tuple[int, int, bytes, Headers]
Words = dict[Key, tuple[bytes, int]]


class Log(NamedTuple):
    """A log: its records, who has what in the end, and who of them has only claimed it so far."""

    rows: list[Row]
    owners: Words
    silent: frozenset[Key]

    def batches(self) -> list[bytes]:
        """Return its records as a broker stores them."""
        return [_stored(rows) for rows in cut(self.rows, IN_A_BATCH)]


def made(count: int, *, headers: bool) -> Log:
    """Write a log of so many messages; with kgroup's headers, or as the original library does."""
    dice = random.Random(SEED)
    rows: list[Row] = []
    owners: Words = {}
    epochs: dict[Key, int] = {}
    left: dict[Key, int] = {}
    keys = [Key(GROUP.encode(), TOPIC.encode(), number) for number in range(KEYS)]
    for offset in range(count):
        key, seconds = keys[offset % KEYS], START + offset * INTERVAL // KEYS
        kind = Kind.HEARTBEAT
        if key not in owners:
            kind = Kind.CLAIMING_PARTITION
            owners[key] = b"web-%02d" % dice.randrange(MEMBERS), left.get(key, -1)
            epochs[key] = offset
        elif dice.random() < 0.01:
            kind = Kind.RELEASING_PARTITION
        client_id, position = owners[key]
        if kind is Kind.HEARTBEAT:
            position = max(position, 0) + dice.randrange(500)
        owners[key] = client_id, position
        tail = 0 if kind is Kind.CLAIMING_PARTITION else max(position, 0)
        message = Message(kind, seconds, b"3f2a9c01", client_id, *key, tail)
        epoch = None if kind is Kind.CLAIMING_PARTITION else epochs[key]
        extension = Extension(epoch, START * 1000, 60, b"%08x" % offset)
        words = tuple(write_extension(extension)) if headers else ()
        rows.append((offset, seconds * 1000, encode(message), words))
        if kind is Kind.RELEASING_PARTITION:
            left[key] = tail
            del owners[key]
    silent = (key for key in owners if epochs[key] > len(rows) - 1 - KEYS)
    return Log(rows, owners, frozenset(silent))


def cut(rows: list[Row], size: int) -> list[list[Row]]:
    """Return the rows in pieces of so many."""
    return [rows[first : first + size] for first in range(0, len(rows), size)]


def records_of(rows: list[Row]) -> list[NewRecord]:
    """Return rows as records to be sent."""
    return [NewRecord(None, value, words, timestamp) for _, timestamp, value, words in rows]


def _stored(rows: list[Row]) -> bytes:
    data = bytearray(encode_batch(records_of(rows)))
    data[:8] = rows[0][0].to_bytes(8, "big")  # the base offset, which a broker would give
    return bytes(data)
