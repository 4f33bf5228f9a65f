"""Dataclasses whose methods are written when they are first used.

Decides: when `__init__`, `__repr__`, `__eq__` and `__hash__` are compiled: each at its first use.
The standard decorator compiles them when a module is imported, a millisecond for each class, and
a process uses one class in three.
Never: differs from `dataclasses.dataclass` in what the methods do, in `fields()`, or in what is
pickled.
"""

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, FrozenInstanceError
from reprlib import recursive_repr
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["dataclass"]

T = TypeVar("T")

if TYPE_CHECKING:
    # Type checkers know dataclasses by this name.
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, **options):  # noqa: ANN001, ANN003, ANN201  # seen at run time only
        """Make a dataclass as `dataclasses.dataclass` does, its methods later.

        It takes `eq`, `repr`, `frozen`, `slots` and `kw_only`.

        Raises:
            TypeError: there is no such option, or the standard decorator refuses the class.
        """
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        if any(hasattr(base, "__dataclass_fields__") for base in cls.__bases__):
            return dataclasses.dataclass(cls, **options)  # what is inherited is not ours to judge
        return _made(cls, **options)


def _made(
    cls: type[T],
    *,
    eq: bool = True,
    repr: bool = True,  # noqa: A002 - as in `dataclasses`
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
) -> type[T]:
    """Have the standard decorator find the fields; put in what is written later."""
    decorate = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)
    made: Any = decorate(cls)
    params = made.__dataclass_params__
    params.init, params.repr, params.eq, params.frozen = True, repr, eq, frozen
    own = made.__dict__
    _put(made, "__init__")
    if repr:
        _put(made, "__repr__")
    if eq:
        if own.get("__hash__") is None:
            if frozen:
                made.__hash__ = _Later(made, "__hash__")
            elif "__hash__" not in own:
                made.__hash__ = None
        _put(made, "__eq__")
    if frozen:
        _freeze(made, slots=slots)
    decorated: type[T] = made
    return decorated


def _put(made: Any, name: str) -> None:  # noqa: ANN401 - any class
    if name not in made.__dict__:
        setattr(made, name, _Later(made, name))


class _Later:
    """Stands for a method; writes it, and puts it in its own place, when it is looked up."""

    __slots__ = ("_name", "_owner")

    def __init__(self, owner: type, name: str) -> None:
        self._owner = owner
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]:
        method = _WRITERS[self._name](self._owner)
        method.__qualname__ = f"{self._owner.__qualname__}.{self._name}"
        method.__module__ = self._owner.__module__
        type.__setattr__(self._owner, self._name, method)
        bound: Callable[..., Any] = method.__get__(instance, owner)
        return bound


def _freeze(made: Any, *, slots: bool) -> None:  # noqa: ANN401 - any class
    names = frozenset(made.__dataclass_fields__)

    def __setattr__(self: object, name: str, value: object) -> None:  # noqa: N807
        if type(self) is made or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self: object, name: str) -> None:  # noqa: N807
        if type(self) is made or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        object.__delattr__(self, name)

    made.__setattr__, made.__delattr__ = __setattr__, __delattr__
    if slots:
        made.__getstate__, made.__setstate__ = _state, _set_state


def _state(self: Any) -> list[Any]:  # noqa: ANN401 - any value
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _set_state(self: Any, state: Iterable[Any]) -> None:  # noqa: ANN401 - any value
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


# -- writing -----------------------------------------------------------------------------------


class _Factory:
    """What a signature shows in place of a default that is made for each object."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _write(owner: type, head: str, lines: Iterable[str], space: dict[str, Any]) -> FunctionType:
    """Compile a function; names of fields are all that its text is made of."""
    text = "\n ".join([f"def made({head}):", *lines])
    code = compile(text, f"<kgroup.values: {owner.__qualname__}>", "exec")
    exec(code, space)  # noqa: S102 - see above
    made: FunctionType = space["made"]
    return made


def _fields(owner: Any) -> tuple[Field[Any], ...]:  # noqa: ANN401 - any dataclass
    return dataclasses.fields(owner)


def _init(owner: Any) -> FunctionType:  # noqa: ANN401 - any dataclass
    space: dict[str, Any] = {"_FACTORY": _FACTORY, "_set": object.__setattr__}
    frozen = owner.__dataclass_params__.frozen
    by_place: list[str] = []
    by_name: list[str] = []
    lines: list[str] = []
    for each in _fields(owner):
        name, value = each.name, each.name
        argument = name
        if each.default is not MISSING:
            space[f"_default_{name}"] = each.default
            argument = f"{name}=_default_{name}"
        elif each.default_factory is not MISSING:
            space[f"_make_{name}"] = each.default_factory
            argument = f"{name}=_FACTORY"
            value = f"_make_{name}()"
            if each.init:
                value += f" if {name} is _FACTORY else {name}"
        if each.init:
            (by_name if each.kw_only else by_place).append(argument)
        elif each.default is not MISSING:
            value = f"_default_{name}"
        elif each.default_factory is MISSING:
            continue  # `__post_init__` sets it
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(owner, "__post_init__"):
        lines.append("self.__post_init__()")
    head = ["self", *by_place, *(["*", *by_name] if by_name else [])]
    made = _write(owner, ", ".join(head), lines or ["pass"], space)
    made.__name__ = "__init__"
    made.__annotations__ = {each.name: each.type for each in _fields(owner) if each.init}
    made.__annotations__["return"] = None
    return made


def _repr(owner: Any) -> FunctionType:  # noqa: ANN401 - any dataclass
    shown = ", ".join(f"{each.name}={{self.{each.name}!r}}" for each in _fields(owner) if each.repr)
    text = f'return f"{{self.__class__.__qualname__}}({shown})"'
    written = _write(owner, "self", [text], {})
    written.__name__ = "__repr__"
    made: Any = recursive_repr()(written)
    return made  # type: ignore[no-any-return]


def _eq(owner: Any) -> FunctionType:  # noqa: ANN401 - any dataclass
    names = [each.name for each in _fields(owner) if each.compare]
    mine, others = (_tuple(who, names) for who in ("self", "other"))
    lines = [
        "if other.__class__ is self.__class__:",
        f" return {mine} == {others}",
        "return NotImplemented",
    ]
    made = _write(owner, "self, other", lines, {})
    made.__name__ = "__eq__"
    return made


def _hash(owner: Any) -> FunctionType:  # noqa: ANN401 - any dataclass
    names = [e.name for e in _fields(owner) if (e.compare if e.hash is None else e.hash)]
    made = _write(owner, "self", [f"return hash({_tuple('self', names)})"], {})
    made.__name__ = "__hash__"
    return made


def _tuple(who: str, names: Iterable[str]) -> str:
    return "(" + "".join(f"{who}.{name}, " for name in names).rstrip(" ") + ")"


_WRITERS: dict[str, Callable[[type], FunctionType]] = {
    "__eq__": _eq,
    "__hash__": _hash,
    "__init__": _init,
    "__repr__": _repr,
}
