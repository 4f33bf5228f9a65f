"""Locks in Redis, and writes to it that their epochs decide about, through redis-py.

Decides: that taking a lock, and each guarded write, is one script, so that nothing comes between
the look and the deed; that the clock is the server's.
Never: lets an epoch be forgotten: the keys of locks do not expire. Never runs on trio: redis-py
has no connection for it.

A server that loses what it had said (a failover, a restart without its log) may give an epoch out
twice. What must not be written twice belongs into a database with transactions.
"""

from typing import TYPE_CHECKING, Any, Final, Self

from kgroup.errors import IllegalStateError, LockLostError, MissingExtraError, UnsupportedError
from kgroup.processing.locks import Grant
from kgroup.processing.postgres import on_asyncio

if TYPE_CHECKING:
    from redis.asyncio import Redis

_TAKE: Final = """
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local held = redis.call('HMGET', KEYS[1], 'owner', 'until')
if held[1] and held[1] ~= ARGV[1] and tonumber(held[2]) > now then return 0 end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'until', string.format('%.0f', now + ARGV[2]))
return redis.call('HINCRBY', KEYS[1], 'epoch', 1)
"""
_GIVE: Final = """
if redis.call('HGET', KEYS[1], 'epoch') == ARGV[1] then
    redis.call('HSET', KEYS[1], 'until', '0')
end
"""
_GUARDED: Final = """
local epoch = redis.call('HGET', KEYS[1], 'epoch')
if epoch ~= ARGV[1] then return {0, epoch} end
return {1, redis.call(unpack(ARGV, 2))}
"""


class RedisLock:
    """Keeps locks in Redis.

        async def handle(batch: Batch, grants: tuple[Grant, ...]) -> None:
            for record in batch:
                await lock.execute(grants[0], "HSET", "bills", record.key, record.value)

        async with RedisLock("redis://localhost") as lock:
            await Processor(consumer, handle, AtLeastOnce(Per.BATCH), locks=Locked(lock)).run()

    Needs `kgroup[redis]`, and asyncio.

    Args:
        url: of the server, as redis-py takes it.
        ttl: seconds after which a lock runs out. Longer than a batch takes.
        prefix: of the keys of locks.
    """

    def __init__(self, url: str, *, ttl: float = 60.0, prefix: str = "kgroup:lock:") -> None:
        self._url = url
        self._ttl = ttl
        self._prefix = prefix
        self._client: Redis | None = None

    async def __aenter__(self) -> Self:
        """Make the client; the server may be down.

        Raises:
            MissingExtraError: redis-py is not installed.
            UnsupportedError: on trio.
        """
        try:
            from redis.asyncio import Redis  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise MissingExtraError("RedisLock", "redis") from error
        if not on_asyncio():
            raise UnsupportedError("RedisLock needs asyncio: redis-py runs on nothing else")
        self._client = Redis.from_url(self._url)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def acquire(self, name: str, owner: str) -> Grant | None:
        """Take a lock; see `ExternalLock.acquire`."""
        epoch = await self._run(_TAKE, name, owner, round(self._ttl * 1000))
        return Grant(name, owner, epoch) if epoch else None

    async def release(self, grant: Grant) -> None:
        """Give a lock back."""
        await self._run(_GIVE, grant.name, grant.epoch)

    async def execute(self, grant: Grant, *command: object) -> Any:  # noqa: ANN401 - whatever Redis answers
        """Run one command, if the grant is still the latest one; on one server, not a cluster.

        Args:
            grant: that the handler was given.
            command: name and arguments, as for redis-py's `execute_command`.

        Raises:
            LockLostError: somebody was given the lock later; nothing was written.
        """
        done, answer = await self._run(_GUARDED, grant.name, grant.epoch, *command)
        if not done:
            raise LockLostError(grant.name, grant.epoch, None if answer is None else int(answer))
        return answer

    async def _run(self, script: str, name: str, *arguments: Any) -> Any:  # noqa: ANN401
        if self._client is None:
            raise IllegalStateError("enter the lock by `async with`")
        return await self._client.eval(script, 1, f"{self._prefix}{name}", *arguments)
