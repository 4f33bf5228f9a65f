"""Putting changed source in place of one module, before anything has imported it.

Decides: that a change applies exactly once, or not at all.
Never: writes a file, or imports the product: its caller decides when that happens.
Changed code is compiled from memory, and nothing of it goes into a cache of bytecode.
"""

import sys
from collections.abc import Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType


class StaleMutantError(Exception):
    """A change does not apply: the source has moved on, and the mutant must follow it."""


def changed(source: str, changes: Iterable[tuple[str, str]]) -> str:
    """Return a module's source with some places changed.

    Args:
        source: as it stands.
        changes: pairs of what stands there and what shall.

    Raises:
        StaleMutantError: a place does not occur exactly once, or does not change.
    """
    for old, new in changes:
        times = source.count(old)
        if times != 1:
            raise StaleMutantError(f"occurs {times} times, not once:\n{old}")
        if old == new:
            raise StaleMutantError(f"changes nothing:\n{old}")
        source = source.replace(old, new)
    return source


def install(module: str, changes: Sequence[tuple[str, str]]) -> None:
    """Have a module be imported with changes.

    Raises:
        RuntimeError: it is imported already, so that others hold on to what is in it.
    """
    if module in sys.modules:
        raise RuntimeError(f"{module} is imported already: changes would come too late")
    sys.meta_path.insert(0, _Finder(module, changes))


def installed(module: str) -> bool:
    """Tell whether a module was imported with changes."""
    loaded = sys.modules.get(module)
    return isinstance(loaded, ModuleType) and isinstance(loaded.__loader__, _Loader)


class _Finder(MetaPathFinder):
    """Finds one module where it is, and has it loaded with changes."""

    def __init__(self, module: str, changes: Sequence[tuple[str, str]]) -> None:
        self._module = module
        self._changes = changes

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin, self._changes)
        return spec


class _Loader(SourceFileLoader):
    """Loads a module's source, changed; bytecode is neither read nor written."""

    def __init__(self, fullname: str, path: str, changes: Sequence[tuple[str, str]]) -> None:
        super().__init__(fullname, path)
        self._changes = changes

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_source(fullname)
        assert source is not None
        return compile(
            changed(source, self._changes), self.get_filename(fullname), "exec", dont_inherit=True
        )
