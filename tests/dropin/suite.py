"""What a peer's suite is: which of its tests count, and what stands in whose place.

Decides: how the lists beside this module (`*.toml`) are read.
Never: touches the peer itself.
"""

import importlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LISTS = Path(__file__).parent
"""Where the versioned lists are."""


class ListError(ValueError):
    """A list that cannot be read; the message names the file, the entry and what is wrong."""


@dataclass(frozen=True, slots=True)
class Name:
    """Where an object is found.

    Args:
        module: its dotted name.
        attribute: of the module.
    """

    module: str
    attribute: str

    @classmethod
    def parse(cls, text: str) -> "Name":
        """Read `module:attribute`.

        Raises:
            ValueError: it is written otherwise.
        """
        module, colon, attribute = text.partition(":")
        if not (module and colon and attribute.isidentifier()):
            raise ValueError(f"{text!r} is not written as package.module:Name")
        return cls(module, attribute)

    def find(self) -> object:
        """Import the module and return the object.

        Raises:
            ImportError: there is no such module, or it cannot be imported.
            AttributeError: the module has no such attribute.
        """
        return getattr(importlib.import_module(self.module), self.attribute)

    def __str__(self) -> str:
        return f"{self.module}.{self.attribute}"


@dataclass(frozen=True, slots=True)
class Suite:
    """The tests of one peer, as far as they concern its consumer.

    Args:
        peer: name of its distribution.
        trees: versions of the source tree that the list holds for.
        installed: versions of the installed peer that its tests are run with.
        version_file: of the tree, relative to its root; holds `__version__`.
        obtain: how a tree is had, for messages.
        facade: kgroup's class.
        original: the peer's own class.
        places: where its users, and its tests, import it from.
        portable: how many tests a class in its place can be asked to pass.
        limit_attribute: by which a test class says how many seconds its tests may take, or None.
        guarded: classes that kgroup neither builds nor imports, beside the original.
        files: file of tests -> its tests that are left out, each with the reason.
    """

    peer: str
    trees: tuple[str, ...]
    installed: tuple[str, ...]
    version_file: str
    obtain: str
    facade: Name
    original: Name
    places: tuple[Name, ...]
    portable: int
    limit_attribute: str | None
    guarded: tuple[Name, ...]
    files: Mapping[str, Mapping[str, str]]


def read_suite(path: Path) -> Suite:
    """Read a list.

    Args:
        path: of a file as `aiokafka.toml`.

    Raises:
        ListError: it is no TOML, or an entry is missing or wrong.
    """
    try:
        known = tomllib.loads(path.read_text(encoding="utf-8"))
        return _suite(known)
    except KeyError as error:
        raise ListError(f"{path}: the entry {error} is missing") from error
    except (OSError, TypeError, ValueError) as error:
        raise ListError(f"{path}: {error}") from error


def _suite(known: dict[str, object]) -> Suite:
    return Suite(
        peer=_text(known, "peer"),
        trees=_texts(known, "trees"),
        installed=_texts(known, "installed"),
        version_file=_text(known, "version_file"),
        obtain=_text(known, "obtain"),
        facade=Name.parse(_text(known, "facade")),
        original=Name.parse(_text(known, "original")),
        places=tuple(Name.parse(text) for text in _texts(known, "places")),
        portable=_number(known, "portable"),
        limit_attribute=_text(known, "limit_attribute") if "limit_attribute" in known else None,
        guarded=tuple(Name.parse(text) for text in _texts(known, "guarded")),
        files=_files(known["files"]),
    )


def _files(known: object) -> Mapping[str, Mapping[str, str]]:
    if not isinstance(known, dict):
        raise TypeError("files is not a table of files of tests")
    found = {}
    for path, left_out in known.items():
        if not isinstance(left_out, dict):
            raise TypeError(f"files.{path!r} is not a table of tests")
        for test, reason in left_out.items():
            if not (isinstance(reason, str) and reason.strip()):
                raise ValueError(f"{test} of {path} is left out without a reason")
        found[path] = left_out
    return found


def _text(known: Mapping[str, object], key: str) -> str:
    value = known[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} = {value!r} is not a string")
    return value


def _texts(known: Mapping[str, object], key: str) -> tuple[str, ...]:
    values = known[key]
    if not (isinstance(values, list) and all(isinstance(value, str) for value in values)):
        raise TypeError(f"{key} = {values!r} is not a list of strings")
    return tuple(values)


def _number(known: Mapping[str, object], key: str) -> int:
    value = known[key]
    if not isinstance(value, int):
        raise TypeError(f"{key} = {value!r} is not a whole number")
    return value
