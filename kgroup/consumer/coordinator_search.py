"""Finding a group's coordinator, for whoever is no member of the group.

Decides: when the answer known is given up: a broker that says it is not the coordinator, or does
not answer.
Never: is used by members; their machine looks for its coordinator itself.
KIPs: 699.
"""

import anyio

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError, DecodeError, ProtocolError, TransportError, UnauthorizedError
from kgroup.machine.reactions import Reaction, reaction
from kgroup.net.cluster import Cluster
from kgroup.wire.messages import FindCoordinatorRequest

__all__ = ["CoordinatorSearch"]


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

    async def _ask(self) -> int | None:
        request = FindCoordinatorRequest(coordinator_keys=(self._group_id,))
        answer = await self._cluster.send_any(request, timeout=self._timeout)
        if not answer.coordinators:
            raise DecodeError("FindCoordinator", "no answer in it")
        found = answer.coordinators[0]
        match reaction(ApiKey.FIND_COORDINATOR, found.error_code):
            case Reaction.SUCCEED:
                self._cluster.learn_node(found.node_id, found.host, found.port)
                return found.node_id
            case Reaction.RETRY | Reaction.FIND_COORDINATOR:
                return None
            case _:
                api = ApiKey.FIND_COORDINATOR.name
                if found.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
                    raise UnauthorizedError(api, found.error_code, [self._group_id])
                raise BrokerError(api, found.error_code, found.error_message or "")
