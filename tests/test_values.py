"""Dataclasses whose methods are written late, next to the standard ones."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable, Hashable
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from kgroup.values import dataclass

LATE: Callable[..., Any] = dataclass
"""As a value: type checkers want to see a decorator applied to one class."""


def declared(decorate: Callable[..., Any], **options: Any) -> Any:
    """Return the same class, decorated."""

    @decorate(**options)
    class Pear:
        """A fruit."""

        name: str
        weight: float = 0.1
        eaten_by: dict[str, int] = field(default_factory=dict, compare=False, repr=False)
        ripe: bool = field(default=False, init=False)
        rows: tuple[int, ...] = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "rows", (len(self.name),))

    return Pear


OPTIONS: list[dict[str, Any]] = [
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "slots": True, "eq": False},
    {"slots": True},
    {"slots": True, "eq": False},
    {"frozen": True, "slots": True, "repr": False},
    {"kw_only": True, "eq": False},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_class_is_what_the_standard_decorator_makes(options: dict[str, Any]) -> None:
    ours, theirs = declared(LATE, **options), declared(dataclasses.dataclass, **options)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert inspect.get_annotations(ours.__init__) == inspect.get_annotations(theirs.__init__)
    assert ours.__match_args__ == theirs.__match_args__
    assert repr(ours.__dataclass_params__) == repr(theirs.__dataclass_params__)
    assert [each.name for each in dataclasses.fields(ours)] == [
        each.name for each in dataclasses.fields(theirs)
    ]
    assert issubclass(ours, Hashable) == issubclass(theirs, Hashable)
    assert getattr(ours, "__slots__", None) == getattr(theirs, "__slots__", None)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_an_object_is_what_the_standard_decorator_makes(options: dict[str, Any]) -> None:
    kinds = declared(LATE, **options), declared(dataclasses.dataclass, **options)
    ours, theirs = (kind(name="williams", eaten_by={"wasp": 1}) for kind in kinds)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    if options.get("repr", True):
        assert repr(ours) == repr(theirs)
    other, same = (kinds[0](name=name, eaten_by={}) for name in ("conference", "williams"))
    by_value = options.get("eq", True)
    assert (ours == same) is by_value
    assert ours != other
    assert ours != theirs
    if by_value and options.get("frozen"):
        assert hash(ours) == hash(theirs) == hash(same)
    assert copy.copy(ours).rows == (8,)
    assert dataclasses.replace(ours, weight=2.0).weight == 2.0


@dataclass(frozen=True, slots=True)
class Stone:
    weight: float


@dataclass(slots=True)
class Node:
    """May hold itself."""

    beside: "Node | None" = None


@dataclass(frozen=True, slots=True)
class Named:
    """With methods of its own."""

    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and self.name.lower() == other.name.lower()

    def __hash__(self) -> int:
        return hash(self.name.lower())

    def __repr__(self) -> str:
        return self.name


def test_a_frozen_value_can_be_pickled_and_not_changed() -> None:
    stone = Stone(1.5)
    assert pickle.loads(pickle.dumps(stone)) == stone
    with pytest.raises(FrozenInstanceError, match="assign to field 'weight'"):
        stone.weight = 2.0  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="delete field 'weight'"):
        del stone.weight


def test_what_holds_itself_can_be_shown() -> None:
    node = Node()
    node.beside = node
    assert repr(node) == "Node(beside=...)"


def test_methods_of_its_own_stay() -> None:
    assert (Named("A"), repr(Named("A"))) == (Named("a"), "A")
    assert len({Named("A"), Named("a")}) == 1


def test_wrong_arguments_are_refused_as_by_any_constructor() -> None:
    kind: Any = Stone
    with pytest.raises(TypeError, match=r"Stone\.__init__\(\) missing 1 required positional"):
        kind()


def test_a_standard_dataclass_can_inherit_from_one() -> None:
    @dataclasses.dataclass(frozen=True)
    class Gem(Stone):
        colour: str

    assert Gem(1.0, "red") == Gem(1.0, "red")
    assert (Gem(1.0, "red").weight, hash(Gem(1.0, "red"))) == (1.0, hash((1.0, "red")))


def test_a_method_is_compiled_once_and_only_when_it_is_used() -> None:
    @dataclass(frozen=True, slots=True)
    class Seed:
        weight: float

    assert not inspect.isfunction(vars(Seed)["__init__"])
    assert Seed(1.0) == Seed(1.0)
    assert inspect.isfunction(vars(Seed)["__init__"])
    assert not inspect.isfunction(vars(Seed)["__repr__"])
