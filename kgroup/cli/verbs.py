"""How a verb's options become its command line.

Decides: that options stand in frozen dataclasses, one field each, which verbs share; and that
`list` may be left out: `kgroup topics orders`; that a closed pipe ends a verb in silence;
that nothing is undone by nobody's yes.
Never: reads a value or does a verb's work.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from enum import StrEnum
from inspect import Parameter, Signature, signature
from types import MappingProxyType
from typing import Final, TypeVar, cast, get_type_hints

import typer

from kgroup.errors import IllegalStateError

E = TypeVar("E", bound=StrEnum)

_HELP: Final = "--help"
_VERBS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "groups": frozenset({"list", "show", "offers", "evict", "delete"}),
        "topics": frozenset({"list", "create", "delete"}),
        "assignors": frozenset({"list", "simulate", "check"}),
    }
)
"""What follows `groups`, `topics` and `assignors`; anything else belongs to `list`."""


def with_list(words: Sequence[str]) -> list[str]:
    """Return the words of a command line with `list` where it was left out."""
    first, rest = list(words[:1]), list(words[1:])
    verbs = _VERBS.get(first[0]) if first else None
    if verbs is None or (rest and (rest[0] in verbs or rest[0] == _HELP)):
        return [*first, *rest]
    return [*first, "list", *rest]


def one_of(kind: type[E]) -> Callable[[str], E]:
    """Return a reader of an option's value that names all values there are when it is none."""

    def read(text: str) -> E:
        try:
            return kind(text)
        except ValueError:
            known = ", ".join(kind)
            raise typer.BadParameter(f"{text!r} is none of {known}") from None

    read.__name__ = kind.__name__
    return read


def forget_output() -> None:
    """Have the interpreter's last flush go nowhere: the reader is gone, or the disk is full."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def ask_first(question: str) -> None:
    """Go on when somebody says yes.

    Raises:
        typer.Abort: somebody at a terminal does not.
        IllegalStateError: there is no terminal, and no yes comes from where there would be one.
    """
    try:
        typer.confirm(question, abort=True, err=True)
    except typer.Abort:
        if sys.stdin.isatty():
            raise
        print(file=sys.stderr)
        raise IllegalStateError("nothing was done: nobody said yes; --yes does not ask") from None


def verb(work: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose options are the fields of what a function takes.

    Args:
        work: each of its parameters is a dataclass with typer's annotations on its fields.
    """
    parameters = signature(work, eval_str=True).parameters.values()
    taken = {each.name: cast("type", each.annotation) for each in parameters}
    options = [option for kind in taken.values() for option in _options(kind)]

    def command(**given: object) -> None:
        try:
            work(**{name: kind(**_part(kind, given)) for name, kind in taken.items()})
            sys.stdout.flush()
        except BrokenPipeError:
            # A reader of the first lines only, such as `head`, has what it wanted.
            forget_output()

    command.__doc__ = work.__doc__
    command.__annotations__ = {option.name: option.annotation for option in options}
    command.__signature__ = Signature(options)  # type: ignore[attr-defined]  # typer reads it
    return command


def _options(kind: type) -> list[Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    found = []
    for field in fields(kind):
        default = Parameter.empty if field.default is MISSING else field.default
        found.append(
            Parameter(
                field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name]
            )
        )
    return found


def _part(kind: type, given: dict[str, object]) -> dict[str, object]:
    return {field.name: given[field.name] for field in fields(kind)}
