"""The programs of the page on porting: before and after print the same and commit the same."""

import subprocess
import sys
from threading import Timer

import anyio
import pytest

from kgroup.testing.kafka import RealKafka
from tests.house.porting import programs
from tests.real.ground import Ground, committed, eventually, fresh, lay_ground

PARTITIONS, RECORDS = 2, 3
PATIENCE = 30.0
ADDRESS, TOPIC, GROUP = '"localhost:9092"', '"orders"', '"billing"'

pytestmark = pytest.mark.real


def printed(
    program: str,
    kafka: RealKafka,
    ground: Ground,
    group: str,
    *,
    lines: int,
    warnings: str = "error",
) -> list[str]:
    """Run a program until it has printed so much and does not print more for a while."""
    for placeholder, name in ((ADDRESS, kafka.bootstrap), (TOPIC, ground.topic), (GROUP, group)):
        assert program.count(placeholder) == 1
        program = program.replace(placeholder, f'"{name}"')
    command = [sys.executable, "-u", "-W", warnings, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        limit = Timer(PATIENCE, running.kill)
        limit.start()
        assert running.stdout is not None
        found = [running.stdout.readline().strip() for _ in range(lines)]
        try:
            if "commit(" in program and "Log" not in program:
                anyio.run(all_committed, kafka, group)
        finally:
            limit.cancel()
            running.kill()
    return sorted(found)


async def all_committed(kafka: RealKafka, group: str) -> None:
    everything = dict.fromkeys(range(PARTITIONS), RECORDS)
    await eventually(lambda: committed(kafka, group) == everything, "all is committed")


async def some_records(kafka: RealKafka) -> Ground:
    ground = await lay_ground(kafka, PARTITIONS)
    await ground.fill(RECORDS)
    return ground


@pytest.mark.parametrize("title", programs())
def test_a_program_does_after_porting_what_it_did_before(kafka: RealKafka, title: str) -> None:
    before, after = programs()[title]
    ground = anyio.run(some_records, kafka)
    lines = PARTITIONS * RECORDS + ("assigned" in before)
    told = printed(before, kafka, ground, fresh("before"), lines=lines)
    assert printed(after, kafka, ground, fresh("after"), lines=lines) == told
    assert len(set(told)) == lines
