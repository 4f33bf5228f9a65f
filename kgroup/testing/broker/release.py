"""Which Kafka a cluster passes for: version ranges and the kind of group coordinator.

Decides: what ApiVersions lists, and which of two rule sets the group coordinator follows
(`CoordinatorKind`); between the releases measured, nothing else differs.
Never: decides what an API does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from kgroup.codes import ApiKey

__all__ = ["CoordinatorKind", "Release"]


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
