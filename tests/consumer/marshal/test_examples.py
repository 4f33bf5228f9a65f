"""The examples of the page about Marshal mode, run; the page shows them as they are."""

import re
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest

from docs.examples.marshal import billing, mailing, replaying
from kgroup.config import ConsumerConfig
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import TopicPartition
from tests.consumer.marshal.crew import until
from tests.consumer.marshal.stage import coordinated
from tests.pages import DOCS

PAGE = (DOCS / "marshal.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def orders(count: int) -> tuple[InProcessBroker, list[bytes]]:
    """Return a Kafka with so many orders, and what they say."""
    broker = coordinated(orders=1)
    broker.partition("orders").append(*(f"order {number}" for number in range(count)))
    return broker, [f"order {number}".encode() for number in range(count)]


async def play(
    broker: InProcessBroker,
    module: ModuleType,
    service: Callable[[ConsumerConfig], Coroutine[Any, Any, None]],
    is_done: Callable[[], object],
) -> None:
    """Run an example until it is done."""
    ports = virtual_ports(broker.dial)
    config = replace(module.CONFIG, bootstrap_servers=broker.bootstrap_servers, ports=ports)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(service, config)
        await until(is_done, within=10.0)
        tasks.cancel_scope.cancel()


@pytest.mark.anyio
async def test_orders_come_into_the_ledger() -> None:
    ledger = billing.Ledger()
    broker, expected = orders(50)
    await play(
        broker,
        billing,
        lambda config: billing.bill(config, ledger),
        lambda: len(ledger.entries) == 50,
    )
    assert ledger.entries == expected


def test_the_ledger_refuses_an_owner_that_was_taken_over_from() -> None:
    ledger, tp = billing.Ledger(), TopicPartition("orders", 0)
    assert ledger.write(tp, 7, [b"a"])
    assert ledger.write(tp, 12, [b"b"])
    assert not ledger.write(tp, 7, [b"late"])
    assert ledger.entries == [b"a", b"b"]


@pytest.mark.anyio
async def test_every_order_has_a_mail() -> None:
    sent: list[bytes | None] = []
    broker, expected = orders(50)
    await play(
        broker, mailing, lambda config: mailing.mail(config, sent.append), lambda: len(sent) == 50
    )
    assert sent == expected


@pytest.mark.anyio
async def test_orders_are_read_again_from_where_they_are_set_to() -> None:
    ledger, tp = billing.Ledger(), TopicPartition("orders", 0)
    broker, expected = orders(50)

    async def read_again(config: ConsumerConfig) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(billing.bill, config, ledger)
            await until(lambda: len(ledger.entries) == 50, within=10.0)
            await replaying.replay(config, {tp: 40})

    await play(broker, billing, read_again, lambda: len(ledger.entries) == 60)
    assert ledger.entries == [*expected, *expected[40:]]


def test_the_page_shows_the_examples_as_they_are() -> None:
    shown = [Path(module.__file__ or "").read_text() for module in (billing, mailing, replaying)]
    assert BLOCKS
    assert not [block for block in BLOCKS if not any(block in text for text in shown)]
