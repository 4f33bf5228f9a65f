"""Which version of an API is spoken on a connection, and which of its answers ask for silence.

Decides: the highest version both sides have, per API and connection (a rolling upgrade shows a
client two kinds of brokers at once); the next step of the ApiVersions dance; how long an answer
asks this client to be silent.
Never: sends anything. Believes nothing of a broker's list but ranges of APIs kgroup knows: an
unknown key, a turned range or a repeated key is skipped, so 10^5 keys cost nothing (N28).
KIPs: 35 (ApiVersions), 219 (the client waits out a throttle), 511 (client software), 896, 1022.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError, UnsupportedVersionError
from kgroup.machine.reactions import Reaction, reaction
from kgroup.values import dataclass
from kgroup.wire.schema import Message, Request

MAX_THROTTLE: Final = 60.0
"""Seconds of silence a broker can ask for; more is not believed (N29)."""

_THROTTLE_SINCE: Final[Mapping[ApiKey, int]] = MappingProxyType(
    {
        ApiKey.PRODUCE: 6,
        ApiKey.FETCH: 8,
        ApiKey.LIST_OFFSETS: 3,
        ApiKey.METADATA: 6,
        ApiKey.OFFSET_COMMIT: 4,
        ApiKey.OFFSET_FETCH: 4,
        ApiKey.FIND_COORDINATOR: 2,
        ApiKey.JOIN_GROUP: 3,
        ApiKey.HEARTBEAT: 2,
        ApiKey.LEAVE_GROUP: 2,
        ApiKey.SYNC_GROUP: 2,
        ApiKey.DESCRIBE_GROUPS: 2,
        ApiKey.LIST_GROUPS: 2,
        ApiKey.API_VERSIONS: 2,
        ApiKey.CREATE_TOPICS: 3,
        ApiKey.DELETE_TOPICS: 2,
        ApiKey.DELETE_RECORDS: 1,
        ApiKey.INIT_PRODUCER_ID: 1,
        ApiKey.ADD_PARTITIONS_TO_TXN: 1,
        ApiKey.ADD_OFFSETS_TO_TXN: 1,
        ApiKey.END_TXN: 1,
        ApiKey.TXN_OFFSET_COMMIT: 1,
        ApiKey.DESCRIBE_ACLS: 1,
        ApiKey.CREATE_ACLS: 1,
        ApiKey.DELETE_ACLS: 1,
        ApiKey.DESCRIBE_CONFIGS: 2,
        ApiKey.CREATE_PARTITIONS: 1,
        ApiKey.DELETE_GROUPS: 1,
        ApiKey.INCREMENTAL_ALTER_CONFIGS: 0,
        ApiKey.OFFSET_DELETE: 0,
    }
)
"""First version after whose answer the client itself waits; before it the broker held the answer
back. APIs that are not listed never ask for silence. Source: `shouldClientThrottle` of the
response classes in `org.apache.kafka.common.requests`."""


class VersionRange(NamedTuple):
    """Versions of one API, both ends included."""

    lowest: int
    highest: int

    def __str__(self) -> str:
        return f"{self.lowest}-{self.highest}"


class _Advertised(Protocol):
    """One entry of an ApiVersions answer."""

    @property
    def api_key(self) -> int: ...

    @property
    def min_version(self) -> int: ...

    @property
    def max_version(self) -> int: ...


@dataclass(frozen=True, slots=True)
class BrokerVersions:
    """What one broker said it speaks.

    Args:
        ranges: API -> versions, only APIs that kgroup knows.
    """

    ranges: Mapping[ApiKey, VersionRange] = field(default_factory=dict)

    @staticmethod
    def read(entries: Iterable[_Advertised]) -> "BrokerVersions":
        """Take what can be believed from an answer's entries; the first entry of a key counts."""
        known = {int(api): api for api in ApiKey}
        ranges: dict[ApiKey, VersionRange] = {}
        for entry in entries:
            api = known.get(entry.api_key)
            if api is None or api in ranges or not 0 <= entry.min_version <= entry.max_version:
                continue
            ranges[api] = VersionRange(entry.min_version, entry.max_version)
        return BrokerVersions(MappingProxyType(ranges))

    def choose(self, request: type[Request[Any]], *, at_most: int | None = None) -> int:
        """Return the highest version both sides speak.

        Args:
            request: class of the request.
            at_most: a bound of this one request, None without one.

        Raises:
            UnsupportedVersionError: there is none; the reason names both ranges.
        """
        spoken = request.VERSIONS
        highest = spoken.stop - 1 if at_most is None else min(spoken.stop - 1, at_most)
        ours = VersionRange(spoken.start, highest)
        theirs = self.ranges.get(request.api_key)
        if theirs is None:
            raise UnsupportedVersionError(
                request.api_key.name, f"the broker does not offer it, kgroup speaks {ours}"
            )
        chosen = min(ours.highest, theirs.highest)
        if chosen < max(ours.lowest, theirs.lowest):
            raise UnsupportedVersionError(
                request.api_key.name, f"the broker speaks {theirs}, kgroup speaks {ours}"
            )
        return chosen


def next_handshake_version(
    asked: int, error_code: int, offered: BrokerVersions, spoken: range
) -> int | None:
    """Decide how the ApiVersions dance goes on after an answer.

    A broker that does not know the version asked answers UNSUPPORTED_VERSION in the layout of
    version 0: since 2.4 with its own range for ApiVersions, before without any entry.

    Args:
        asked: version of the request that was answered.
        error_code: of the answer.
        offered: its entries.
        spoken: versions of ApiVersions kgroup has.

    Returns:
        The version to ask in next, lower than `asked`; None when the dance is over.

    Raises:
        BrokerError: the broker refused, and a lower version would not help.
        UnsupportedVersionError: there is no lower version, or the broker offers nothing at all.
    """
    if error_code and reaction(ApiKey.API_VERSIONS, error_code) is not Reaction.DOWNGRADE:
        raise BrokerError(ApiKey.API_VERSIONS.name, error_code)
    if error_code == ErrorCode.NONE and offered.ranges:
        return None
    lowest = spoken.start
    if asked <= lowest:
        reason = "the broker offers no API" if error_code == ErrorCode.NONE else "refused"
        raise UnsupportedVersionError(
            ApiKey.API_VERSIONS.name, f"{reason}, asked in version {asked}, the lowest there is"
        )
    theirs = offered.ranges.get(ApiKey.API_VERSIONS)
    if theirs is None or theirs.highest < lowest:
        return lowest
    return min(theirs.highest, asked - 1)


def throttle_of(request: Request[Any], version: int, answer: Message) -> float:
    """Return the seconds of silence an answer asks for, 0 to `MAX_THROTTLE`."""
    since = _THROTTLE_SINCE.get(request.api_key)
    if since is None or version < since:
        return 0.0
    asked: int = getattr(answer, "throttle_time_ms", 0)
    return min(max(asked / 1000, 0.0), MAX_THROTTLE)
