"""The drop-in for aiokafka beside the original, on a real Kafka: one program, the same outcome."""

import asyncio
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from aiokafka import AIOKafkaConsumer as Original
from aiokafka import TopicPartition
from aiokafka.errors import IllegalOperation, IllegalStateError
from anyio.to_thread import run_sync

from kgroup.compat.aiokafka import AIOKafkaConsumer as Facade
from kgroup.testing.kafka import RealKafka
from tests.compat.aiokafka.transactional import PROGRAMS
from tests.real.ground import Ground, committed, eventually, fresh, lay_ground

BOTH = (Original, Facade)


def options_of(ground: Ground, **more: Any) -> dict[str, Any]:
    """Return keywords that both take."""
    options = {"bootstrap_servers": ground.kafka.bootstrap, "auto_offset_reset": "earliest"}
    return {**options, **more}


async def _by_turns(kind: Any, ground: Ground) -> list[object]:
    """Read, commit, seek, pause and ask in a group of its own; return what it all came to."""
    answers: list[object] = []
    first, second = (TopicPartition(ground.topic, number) for number in (0, 1))
    group = fresh("group")
    async with kind(ground.topic, **options_of(ground, group_id=group)) as consumer:
        answers += [sorted(consumer.assignment()), consumer.subscription()]
        read = [await consumer.getone(first) for _ in range(10)]
        answers += [[(record.offset, record.value, record.headers) for record in read]]
        answers += [await consumer.position(first), consumer.highwater(first)]
        answers += [await consumer.commit({first: (7, "seven")}), await consumer.committed(first)]
        consumer.pause(first)
        found = await consumer.getmany(timeout_ms=5000, max_records=3)
        answers += [{tp: [record.value for record in records] for tp, records in found.items()}]
        consumer.resume(first)
        answers += [await consumer.seek_to_committed(), await consumer.seek_to_end(second)]
        answers += [await consumer.position(first), await consumer.position(second)]
        answers += [await consumer.beginning_offsets([first]), await consumer.end_offsets([second])]
        answers += [await consumer.offsets_for_times({first: 0, second: 2**42})]
        answers += [consumer.partitions_for_topic(ground.topic)]
        record = await consumer.getone()
        answers += [record.offset, record.serialized_key_size, record.serialized_value_size]
    async with kind(ground.topic, **options_of(ground, group_id=group)) as consumer:
        answers += [await consumer.committed(first), await consumer.committed(second)]
    return answers


@pytest.mark.real
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_program_of_aiokafka_has_the_same_outcome_on_the_facade(kafka: RealKafka) -> None:
    ground = await lay_ground(kafka, 2)
    await ground.fill(20)
    theirs, ours = [await _by_turns(kind, ground) for kind in BOTH]
    # The time of a record is when it was written: the same for both.
    assert ours == theirs


async def _error_of(call: Any) -> type[BaseException] | None:
    try:
        made = call()
        if asyncio.iscoroutine(made):
            await made
    except Exception as error:  # noqa: BLE001 - which one it is is what is compared
        return type(error)
    return None


async def _refusals(kind: Any, ground: Ground) -> list[tuple[str, type[BaseException] | None]]:
    """Make mistakes; return which error each had."""
    elsewhere = TopicPartition("elsewhere", 0)
    own = TopicPartition(ground.topic, 0)
    alone = kind(ground.topic, **options_of(ground, group_id=None))
    member = kind(**options_of(ground, group_id=fresh("group")))
    found: list[tuple[str, type[BaseException] | None]] = []

    async def note(name: str, call: Any) -> None:
        found.append((name, await _error_of(call)))

    async with alone, member:
        await note("commit without a group", alone.commit)
        await note("committed without a group", lambda: alone.committed(own))
        await note("commit of nothing", lambda: member.commit({own: 1}))
        member.assign([own])
        await note("commit of another", lambda: member.commit({elsewhere: 1}))
        await note("commit of a text", lambda: member.commit("offsets"))
        await note("commit of a triple", lambda: member.commit({own: (1, "", 2)}))
        await note("commit of bytes", lambda: member.commit({own: (1, b"")}))
        await note("commit by hand", lambda: member.commit({own: 1}))
        await note("subscribe", lambda: member.subscribe([ground.topic]))
        await note("subscribe to both", lambda: member.subscribe(["a"], pattern="a"))
        await note("seek below zero", lambda: member.seek(elsewhere, -1))
        await note("seek elsewhere", lambda: member.seek(elsewhere, 1))
        await note("position elsewhere", lambda: member.position(elsewhere))
        await note("beginning elsewhere", lambda: member.seek_to_beginning(elsewhere))
        await note("committed elsewhere", lambda: member.seek_to_committed(elsewhere))
        await note("pause elsewhere", lambda: member.pause(elsewhere))
        await note("highwater elsewhere", lambda: member.highwater(elsewhere))
        await note("a negative time", lambda: member.offsets_for_times({own: -1}))
        await note("no records", lambda: member.getmany(max_records=0))
        await note("no partition", lambda: member.getone("elsewhere"))
    await note("read after the end", member.getone)
    await note("iterate after the end", member.__aiter__)
    return found


