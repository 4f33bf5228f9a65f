"""Assignors named on a command line: built in, installed, or `pkg.module:Class`.

Decides: what such a word means, and that modules beside which the command is run can be named.
Never: judges an assignor; `kgroup assignors check` does.
"""

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kgroup.assignors import BUILT_IN, Assignor, resolve
from kgroup.assignors.registry import as_assignor, fault_of
from kgroup.config.plugins import plug_ins
from kgroup.errors import ArgumentError, ConfigError

__all__ = ["import_named", "load_assignor", "load_assignors"]

_EXPECTED: Final = "the name of an assignor, or pkg.module:Class"


def load_assignors(words: Sequence[str]) -> dict[str, Assignor]:
    """Return assignors by what they are called in answers: their names, if those differ.

    Args:
        words: see `load_assignor`; none stands for all that are built in.

    Raises:
        ArgumentError: a word stands for no assignor, or stands there twice.
    """
    if not words:
        return dict(BUILT_IN)
    found: dict[str, Assignor] = {}
    for word in words:
        if word in found:
            raise ArgumentError("--assignor", word, "each assignor only once")
        found[word] = load_assignor(word)
    names = [assignor.name for assignor in found.values()]
    return {
        assignor.name if names.count(assignor.name) == 1 else word: assignor
        for word, assignor in found.items()
    }


def load_assignor(word: str, option: str = "--assignor") -> Assignor:
    """Return one assignor.

    Args:
        word: the name of a built-in assignor or of an installed plug-in; or `pkg.module:Name` of
            an assignor, of a class or function without arguments that makes one, or of an
            assignor of aiokafka or kafka-python.
        option: what the word was given for, for errors.

    Raises:
        ArgumentError: there is none, it cannot be loaded, or it is no assignor.
    """
    if ":" in word:
        return _imported(word, option)
    try:
        (assignor,) = resolve([word], plug_ins([word]))
    except ConfigError as error:
        near = f"; did you mean {error.nearest!r}?" if error.nearest else ""
        expected = f"{error.expected}, or pkg.module:Class{near}"
        raise ArgumentError(option, word, expected) from None
    return assignor


def import_named(word: str, option: str) -> object:
    """Return what stands under a name in a module, whatever it is.

    Args:
        word: `pkg.module:Name`; the module may be in the folder in which the command is run.
        option: what the word was given for, for errors.

    Raises:
        ArgumentError: there is no such thing, or its module cannot be imported.
    """
    module, _, path = word.partition(":")
    if not module or not path:
        raise ArgumentError(option, word, _EXPECTED)
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # as `python -m` does, which the command is not
    try:
        thing: object = importlib.import_module(module)
        for name in path.split("."):
            thing = getattr(thing, name)
    except Exception as error:  # foreign code: whoever named it is told
        raise ArgumentError(option, word, _loadable(error)) from error
    return thing


def _imported(word: str, option: str) -> Assignor:
    thing = import_named(word, option)
    try:
        made = _made(thing)
        fault = fault_of(made)
    except Exception as error:  # foreign code: whoever named it is told
        raise ArgumentError(option, word, _loadable(error)) from error
    if fault is not None or not isinstance(made, Assignor):
        raise ArgumentError(option, word, f"an assignor, but it {fault}")
    return made


def _loadable(error: Exception) -> str:
    return f"something that loads ({type(error).__name__}: {error})"


def _made(thing: object) -> object:
    wrapped = as_assignor(thing)
    if wrapped is not thing:
        return wrapped
    makes_one = isinstance(thing, type) or not hasattr(thing, "assign")
    return as_assignor(thing()) if makes_one and callable(thing) else thing
