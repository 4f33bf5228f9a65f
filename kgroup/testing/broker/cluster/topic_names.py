"""Which names a topic may have.

Decides: as Kafka does, in its words.
Never: knows which topics exist, except to say with which one a new name collides.
"""

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["collision", "fault_of_name"]

_LONGEST: Final = 249
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


def fault_of_name(name: str) -> str | None:
    """Return why no topic may be called so, None if one may."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > _LONGEST:
        return (
            f"Topic name is invalid: the length of '{name}' is longer than the max allowed length "
            f"{_LONGEST}"
        )
    if not _LEGAL.fullmatch(name):
        return (
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII "
            "alphanumerics, '.', '_' and '-'"
        )
    return None


def collision(name: str, existing: Iterable[str]) -> str | None:
    """Return a topic whose metrics would have the same name: dots and underscores are one there."""
    if not {".", "_"} & set(name):
        return None
    same = name.replace(".", "_")
    found = (each for each in existing if each.replace(".", "_") == same)
    return next(found, None)
