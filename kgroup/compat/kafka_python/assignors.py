"""Assignors of kafka-python, as the option `assignors` takes them.

Decides: that its own four classes stand for the native assignors of the same names; that any other
class of its kind is called itself.
Never: runs one; takes a subclass of a built-in for the built-in.
KIPs: 429 (cooperative-sticky).
"""

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaConfigurationError

from kgroup.assignors import AssignorChoice
from kgroup.compat.raising import Strategies

__all__ = ["adapted", "is_eager"]

_NATIVE: Final = MappingProxyType(
    {
        CooperativeStickyAssignor: "cooperative-sticky",
        RangePartitionAssignor: "range",
        RoundRobinPartitionAssignor: "roundrobin",
        StickyPartitionAssignor: "sticky",
    }
)


def adapted(strategy: object) -> tuple[AssignorChoice, ...]:
    """Return the assignors of a `partition_assignment_strategy`, in its order, each once.

    Args:
        strategy: several classes, or instances, of kafka-python's `AbstractPartitionAssignor`.

    Raises:
        KafkaConfigurationError: it is something else, or empty.
    """
    found = Strategies(AbstractPartitionAssignor, _NATIVE, _wrong).adapted(strategy)
    if not found:
        raise _wrong(strategy)
    return found


def is_eager(strategy: Iterable[object]) -> bool:
    """Tell whether members with these assignors hand back everything at each rebalance."""
    kinds = [given if isinstance(given, type) else type(given) for given in strategy]
    return not all(issubclass(kind, CooperativeStickyAssignor) for kind in kinds)


def _wrong(given: object) -> KafkaConfigurationError:
    return KafkaConfigurationError(
        f"partition_assignment_strategy: got {given!r}, expected a list of kafka-python's assignor "
        "classes (of kafka.coordinator.assignors)"
    )
