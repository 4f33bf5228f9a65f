"""Finding a group's coordinator, for a client outside the group.

Decides: when the answer known is given up: a broker that says it is not the coordinator, or does
not answer.
Never: is used by a member of the group; a member's machine looks for its coordinator itself.
KIPs: 699.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel

from kgroup.codes import ApiKey
from kgroup.errors import BrokerError, ProtocolError, TransportError
from kgroup.machine.reactions import Reaction, reaction
from kgroup.net.cluster import Cluster
from kgroup.net.coordinator import find_coordinator


class CoordinatorSearch:
    """Knows where the coordinator of one group is.

    Args:
        cluster: connections; not owned.
        group_id: name of the group.
        timeout: seconds for one question.
        pause: seconds between two.
    """

    def __init__(self, cluster: Cluster, group_id: str, *, timeout: float, pause: float) -> None:
        self._cluster = cluster
        self._group_id = group_id
        self._timeout = timeout
        self._pause = pause
        self._known: int | None = None

    @property
    def known(self) -> int | None:
        """Its node id, None when it must be looked for."""
        return self._known

    def learn(self, node_id: int) -> None:
        """Take what somebody else has just found out."""
        self._known = node_id

    def forget(self) -> None:
        """Look again: it moved, or does not answer."""
        self._known = None

    async def find(self) -> int:
        """Return its node id; looks for it until found, the caller bounds the time.

        Raises:
            UnauthorizedError, BrokerError: the broker refused for good.
        """
        while self._known is None:
            try:
                self._known = await self._ask()
            except (TransportError, ProtocolError, TimeoutError):
                self._known = None
            if self._known is None:
                await anyio.sleep(self._pause)
        return self._known

    def asker(self) -> Callable[[int], Awaitable[int]]:
        """Return `find` for one question; being asked again says that the answer did not serve."""
        asked = False

        async def ask(_: int) -> int:
            nonlocal asked
            if asked:
                self.forget()
            asked = True
            return await self.find()

        return ask

    async def _ask(self) -> int | None:
        try:
            found = await find_coordinator(self._cluster, self._group_id, timeout=self._timeout)
        except BrokerError as error:
            if reaction(ApiKey.FIND_COORDINATOR, error.code) is Reaction.RETRY:
                return None
            raise
        return found.node_id


# -- refusing --------------------------------------------------------------------------------------
#
# Refusing a call at once without keeping the event loop.
#
# Decides: that other tasks run before a call is refused that has awaited nothing.
# Never: replaces the error, unless the caller is cancelled meanwhile; awaits where all is well.


@asynccontextmanager
async def refusing() -> AsyncIterator[None]:
    """Let other tasks run before the error of the body goes on; the body awaits nothing.

    1. A call is refused with an error that lasts; 2. the application takes no notice of it, and
    calls again; 3. had neither awaited anything, no other task would ever run, and nothing could
    cancel this one.
    """
    try:
        yield
    except Exception:
        await anyio.lowlevel.checkpoint()
        raise
