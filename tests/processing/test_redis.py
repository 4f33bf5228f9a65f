"""Locks in a real Redis: one has it, a later grant has a higher epoch, and only that one writes."""

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup.consumer import Batch
from kgroup.errors import LockLostError, UnsupportedError
from kgroup.processing import AtLeastOnce, Grant, Locked, Per, RedisLock, ReportKind
from tests.contracts.application import until
from tests.processing.at_work import A, at_work, stored
from tests.processing.servers import redis, redis_at

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def anyio_backend() -> str:
    """Real time: a server of another process does not know of any other."""
    return "asyncio"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with redis() as url:
        yield url


@pytest.fixture
async def lock(server: str) -> AsyncIterator[RedisLock]:
    async with RedisLock(server, ttl=600.0) as opened:
        assert opened._client is not None
        await opened._client.flushdb()
        yield opened


async def taken(lock: RedisLock, owner: str) -> Grant:
    """Take the lock `n`, which is free."""
    grant = await lock.acquire("n", owner)
    assert grant is not None
    return grant


async def test_one_has_a_lock_until_it_is_given_back(lock: RedisLock) -> None:
    one = await taken(lock, "one")
    assert one == Grant("n", "one", 1)
    assert await lock.acquire("n", "two") is None
    assert await lock.acquire("other", "two") == Grant("other", "two", 1)
    await lock.release(one)
    assert await taken(lock, "two") == Grant("n", "two", 2)


async def test_a_lock_runs_out(server: str, lock: RedisLock) -> None:
    async with RedisLock(server, ttl=0.001) as quick:
        await taken(quick, "one")
        with anyio.fail_after(30):
            while (grant := await lock.acquire("n", "two")) is None:  # noqa: ASYNC110
                await anyio.sleep(0.01)
    assert grant.epoch == 2


async def test_two_that_believe_they_have_it_and_only_the_later_one_writes(
    lock: RedisLock,
) -> None:
    one = await taken(lock, "one")
    await lock.release(one)  # as if it had run out while its process was frozen
    two = await taken(lock, "two")
    assert await lock.execute(two, "RPUSH", "bills", "two") == 1
    with pytest.raises(LockLostError) as caught:
        await lock.execute(one, "RPUSH", "bills", "one")
    assert (caught.value.epoch, caught.value.present) == (1, 2)
    assert await lock.execute(two, "LRANGE", "bills", 0, -1) == [b"two"]


async def test_a_grant_that_is_over_gives_nothing_back(lock: RedisLock) -> None:
    one = await taken(lock, "one")
    await lock.release(one)
    await taken(lock, "two")
    await lock.release(one)
    assert await lock.acquire("n", "three") is None


async def test_many_that_come_at_once_and_one_gets_it(lock: RedisLock) -> None:
    grants: list[Grant | None] = []

    async def take(owner: str) -> None:
        grants.append(await lock.acquire("n", owner))

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(take, str(number))
    assert len([grant for grant in grants if grant is not None]) == 1


async def test_a_processor_writes_under_its_lock(lock: RedisLock) -> None:
    async def handle(batch: Batch[Any, Any], grants: tuple[Grant, ...]) -> None:
        for record in batch:
            await lock.execute(grants[0], "RPUSH", "bills", record.offset)

    broker = stored(10)
    async with at_work(broker, handle, AtLeastOnce(Per.BATCH), locks=Locked(lock)) as work:
        await work.committed(10)
    found = await lock.execute(await taken(lock, "test"), "LRANGE", "bills", 0, -1)
    assert [int(each) for each in found] == list(range(10))


async def test_a_server_that_is_down_is_waited_for(tmp_path: Path) -> None:
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("the other tests say that it must be there")
    numbers: list[int] = []

    async def handle(batch: Batch[Any, Any], grants: tuple[Grant, ...]) -> None:
        numbers.extend(record.offset for record in batch)

    url = f"unix://{tmp_path}/redis.sock"
    async with RedisLock(url) as lock:
        way = AtLeastOnce(Per.BATCH)
        async with at_work(stored(3), handle, way, locks=Locked(lock)) as work:
            await until(lambda: work.told(ReportKind.UNLOCKED), 30, "it is told")
            assert work.consumer.paused() == {A}
            with redis_at(program, tmp_path):
                await work.committed(3)
    assert numbers == [0, 1, 2]


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_it_says_that_it_needs_asyncio(server: str, anyio_backend: str) -> None:
    with pytest.raises(UnsupportedError, match="asyncio"):
        async with RedisLock(server):
            pass
