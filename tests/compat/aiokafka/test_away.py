"""Commits and reads while the coordinator's broker is away for longer than a session."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from aiokafka.errors import CommitFailedError

from kgroup.codes import ErrorCode
from kgroup.testing import InProcessBroker
from kgroup.wire.messages import SyncGroupRequest
from tests.compat.aiokafka.ground import A, B, Heard, broker_with, started, until

pytestmark = pytest.mark.anyio


async def test_a_commit_outlives_a_coordinator_that_is_away_for_longer_than_a_session() -> None:
    broker = broker_with()
    heard = Heard()
    options = {"enable_auto_commit": False, "session_timeout_ms": 10_000}
    async with started(broker, **options) as consumer:
        consumer.subscribe(["t"], listener=heard)
        for at in range(3):
            assert (await consumer.getone(A)).offset == at
        await away(broker, consumer.commit(), 17.0)
        assert await consumer.committed(A) == 3
        assert (await consumer.getone(A)).offset == 3
        assert heard.calls == [("revoked", set()), ("assigned", {A, B})]


async def test_what_was_handled_while_the_coordinator_was_away_is_committed() -> None:
    broker = broker_with()
    options = {"enable_auto_commit": False, "session_timeout_ms": 10_000}
    async with started(broker, "t", **options) as consumer:
        await consumer.getone(A)
        broker.node(1).stop()
        await asyncio.sleep(15.0)
        commit = asyncio.create_task(consumer.commit())
        await asyncio.sleep(2.0)
        broker.node(1).start()
        await commit
        assert await consumer.committed(A) == 1


async def test_a_commit_fails_when_a_coordinator_that_was_away_does_not_know_the_member() -> None:
    broker = broker_with()
    heard = Heard()
    options = {"enable_auto_commit": False, "session_timeout_ms": 10_000}
    async with started(broker, **options) as consumer:
        consumer.subscribe(["t"], listener=heard)
        await consumer.getone(A)
        (member,) = broker.group("g").members
        broker.answers.error(SyncGroupRequest, ErrorCode.UNKNOWN_MEMBER_ID)
        with pytest.raises(CommitFailedError):
            await away(broker, consumer.commit(), 17.0)
        await until(lambda: len(consumer.assignment()) == 2)
        assert (await consumer.getone(A)).offset == 0
        assert broker.group("g").member(member.client_id).member_id != member.member_id


async def away(broker: InProcessBroker, commit: Coroutine[Any, Any, None], seconds: float) -> None:
    """Have the only broker away while a commit is under way."""
    broker.node(1).stop()
    committing = asyncio.create_task(commit)
    await asyncio.sleep(seconds)
    assert not committing.done()
    broker.node(1).start()
    await committing
