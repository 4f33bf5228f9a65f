"""FindCoordinator: which broker coordinates a group or a transactional id.

Decides: what is answered while there is none (`broker_facts.md` F1, F6, G4): a broker that died is
named until the election, 15 before the topic exists or while there is no leader, and asking makes
the topic.
Never: looks into groups or transactions.
KIPs: 98 (transactions), 699 (several keys).

Versions: ApiVersions: what the cluster speaks. Decides: that exactly the APIs are listed that have
a handler here, in the versions of the release. Never: lists features; a client that knows them
works without. KIPs: 35, 511 (names of client software), 584 (features: none).

Requests: All requests about the cluster itself, put together. Decides: nothing.
"""

import re
from collections.abc import Set as AbstractSet
from typing import Any, Final

from kgroup.codes import ApiKey, ErrorCode
from kgroup.testing.broker.asked import Asked, Handler
from kgroup.testing.broker.cluster.administration import Administration
from kgroup.testing.broker.cluster.cluster import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, Cluster
from kgroup.testing.broker.cluster.configuring import Configuring
from kgroup.testing.broker.cluster.describing import Describing
from kgroup.testing.broker.cluster.topics import Node
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.releases import Release
from kgroup.wire.messages import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kgroup.wire.schema import Request

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
        cluster: knows the leaders of the partitions of the internal topics.
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


# -- versions --------------------------------------------------------------------------------------


_SOFTWARE_SINCE: Final = 3
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


class Versions:
    """Answers ApiVersions.

    Args:
        context: its release has the ranges.

    `served` says which APIs have a handler; `Core` sets it.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self.served: AbstractSet[ApiKey] = frozenset()

    @property
    def handlers(self) -> dict[type[Request[Any]], Handler]:
        """What is answered here."""
        return {ApiVersionsRequest: self.api_versions}

    def api_versions(self, asked: Asked, request: ApiVersionsRequest) -> ApiVersionsResponse:
        """Answer ApiVersions."""
        names = (request.client_software_name, request.client_software_version)
        if asked.version >= _SOFTWARE_SINCE and not all(map(_SOFTWARE.fullmatch, names)):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST, api_keys=())
        ranges = self._context.release.ranges
        rows = (
            ApiVersion(api_key=api, min_version=ranges[api][0], max_version=ranges[api][1])
            for api in sorted(ranges)
            if api in self.served
        )
        return ApiVersionsResponse(api_keys=tuple(rows))


def unsupported_version(release: Release) -> ApiVersionsResponse:
    """Make the answer to an ApiVersions request of a version that is not spoken (G2).

    It is sent in the layout of version 0, and its one row tells the client what to ask instead.
    """
    lowest, highest = release.ranges[ApiKey.API_VERSIONS]
    row = ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=lowest, max_version=highest)
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=(row,))


# -- requests --------------------------------------------------------------------------------------


class ClusterRequests:
    """Answers requests about versions, brokers, coordinators, topics and settings.

    Args:
        cluster: what they are about.

    Attributes:
        versions: its `served` is to be set to what the whole broker has handlers for.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.versions: Versions = Versions(cluster.context)
        self._parts = (
            Describing(cluster),
            Finding(cluster),
            Administration(cluster),
            Configuring(cluster),
        )

    @property
    def handlers(self) -> dict[type[Request[Any]], Handler]:
        """What is answered here."""
        merged = dict(self.versions.handlers)
        for part in self._parts:
            merged.update(part.handlers)
        return merged
