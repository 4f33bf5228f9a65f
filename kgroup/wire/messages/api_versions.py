"""ApiVersions: which versions of which API a broker speaks (KIP-35, KIP-511, KIP-584).

The answer's header has no tagged fields in any version, and a broker that does not know the
version answers error 35 in the layout of version 0; `kgroup.wire.frames` handles both.
"""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Boolean, Int16, Int32, Int64, String, rows

__all__ = [
    "ApiVersion",
    "ApiVersionsRequest",
    "ApiVersionsResponse",
    "FinalizedFeatureKey",
    "SupportedFeatureKey",
]

_VERSIONS: Final = range(5)


@message()
class ApiVersion(Message):
    """One API and the versions of it that the broker accepts, both ends included."""

    api_key: int = wire(Int16)
    min_version: int = wire(Int16)
    max_version: int = wire(Int16)


@message()
class SupportedFeatureKey(Message):
    """A feature the broker could run, and its versions (3+, KIP-584)."""

    name: str = wire(String, since=3)
    min_version: int = wire(Int16, since=3)
    max_version: int = wire(Int16, since=3)


@message()
class FinalizedFeatureKey(Message):
    """A feature the cluster runs, and the version levels agreed on (3+, KIP-584)."""

    name: str = wire(String, since=3)
    max_version_level: int = wire(Int16, since=3)
    min_version_level: int = wire(Int16, since=3)


@message(versions=_VERSIONS, flexible=3)
class ApiVersionsResponse(Message):
    """The ranges, one row per API.

    1 throttle_time_ms; 2 the client waits it out itself (KIP-219); 3 flexible, features as tagged
    fields (KIP-584), zk_migration_ready (KIP-866); 4 features may begin at version 0.
    finalized_features_epoch is -1 when unknown.
    """

    error_code: int = wire(Int16, default=0)
    api_keys: tuple[ApiVersion, ...] = wire(rows(ApiVersion))
    throttle_time_ms: int = wire(Int32, since=1, default=0, ignorable=True)
    supported_features: tuple[SupportedFeatureKey, ...] = wire(
        rows(SupportedFeatureKey), since=3, default=(), ignorable=True, tag=0
    )
    finalized_features_epoch: int = wire(Int64, since=3, default=-1, ignorable=True, tag=1)
    finalized_features: tuple[FinalizedFeatureKey, ...] = wire(
        rows(FinalizedFeatureKey), since=3, default=(), ignorable=True, tag=2
    )
    zk_migration_ready: bool = wire(Boolean, since=3, default=False, ignorable=True, tag=3)


@message(versions=_VERSIONS, flexible=3, api=ApiKey.API_VERSIONS)
class ApiVersionsRequest(Request[ApiVersionsResponse]):
    r"""Ask for the broker's version ranges; the first request on a connection.

    client_software_name and client_software_version (3+, KIP-511) must match
    `[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?`, or the broker answers INVALID_REQUEST. 1 and 2
    change nothing; 3 is flexible; 4 lets supported features begin at version 0.
    """

    client_software_name: str = wire(String, since=3, default="", ignorable=True)
    client_software_version: str = wire(String, since=3, default="", ignorable=True)
