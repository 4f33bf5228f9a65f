"""The programs of the page on porting: before and after print the same and commit the same."""

import re
import subprocess
import sys
from pathlib import Path
from threading import Timer

import anyio
import pytest

from kgroup.testing.kafka import RealKafka
from tests.house.migrating import programs as migrations
from tests.house.porting import programs
from tests.real.ground import Ground, committed, eventually, fresh, lay_ground

pytestmark = pytest.mark.real


PARTITIONS, RECORDS = 2, 3
PATIENCE = 30.0
ADDRESS, TOPIC, GROUP = '"localhost:9092"', '"orders"', '"billing"'


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
    expected = printed(before, kafka, ground, fresh("before"), lines=lines)
    assert printed(after, kafka, ground, fresh("after"), lines=lines) == expected
    assert len(set(expected)) == lines


# -- migrating ------------------------------------------------------------------------------------
#
# The programs of the pages on migrating: before and after print the same and commit the same.


@pytest.mark.parametrize("title", migrations())
def test_a_program_does_after_migrating_what_it_did_before(kafka: RealKafka, title: str) -> None:
    before, after = migrations()[title]
    ground = anyio.run(some_records, kafka)
    lines = PARTITIONS * RECORDS + ("assigned" in before)
    # kafka-python reads its schemas in a deprecated way.
    warnings = "ignore" if "from kafka import" in before else "error"
    expected = printed(before, kafka, ground, fresh("before"), lines=lines, warnings=warnings)
    assert printed(after, kafka, ground, fresh("after"), lines=lines) == expected
    assert len(set(expected)) == lines


# -- readme ---------------------------------------------------------------------------------------
#
# The first consumer of the README, run as it stands.


README = Path(__file__).parents[2] / "README.md"
ADDRESS, TOPIC = '"localhost:9092"', '"orders"'
PATIENCE = 20.0


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
