"""A real broker and the core of the in-process one, asked the same things in the same words.

Decides: how a script names topics (`t` is another topic in each world) and how its answers are
written down so that those of both worlds can be compared: ids of topics and sessions by the order
in which they came, records by where and how large their batches are.
Never: judges an answer.
"""

import select
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from kgroup.testing.kafka import RealKafka, create_topic
from kgroup.testing.kafka.ready import parse_bootstrap
from kgroup.types import TopicPartition
from kgroup.wire.frames import (
    FrameSplitter,
    decode_response,
    encode_request,
    encode_response,
)
from kgroup.wire.messages import (
    DeleteTopicsRequest,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponseTopic,
)
from kgroup.wire.records import BatchView, iter_batches
from kgroup.wire.schema import Message, Request
from tests.real.ground import fresh
from tests.testing.broker.driver import Call, Raw, asking

R = TypeVar("R", bound=Message)
R_co = TypeVar("R_co", bound=Message, covariant=True)

_PATIENCE = 10.0
_SOON = 0.15
_KNOWS_IDS = 12
_SIZE = 4


class Parked(Protocol[R_co]):
    """A request that may be parked."""

    def is_parked(self) -> bool: ...
    def answer(self) -> R_co: ...


class World(Protocol):
    """What a script can do."""

    def park(self, request: Request[R], version: int) -> Parked[R]: ...
    def create(self, name: str, partitions: int) -> None: ...
    def delete(self, name: str) -> None: ...
    def real_name(self, name: str) -> str: ...
    def topic_id(self, name: str) -> bytes: ...
    def until(self, is_so: Callable[[], bool]) -> None: ...


# -- the core --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CoreParked:
    """A call of the driver; waiting for its answer lets time pass."""

    raw: Raw
    call: Call[Any]
    request: Request[Any]

    def is_parked(self) -> bool:
        self.raw.run(_SOON)
        return self.call.parked

    def answer(self) -> Any:
        deadline = self.raw.now + _PATIENCE
        while self.call.parked and self.raw.core.context.agenda.next_at <= deadline:
            self.raw.until(self.raw.core.context.agenda.next_at)
        version = self.call.version
        frame = encode_response(self.call.now, self.request.api_key, version, 1)
        return decode_response(type(self.request), version, memoryview(frame)[_SIZE:])[1]


@dataclass(slots=True)
class CoreWorld:
    """The core of one in-process broker."""

    raw: Raw = field(default_factory=asking)

    def park(self, request: Request[R], version: int) -> Parked[R]:
        return CoreParked(self.raw, self.raw.ask(1, request, version=version), request)

    def create(self, name: str, partitions: int) -> None:
        self.raw.core.cluster.create_topic(name, partitions)

    def delete(self, name: str) -> None:
        self.raw.core.cluster.delete_topic(name)
        self.raw.run(0)

    def real_name(self, name: str) -> str:
        return name

    def topic_id(self, name: str) -> bytes:
        partition = self.raw.core.cluster.partition(TopicPartition(name, 0))
        assert partition is not None
        return partition.topic_id

    def until(self, is_so: Callable[[], bool]) -> None:
        self.raw.run(0)
        assert is_so()


# -- a real broker ---------------------------------------------------------------------------------


class RealParked:
    """One request on a connection of its own."""

    def __init__(self, connected: socket.socket, request: Request[Any], version: int) -> None:
        self._socket = connected
        self._request = type(request)
        self._version = version
        connected.sendall(encode_request(request, version, 1, "A"))

    def is_parked(self) -> bool:
        readable, _, _ = select.select([self._socket], [], [], _SOON)
        return not readable

    def answer(self) -> Any:
        splitter = FrameSplitter()
        while True:
            data = self._socket.recv(1 << 20)
            assert data, f"the broker hung up on {self._request.__name__} v{self._version}"
            for frame in splitter.feed(data):
                return decode_response(self._request, self._version, frame)[1]


