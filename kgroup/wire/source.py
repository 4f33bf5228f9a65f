"""Python source under construction: lines, indentation, fresh names and constants.

Decides: how generated code is put together and turned into a function.
Never: what the code does; that is decided in `kgroup.wire.decoding` and `kgroup.wire.encoding`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

__all__ = ["Source"]

_PLAIN: Final = (int, str, bytes, bool, type(None))


class Source:
    """The text of one function and the objects it refers to."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._count = 0
        self._names: dict[str, Any] = {}
        self._known: dict[int, str] = {}

    def line(self, text: str) -> None:
        """Append a line at the present depth."""
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Append a line that opens a block; what follows inside the `with` is indented."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, stem: str) -> str:
        """Return a name that nothing else in this function has."""
        self._count += 1
        return f"{stem}_{self._count}"

    def constant(self, value: object, stem: str = "const") -> str:
        """Return an expression for a value: its literal, or a name bound to it."""
        if isinstance(value, _PLAIN) or value == ():
            return repr(value)
        name = self._known.get(id(value))
        if name is None:
            name = self._known[id(value)] = self.fresh(stem)
            self._names[name] = value
        return name

    def bind(self, **names: object) -> None:
        """Make objects known to the code under given names."""
        self._names.update(names)

    def function(self, name: str, title: str) -> Callable[..., Any]:
        """Compile the text and return the function `name` that it defines."""
        code = compile("\n".join(self._lines), f"<kgroup.wire: {title}>", "exec")
        names = dict(self._names)
        exec(code, names)  # noqa: S102 - the text comes from declarations, never from bytes
        made: Callable[..., Any] = names[name]
        return made
