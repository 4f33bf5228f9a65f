"""What a death at each line repeats and loses, in each semantics: a real process, a real broker.

Long runs are on both async backends at a time. The process that comes after has the same
`group_instance_id`, as after a restart, so nobody waits for a session to end.
"""

import signal
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup.testing.kafka import RealKafka
from tests.processing.servers import postgres
from tests.real.deaths import DEATHS, RECORDS, SHORT, Death
from tests.real.ground import committed, eventually, fresh, lay_ground
from tests.real.handling import Life, Orders, life
from tests.real.members import FAST

pytestmark = [pytest.mark.real, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

PATIENCE = 180.0


async def two_lives(
    kafka: RealKafka, folder: Path, runs_on: str, death: Death, place: str | None = None
) -> tuple[Life, Life]:
    """Have a process die at a line, and another one go on to the end."""
    ground, group = await lay_ground(kafka, 1), fresh("group")
    await ground.fill_in_one_batch(RECORDS)
    fixed = {"bootstrap_servers": kafka.bootstrap, "group_id": group, "group_instance_id": "one"}
    options: dict[str, Any] = {**FAST, "session_timeout": 60.0, **fixed, **death.options}
    dies = Orders(semantics=death.name, kill=(death.word, death.at), postgres=place)
    goes_on = Orders(semantics=death.name, postgres=place)
    async with life(ground.topic, folder, runs_on, dies, client_id="one", **options) as one:
        assert await one.ended() == -signal.SIGKILL
    await ground.fill(1)
    options["auto_commit_interval"] = 0.5
    async with life(ground.topic, folder, runs_on, goes_on, client_id="two", **options) as two:
        await eventually(
            lambda: two.lines("answered")[-1:] == [RECORDS], "all is committed", timeout=PATIENCE
        )
        two.send(signal.SIGTERM)
        assert await two.ended() == 0
    found = await anyio.to_thread.run_sync(committed, kafka, group)
    assert found == {0: RECORDS + 1}
    return one, two


def check(death: Death, one: Life, two: Life, bills: Sequence[int] | None) -> None:
    """Compare what happened with what the page says."""
    before, after = one.lines("end"), two.lines("end")
    assert two.lines("begin")[0] == death.goes_on
    assert two.lines("repeated") == list(death.skipped)
    if bills is not None:
        assert bills == list(range(RECORDS + 1))
        return
    assert sorted(set(before) & set(after)) == list(death.repeated)
    assert sorted(set(range(RECORDS + 1)) - set(before) - set(after)) == list(death.lost)


def in_sqlite(folder: Path) -> list[int]:
    """Return what is in the store."""
    with sqlite3.connect(folder / "bills.db") as db:
        found = [row[0] for row in db.execute("SELECT number FROM bills ORDER BY rowid")]
    db.close()
    return found


def cases() -> Iterator[Any]:
    """Yield each death on both async backends at a time, a short one on each for itself."""
    backends = ("asyncio", "trio")
    for death in DEATHS:
        if (death.name, death.line) in SHORT:
            yield from (pytest.param(death, [each], id=f"{death}-{each}") for each in backends)
        else:
            yield pytest.param(death, backends, id=str(death), marks=pytest.mark.faults)


@pytest.mark.parametrize(("death", "backends"), [*cases()])
async def test_a_death_repeats_and_loses_what_the_page_says(
    kafka: RealKafka, tmp_path: Path, death: Death, backends: Sequence[str]
) -> None:
    async def on(runs_on: str) -> None:
        one, two = await two_lives(kafka, tmp_path / runs_on, runs_on, death)
        stored = in_sqlite(tmp_path / runs_on) if "store" in death.name else None
        check(death, one, two, stored)

    for runs_on in backends:
        (tmp_path / runs_on).mkdir()
    async with anyio.create_task_group() as tasks:
        for runs_on in backends:
            tasks.start_soon(on, runs_on)


@pytest.fixture(scope="module")
def place() -> Iterator[str]:
    with postgres() as found:
        yield found


@pytest.mark.faults
@pytest.mark.parametrize("death", [each for each in DEATHS if each.name == "store"], ids=str)
async def test_a_store_in_postgres_counts_each_record_once(
    kafka: RealKafka, tmp_path: Path, place: str, death: Death
) -> None:
    import psycopg  # noqa: PLC0415 - an extra

    with psycopg.connect(place, autocommit=True) as db:
        db.execute("CREATE TABLE IF NOT EXISTS bills (number integer)")
        db.execute("TRUNCATE bills")
        one, two = await two_lives(kafka, tmp_path, "asyncio", death, place)
        rows = db.execute("SELECT number FROM bills ORDER BY number").fetchall()
    check(death, one, two, [row[0] for row in rows])
