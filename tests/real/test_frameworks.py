"""Frameworks that sit on aiokafka, put on the drop-in."""

import json
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
from anyio.to_thread import run_sync

from kgroup.testing.kafka import RealKafka
from tests.real.ground import committed, lay_ground

_ROOT = Path(__file__).parents[2]
_WAIT = 60


def _installed(name: str) -> None:
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed")


async def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *arguments]
    call = partial(subprocess.run, capture_output=True, text=True, timeout=_WAIT, check=False)
    return await run_sync(partial(call, command, cwd=_ROOT))


@pytest.mark.real
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_faststreams_own_example_reads_with_the_facade(kafka: RealKafka) -> None:
    _installed("faststream")
    given, made = [await lay_ground(kafka, 2), await lay_ground(kafka, 1)]
    program = "tests.real.faststream_program"
    ended = await _run(program, kafka.bootstrap, given.topic, made.topic, "5")
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout.splitlines()[-1])
    assert told["answers"] == [f"User: {number} - John registered" for number in range(5)]
    assert told["assigned"] == [f"{given.topic}-0", f"{given.topic}-1"]
    assert told["kinds"] == ["kgroup.compat.aiokafka.faststream.AIOKafkaConsumer"]
    # A record that its handler refused was read again; others were committed one by one.
    assert told["refused"][0] in told["answers"]
    assert (await run_sync(committed, kafka, made.topic))[0] >= 4
    # Its log has a line of each assignment, and no listener failed.
    log = ended.stdout + ended.stderr
    assert "assigned to partitions" in log
    assert "of the listener failed" not in log


def test_faust_reads_records_past_the_public_calls_of_a_consumer() -> None:
    """When this fails, the page about the drop-in has to be looked at again."""
    _installed("faust")
    found = find_spec("faust.transport.drivers.aiokafka")
    assert found is not None
    assert found.origin is not None
    driver = Path(found.origin).read_text(encoding="utf-8")
    for private in ("_coordinator.generation", "consumer._fetcher", "fetched_records"):
        assert private in driver
