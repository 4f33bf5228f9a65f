"""The built-in assignors, and how a configured list of names and instances is resolved.

Decides: what a name stands for; built-ins first, then what was discovered.
Never: looks for entry points (`config` does and passes what it found); changes at run time.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType

from kgroup.assignors.api import Assignor
from kgroup.assignors.cooperative_sticky import CooperativeStickyAssignor
from kgroup.assignors.range import RangeAssignor
from kgroup.assignors.roundrobin import RoundRobinAssignor
from kgroup.assignors.sticky import StickyAssignor
from kgroup.errors import ConfigError

__all__ = ["BUILT_IN", "resolve"]

BUILT_IN: Mapping[str, Assignor] = MappingProxyType(
    {
        "range": RangeAssignor(),
        "roundrobin": RoundRobinAssignor(),
        "sticky": StickyAssignor(),
        "cooperative-sticky": CooperativeStickyAssignor(),
    }
)

NONE_DISCOVERED: Mapping[str, Assignor] = MappingProxyType({})


def resolve(
    chosen: Sequence[str | Assignor], discovered: Mapping[str, Assignor] = NONE_DISCOVERED
) -> tuple[Assignor, ...]:
    """Return the assignors a member offers, in its order of preference.

    Args:
        chosen: names, or instances that need not be registered anywhere.
        discovered: name -> assignor of installed plug-ins.

    Raises:
        ConfigError: nothing is chosen; a name is unknown, chosen twice, or both built in and
            discovered; an instance or a discovered object is not an assignor.
    """
    if isinstance(chosen, str) or not chosen:
        raise ConfigError("assignors", chosen, f"a list of {_listed(discovered)}, or of instances")
    found: dict[str, Assignor] = {}
    for choice in chosen:
        assignor = _named(choice, discovered) if isinstance(choice, str) else choice
        _check_shape(assignor)
        if assignor.name in found:
            raise ConfigError("assignors", assignor.name, "each name only once")
        found[assignor.name] = assignor
    return tuple(found.values())


def _named(name: str, discovered: Mapping[str, Assignor]) -> Assignor:
    if name in BUILT_IN and name in discovered:
        raise ConfigError(
            "assignors", name, "a plug-in's name that is not also the name of a built-in assignor"
        )
    known = {**discovered, **BUILT_IN}
    if name not in known:
        near = get_close_matches(name, known, n=1)
        raise ConfigError(
            "assignors", name, f"one of {_listed(discovered)}", nearest=near[0] if near else None
        )
    return known[name]


def _listed(discovered: Mapping[str, Assignor]) -> str:
    return ", ".join(repr(name) for name in sorted({*BUILT_IN, *discovered}))


def _check_shape(assignor: object) -> None:
    if isinstance(assignor, type) or not isinstance(assignor, Assignor):
        raise ConfigError(
            "assignors", assignor, "an instance with name, supported_protocols and assign(group)"
        )
    name: object = assignor.name
    if not isinstance(name, str) or not name:
        raise ConfigError("assignors", assignor, "a name that is a string and not empty")
    if not assignor.supported_protocols:
        raise ConfigError("assignors", assignor.name, "at least one supported rebalance protocol")