class RealWorld:
    """One real broker; use it in a `with` block.

    Args:
        kafka: of one node.
        stack: closes the connections.
    """

    def __init__(self, kafka: RealKafka, stack: ExitStack) -> None:
        self._kafka = kafka
        (self._address,) = parse_bootstrap(kafka.bootstrap)
        self._stack = stack
        self._names: dict[str, str] = {}

    def park(self, request: Request[R], version: int) -> Parked[R]:
        connected = socket.create_connection(self._address, _PATIENCE)
        self._stack.callback(connected.close)
        return RealParked(connected, request, version)

    def create(self, name: str, partitions: int) -> None:
        real = self._names.setdefault(name, fresh(name))
        self.until(lambda: not self._is_known(real))
        create_topic(self._kafka.bootstrap, real, partitions)
        rows = tuple(
            FetchPartition(partition=number, fetch_offset=0, partition_max_bytes=1)
            for number in range(partitions)
        )
        topic = FetchTopic(topic=real, partitions=rows)
        look = FetchRequest(max_wait_ms=0, min_bytes=0, topics=(topic,))

        def is_led() -> bool:
            (found,) = self.park(look, _KNOWS_IDS).answer().responses
            return not any(row.error_code for row in found.partitions)

        self.until(is_led)  # the metadata may be ahead of the log

    def delete(self, name: str) -> None:
        real = self._names[name]
        request = DeleteTopicsRequest(topic_names=(real,), timeout_ms=5000)
        assert self.park(request, 5).answer().responses[0].error_code == 0
        self.until(lambda: not self._is_known(real))

    def real_name(self, name: str) -> str:
        return self._names.get(name, name)

    def topic_id(self, name: str) -> bytes:
        return self._described(self._names[name]).topic_id

    def until(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not is_so():
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.02)

    def _is_known(self, real: str) -> bool:
        return self._described(real).error_code == 0

    def _described(self, real: str) -> MetadataResponseTopic:
        row = MetadataRequestTopic(name=real, topic_id=bytes(16))
        request = MetadataRequest(topics=(row,), allow_auto_topic_creation=False)
        return self.park(request, _KNOWS_IDS).answer().topics[0]


# -- what is written down --------------------------------------------------------------------------


@dataclass(slots=True)
class Transcript:
    """Answers of one world.

    Args:
        world: the one that answered.
        lines: what was answered, in order.
    """

    world: World
    lines: list[object] = field(default_factory=list)
    _topics: dict[bytes | str, str] = field(default_factory=dict)
    _sessions: dict[int, str] = field(default_factory=lambda: {0: "-"})

    def know(self, name: str) -> None:
        """Write a topic down under the name the script gave it; made anew, it is the next one."""
        number = sum(known.rstrip("'") == name for known in self._topics.values()) // 2
        topic_id = self.world.topic_id(name)
        self._topics.setdefault(topic_id, name + "'" * number)
        self._topics[self.world.real_name(name)] = name

    def fetched(self, what: str, answer: FetchResponse) -> None:
        """Write an answer down."""
        session = self._sessions.setdefault(answer.session_id, f"S{len(self._sessions)}")
        rows: list[object] = []
        for topic in answer.responses:
            named = topic.topic or topic.topic_id
            known = self._topics.get(named, "unknown")
            rows.extend((known, *_row(row)) for row in topic.partitions)
        nodes = len(answer.node_endpoints)
        self.lines.append((what, answer.error_code, session, tuple(rows), nodes))

    def note(self, what: str, value: object) -> None:
        """Write something else down."""
        self.lines.append((what, value))


def _row(row: Any) -> tuple[object, ...]:
    aborted = row.aborted_transactions
    return (
        row.partition_index,
        f"error {row.error_code}",
        (row.high_watermark, row.last_stable_offset, row.log_start_offset),
        (row.diverging_epoch.epoch, row.diverging_epoch.end_offset),
        (row.current_leader.leader_id >= 0, row.current_leader.leader_epoch),
        row.preferred_read_replica,
        None if aborted is None else [each.first_offset for each in aborted],
        None if row.records is None else (len(row.records), _batches(row.records)),
    )


def _batches(records: bytes | memoryview) -> tuple[object, ...]:
    """Place, epoch and bytes of each whole batch; those of a transaction name its producer."""
    return tuple(
        (
            batch.base_offset,
            batch.leader_epoch,
            batch.size,
            "transaction" if batch.is_transactional else bytes(batch.data),
        )
        for batch in iter_batches(records)
        if isinstance(batch, BatchView)
    )
