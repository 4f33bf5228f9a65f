"""Assignors that other distributions install.

Decides: where plug-ins are looked for: the entry point group `kgroup.assignors`. An entry point
names an assignor instance, or a class or function without arguments that makes one.
Never: keeps what it found; the caller does.
"""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from kgroup.assignors import Assignor
from kgroup.errors import ConfigError

__all__ = ["ENTRY_POINTS", "discover_assignors"]

ENTRY_POINTS: Final = "kgroup.assignors"


def discover_assignors() -> Mapping[str, Assignor]:
    """Return the installed assignors by the names of their entry points.

    Raises:
        ConfigError: one cannot be loaded; the message says which distribution brings it.
    """
    return {found.name: _load(found) for found in entry_points(group=ENTRY_POINTS)}


def _load(found: EntryPoint) -> Assignor:
    origin = "an unknown distribution" if found.dist is None else found.dist.name
    try:
        loaded: Any = found.load()
        # What else could be wrong with its shape, `kgroup.assignors.resolve` says.
        assignor: Assignor = loaded() if isinstance(loaded, type) else loaded
    except Exception as error:  # whatever a plug-in raises, the user must hear which one it is
        raise ConfigError(
            "assignors", found.name, f"an entry point of {origin} that loads ({error!r})"
        ) from error
    return assignor
