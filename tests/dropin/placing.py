"""The class under test, put where the peer's tests import theirs from.

Decides: which class that is, and that everything is put back.
Never: replaces the class in the module that defines it: code that builds the original is seen.
"""

import importlib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.dropin.suite import Name, Suite

CLASS_VARIABLE = "KGROUP_DROPIN"
"""Environment variable that says which class is tested."""


class ClassError(ValueError):
    """A class that cannot be tested; the message says why."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The class under test.

    Args:
        cls: the class.
        name: its full name, as it is shown.
        is_original: whether it is the peer's own, to compare with.
    """

    cls: type
    name: str
    is_original: bool


def choose(suite: Suite, word: str) -> Chosen:
    """Return the class a word stands for.

    Args:
        suite: of the peer.
        word: "facade", "original", or `package.module:Name` for any other class.

    Raises:
        ClassError: there is no such class, or it cannot be imported.
    """
    match word:
        case "facade":
            name = suite.facade
        case "original":
            name = suite.original
        case _:
            name = _parse(word)
    try:
        found = name.find()
    except (ImportError, AttributeError) as error:
        raise ClassError(f"{name} cannot be had: {type(error).__name__}: {error}") from error
    if not inspect.isclass(found):
        raise ClassError(f"{name} is no class but {found!r}")
    return Chosen(found, str(name), found is suite.original.find())


def _parse(word: str) -> Name:
    try:
        return Name.parse(word)
    except ValueError:
        raise ClassError(
            f"--dropin-class (or {CLASS_VARIABLE}) is {word!r}; it is facade, original, or the "
            "name of a class as package.module:Name"
        ) from None


def put(chosen: Chosen, places: Iterable[Name]) -> list[Callable[[], None]]:
    """Put a class in its places; return what puts back what was there.

    Raises:
        ImportError, AttributeError: a place is not there.
    """
    back = []
    for place in places:
        before = place.find()
        _set(place, chosen.cls)
        back.append(_back(place, before))
    return back


def _back(place: Name, before: object) -> Callable[[], None]:
    return lambda: _set(place, before)


def _set(place: Name, value: object) -> None:
    setattr(importlib.import_module(place.module), place.attribute, value)
