"""What assignors there are, and how a configured list of names and instances is resolved.

Decides: what a name stands for, and that it stands for one assignor only; what is an assignor.
Never: looks for entry points (`config` does and passes what it found); changes at run time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from inspect import iscoroutinefunction
from types import MappingProxyType
from typing import Final

from kgroup.assignors.api import Assignor
from kgroup.assignors.cooperative_sticky import CooperativeStickyAssignor
from kgroup.assignors.peers import PeerAssignor, is_peer_assignor, wrap
from kgroup.assignors.range import RangeAssignor
from kgroup.assignors.roundrobin import RoundRobinAssignor
from kgroup.assignors.sticky import StickyAssignor
from kgroup.errors import ConfigError
from kgroup.types import RebalanceProtocol
from kgroup.values import dataclass

AssignorChoice = str | Assignor | PeerAssignor | type[PeerAssignor]
"""A name, an instance, or an assignor of aiokafka or kafka-python, class or instance."""

BUILT_IN: Mapping[str, Assignor] = MappingProxyType(
    {
        "range": RangeAssignor(),
        "roundrobin": RoundRobinAssignor(),
        "sticky": StickyAssignor(),
        "cooperative-sticky": CooperativeStickyAssignor(),
    }
)

_BUILT_IN_ORIGIN: Final = "built in"
_MAX_NAME: Final = 2**15 - 1
_CALLED: Final = ("assign", "encode_user_data")


@dataclass(frozen=True, slots=True)
class FoundAssignor:
    """One assignor that can be chosen by its name, or why it cannot.

    Args:
        name: what it is chosen by.
        origin: "built in", or the distribution that brings it: "kgroup-zone 1.2".
        assignor: None when it has not been loaded, or cannot be.
        problem: why the name cannot be used, None when nothing is known against it.
    """

    name: str
    origin: str
    assignor: Assignor | None = None
    problem: str | None = None

    @property
    def protocols(self) -> tuple[RebalanceProtocol, ...]:
        """The protocols it may be used with, empty when it has not been loaded."""
        return () if self.assignor is None else tuple(self.assignor.supported_protocols)

    def __str__(self) -> str:
        return f"{self.name} ({self.origin})"


def found_with(plug_ins: Iterable[FoundAssignor]) -> tuple[FoundAssignor, ...]:
    """Return the built-in assignors and these; a name that several have is a problem of each."""
    built_in = (FoundAssignor(name, _BUILT_IN_ORIGIN, each) for name, each in BUILT_IN.items())
    found = (*built_in, *plug_ins)
    by_name: dict[str, list[FoundAssignor]] = {}
    for each in found:
        by_name.setdefault(each.name, []).append(each)
    return tuple(_beside(each, by_name[each.name]) for each in found)


def resolve(
    chosen: Sequence[AssignorChoice], plug_ins: Iterable[FoundAssignor] = ()
) -> tuple[Assignor, ...]:
    """Return the assignors a member offers, in its order of preference.

    Args:
        chosen: names; instances, which need not be registered anywhere; or assignors of aiokafka
            and kafka-python, which are wrapped.
        plug_ins: what is installed. Only what is chosen has to be sound.

    Raises:
        ConfigError: nothing is chosen; a name is unknown, chosen twice, that of several
            assignors, or that of a plug-in with a problem; an instance is not an assignor.
    """
    found = found_with(plug_ins)
    if isinstance(chosen, str) or not chosen:
        raise ConfigError("assignors", chosen, f"a list of {_listed(found)}, or of instances")
    resolved: dict[str, tuple[Assignor, str]] = {}
    for choice in chosen:
        assignor, shown = _named(choice, found) if isinstance(choice, str) else _given(choice)
        if assignor.name in resolved:
            both = f"{resolved[assignor.name][1]} and {shown}"
            raise ConfigError("assignors", assignor.name, f"each name only once, but it is {both}")
        resolved[assignor.name] = assignor, shown
    return tuple(assignor for assignor, _ in resolved.values())


def as_assignor(candidate: object) -> object:
    """Return an assignor of another client wrapped, anything else as it is."""
    if is_peer_assignor(candidate):
        return wrap(candidate)  # type: ignore[arg-type]  # it has just been looked at
    return candidate


def fault_of(candidate: object) -> str | None:
    """Return what keeps an object from being an assignor, None when it is one."""
    if isinstance(candidate, type):
        return f"is a class; give an instance, {candidate.__name__}()"
    parts = {
        "name": "name",
        "supported_protocols": "supported_protocols",
        "assign": "assign(group)",
    }
    missing = [shown for part, shown in parts.items() if not hasattr(candidate, part)]
    if missing:
        return f"has no {' and no '.join(missing)}"
    name: object = getattr(candidate, "name", None)
    if not isinstance(name, str) or not _fits(name):
        return f"has the name {name!r}; it takes a string of 1 to {_MAX_NAME} bytes"
    offered: object = getattr(candidate, "supported_protocols", None)
    protocols = offered if isinstance(offered, tuple | list | frozenset | set) else ()
    if not protocols or not all(isinstance(each, RebalanceProtocol) for each in protocols):
        return f"has the supported_protocols {offered!r}; it takes a tuple of RebalanceProtocol"
    if not callable(getattr(candidate, "assign", None)):
        return "has an assign that cannot be called"
    waiting = [part for part in _CALLED if iscoroutinefunction(getattr(candidate, part, None))]
    return f"has an async {' and '.join(waiting)}; it takes plain functions" if waiting else None


def _fits(name: str) -> bool:
    try:
        return 1 <= len(name.encode()) <= _MAX_NAME
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def _named(name: str, found: Sequence[FoundAssignor]) -> tuple[Assignor, str]:
    named = [each for each in found if each.name == name]
    if not named:
        near = get_close_matches(name, [each.name for each in found], n=1)
        nearest = near[0] if near else None
        raise ConfigError("assignors", name, f"one of {_listed(found)}", nearest=nearest)
    if len(named) > 1:
        expected = (
            f"a name of one assignor, but there are {' and '.join(map(str, named))}; "
            "uninstall one of them, or give an instance"
        )
        raise ConfigError("assignors", name, expected)
    (only,) = named
    if only.assignor is None or only.problem is not None:
        expected = f"a plug-in that works, but that of {only.origin} {only.problem}"
        raise ConfigError("assignors", name, expected)
    return only.assignor, str(only)


def _given(choice: object) -> tuple[Assignor, str]:
    try:
        assignor = as_assignor(choice)
        fault = fault_of(assignor)
    except Exception as error:  # foreign code: the error names its choice
        expected = f"an assignor that can be used ({type(error).__name__}: {error})"
        raise ConfigError("assignors", choice, expected) from error
    if fault is not None or not isinstance(assignor, Assignor):
        expected = f"an instance with name, supported_protocols and assign(group), but it {fault}"
        raise ConfigError("assignors", choice, expected)
    return assignor, repr(choice)


def _beside(found: FoundAssignor, same_name: Sequence[FoundAssignor]) -> FoundAssignor:
    others = [each.origin for each in same_name if each is not found]
    if not others:
        return found
    problem = f"has a name that is also taken by: {', '.join(others)}"
    return replace(found, problem=f"{found.problem}; {problem}" if found.problem else problem)


def _listed(found: Iterable[FoundAssignor]) -> str:
    return ", ".join(
        f"{each.name!r} ({each.origin}{f'; it {each.problem}' if each.problem else ''})"
        for each in sorted(found, key=lambda each: (each.name, each.origin))
    )
