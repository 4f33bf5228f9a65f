"""`kgroup produce`: write lines as records, to try things out.

Decides: what a line means, which partition its record goes to, and when what was read is sent.
Never: is a producer for applications: it waits for each batch, and has no options for speed.
"""

import json
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import anyio
import typer
from anyio import to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from kgroup.cli.connecting import Common, perform
from kgroup.cli.tables import screen
from kgroup.codes import ErrorCode
from kgroup.errors import ArgumentError
from kgroup.net.admin import NewTopic, create_topics, describe_topics
from kgroup.net.cluster import Cluster
from kgroup.net.producer import Producer
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.records import NewRecord

_BATCH: Final = 500
_SIGNALLED: Final = 128
"""What a shell adds to the number of a signal."""

_M: Final = 0x5BD1E995
_BITS: Final = 0xFFFFFFFF

_AHEAD: Final = 2 * _BATCH


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be written.

    Args:
        topic: its name; it is made when it is missing.
        file: where the lines stand; None for standard input.
        key: of every record, None for none.
        json_lines: whether a line is an object as `kgroup consume --json` prints it.
        rate: records a second, None for as fast as they come.
        count: most records, None for all lines.
    """

    topic: Annotated[str, typer.Argument(help="The topic; it is made when it is missing.")]
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Lines to write; standard input without.")
    ] = None
    key: Annotated[str | None, typer.Option(help="Key of every record.")] = None
    json_lines: Annotated[
        bool,
        typer.Option(
            "--json-lines",
            help='Each line is an object: "value", and if wanted "key", "headers" '
            '([[name, value]]), "partition", "timestamp" (ms).',
        ),
    ] = False
    rate: Annotated[float | None, typer.Option(min=0.001, help="Records a second.")] = None
    count: Annotated[int | None, typer.Option(min=1, help="Stop after so many records.")] = None


@dataclass(frozen=True, slots=True)
class Line:
    """One line, understood.

    Args:
        record: what is stored.
        partition: where, None for the key's partition, or the next one without a key.
    """

    record: NewRecord
    partition: int | None = None


def produce(asked: Asked, common: Common) -> None:
    """Write the lines of standard input to a topic, one record each; say how many are stored."""
    if asked.file is not None and not asked.file.exists():
        raise _unreadable(asked.file, "there is none")  # before a topic is made
    run = perform(common, lambda cluster: _produce(cluster, asked, timeout=common.timeout))
    if common.as_json:
        print(json.dumps({"topic": asked.topic, "records": run.stored}))
    else:
        text = f"stored {run.stored} records in {asked.topic}"
        screen(stderr=True).print(text, markup=False, highlight=False)
    if run.signal is not None:
        raise typer.Exit(_SIGNALLED + run.signal)


def read_line(line: bytes, number: int, *, key: str | None, json_lines: bool) -> Line:
    """Return what a line means.

    Args:
        line: without its end.
        number: of the line, from 1.
        key: of the record, unless the line has one.
        json_lines: whether it is an object.

    Raises:
        ArgumentError: it is no such object.
    """
    plain_key = None if key is None else key.encode()
    if not json_lines:
        return Line(NewRecord(plain_key, line))
    try:
        found = json.loads(line)
        headers = tuple((str(name), _as_bytes(value)) for name, value in found.get("headers") or ())
        timestamp, partition = found.get("timestamp"), found.get("partition")
        record = NewRecord(
            _as_bytes(found["key"]) if "key" in found else plain_key,
            _as_bytes(found["value"]),
            headers,
            -1 if timestamp is None else int(timestamp),
        )
        return Line(record, None if partition is None else int(partition))
    except (ValueError, KeyError, TypeError, AttributeError):
        expected = 'an object with "value", as `kgroup consume --json` prints it'
        shown = line[:80].decode("utf-8", "replace")
        raise ArgumentError(f"line {number}", shown, expected) from None


def _as_bytes(value: object) -> bytes | None:
    match value:
        case None:
            return None
        case str():
            return value.encode()
        case _:
            return json.dumps(value).encode()


@dataclass(slots=True)
class _Run:
    """What became of a run.

    Args:
        stored: records.
        signal: that ended it, None for the end of the lines.
    """

    stored: int = 0
    signal: int | None = None


async def _produce(cluster: Cluster, asked: Asked, *, timeout: float) -> _Run:
    partitions = await _partitions(cluster, asked.topic, timeout)
    send, receive = anyio.create_memory_object_stream[Line](_AHEAD)
    run, reading = _Run(), anyio.CancelScope()

    async def read() -> None:
        with send, reading:
            await _read(asked, send)

    async def listen() -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for number in signals:
                run.signal = int(number)
                reading.cancel()
                tuple(_waiting(receive, _AHEAD + 1))  # what was read ahead is not sent

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        tasks.start_soon(read)
        with receive:
            run.stored = await send_lines(cluster, asked.topic, partitions, receive, asked.rate)
        tasks.cancel_scope.cancel()
    return run


async def _partitions(cluster: Cluster, topic: str, timeout: float) -> int:
    """Return how many partitions a topic has; make it first when it is missing.

    Raises:
        BrokerError: the broker refuses to make it.
        TimeoutError: it was not made in time.
    """
    names = frozenset({topic})
    found = (await cluster.look_up(names, timeout)).topics.get(topic)
    if found is None or found.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        made = await create_topics(cluster, [NewTopic(topic)], timeout=timeout)
        if made:
            screen(stderr=True).print(f"made topic {topic}, which was missing", markup=False)
    return len((await describe_topics(cluster, names, timeout=timeout))[topic].partitions)


async def _read(asked: Asked, send: MemoryObjectSendStream[Line]) -> None:
    """Read lines in a thread, so that what was read is sent while the next is awaited."""
    if asked.file is None:
        await _pass_on(asked, sys.stdin.buffer, send)
        return
    try:
        opened = asked.file.open("rb")
    except OSError as error:
        raise _unreadable(asked.file, str(error.strerror)) from None
    with opened as lines:
        await _pass_on(asked, lines, send)


def _unreadable(file: Path, why: str) -> ArgumentError:
    return ArgumentError("--file", str(file), f"a readable file ({why})")


async def _pass_on(asked: Asked, lines: BinaryIO, send: MemoryObjectSendStream[Line]) -> None:
    number = 0
    while asked.count is None or number < asked.count:
        line = await to_thread.run_sync(lines.readline, abandon_on_cancel=True)
        if not line:
            return
        number += 1
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        await send.send(read_line(text, number, key=asked.key, json_lines=asked.json_lines))


async def send_lines(
    cluster: Cluster,
    topic: str,
    partitions: int,
    lines: MemoryObjectReceiveStream[Line],
    rate: float | None = None,
) -> int:
    """Store lines as they come, and return how many.

    Args:
        cluster: running.
        topic: where.
        partitions: how many it has.
        lines: what is stored, until it is closed.
        rate: records a second, None for no bound.

    Raises:
        BrokerError, TimeoutError: a batch was not stored; those before it are.
    """
    producer, chosen, stored = Producer(cluster), _chosen(partitions), 0
    began = anyio.current_time()
    async for first in lines:
        batch = [first, *_waiting(lines, 1 if rate else _BATCH)]
        by_partition: dict[int, list[NewRecord]] = defaultdict(list)
        for line in batch:
            number = line.partition
            if number is None:
                number = chosen(line.record.key)
            by_partition[number].append(line.record)
        for number, records in sorted(by_partition.items()):
            await producer.send(TopicPartition(topic, number), records)
            stored += len(records)
        if rate:
            await anyio.sleep(max(0.0, began + stored / rate - anyio.current_time()))
    return stored


def _waiting(lines: MemoryObjectReceiveStream[Line], most: int) -> Iterator[Line]:
    """Return what has been read already."""
    with suppress(anyio.WouldBlock, anyio.EndOfStream):
        for _ in range(most - 1):
            yield lines.receive_nowait()


def murmur2(data: bytes) -> int:
    """Return the hash by which Java's producer chooses a partition (`Utils.murmur2`)."""
    length = len(data)
    found = 0x9747B28C ^ length
    whole = length - length % 4
    for start in range(0, whole, 4):
        part = int.from_bytes(data[start : start + 4], "little") * _M & _BITS
        part = (part ^ part >> 24) * _M & _BITS
        found = (found * _M & _BITS) ^ part
    if whole < length:
        found = (found ^ int.from_bytes(data[whole:], "little")) * _M & _BITS
    found = (found ^ found >> 13) * _M & _BITS
    return found ^ found >> 15


def _chosen(partitions: int) -> Callable[[bytes | None], int]:
    """Return what chooses a partition: by the key as Java's producer does, else in turn."""
    turn = 0

    def choose(key: bytes | None) -> int:
        nonlocal turn
        if key is not None:
            return (murmur2(key) & 0x7FFFFFFF) % partitions
        turn += 1
        return (turn - 1) % partitions

    return choose
