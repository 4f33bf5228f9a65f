"""Frozen values that are copied with some fields changed."""

from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, field, fields
from dataclasses import replace as replace_slowly
from typing import Any

import pytest

from kgroup.frozen import replace
from kgroup.membership.value import Round


@dataclass(frozen=True, slots=True)
class Pear:
    name: str
    weight: float = 0.1
    eaten_by: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name == "apple":
            raise ValueError("an apple is no pear")


@dataclass(frozen=True, slots=True)
class Stone:
    """No fields with defaults, and only one."""

    weight: float


def test_a_copy_is_what_dataclasses_would_have_made() -> None:
    pear = Pear("williams", eaten_by={"wasp": 1})
    copy = replace(pear, weight=0.2)
    assert type(copy) is Pear
    assert copy == replace_slowly(pear, weight=0.2)
    assert hash(replace(Stone(1.0), weight=2.0)) == hash(Stone(2.0))
    assert replace(Round(), attempts=3, leader=True) == Round(attempts=3, leader=True)


def test_the_original_stays_as_it_was_and_shares_what_was_not_changed() -> None:
    pear = Pear("williams", eaten_by={"wasp": 1})
    copy = replace(pear, name="conference", weight=0.3)
    assert (pear.name, pear.weight) == ("williams", 0.1)
    assert copy.eaten_by is pear.eaten_by


def test_a_copy_is_frozen_and_can_be_copied_in_turn() -> None:
    copy = replace(replace(Stone(1.0), weight=2.0), weight=3.0)
    assert copy == Stone(3.0)
    with pytest.raises(FrozenInstanceError):
        setattr(copy, fields(copy)[0].name, 4.0)


def test_the_constructor_does_not_look_at_a_copy() -> None:
    assert replace(Pear("williams"), name="apple").name == "apple"


def test_a_field_that_is_not_there_is_refused() -> None:
    changes: dict[str, Any] = {"colour": "grey"}
    with pytest.raises(AttributeError, match="colour"):
        replace(Stone(1.0), **changes)
