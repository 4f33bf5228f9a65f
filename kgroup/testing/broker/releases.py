"""The releases of Kafka that an in-process cluster can pass for.

Decides: which versions each of them advertises, as measured for 3.9.1 and 4.3.1 and taken from the
sources for the others, cut to what kgroup's codec can read and write. APIs that are not served in
the process (SASL, ACLs, traffic between brokers, KIP-848 as 3.9 previewed it) are left out.
Never: decides which parts serve an API; ApiVersions lists what is here and has a handler.
KIPs: 35, 896 (what 4.0 dropped).
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from kgroup.codes import ApiKey
from kgroup.values import dataclass
from kgroup.wire.frames import request_class


class CoordinatorKind(Enum):
    """Which implementation of the group coordinator the rules are those of.

    OLD is the default up to 3.9, NEW (KIP-848's) from 4.0 on; 3.9 can be configured to run NEW.
    """

    OLD = "old"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Release:
    """One release of Kafka.

    Args:
        name: such as `4.3.1`.
        ranges: API -> lowest and highest version advertised, of the APIs that are served here.
        coordinator: the group coordinator it runs by default.
    """

    name: str
    ranges: Mapping[ApiKey, tuple[int, int]]
    coordinator: CoordinatorKind

    def __deepcopy__(self, _memo: object) -> "Release":
        """Return itself: a copy of a cluster passes for the same Kafka."""
        return self

    def speaks(self, api: ApiKey, version: int) -> bool:
        """Whether requests of this version are served."""
        lowest, highest = self.ranges.get(api, (0, -1))
        return lowest <= version <= highest


# -- releases --------------------------------------------------------------------------------------


NEWEST: Final = "4.3.1"

_Ranges = Mapping[ApiKey, tuple[int, int]]

_2_8: Final[_Ranges] = {
    ApiKey.PRODUCE: (0, 9),
    ApiKey.FETCH: (0, 12),
    ApiKey.LIST_OFFSETS: (0, 6),
    ApiKey.METADATA: (0, 11),
    ApiKey.OFFSET_COMMIT: (0, 8),
    ApiKey.OFFSET_FETCH: (0, 7),
    ApiKey.FIND_COORDINATOR: (0, 3),
    ApiKey.JOIN_GROUP: (0, 7),
    ApiKey.HEARTBEAT: (0, 4),
    ApiKey.LEAVE_GROUP: (0, 4),
    ApiKey.SYNC_GROUP: (0, 5),
    ApiKey.DESCRIBE_GROUPS: (0, 5),
    ApiKey.LIST_GROUPS: (0, 4),
    ApiKey.API_VERSIONS: (0, 3),
    ApiKey.CREATE_TOPICS: (0, 7),
    ApiKey.DELETE_TOPICS: (0, 6),
    ApiKey.DELETE_RECORDS: (0, 2),
    ApiKey.INIT_PRODUCER_ID: (0, 4),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (0, 4),
    ApiKey.ADD_PARTITIONS_TO_TXN: (0, 3),
    ApiKey.ADD_OFFSETS_TO_TXN: (0, 3),
    ApiKey.END_TXN: (0, 3),
    ApiKey.TXN_OFFSET_COMMIT: (0, 3),
    ApiKey.DESCRIBE_CONFIGS: (0, 4),
    ApiKey.CREATE_PARTITIONS: (0, 3),
    ApiKey.DELETE_GROUPS: (0, 2),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (0, 1),
    ApiKey.OFFSET_DELETE: (0, 0),
    ApiKey.DESCRIBE_CLUSTER: (0, 0),
}

_3_9: Final[_Ranges] = {
    **_2_8,
    ApiKey.PRODUCE: (0, 11),
    ApiKey.FETCH: (0, 17),
    ApiKey.LIST_OFFSETS: (0, 9),
    ApiKey.METADATA: (0, 12),
    ApiKey.OFFSET_COMMIT: (0, 9),
    ApiKey.OFFSET_FETCH: (0, 9),
    ApiKey.FIND_COORDINATOR: (0, 6),
    ApiKey.JOIN_GROUP: (0, 9),
    ApiKey.LEAVE_GROUP: (0, 5),
    ApiKey.LIST_GROUPS: (0, 5),
    ApiKey.API_VERSIONS: (0, 4),
    ApiKey.INIT_PRODUCER_ID: (0, 5),
    ApiKey.ADD_PARTITIONS_TO_TXN: (0, 5),
    ApiKey.ADD_OFFSETS_TO_TXN: (0, 4),
    ApiKey.END_TXN: (0, 4),
    ApiKey.TXN_OFFSET_COMMIT: (0, 4),
    ApiKey.DESCRIBE_CLUSTER: (0, 1),
}

_4_0: Final[_Ranges] = {
    **_3_9,
    ApiKey.PRODUCE: (0, 12),
    ApiKey.FETCH: (4, 17),
    ApiKey.LIST_OFFSETS: (1, 10),
    ApiKey.METADATA: (0, 13),
    ApiKey.OFFSET_COMMIT: (2, 9),
    ApiKey.OFFSET_FETCH: (1, 9),
    ApiKey.JOIN_GROUP: (2, 9),
    ApiKey.DESCRIBE_GROUPS: (0, 6),
    ApiKey.CREATE_TOPICS: (2, 7),
    ApiKey.DELETE_TOPICS: (1, 6),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (2, 4),
    ApiKey.END_TXN: (0, 5),
    ApiKey.TXN_OFFSET_COMMIT: (0, 5),
    ApiKey.DESCRIBE_CONFIGS: (1, 4),
    ApiKey.DESCRIBE_CLUSTER: (0, 2),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (0, 1),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (0, 1),
}

_4_1: Final[_Ranges] = {
    **_4_0,
    ApiKey.PRODUCE: (0, 13),
    ApiKey.FETCH: (4, 18),
    ApiKey.JOIN_GROUP: (0, 9),
}

_4_3: Final[_Ranges] = {
    **_4_1,
    ApiKey.LIST_OFFSETS: (1, 11),
    ApiKey.OFFSET_COMMIT: (2, 10),
    ApiKey.OFFSET_FETCH: (1, 10),
}


def _release(name: str, advertised: _Ranges, coordinator: CoordinatorKind) -> Release:
    ranges: dict[ApiKey, tuple[int, int]] = {}
    for api, (lowest, highest) in advertised.items():
        known = request_class(api).VERSIONS
        ranges[api] = max(lowest, known[0]), min(highest, known[-1])
    return Release(name, MappingProxyType(ranges), coordinator)


RELEASES: Final[Mapping[str, Release]] = MappingProxyType(
    {
        release.name: release
        for release in (
            _release("2.8.2", _2_8, CoordinatorKind.OLD),
            _release("3.9.1", _3_9, CoordinatorKind.OLD),
            _release("4.0.0", _4_0, CoordinatorKind.NEW),
            _release("4.1.0", _4_1, CoordinatorKind.NEW),
            _release("4.3.1", _4_3, CoordinatorKind.NEW),
        )
    }
)
"""All releases by name, oldest first. 4.0.0 is the one that had no JoinGroup 0 and 1."""


def release_named(name: str) -> Release:
    """Return a release by its name or the beginning of it: `4.3.1`, `4.3`, `3`.

    Args:
        name: whole numbers between dots.

    Raises:
        ValueError: no release begins like that, or several do; names those that are known.
    """
    fitting = [each for each in RELEASES.values() if f"{each.name}.".startswith(f"{name}.")]
    if len(fitting) == 1:
        return fitting[0]
    problem = "several releases are called" if fitting else "no release is called"
    raise ValueError(f"{problem} {name!r}; known are {', '.join(RELEASES)}")
