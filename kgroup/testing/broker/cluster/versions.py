"""ApiVersions: what the cluster speaks.

Decides: that exactly the APIs are listed that have a handler here, in the versions of the release.
Never: lists features; a client that knows them works without.
KIPs: 35, 511 (names of client software), 584 (features: none).
"""

import re
from collections.abc import Set as AbstractSet
from typing import Any, Final

from kgroup.codes import ApiKey, ErrorCode
from kgroup.testing.broker.asked import Asked, Handler
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.release import Release
from kgroup.wire.messages import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kgroup.wire.schema import Request

__all__ = ["Versions", "unsupported_version"]

_SOFTWARE_SINCE: Final = 3
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


class Versions:
    """Answers ApiVersions.

    Args:
        context: its release has the ranges.

    `served` says which APIs have a handler; whoever puts the parts together sets it.
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
