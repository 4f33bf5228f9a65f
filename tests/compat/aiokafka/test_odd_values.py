"""Each keyword with odd values, given to aiokafka's constructor and to the facade's.

Both take it, or both refuse it by the same class; what differs stands in a table, and on the page.
"""

import asyncio
import inspect
import math
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import aiokafka
import pytest

from kgroup.compat.aiokafka import AIOKafkaConsumer
from kgroup.compat.aiokafka.keywords import DEFAULTS, KEYWORDS
from tests.compat.aiokafka.ground import A, B, broker_with, started
from tests.compat.aiokafka.odd_values import CONTEXTS, DIFFERENCES, ODD, Difference

PAGE = Path(__file__).parents[3] / "docs" / "drop-in.md"

pytestmark = pytest.mark.anyio


def refusal(kind: type[Any], keywords: Mapping[str, Any]) -> type[Exception] | None:
    """Return what the constructor raises, which runs in a loop as it must."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            made = kind(**keywords)
    except Exception as error:  # noqa: BLE001 - it is looked at
        return type(error)
    made._closed = True  # so that no warning says that it was never stopped
    return None


def row_of(name: str, value: object, context: str) -> Difference | None:
    fits = (each for each in DIFFERENCES if name in each.names and context in each.contexts)
    return next((each for each in fits if each.which(value)), None)


def pairs() -> Iterator[tuple[str, str]]:
    """Yield each keyword of the aiokafka that is here with others that may matter to it."""
    theirs = inspect.signature(aiokafka.AIOKafkaConsumer.__init__).parameters
    for name in sorted(DEFAULTS.keys() & theirs.keys()):
        secure = name in KEYWORDS
        yield from ((name, each) for each in CONTEXTS if (each not in ("alone", "group")) == secure)


@pytest.mark.parametrize(("name", "context"), list(pairs()))
async def test_it_is_taken_or_refused_as_by_aiokafka(name: str, context: str) -> None:
    wrong = []
    for value in ODD:
        keywords = {**CONTEXTS[context], name: value}
        theirs, ours = (
            refusal(kind, keywords) for kind in (aiokafka.AIOKafkaConsumer, AIOKafkaConsumer)
        )
        row = row_of(name, value, context)
        expected = (theirs, theirs) if row is None else (row.theirs, row.ours)
        if (theirs, ours) != expected:
            wrong.append((value, theirs, ours))
    assert wrong == []


@pytest.mark.parametrize("row", DIFFERENCES, ids=lambda row: "-".join(sorted(row.names)))
def test_each_difference_is_on_the_page(row: Difference) -> None:
    assert any(map(row.which, ODD))
    assert f"| {row.beginning}" in PAGE.read_text(encoding="utf-8")


WORK_THERE: list[dict[str, Any]] = [
    {"client_id": 7, "client_rack": b"x", "group_id": False, "group_instance_id": 0},
    {"group_instance_id": ""},
    {"max_poll_records": 2**31},
    {"max_poll_interval_ms": 0},
    {"rebalance_timeout_ms": 0},
    {"rebalance_timeout_ms": -1},
    {"retry_backoff_ms": 7000},
    {"retry_backoff_ms": math.inf},
    {"connections_max_idle_ms": 1},
    {"request_timeout_ms": 1},
    {"fetch_max_bytes": 2**31 - 1, "max_partition_fetch_bytes": 2**31 - 1},
]
"""Seen to start, to read and to commit with aiokafka 0.14 on Kafka 4.3.1."""


@pytest.mark.parametrize("keywords", WORK_THERE, ids=str)
async def test_what_works_with_aiokafka_works_here(keywords: dict[str, Any]) -> None:
    broker = broker_with(5)
    broker.node(1).slow(0.004)
    async with asyncio.timeout(10), started(broker, "t", **keywords) as consumer:
        assert consumer.assignment() == {A, B}
        assert {(await consumer.getone()).value for _ in range(10)} == {b"%d" % n for n in range(5)}
        await consumer.commit()
        assert await consumer.committed(A) == 5
