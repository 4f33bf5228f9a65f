"""Assignors that other distributions install.

Decides: where plug-ins are looked for: the entry point group `kgroup.assignors`; and what an
entry point may name: an assignor, a class or a function without arguments that makes one, or an
assignor of aiokafka or kafka-python.
Never: keeps what it found once something else may be installed; imports a plug-in that nobody asks
for; lets a broken plug-in fail a caller that does not ask for it.
"""

import re
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kgroup.assignors import Assignor, FoundAssignor
from kgroup.assignors.peers import is_peer_assignor
from kgroup.assignors.registry import as_assignor, fault_of, found_with

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS: Final = "kgroup.assignors"


def found_assignors() -> tuple[FoundAssignor, ...]:
    """Return every assignor that can be chosen by name, built in and installed, each loaded.

    What cannot be loaded, or has another one's name, is listed with its problem.
    """
    return found_with(_load(each) for each in _offered())


def plug_ins(names: Collection[str]) -> tuple[FoundAssignor, ...]:
    """Return the installed plug-ins, loading only those of these names.

    Args:
        names: what is asked for. If one of them is neither built in nor installed, everything is
            loaded, so that the error about it can tell what does not work.
    """
    offered = _offered()
    known = {each.name for each in found_with(map(_unloaded, offered))}
    wanted = names if known.issuperset(names) else known
    return tuple(_load(each) if each.name in wanted else _unloaded(each) for each in offered)


def _offered() -> tuple["EntryPoint", ...]:
    """Return the entry points in an order that does not depend on the search path."""
    finders = tuple(id(each) for each in sys.meta_path)
    places = tuple(_places())
    return _offered_in(finders, places, whole=len(places) == len(sys.path))


def _places() -> Iterator[tuple[str, int | None]]:
    """Yield each folder on the search path, and when something was last installed there.

    What can be no folder, of whatever type, is left out: whatever stands before it is imported all
    the same.
    """
    for folder in sys.path:
        with suppress(TypeError, ValueError):
            yield folder, _changed_at(folder)


def _changed_at(folder: str) -> int | None:
    """Return when something was last installed in a folder, or taken out; None: there is none."""
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return None


@lru_cache(maxsize=1)
def _offered_in(
    _finders: tuple[int, ...], places: tuple[tuple[str, int | None], ...], *, whole: bool
) -> tuple["EntryPoint", ...]:
    """Read them from every distribution on the search path, as it is: ten milliseconds and more.

    Args:
        places: the folders.
        whole: whether they are the whole search path.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415 - with it come email and more

    found = entry_points(group=ENTRY_POINTS) if whole else _offered_by(places)
    unique = {(each.name, each.value, _origin(each)): each for each in found}
    return tuple(unique[key] for key in sorted(unique))


def _offered_by(places: tuple[tuple[str, int | None], ...]) -> Iterator["EntryPoint"]:
    """Yield what `entry_points` would: it fails at a search path with something odd on it."""
    from importlib.metadata import distributions  # noqa: PLC0415 - as above

    seen: set[str] = set()
    for each in distributions(path=[folder for folder, _ in places]):
        name = re.sub("[-_.]+", "-", str(each.metadata["Name"])).lower()
        if name not in seen:
            seen.add(name)
            yield from each.entry_points.select(group=ENTRY_POINTS)


def _origin(offered: "EntryPoint") -> str:
    if offered.dist is None:
        return "an unknown distribution"
    return f"{offered.dist.name} {offered.dist.version}"


def _unloaded(offered: "EntryPoint") -> FoundAssignor:
    return FoundAssignor(offered.name, _origin(offered))


def _load(offered: "EntryPoint") -> FoundAssignor:
    origin = _origin(offered)
    try:
        made = _make(offered.load())
        fault = fault_of(made)
    except Exception as error:  # noqa: BLE001 - the caller hears whatever a plug-in raises
        problem = f"cannot be loaded from {offered.value}: {type(error).__name__}: {error}"
        return FoundAssignor(offered.name, origin, problem=problem)
    if fault is not None or not isinstance(made, Assignor):
        problem = f"is no assignor: what {offered.value} gives {fault}"
        return FoundAssignor(offered.name, origin, problem=problem)
    if made.name != offered.name:
        problem = f"calls itself {made.name!r}, and its entry point {offered.name!r}"
        return FoundAssignor(offered.name, origin, problem=problem)
    return FoundAssignor(offered.name, origin, made)


def _make(loaded: object) -> object:
    if is_peer_assignor(loaded):
        return as_assignor(loaded)
    makes_one = isinstance(loaded, type) or not hasattr(loaded, "assign")
    return as_assignor(loaded()) if makes_one and callable(loaded) else loaded
