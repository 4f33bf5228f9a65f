"""The programs of the page on porting: before and after print the same and commit the same."""

import os
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
# The quickstart of the README, run as it stands but for the address and the topic.


ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_first_example_is_the_program_of_the_readme() -> None:
    (shown,) = blocks("python")
    program = (ROOT / "docs/examples/first.py").read_text(encoding="utf-8")
    assert program.partition('"""\n\n')[2].replace("anyio\n\n", "anyio\n") == shown


def test_the_quickstart_prints_the_records_it_produced(kafka: RealKafka, tmp_path: Path) -> None:
    install, _up, produce, read = blocks("sh")[0].splitlines()
    assert install.startswith("pip install")
    topic = fresh("orders")
    program = (ROOT / read.removeprefix("python ")).read_text(encoding="utf-8")
    assert program.count(ADDRESS) == program.count(TOPIC) == 1
    program = program.replace(ADDRESS, f'"{kafka.bootstrap}"').replace(TOPIC, f'"{topic}"')
    command = produce.replace("kgroup", f"{sys.executable} -m kgroup.cli").replace("orders", topic)
    environ = {**os.environ, "KGROUP_BOOTSTRAP": kafka.bootstrap}
    subprocess.run(command, shell=True, check=True, env=environ, timeout=PATIENCE, cwd=tmp_path)
    reading = [sys.executable, "-u", "-W", "error", "-c", program]
    with subprocess.Popen(reading, stdout=subprocess.PIPE, text=True) as running:
        limit = Timer(PATIENCE, running.kill)
        limit.start()
        assert running.stdout is not None
        lines = [running.stdout.readline() for _ in range(100)]
        limit.cancel()
        running.kill()
    values = sorted(int(line.split("b'")[1].rstrip("'\n")) for line in lines)
    assert values == [*range(1, 101)]
