"""Watches whether kgroup leans on the peer's own consumer while its facade is tested.

A class that hands every call to the original would pass all its tests, and prove nothing.

Decides: what counts as leaning: the original is built by anybody; a client, connection, fetcher or
coordinator of the peer is built by kgroup, or by a class of kgroup's; or a module of kgroup holds
one of these classes, or a class made from one.
Never: minds what the peer's own producer and its tests build for themselves, also in a callback
that kgroup calls.
"""

import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType, ModuleType

from tests.dropin.suite import Name, Suite

_OURS = "kgroup"
# The plug-ins know the classes by their trade.
_EXEMPT = ("kgroup.testing",)


class Guard:
    """Notes which code builds what; `watch()` begins, `release()` ends it.

    Args:
        suite: names the classes.
        root: of the source tree; what is built by a line below it, the tests build.
    """

    def __init__(self, suite: Suite, root: Path) -> None:
        self._suite = suite
        self._root = root
        self._undo: list[Callable[[], None]] = []
        self.seen: list[str] = []

    def watch(self) -> None:
        """Note every object of a guarded class that is built from now on.

        Raises:
            ImportError, AttributeError, TypeError: the peer has no such class.
        """
        self._wrap(_class(self._suite.original), whoever=True)
        for name in self._suite.guarded:
            self._wrap(_class(name), whoever=False)

    def release(self) -> None:
        """Note nothing any more."""
        while self._undo:
            self._undo.pop()()

    def _wrap(self, cls: type, *, whoever: bool) -> None:
        own = cls.__dict__.get("__init__")
        called: Callable[..., None] = cls.__init__  # type: ignore[misc]

        @functools.wraps(called)
        def built(this: object, *args: object, **kwargs: object) -> None:
            self._note(cls, this, whoever=whoever)
            called(this, *args, **kwargs)

        setattr(cls, "__init__", built)  # noqa: B010 - mypy knows it as a method
        self._undo.append(lambda: _restore(cls, own))

    def _note(self, cls: type, this: object, *, whoever: bool) -> None:
        where = _our_line(self._root)
        if where is None and _is_ours(type(this).__module__):
            where = f"the class {_full(type(this))}"
        if where is None and not whoever:
            return
        by = "" if where is None else f", by {where}"
        self.seen.append(f"{_full(cls)} was built{by}")


def holdings(suite: Suite, modules: Sequence[ModuleType] | None = None) -> list[str]:
    """Return which of kgroup's modules hold a guarded class, or a class made from one.

    Args:
        suite: names the classes.
        modules: where to look; None = all that are imported.
    """
    guarded = {_class(name) for name in (suite.original, *suite.guarded)}
    searched = [*sys.modules.values()] if modules is None else modules
    return sorted(
        f"{module.__name__}.{name} {verb} {_full(base)}"
        for module in searched
        if _is_ours(getattr(module, "__name__", ""))
        for name, value in vars(module).items()
        if isinstance(value, type)
        for base in guarded.intersection(value.__mro__)
        for verb in ("is" if base is value else "is made from",)
    )


def _class(name: Name) -> type:
    found = name.find()
    if not isinstance(found, type):
        raise TypeError(f"{name} is no class")
    return found


def _restore(cls: type, own: object) -> None:
    if own is None:
        delattr(cls, "__init__")
    else:
        setattr(cls, "__init__", own)  # noqa: B010 - mypy knows it as a method


def _our_line(root: Path) -> str | None:
    """Return the line of kgroup that led here, None when there is none or a test was in between."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not Path(frame.f_code.co_filename).is_relative_to(root):
        if _is_ours(frame.f_globals.get("__name__", "")):
            return f"{frame.f_globals['__name__']}, line {frame.f_lineno}"
        frame = frame.f_back
    return None


def _is_ours(module: str) -> bool:
    return _within(module, _OURS) and not any(_within(module, name) for name in _EXEMPT)


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _full(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