@pytest.mark.real
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_mistakes_have_the_same_errors_on_the_facade(kafka: RealKafka) -> None:
    ground = await lay_ground(kafka, 1)
    theirs, ours = [await _refusals(kind, ground) for kind in BOTH]
    assert ours == theirs
    assert dict(ours)["commit of another"] is IllegalStateError
    assert dict(ours)["commit without a group"] is IllegalOperation


async def _read_and_cancel(consumer: Facade, ground: Ground, seen: list[tuple[int, int]]) -> None:
    """Begin many reads while records arrive, and cancel each after some milliseconds."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ground.stream, 0.002)
        for step in range(300):
            with anyio.move_on_after(step % 15 * 0.001):
                record = await consumer.getone()
                seen.append((record.partition, record.offset))
        tasks.cancel_scope.cancel()


@pytest.mark.real
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_reads_that_are_cancelled_at_any_time_lose_nothing(kafka: RealKafka) -> None:
    ground = await lay_ground(kafka, 2)
    seen: list[tuple[int, int]] = []
    async with Facade(ground.topic, **options_of(ground, group_id=fresh("group"))) as consumer:
        await _read_and_cancel(consumer, ground, seen)
        await ground.stored()
        for _ in range(len(ground.expected()) - len(seen)):
            record = await asyncio.wait_for(consumer.getone(), 20)
            seen.append((record.partition, record.offset))
    for number, count in ground.sent.items():
        assert [offset for partition, offset in seen if partition == number] == [*range(count)]


@pytest.mark.real
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_program_that_forgets_to_stop_ends_at_once_with_one_warning(
    kafka: RealKafka,
) -> None:
    ground = await lay_ground(kafka, 1)
    await ground.fill(1)

    held: list[Facade] = []

    async def main() -> None:
        held.append(Facade(ground.topic, **options_of(ground, group_id=fresh("group"))))
        await held[0].start()
        await held[0].getone()

    await run_sync(asyncio.run, main())
    with pytest.warns(ResourceWarning, match="Unclosed AIOKafkaConsumer"):
        held.clear()


@pytest.mark.real
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_consumer_that_is_garbage_collected_leaves_its_group(kafka: RealKafka) -> None:
    ground = await lay_ground(kafka, 2)
    group, loop = fresh("group"), asyncio.get_running_loop()
    loop.set_exception_handler(lambda *_: None)
    options = options_of(ground, group_id=group, heartbeat_interval_ms=200)
    held = [Facade(ground.topic, **options)]
    await held[0].start()
    with pytest.warns(ResourceWarning, match="Unclosed AIOKafkaConsumer"):
        held.clear()
    async with Facade(ground.topic, **options) as other:
        await eventually(lambda: len(other.assignment()) == 2, "the other has all", timeout=8)
    loop.set_exception_handler(None)


# -- dropin aiokafka transactions -----------------------------------------------------------------
#
# What transactions write on a real Kafka, read with the original and with the drop-in alike.


@pytest.mark.real
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
async def test_a_program_comes_to_the_same_on_the_facade(kafka: RealKafka, program: Any) -> None:
    answers = []
    for kind in (Original, Facade):
        ground = await lay_ground(kafka, 1)
        answers.append(await program(kind, kafka.bootstrap, TopicPartition(ground.topic, 0)))
    assert answers == [PROGRAMS[program]] * 2


# -- frameworks -----------------------------------------------------------------------------------
#
# Frameworks that sit on aiokafka, put on the drop-in.


_ROOT = Path(__file__).parents[2]
_WAIT = 60


async def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *arguments]
    call = partial(subprocess.run, capture_output=True, text=True, timeout=_WAIT, check=False)
    return await run_sync(partial(call, command, cwd=_ROOT))


@pytest.mark.real
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_faststreams_own_example_reads_with_the_facade(kafka: RealKafka) -> None:
    given, made = [await lay_ground(kafka, 2), await lay_ground(kafka, 1)]
    program = "tests.real.faststream_program"
    ended = await _run(program, kafka.bootstrap, given.topic, made.topic, "5")
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout.splitlines()[-1])
    assert report["answers"] == [f"User: {number} - John registered" for number in range(5)]
    assert report["assigned"] == [f"{given.topic}-0", f"{given.topic}-1"]
    assert report["kinds"] == ["kgroup.compat.aiokafka.faststream.AIOKafkaConsumer"]
    # A record that its handler refused was read again; others were committed one by one.
    assert report["refused"][0] in report["answers"]
    assert (await run_sync(committed, kafka, made.topic))[0] >= 4
    # Its log has a line of each assignment, and no listener failed.
    log = ended.stdout + ended.stderr
    assert "assigned to partitions" in log
    assert "of the listener failed" not in log
