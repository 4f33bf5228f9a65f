"""Assignors of aiokafka, as the option `assignors` takes them.

Decides: that aiokafka's own three classes stand for the native assignors of the same names, which
understand what members on aiokafka say and are understood by them; that any other class of its
kind is called itself, as `kgroup.assignors` calls assignors of other clients.
Never: runs one; takes a subclass of a built-in for the built-in.
"""

from types import MappingProxyType
from typing import Final

from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from kgroup.assignors import AssignorChoice
from kgroup.compat.raising import Strategies

__all__ = ["DEFAULT", "adapted"]

DEFAULT: Final = (RoundRobinPartitionAssignor,)

_NATIVE: Final = MappingProxyType(
    {
        RangePartitionAssignor: "range",
        RoundRobinPartitionAssignor: "roundrobin",
        StickyPartitionAssignor: "sticky",
    }
)


def adapted(strategy: object) -> tuple[AssignorChoice, ...]:
    """Return the assignors of a `partition_assignment_strategy`, in its order, each once.

    Args:
        strategy: several classes, or instances, of aiokafka's `AbstractPartitionAssignor`.

    Raises:
        TypeError: it is one class and not several, or one of them is something else.
    """
    return Strategies(AbstractPartitionAssignor, _NATIVE, _wrong).adapted(strategy)


def _wrong(given: object) -> TypeError:
    return TypeError(
        f"partition_assignment_strategy: got {given!r}, expected a list of aiokafka's assignor "
        "classes (of aiokafka.coordinator.assignors); for 'cooperative-sticky' and assignors that "
        "are written for kgroup use kgroup.Consumer"
    )
