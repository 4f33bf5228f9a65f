"""FindCoordinator: which broker coordinates a group or a transactional id.

Decides: what is answered while there is none (`broker_facts.md` F1, F6, G4): a broker that died is
named until the election, 15 before the topic exists or while nobody leads, and asking makes the
topic.
Never: looks into groups or transactions.
KIPs: 98 (transactions), 699 (several keys).
"""

from typing import Any, Final

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import Asked, Handler
from kgroup.testing.broker.cluster.cluster import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, Cluster
from kgroup.testing.broker.cluster.node import Node
from kgroup.wire.messages import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from kgroup.wire.schema import Request

__all__ = ["Finding"]

_BATCH_SINCE: Final = 4
_NOWHERE: Final = Node(-1, "", -1)
_TOPICS: Final = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC)
_TEXTS: Final = {
    ErrorCode.NONE: "NONE",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.INVALID_REQUEST: "This most likely occurs because of a request being malformed by "
    "the client library or the message was sent to an incompatible broker. See the broker logs for "
    "more details.",
}


class Finding:
    """Answers FindCoordinator.

    Args:
        cluster: knows who leads the partitions of the internal topics.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @property
    def handlers(self) -> dict[type[Request[Any]], Handler]:
        """What is answered here."""
        return {FindCoordinatorRequest: self.find_coordinator}

    def find_coordinator(
        self, asked: Asked, request: FindCoordinatorRequest
    ) -> FindCoordinatorResponse:
        """Answer FindCoordinator: one key up to version 3, any number from 4 on."""
        if asked.version >= _BATCH_SINCE:
            rows = (self._row(request.key_type, key) for key in request.coordinator_keys)
            return FindCoordinatorResponse(coordinators=tuple(rows))
        code, node = self._find(request.key_type, request.key)
        return FindCoordinatorResponse(
            error_code=code,
            error_message=_TEXTS[code],
            node_id=node.node_id,
            host=node.host,
            port=node.port,
        )

    def _row(self, key_type: int, key: str) -> Coordinator:
        code, node = self._find(key_type, key)
        return Coordinator(
            key=key,
            node_id=node.node_id,
            host=node.host,
            port=node.port,
            error_code=code,
            error_message=_TEXTS[code] if code is ErrorCode.INVALID_REQUEST else "",
        )

    def _find(self, key_type: int, key: str) -> tuple[ErrorCode, Node]:
        if not 0 <= key_type < len(_TOPICS):
            return ErrorCode.INVALID_REQUEST, _NOWHERE
        partition = self._cluster.coordinator_partition(_TOPICS[key_type], key)
        if partition is None or partition.leader is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, _NOWHERE
        return ErrorCode.NONE, self._cluster.nodes[partition.leader]
