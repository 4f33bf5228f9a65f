"""Clients that close a connection behind which requests wait, and what of them was done.

Decides: the conversation. A Fetch that waits, then one CreateTopics for each of some topics, all on
one connection, which is closed while the Fetch waits; which topics there are in the end is what the
broker still did. Spoken over plain sockets, since it matters what the kernel makes of a close.
"""

import socket
import struct
import time
from collections.abc import Sequence
from enum import Enum
from typing import Any, Final

from kgroup.testing.kafka.ready import Probe
from kgroup.wire.frames import encode_request
from kgroup.wire.messages import ApiVersionsRequest, CreateTopicsRequest, MetadataRequest
from kgroup.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kgroup.wire.messages.topics import CreatableTopic
from kgroup.wire.schema import Request

_WAIT: Final = 0.6
_LOOK: Final = 0.05
_PATIENCE: Final = 30.0
_ARRIVES: Final = 0.2
_DONE: Final = 0.8
_RESET: Final = struct.pack("ii", 1, 0)

Asked = tuple[Request[Any], int]


class Closing(Enum):
    """How a client closes its connection."""

    READ_ALL = "everything that came was read"
    UNREAD = "an answer had come and was not read"
    RESET = "nothing more is wanted"


def topics_made(
    address: tuple[str, int], empty: str, names: Sequence[str], closing: Closing, parked: int
) -> list[str]:
    """Close a connection on which requests wait; return the names of the topics that were made.

    Args:
        address: of the broker.
        empty: name of a topic that exists and has no records.
        names: of the topics to ask for, new ones.
        closing: how.
        parked: how many Fetch requests wait, one behind another, before the first CreateTopics.
    """
    asked: list[Asked] = [(ApiVersionsRequest(), 0)] if closing is Closing.UNREAD else []
    asked += [(_waits(empty, _WAIT), 4)] * parked
    asked += [(_makes(name), 2) for name in names]
    deadline = time.monotonic() + _PATIENCE
    with Probe(address) as probe:
        while code := probe.ask(_waits(empty, 0), version=4).responses[0].partitions[0].error_code:
            assert time.monotonic() < deadline, f"{empty} has no leader that reads it: error {code}"
            time.sleep(_LOOK)  # its leader has not taken it up
    with socket.create_connection(address) as connection:
        for number, (request, version) in enumerate(asked):
            connection.sendall(encode_request(request, version, number, "closing"))
        time.sleep(_ARRIVES)
        if closing is Closing.RESET:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    time.sleep(parked * _WAIT + _DONE)
    with Probe(address) as probe:
        answer = probe.ask(MetadataRequest(topics=None), version=4)
    there = {row.name for row in answer.topics}
    return [name for name in names if name in there]


def _waits(empty: str, seconds: float) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1)
    topic = FetchTopic(topic=empty, partitions=(partition,))
    return FetchRequest(max_wait_ms=int(seconds * 1000), min_bytes=1, topics=(topic,))


def _makes(name: str) -> CreateTopicsRequest:
    topic = CreatableTopic(
        name=name, num_partitions=1, replication_factor=1, assignments=(), configs=()
    )
    return CreateTopicsRequest(topics=(topic,))
