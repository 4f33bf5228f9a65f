"""The documented public API: `python -m tests.house.api` writes `docs/api.md` out of `__all__`.

Decides: which packages are public, and how a name is described (the first line of its docstring).
Never: makes a name public; that is done by writing it into an `__all__`.
"""

import importlib
import importlib.util
import inspect
import types
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "api.md"

# What users import from. Everything else is private and may change at any time.
PUBLIC = (
    "kgroup",
    "kgroup.assignors",
    "kgroup.assignors.conformance",
    "kgroup.assignors.simulator",
    "kgroup.audit",
    "kgroup.codes",
    "kgroup.compat.kafka_python",
    "kgroup.config",
    "kgroup.errors",
    "kgroup.journal",
    "kgroup.observe.health",
    "kgroup.observe.health_server",
    "kgroup.processing",
    "kgroup.sync",
    "kgroup.testing",
    "kgroup.testing.kafka",
    "kgroup.testing.requests",
    "kgroup.testing.strategies",
    "kgroup.testing.virtual_time",
    "kgroup.types",
)

_HEAD = """\
# Public API

Names in these tables are kept; everything else is private and may change at any time.
This page is written by `make docs` from each package's `__all__`; a test compares the two.
"""


def exported() -> dict[str, list[str]]:
    """Return package -> the names in its `__all__`, of the packages that exist."""
    return {
        name: sorted(getattr(importlib.import_module(name), "__all__", ()))
        for name in PUBLIC
        if importlib.util.find_spec(name)
    }


def render() -> str:
    """Return the page."""
    return "\n".join([_HEAD, *_sections()])


def _sections() -> Iterator[str]:
    for package, names in exported().items():
        module = importlib.import_module(package)
        rows = "".join(f"| `{name}` | {_summary(getattr(module, name))} |\n" for name in names)
        yield f"## `{package}`\n{_first_line(module)}\n\n| name | what it is |\n|---|---|\n{rows}"


def _summary(thing: object) -> str:
    if inspect.ismodule(thing) or inspect.isclass(thing) or inspect.isroutine(thing):
        return _first_line(thing)
    if isinstance(thing, types.GenericAlias | types.UnionType):
        return "a name for a type"
    return f"a value of type `{type(thing).__name__}`"


def _first_line(thing: object) -> str:
    doc = inspect.getdoc(thing) or ""
    return doc.split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
