"""Faults planted into the running process, and taken out again.

Decides: how: the module's source is changed as `tests.search.mutants` does and run once more beside
the real one, and every function and method of the real one gets the code of its changed twin, and
its tables what the twin's say. Every caller of such a function has the fault, until the end of the
`with`.
Never: writes a file; leaves anything changed.
"""

import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any

from tests.search.mutants.listed import ALL
from tests.search.mutants.patching import changed
from tests.search.simulation.named.case import Fault

_Undo = Callable[[], None]


@contextmanager
def planted(faults: Iterable[Fault | str]) -> Iterator[None]:
    """Have faults for a time.

    Args:
        faults: of different modules: themselves, or names of listed mutants.
    """
    with ExitStack() as stack:
        for fault in faults:
            module, changes = _where(fault)
            for undo in _swapped(importlib.import_module(module), changes):
                stack.callback(undo)
        yield


def _where(fault: Fault | str) -> tuple[str, list[tuple[str, str]]]:
    if isinstance(fault, Fault):
        return fault.module, [(fault.old, fault.new)]
    (mutant,) = (each for each in ALL if each.name == fault)
    return mutant.module, [(each.old, each.new) for each in mutant.changes]


def _swapped(module: ModuleType, changes: Iterable[tuple[str, str]]) -> list[_Undo]:
    source = changed(inspect.getsource(module), changes)
    twin = ModuleType(module.__name__)
    twin.__file__ = module.__file__
    exec(compile(source, str(module.__file__), "exec", dont_inherit=True), twin.__dict__)
    undos: list[_Undo] = []
    for name, old in [*vars(module).items()]:
        new = vars(twin).get(name)
        if isinstance(old, Mapping) and not name.startswith("__"):
            table = _table(new, module)
            if table != old:
                undos.append(_put(vars(module), name, table))
        elif getattr(old, "__module__", None) == module.__name__:
            undos += _functions(old, new)
    assert undos, f"nothing of {module.__name__} is changed"
    return undos


def _table(value: Any, module: ModuleType) -> Any:  # of any table
    """Return a twin's table with the members of the real one's enums."""
    if isinstance(value, Mapping):
        return {_table(k, module): _table(v, module) for k, v in value.items()}
    if isinstance(value, Enum) and type(value).__module__ == module.__name__:
        return getattr(module, type(value).__name__)[value.name]
    return value


def _functions(old: object, new: object) -> list[_Undo]:
    """Give functions, or those of a class, the code of their twins."""
    if isinstance(old, FunctionType):
        return _code(old, new)
    if not (isinstance(old, type) and isinstance(new, type)):
        return []
    undos = []
    for name, value in [*vars(old).items()]:
        undos += _code(_plain(value), _plain(vars(new).get(name)))
    return undos


def _plain(value: object) -> object:
    if isinstance(value, property):
        return value.fget
    return value.__func__ if isinstance(value, staticmethod | classmethod) else value


def _code(old: object, new: object) -> list[_Undo]:
    if not (isinstance(old, FunctionType) and isinstance(new, FunctionType)):
        return []
    code = old.__code__
    if code == new.__code__ or code.co_freevars != new.__code__.co_freevars:
        return []
    old.__code__ = new.__code__

    def undo() -> None:
        old.__code__ = code

    return [undo]


def _put(names: dict[str, Any], name: str, value: object) -> _Undo:
    before = names[name]
    names[name] = value

    def undo() -> None:
        names[name] = before

    return undo
