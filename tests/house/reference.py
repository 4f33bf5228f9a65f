"""One name of the public API as Markdown, out of its docstring and signature.

Decides: how a class, a function and a value look on a page of the reference.
Never: reads source text itself; griffe does.
"""

import inspect
import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

import griffe

Documented = griffe.Class | griffe.Function | griffe.Attribute

_TAGS: Final = (("async", "async"), ("property", "property"), ("staticmethod", "static"))
_SHOWN_DUNDERS: Final = ("__aenter__", "__aiter__", "__anext__", "__iter__", "__len__")
_WIDTH: Final = 88
_KINDS: Final = griffe.DocstringSectionKind


class _Dataclasses(griffe.Extension):
    """Has griffe take kgroup's `dataclass` for the standard one, as type checkers do."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        for cls in _classes(pkg):
            for decorator in cls.decorators:
                call = decorator.value
                if not isinstance(call, griffe.ExprCall):
                    continue
                if call.canonical_path == "kgroup.values.dataclass":
                    home = griffe.ExprName("dataclasses")
                    call.function = griffe.ExprName("dataclass", parent=home)
                    cls.labels.add("dataclass")


def _classes(scope: griffe.Module | griffe.Class) -> Iterator[griffe.Class]:
    for member in scope.members.values():
        if isinstance(member, griffe.Class):
            yield member
        if isinstance(member, griffe.Module | griffe.Class):
            yield from _classes(member)


def load() -> griffe.Module:
    """Return kgroup as griffe reads it: source only, nothing is imported."""
    # It takes a named tuple's fields for unknown arguments.
    logging.getLogger("griffe").setLevel(logging.ERROR)
    extensions = griffe.load_extensions(_Dataclasses)
    package = griffe.load("kgroup", docstring_parser="google", extensions=extensions)
    assert isinstance(package, griffe.Module)
    return package


def found(package: griffe.Module, path: str) -> Documented:
    """Return what a path such as `types.Claim` leads to."""
    return _real(package[path])


def describe(
    thing: Documented, *, level: int = 2, made: bool = True, inherited: bool = True
) -> str:
    """Return the whole section about one name, beginning with its heading.

    Args:
        thing: what griffe found.
        level: of the heading.
        made: whether users make such objects, so that they want to know from what.
        inherited: whether members of its bases are shown.
    """
    match thing:
        case griffe.Class():
            members = thing.all_members if inherited else thing.members
            shown = [describe(each, level=level + 1) for each in _callable(members)]
            blocks = [*_class(thing, made), *shown]
        case griffe.Function():
            blocks = [_signature(thing), *_documentation(thing)]
        case griffe.Attribute() if "property" in thing.labels:
            blocks = [_code(f"{thing.name}: {thing.annotation}"), *_documentation(thing)]
        case griffe.Attribute():
            blocks = [_code(f"{thing.name} = {thing.value}"), *_documentation(thing)]
    return "\n\n".join([f"{'#' * level} `{thing.name}`{_tags(thing)}", *blocks])


def calls(thing: Documented, *, level: int = 3) -> str:
    """Return the sections of what a class has itself, without those of its bases."""
    return "\n\n".join(describe(each, level=level) for each in _callable(thing.members))


def arguments(thing: Documented) -> list[griffe.DocstringParameter]:
    """Return the arguments, or fields, that a docstring names."""
    parsed = thing.docstring.parsed if thing.docstring else ()
    return [
        each for section in parsed if section.kind is _KINDS.parameters for each in section.value
    ]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cell(text: object) -> str:
    """Return a text that stays within one cell."""
    return " ".join(str(text).split()).replace("|", "\\|")


# -- classes -----------------------------------------------------------------------------------


def _class(thing: griffe.Class, made: bool) -> list[str]:
    """Describe a class without its members: what it is for, and how it is made."""
    bases = [str(base) for base in thing.bases]
    match bases:
        case ["Enum" | "Word"]:
            rows = [(f"`{each.name}`", f"`{cell(each.value)}`") for each in _fields(thing)]
            return [*_documentation(thing), table(("member", "value"), rows)]
        case ["NamedTuple"]:
            return [_named_tuple(thing), *_documentation(thing)]
        case [base, *_] if base.endswith("Error") or base == "Exception":
            kinds = " and ".join(f"`{each}`" for each in bases)
            return [f"A kind of {kinds}.", *_documentation(thing)]
        case _ if made and "dataclass" in thing.labels:
            init = _real(thing.all_members["__init__"])
            assert isinstance(init, griffe.Function)
            return [_signature(init, name=thing.name), *_documentation(thing)]
        case _:
            return _documentation(thing, made=made)


def _named_tuple(thing: griffe.Class) -> str:
    given = [f"{each.name}: {each.annotation}" for each in _fields(thing)]
    defaults = [f" = {each.value}" if each.value else "" for each in _fields(thing)]
    return _code(f"{thing.name}({', '.join(map(''.join, zip(given, defaults, strict=True)))})")


def _fields(thing: griffe.Class) -> list[griffe.Attribute]:
    public = (_real(each) for name, each in thing.members.items() if not name.startswith("_"))
    return [
        each
        for each in public
        if isinstance(each, griffe.Attribute) and "property" not in each.labels
    ]


def _callable(members: dict[str, griffe.Object | griffe.Alias]) -> Iterator[Documented]:
    """Yield what a user may call or read, in the order of the source."""
    for name, member in members.items():
        if not member.path.startswith("kgroup.") or not member.has_docstring:
            continue
        if name.startswith("_") and name not in _SHOWN_DUNDERS:
            continue
        if member.is_function or "property" in member.labels:
            yield _real(member)


def _real(member: griffe.Object | griffe.Alias) -> Documented:
    """Return what an import or an inherited name stands for."""
    real = member.final_target if isinstance(member, griffe.Alias) else member
    assert isinstance(real, Documented), member.path
    return real


# -- the parts of a section --------------------------------------------------------------------


def _tags(thing: Documented) -> str:
    said = [said for label, said in _TAGS if label in thing.labels]
    return f" ({', '.join(said)})" if said else ""


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


def _signature(function: griffe.Function, *, name: str | None = None) -> str:
    """Return how it is called, broken after each argument where it is long."""
    text = str(function.signature(name=name or function.name, return_type=name is None))
    head, rest = text.split("(", 1)
    body, tail = rest.rsplit(")", 1)
    parts = _arguments(body, {each.name for each in function.parameters})
    if len(head) + sum(map(len, parts)) + len(tail) <= _WIDTH:
        return _code(f"{head}({', '.join(parts)}){tail}")
    return _code("\n".join([f"{head}(", *(f"    {part}," for part in parts), f"){tail}"]))


def _arguments(body: str, names: Collection[str]) -> list[str]:
    """Return the arguments one by one, without private ones; types hold commas too."""
    parts: list[str] = []
    for piece in body.split(", "):
        bare = piece.lstrip("*").split(":")[0].split("=")[0].strip()
        if bare in names or piece in ("*", "/"):
            parts.append(piece)
        elif parts:
            parts[-1] += f", {piece}"
    return [part for part in parts if not part.startswith("_")]


def _documentation(thing: Documented, *, made: bool = True) -> list[str]:
    """Return the docstring: its text, arguments, result and errors."""
    blocks: list[str] = []
    for section in thing.docstring.parsed if thing.docstring else ():
        match section.kind:
            case _KINDS.text:
                blocks.append(inspect.cleandoc(section.value))
            case _KINDS.parameters:
                rows = [
                    (f"`{a.name}`", _type(thing, a), cell(a.description)) for a in section.value
                ]
                blocks += [table(("name", "type", "meaning"), rows)] if made else []
            case _KINDS.attributes:
                shown = [(f"`{a.name}`", cell(a.description)) for a in section.value]
                blocks.append(table(("attribute", "meaning"), shown))
            case _KINDS.returns:
                blocks.append("Returns: " + cell(" ".join(a.description for a in section.value)))
            case _KINDS.raises:
                said = [(str(e.annotation).strip("()"), cell(e.description)) for e in section.value]
                blocks.append("Raises:\n\n" + "\n".join(f"- `{name}`: {why}" for name, why in said))
            case _:
                raise ValueError(f"{thing.path}: a section {section.kind.value!r} nobody shows")
    return blocks


def _type(thing: Documented, argument: griffe.DocstringParameter) -> str:
    """Return the type of an argument; griffe does not know that of a named tuple's field."""
    annotation = argument.annotation
    if annotation is None and argument.name in thing.members:
        field = thing.members[argument.name]
        annotation = field.annotation if isinstance(field, griffe.Attribute) else None
    return f"`{cell(annotation)}`" if annotation else ""
