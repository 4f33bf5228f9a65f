"""The examples of the pages on processing, run; the pages show them as they are."""

import json
import re
import socket
import sqlite3
import urllib.request
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest

from docs.examples.processing import fan_out, health, letters, locked, once
from kgroup import Record
from kgroup.config import ConsumerConfig
from kgroup.processing import Report, SqliteStore
from kgroup.testing import InProcessBroker
from tests.consumer.entered import GROUP, config_for
from tests.consumer.ground import ground
from tests.contracts.application import until
from tests.pages import DOCS

SHOWN = {"stores": once, "locks": locked, "health": health}


async def play(
    broker: InProcessBroker,
    service: Callable[[ConsumerConfig], Coroutine[Any, Any, None]],
    is_done: Callable[[], object],
) -> None:
    """Run an example until all of it is done and committed."""
    config = config_for(broker, **GROUP)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(service, config)
        await until(is_done, 60, "the example is through")
        tasks.cancel_scope.cancel()


def rows(path: Path, query: str) -> list[Any]:
    with sqlite3.connect(path) as db:
        found = [row[0] for row in db.execute(query)]
    db.close()
    return found


@pytest.mark.anyio
async def test_each_order_is_in_the_database_once(tmp_path: Path) -> None:
    broker, path = ground(10, orders=1), tmp_path / "bills.db"
    with SqliteStore(path) as store:
        store.connection.execute("CREATE TABLE bills (buyer, what)")
        await play(
            broker,
            lambda config: once.bill(config, store),
            lambda: len(rows(path, "SELECT what FROM bills")) == 10,
        )
    assert rows(path, "SELECT what FROM bills ORDER BY rowid") == [b"%d" % n for n in range(10)]


@pytest.mark.anyio
async def test_the_file_is_written_to_under_a_lock(tmp_path: Path) -> None:
    broker, path = ground(10, orders=1), tmp_path / "bills.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE bills (what)")
    db.close()
    await play(
        broker,
        lambda config: locked.bill(config, str(path)),
        lambda: len(rows(path, "SELECT what FROM bills")) == 10,
    )
    assert rows(path, "SELECT what FROM bills ORDER BY rowid") == [b"%d" % n for n in range(10)]


@pytest.mark.anyio
async def test_an_order_that_fails_is_a_letter_once_there_is_a_topic_for_it() -> None:
    broker = ground(5, orders=1)
    done: list[bytes] = []
    told: list[Report] = []

    def handle(record: Record[bytes, bytes]) -> None:
        if record.value == b"2":
            raise ValueError("no such buyer")
        done.append(record.value)

    def mend(report: Report) -> None:
        told.append(report)
        broker.create_topic("orders-dead", 1)

    await play(
        broker,
        lambda config: letters.bill(config, handle, mend),
        lambda: len(done) == 4 and broker.partition("orders-dead", 0).records(),
    )
    (letter,) = broker.partition("orders-dead", 0).records()
    assert letter.value == b"2"
    assert len(told) == 1


@pytest.mark.anyio
async def test_a_supervisor_is_told() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    answers: list[Any] = []

    def handle(_: Record[bytes, bytes]) -> None:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/live", timeout=10.0) as answer:
            answers.append(json.load(answer)["live"])

    await play(
        ground(1, orders=1), lambda config: health.bill(config, handle, port), lambda: answers
    )
    assert answers == [True]


@pytest.mark.parametrize("name", SHOWN)
def test_the_page_shows_the_example_as_it_is(name: str) -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```",
        (DOCS / f"{name}.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    assert any(block in text_of(SHOWN[name]) for block in blocks)


@pytest.mark.parametrize("module", [fan_out, letters], ids=lambda each: each.__name__)
def test_the_page_leads_to_the_example(module: ModuleType) -> None:
    page = (DOCS / "stuck-records.md").read_text(encoding="utf-8")
    assert f"(examples/processing/{module.__name__.rpartition('.')[2]}.py)" in page


def text_of(module: ModuleType) -> str:
    return Path(module.__file__ or "").read_text(encoding="utf-8")
