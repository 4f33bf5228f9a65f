"""The first consumer of the README, run as it stands."""

import re
import subprocess
import sys
from pathlib import Path
from threading import Timer

import anyio
import pytest

from kgroup.testing.kafka import RealKafka
from tests.real.ground import Ground, lay_ground

README = Path(__file__).parents[2] / "README.md"
ADDRESS, TOPIC = '"localhost:9092"', '"orders"'
PATIENCE = 20.0

pytestmark = pytest.mark.real


def first_consumer(bootstrap: str, topic: str) -> str:
    """Return the program, with this broker, a topic of its own, and a start at the beginning."""
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 1
    program = str(blocks[0])
    assert program.count(ADDRESS) == program.count(TOPIC) == 1
    program = program.replace(ADDRESS, f'"{bootstrap}", auto_offset_reset="earliest"')
    return program.replace(TOPIC, f'"{topic}"')


async def three_records(kafka: RealKafka) -> Ground:
    ground = await lay_ground(kafka, 1)
    await ground.fill(3)
    return ground


def test_the_first_consumer_prints_every_record(kafka: RealKafka) -> None:
    ground = anyio.run(three_records, kafka)
    program = first_consumer(kafka.bootstrap, ground.topic)
    command = [sys.executable, "-u", "-W", "error", "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        limit = Timer(PATIENCE, running.kill)
        limit.start()
        assert running.stdout is not None
        lines = [running.stdout.readline() for _ in range(3)]
        limit.cancel()
        running.kill()
    assert [line.split()[:2] for line in lines] == [["0", "0"], ["0", "1"], ["0", "2"]]
