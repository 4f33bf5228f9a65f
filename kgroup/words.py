"""Closed sets of words that tables are asked for, such as states, triggers and reactions.

Decides: how such a word is hashed: as the one object it is, without a call of Python's.
Never: is a word of the wire; those are numbers, in `kgroup.codes`.
"""

from enum import Enum
from typing import TYPE_CHECKING


class Word(Enum):
    """An `Enum` whose members are cheap as keys: each step of a member asks a dozen tables."""

    if not TYPE_CHECKING:  # for a type checker it is enough that an `Enum` has a hash
        # `Enum` hashes the name, in Python, at every look-up; members are compared as objects.
        __hash__ = object.__hash__
