"""The first consumer of the README, run as it stands."""

import re
import subprocess
import sys
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from kgroup.testing.kafka import RealKafka
from tests.real.ground import lay_ground

README = Path(__file__).parents[2] / "README.md"
ADDRESS, TOPIC = '"localhost:9092"', '"orders"'

pytestmark = pytest.mark.real


def first_consumer(bootstrap: str, topic: str) -> str:
    """Return the program, with this broker, a topic of its own, and a start at the beginning."""
    (program,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert program.count(ADDRESS) == program.count(TOPIC) == 1
    program = program.replace(ADDRESS, f'"{bootstrap}", auto_offset_reset="earliest"')
    return program.replace(TOPIC, f'"{topic}"')


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_first_consumer_prints_every_record(kafka: RealKafka) -> None:
    ground = await lay_ground(kafka, 1)
    await ground.fill(3)
    program = first_consumer(kafka.bootstrap, ground.topic)
    running = subprocess.Popen(
        [sys.executable, "-u", "-W", "error", "-c", program], stdout=subprocess.PIPE, text=True
    )
    try:
        with anyio.fail_after(20):
            lines = await anyio.to_thread.run_sync(read_three, running, abandon_on_cancel=True)
    finally:
        running.kill()
        running.wait()
    assert [line.split()[:2] for line in lines] == [["0", "0"], ["0", "1"], ["0", "2"]]


def read_three(running: "subprocess.Popen[str]") -> list[str]:
    assert running.stdout is not None
    with running.stdout as told:
        return [told.readline() for _ in range(3)]
