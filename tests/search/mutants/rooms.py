"""Playing one room by its seed: members of Marshal mode over one log, each with its application.

Decides: which promise the words of a room's judge are about.
Never: knows of mutants: it is imported when one is in place.
"""

from typing import Final

from tests.marshal.room.play import play

__all__ = ["play_room"]

_ABOUT: Final = (
    (": twice, somebody was at ", "double", "at-most-once never doubles"),
    (" was passed over", "lost", "at-least-once never loses"),
    (" may, too", "overlap", "leases keep owners apart"),
    (": in the log it is ", "overlap", "leases keep owners apart"),
    (" is told to be committed, and is not", "committed", "what is committed is in the log"),
    (" is assigned, and was", "told", "gains and losses are told in turn"),
    (" does not have it", "told", "gains and losses are told in turn"),
    ("no heartbeat of it was read back", "confirmed", "what is owned was confirmed"),
    (", which nobody has committed", "position", "positions go back when that is asked for"),
    (": it has read that it is ", "claims", "nobody claims what it knows to be another's"),
)
_ELSE: Final = ("stuck", "all come to rest")


def play_room(seed: int) -> list[tuple[str, str, str]]:
    """Play one; return rule, oracle and words for each promise that was broken."""
    return [_judged(words) for words in play(seed).broken]


def _judged(words: str) -> tuple[str, str, str]:
    about = (each[1:] for each in _ABOUT if each[0] in words)
    oracle, rule = next(about, _ELSE)
    return rule, oracle, words
