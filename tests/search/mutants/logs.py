"""Playing one log of claims by its seed: the reducer of Marshal mode among small clients.

Decides: what each broken promise is called.
Never: knows of mutants: it is imported when one is in place.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tests.marshal.model.run import play

__all__ = ["play_log"]

_RULES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "double": "at-most-once never doubles",
        "lost": "at-least-once never loses",
        "overlap": "leases keep owners apart",
        "stuck": "all come to rest",
        "differs": "equal logs give equal worlds",
    }
)


def play_log(seed: int) -> list[tuple[str, str, str]]:
    """Play one; return rule, oracle and words for each promise that was broken."""
    outcome = play(seed)
    return [(_RULES[name], name, f"{times} times") for name, times in outcome.broken.items()]
