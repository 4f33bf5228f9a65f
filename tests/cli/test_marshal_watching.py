"""What `kgroup marshal watch` tells of."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
import pytest

from kgroup.admin.marshal.claim_log import ClaimLog, claim_log
from kgroup.admin.marshal.pauses import pause_group, resume
from kgroup.admin.marshal.settings import AdminSettings
from kgroup.admin.marshal.watching import (
    GroupChange,
    GroupChangeKind,
    Watching,
)
from kgroup.cli.marshal import change_json, change_line
from kgroup.marshal.events import LogRead
from kgroup.marshal.key_state import Pause
from kgroup.marshal.messages import Kind, Message, decode
from kgroup.testing import InProcessBroker
from kgroup.types import TopicPartition
from tests.consumer.marshal.stage import LOG, Writer, coordinated, running

INTERRUPTED = 130
T0 = TopicPartition("t", 0)


@asynccontextmanager
async def following(broker: InProcessBroker, watching: Watching) -> AsyncIterator[ClaimLog]:
    """Have the group `g` watched for one block."""
    topics, settings = frozenset({"t"}), AdminSettings("g")
    async with (
        running(broker) as cluster,
        claim_log(cluster, settings, topics, watching.hear) as place,
    ):
        yield place


@pytest.mark.slow
async def test_claims_takeovers_releases_and_pauses_are_reported_once_each() -> None:
    broker = coordinated(t=1)
    log = broker.partition(LOG)
    first, second = Writer(log, client="A"), Writer(log, client="B", instance="i2")
    first.beat(1, first.claim())
    seen: list[GroupChange] = []
    watching = Watching(None, seen.append)
    async with following(broker, watching) as place:
        assert seen == [], "what was there is not reported"
        await anyio.sleep(130)
        second.beat(2, second.claim())
        second.claim()  # refused
        second.release(5)
        first.claim()
        await pause_group(place, [0], 60)
        await resume(place, [0])
    assert [(each.kind, each.client, each.former) for each in seen] == [
        (GroupChangeKind.TAKEN_OVER, "B/i2", "A/i1"),
        (GroupChangeKind.RELEASED, "B/i2", None),
        (GroupChangeKind.CLAIMED, "A/i1", None),
        (GroupChangeKind.PAUSED, "kgroup-admin", None),
        (GroupChangeKind.RESUMED, None, None),
    ]
    assert [each.offset for each in seen[:2]] == [1, 5]


def test_a_group_is_resumed_when_the_last_of_its_pauses_is_over() -> None:
    """1. One pauses it in two partitions of the log; 2. another in one; 3. each of them ends."""
    seen: list[GroupChange] = []
    watching = Watching(None, seen.append)

    def hear(partition: int, client_id: bytes | None) -> None:
        pause = None if client_id is None else Pause(10**6, client_id)
        watching.hear(LogRead(partition, next_offset=1, time=0, since=0, pause=pause))

    for partition, client_id in ((0, b"a"), (1, b"a"), (1, b"b"), (0, None), (1, None)):
        hear(partition, client_id)
    paused, resumed = GroupChangeKind.PAUSED, GroupChangeKind.RESUMED
    assert [(each.kind, each.client) for each in seen] == [
        (paused, "a"),
        (paused, "b"),
        (resumed, None),
    ]


async def test_a_pause_of_many_partitions_that_is_renewed_is_reported_once() -> None:
    broker = coordinated(4, t=1)
    seen: list[GroupChange] = []
    topics, settings = None, AdminSettings("g")
    watching = Watching(topics, seen.append)
    async with (
        running(broker) as cluster,
        claim_log(cluster, settings, topics, watching.hear) as place,
    ):
        for _ in range(2):
            await pause_group(place, place.partitions, 60)
        assert [each.kind for each in seen] == [GroupChangeKind.PAUSED]
        assert (
            change_line(seen[0]).split("  ")[1].startswith("group paused by kgroup-admin until 20")
        )
        await resume(place, place.partitions)
    assert [each.kind for each in seen] == [GroupChangeKind.PAUSED, GroupChangeKind.RESUMED]


async def test_keys_of_other_topics_and_groups_are_not_reported() -> None:
    broker = coordinated(t=1)
    seen: list[GroupChange] = []
    watching = Watching(frozenset({"t"}), seen.append)
    async with following(broker, watching) as place:
        writer = Writer(broker.partition(LOG))
        writer.claim(topic="u")
        writer.claim(group="h")
        offset = writer.claim()
        await place.until(lambda: place.world(0).next_offset > offset, 10)
    assert [each.tp for each in seen] == [T0]


CHANGE = GroupChange(
    kind=GroupChangeKind.TAKEN_OVER,
    partition=3,
    time=1_700_000_000_123,
    tp=T0,
    client="B/i2\x1b[2J",
    former="A/i1",
    epoch=7,
    offset=42,
)


def test_a_change_is_one_line_with_client_partition_and_offset() -> None:
    assert change_line(CHANGE) == (
        "2023-11-14T22:13:20.123Z  t-0 taken over by B/i2\\u001b[2J from A/i1 at offset 42 epoch 7"
    )
    lost = GroupChange(
        kind=GroupChangeKind.LOST, partition=3, time=-1, reason="its tail was cut off"
    )
    assert change_line(lost) == "-  coordination partition 3 read anew its tail was cut off"


def test_programs_get_the_same() -> None:
    found = change_json(CHANGE)
    assert (found["what"], found["topic"], found["partition"]) == ("taken_over", "t", 0)
    assert (found["time"], found["offset"], found["until"]) == (1_700_000_000_123, 42, None)


@contextmanager
def process_of(broker: InProcessBroker, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a verb for the group `g` in a process of its own."""
    more = ["g", "--bootstrap", broker.bootstrap_servers]
    with subprocess.Popen(
        [sys.executable, "-m", "kgroup.cli", "marshal", *words, *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        # A test that waits for a line that never comes reads the end then, and fails.
        limit = threading.Timer(60, process.kill)
        limit.start()
        try:
            yield process
        finally:
            limit.cancel()
            limit.join()
            process.kill()


@pytest.mark.slow
@pytest.mark.kgroup_broker(topics={"t": 1})
def test_a_watch_ends_with_ctrl_c_and_lines_come_as_they_are_read(
    kgroup_broker: InProcessBroker,
) -> None:
    kgroup_broker.create_topic(LOG, 1, configs={"message.timestamp.type": "LogAppendTime"})
    with process_of(kgroup_broker, "watch") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "watching group g" in process.stderr.readline()
        Writer(kgroup_broker.partition(LOG), now=time.time).claim()
        assert "t-0 claimed by A/i1" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == INTERRUPTED
        assert process.stderr.read() == ""


@pytest.mark.slow
@pytest.mark.kgroup_broker(topics={"t": 1})
def test_ctrl_c_while_positions_wait_ends_the_pause_and_says_what_was_not_done(
    kgroup_broker: InProcessBroker,
) -> None:
    kgroup_broker.create_topic(LOG, 1, configs={"message.timestamp.type": "LogAppendTime"})
    log = kgroup_broker.partition(LOG)
    stubborn = Writer(log, now=time.time)
    stubborn.beat(0, stubborn.claim())
    with process_of(kgroup_broker, "set-positions", "--to", "t-0=0") as process:
        assert process.stderr is not None
        assert "group g is paused" in process.stderr.readline()
        assert "waiting for A/i1" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == INTERRUPTED
        said = process.stderr.read()
    assert "0 of 1 positions are set" in said
    assert "t-0: not changed: it was interrupted" in said
    first, last = (decode(log.records()[n].value) for n in (2, -1))
    assert isinstance(first, Message)
    assert isinstance(last, Message)
    assert (first.kind, last.kind) == (Kind.RELEASE_GROUP, Kind.RELEASE_GROUP)
    assert first.tail - first.time == 60
    assert last.tail <= last.time, "its pause is over at once"
