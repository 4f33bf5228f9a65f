"""What stands around the facade: aiokafka's producer writes for it; no other client is imported."""

import asyncio
import subprocess
import sys

import pytest
from aiokafka import AIOKafkaProducer

from kgroup.compat.aiokafka import AIOKafkaConsumer
from kgroup.testing import InProcessBroker
from tests.compat.aiokafka.ground import A, broker_with, fill, made, started

_COUNT = 20


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_what_aiokafkas_producer_compresses_is_read_as_it_was(codec: str | None) -> None:
    async def written_and_read(bootstrap: str) -> list[bytes]:
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap, compression_type=codec, linger_ms=20
        )
        async with producer:
            sent = [await producer.send("t", b"value-%d" % at * 50) for at in range(_COUNT)]
            await asyncio.gather(*sent)
        keywords = {"bootstrap_servers": bootstrap, "auto_offset_reset": "earliest"}
        async with AIOKafkaConsumer("t", **keywords) as consumer:
            return [(await consumer.getone()).value for _ in range(_COUNT)]

    with InProcessBroker(topics={"t": 1}).serve() as served:
        read = asyncio.run(written_and_read(served.bootstrap))
    assert read == [b"value-%d" % at * 50 for at in range(_COUNT)]


def test_importing_it_imports_no_other_client_and_warns_of_nothing() -> None:
    look = "import kgroup.compat.aiokafka, sys; print('kafka' in sys.modules)"
    command = [sys.executable, "-W", "error", "-c", look]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert (ran.stdout.strip(), ran.stderr) == ("False", "")


@pytest.mark.anyio
async def test_a_topic_that_comes_while_start_waits_is_read_from_before_its_first_record() -> None:
    broker = broker_with(0, other=1)
    consumer = made(broker, "t", group_id=None, auto_offset_reset="latest")
    starting = asyncio.ensure_future(consumer.start())
    await asyncio.sleep(2)
    assert not starting.done()
    broker.create_topic("t", 1)
    await starting
    reading = asyncio.ensure_future(consumer.getone())
    await asyncio.sleep(0.5)
    fill(broker, A, 1)
    assert (await asyncio.wait_for(reading, 5)).offset == 0
    await consumer.stop()


@pytest.mark.anyio
async def test_a_drop_in_reads_and_commits_in_a_group_of_the_newer_protocol() -> None:
    broker = broker_with(3, t=1)
    async with started(broker, "t", group_protocol="consumer") as consumer:
        assert [(await consumer.getone()).offset for _ in range(3)] == [0, 1, 2]
        await consumer.commit()
        assert broker.group("g").view().protocol == "uniform"
        assert broker.group("g").committed == {("t", 0): 3}
