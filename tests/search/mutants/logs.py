"""Playing a log of claims, or a room of members over such a log, by its seed.

Decides: which promise each broken check is about.
Never: knows of planted bugs: it is imported when one is in place.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tests.marshal.model import run as model
from tests.marshal.room import play as room

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
    outcome = model.play(seed)
    return [(_RULES[name], name, f"{times} times") for name, times in outcome.broken.items()]


# -- rooms -----------------------------------------------------------------------------------------


_ABOUT: Final = (
    (": twice, somebody was at ", "double", "at-most-once never doubles"),
    (" was skipped", "lost", "at-least-once never loses"),
    (" may, too", "overlap", "leases keep owners apart"),
    (": in the log it is ", "overlap", "leases keep owners apart"),
    (" is reported as committed, and is not", "committed", "what is committed is in the log"),
    (" is assigned, and was", "changes", "gains and losses are reported in turn"),
    (" does not have it", "changes", "gains and losses are reported in turn"),
    ("no heartbeat of it was read back", "confirmed", "what is owned was confirmed"),
    (", which nobody has committed", "position", "positions go back when that is asked for"),
    (": it has read that it is ", "claims", "nobody claims what it knows to be another's"),
)
_ELSE: Final = ("stuck", "all come to rest")


def play_room(seed: int) -> list[tuple[str, str, str]]:
    """Play one; return rule, oracle and words for each promise that was broken."""
    return [_judged(words) for words in room.play(seed).broken]


def _judged(words: str) -> tuple[str, str, str]:
    about = (each[1:] for each in _ABOUT if each[0] in words)
    oracle, rule = next(about, _ELSE)
    return rule, oracle, words
