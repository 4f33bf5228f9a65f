"""Frameworks that sit on aiokafka, put on the drop-in."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from anyio.to_thread import run_sync

from kgroup.testing.kafka import RealKafka
from tests.real.ground import committed, lay_ground

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
