"""`isolated_heartbeats`: a thread keeps the session of a member whose handler blocks the loop.

In real time, on sockets: a loop that is blocked has no virtual time. The handlers compute, as those
of the reports do; they end when the broker has seen what is asserted, or after long.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup import Consumer
from kgroup.audit.oracles import Heartbeats
from kgroup.audit.oracles.watch import judge
from kgroup.codes import ApiKey
from kgroup.journal.codec import BadLine, read_entries
from kgroup.journal.events import ConnectionOpened, Entry, RequestSent
from kgroup.testing import BrokerSettings, InProcessBroker
from kgroup.types import Claim, TopicPartition

pytestmark = pytest.mark.anyio

SESSION = 3.0
LONG = 60.0
"""Seconds after which something has not happened."""
TP = TopicPartition("t", 0)
OPTIONS: dict[str, Any] = {
    "group_id": "g",
    "auto_offset_reset": "earliest",
    "session_timeout": SESSION,
    "heartbeat_interval": 0.5,
    "max_poll_interval": 300.0,
}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    backend: str = request.param
    return backend


@pytest.fixture
def broker() -> Iterator[InProcessBroker]:
    settings = BrokerSettings(min_session_timeout=0.1, auto_create_topics=False)
    broker = InProcessBroker(topics={"t": 1}, settings=settings)
    broker.partition("t").append("a", "b", "c")
    with broker.serve():
        yield broker


@asynccontextmanager
async def member(broker: InProcessBroker, **options: Any) -> AsyncIterator[Consumer[Any, Any]]:
    """Enter a member that owns the partition, and has the first record in hand."""
    servers = {"bootstrap_servers": broker.bootstrap_servers}
    async with Consumer("t", **{**OPTIONS, **servers, **options}) as consumer:
        assert (await consumer.getone(timeout=LONG)).offset == 0
        yield consumer


def compute_until(is_so: Callable[[], object]) -> bool:
    """Block the loop, and use the processor, until something is so; tell whether it came."""
    ends = time.monotonic() + LONG
    while time.monotonic() < ends:
        if is_so():
            return True
        sum(range(1000))
    return False


def compute(seconds: float) -> None:
    """Block the loop, and use the processor."""
    ends = time.monotonic() + seconds
    compute_until(lambda: time.monotonic() >= ends)


def ids(broker: InProcessBroker) -> list[str]:
    return [each.member_id for each in broker.group("g").members]


def threads() -> list[str]:
    return [each.name for each in threading.enumerate() if "heartbeats of" in each.name]


def entries(log: Path) -> list[Entry]:
    with log.open(encoding="utf-8") as lines:
        found = list(read_entries(lines, log.name))
    return [each for each in found if not isinstance(each, BadLine)]


def of_the_second(log: Path) -> list[ApiKey]:
    """Return what the thread has asked, by the event log."""
    events = [entry.event for entry in entries(log)]
    opened = [each for each in events if isinstance(each, ConnectionOpened)]
    its = {each.connection for each in opened if each.lane == "second"}
    return [e.api for e in events if isinstance(e, RequestSent) and e.connection in its]


def claims(consumer: Consumer[Any, Any]) -> tuple[Claim, ...]:
    return consumer.membership.claims


# -- the session -----------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_handler_that_computes_for_three_sessions_keeps_its_place_and_its_claim(
    broker: InProcessBroker, tmp_path: Path
) -> None:
    log = tmp_path / "m.jsonl"
    async with member(broker, isolated_heartbeats=True, journal=log) as consumer:
        before = ids(broker), claims(consumer)
        compute(3 * SESSION)
        assert ids(broker) == before[0]
        assert (await consumer.getone(timeout=LONG)).offset == 1
        assert (await consumer.commit()).ok
        assert (ids(broker), claims(consumer)) == before
    said = of_the_second(log)
    assert set(said) == {ApiKey.API_VERSIONS, ApiKey.HEARTBEAT}
    assert said.count(ApiKey.HEARTBEAT) >= 3
    assert judge([Heartbeats(slack=SESSION)], entries(log)) == ()


@pytest.mark.slow
async def test_without_the_option_the_same_handler_loses_it(broker: InProcessBroker) -> None:
    async with member(broker) as consumer:
        before = claims(consumer)
        assert compute_until(lambda: not ids(broker)), "the session ends while the loop is blocked"
        assert (await consumer.getone(timeout=LONG)).offset == 0, "it comes again: nobody committed"
        assert claims(consumer) != before


@pytest.mark.slow
async def test_the_poll_interval_ends_the_session_of_a_handler_that_never_returns(
    broker: InProcessBroker,
) -> None:
    guarded = {"isolated_heartbeats": True, "max_poll_interval": 1.0, "rebalance_timeout": 60.0}
    async with member(broker, **guarded) as consumer:
        before = claims(consumer)
        assert compute_until(lambda: not ids(broker)), "no heartbeat is sent without a poll"
        assert (await consumer.getone(timeout=LONG)).offset == 0
        assert claims(consumer) != before


# -- the thread ------------------------------------------------------------------------------------


async def test_the_thread_ends_with_the_membership(broker: InProcessBroker) -> None:
    async with member(broker, isolated_heartbeats=True):
        assert threads() == ["kgroup heartbeats of g"]
    assert threads() == []


async def test_there_is_no_thread_without_the_option(broker: InProcessBroker) -> None:
    async with member(broker):
        assert threads() == []


async def test_the_thread_ends_when_the_consumer_is_cancelled(broker: InProcessBroker) -> None:
    with anyio.CancelScope() as scope:
        async with member(broker, isolated_heartbeats=True):
            assert threads()
            scope.cancel()
            await anyio.sleep_forever()
    assert threads() == []


def test_the_thread_ends_with_an_event_loop_that_nobody_closes_the_consumer_in(
    broker: InProcessBroker,
) -> None:
    async def leave_it_open() -> Consumer[Any, Any]:
        options = {**OPTIONS, "bootstrap_servers": broker.bootstrap_servers}
        consumer = Consumer("t", **options, isolated_heartbeats=True)
        await consumer.start()
        await consumer.getone(timeout=LONG)
        assert threads()
        return consumer

    consumer = asyncio.run(leave_it_open())
    assert threads() == []
    del consumer  # it is not collected before
