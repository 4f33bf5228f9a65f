"""A member of the original library, as the brokers see one: what it writes, byte for byte.

Decides: that its messages go by Produce v0 as messages of magic 0, without key, headers or time,
one per request; brokers up to 3.9 store them with the timestamp -1, or with their own.
Never: reads; a test tells it what to write, as a member of the original would by what it has read.
"""

import itertools
import socket
import struct
import time
from typing import Final

import anyio

from kgroup.marshal.messages import Kind, Message, encode
from kgroup.testing.kafka import RealKafka
from kgroup.testing.kafka.ready import parse_bootstrap
from tests.wire.records.old_messages import message as old_message

_PATIENCE: Final = 10.0
_ALL: Final = -1


class HeaderLess:
    """One process of the original library.

    Args:
        kafka: one node, not newer than 3.9.
        log: name of the coordination topic, which has one partition.
        group: the group it is a member of.
        topic: that it claims a partition of.
        partition: its number.
        client: its client id.
    """

    def __init__(
        self,
        kafka: RealKafka,
        log: str,
        group: str,
        topic: str,
        *,
        partition: int = 0,
        client: str = "original",
    ) -> None:
        self._address = parse_bootstrap(kafka.bootstrap)[0]
        self._log = log
        self._group = group
        self._key = topic, partition
        self._client = client
        self._numbers = itertools.count(1)

    async def claim(self, *, age: int = 0) -> None:
        """Write a ClaimingPartition; by its clock that was `age` seconds ago."""
        await self._write(Kind.CLAIMING_PARTITION, 0, age)

    async def beat(self, offset: int, *, age: int = 0) -> None:
        """Write a Heartbeat."""
        await self._write(Kind.HEARTBEAT, offset, age)

    async def release(self, offset: int) -> None:
        """Write a ReleasingPartition."""
        await self._write(Kind.RELEASING_PARTITION, offset, 0)

    async def _write(self, kind: Kind, tail: int, age: int) -> None:
        topic, partition = self._key
        said = Message(
            kind=kind,
            time=int(time.time()) - age,
            instance_id=b"3f2a9c01",
            client_id=self._client.encode(),
            group_id=self._group.encode(),
            topic=topic.encode(),
            partition=partition,
            tail=tail,
        )
        await anyio.to_thread.run_sync(self._produce, encode(said))

    def _produce(self, value: bytes) -> None:
        records = old_message(0, 0, None, value)
        name = self._log.encode()
        number = next(self._numbers)
        request = struct.pack(">hhi", 0, 0, number) + _text(b"original")
        request += struct.pack(">hii", _ALL, round(_PATIENCE * 1000), 1) + _text(name)
        request += struct.pack(">iii", 1, 0, len(records)) + records
        with socket.create_connection(self._address, _PATIENCE) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            answer = _whole(connection)
        # correlation id, topics, name, partitions, partition, error code, offset
        assert struct.unpack_from(">i", answer)[0] == number
        (error,) = struct.unpack_from(">h", answer, 4 + 4 + 2 + len(name) + 4 + 4)
        assert error == 0, f"Produce v0: error {error}"


def _text(value: bytes) -> bytes:
    return struct.pack(">h", len(value)) + value


def _whole(connection: socket.socket) -> bytes:
    """Read one answer."""
    with connection.makefile("rb") as stream:
        (size,) = struct.unpack(">i", stream.read(4))
        return stream.read(size)
