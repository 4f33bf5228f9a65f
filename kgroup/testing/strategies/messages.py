"""Strategies for messages, generated from the declarations that the codec is generated from.

Decides: which values a field may have: any that its type can carry in a version, those at the
edges of a length or a number more often. Rows come in runs of equals, for those are read at once.
Never: draws what the version lacks; such a field stays at its default, so that the message can be
written and comes back as it was.

KIP-482 (lengths in one byte up to 126, then in two).
"""

from functools import cache
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from kgroup.errors import UnsupportedVersionError
from kgroup.wire.schema import Message
from kgroup.wire.source import layout_of
from kgroup.wire.vocabulary import ArrayForm, BlobForm, Form, RowForm, ScalarForm

M = TypeVar("M", bound=Message)

_BITS: Final = {"b": 8, "h": 16, "i": 32, "q": 64}
_UUID: Final = "16s"
_SHORT: Final = 5
_KINDS: Final = 3
_TIMES: Final = 5
_EDGES: Final = (b"", b"a" * 126, b"b" * 127, b"c" * 300)
_TEXT_EDGES: Final = ("", "é" * 63, "x" * 127, "y" * 200)


def messages(cls: type[M], version: int) -> st.SearchStrategy[M]:
    """Return a strategy for messages of a class that a version can carry.

    Each of them can be written in that version, and is read back as it was.

    Args:
        cls: a request or a response, of `kgroup.wire.messages`.
        version: one of `cls.VERSIONS`.

    Raises:
        UnsupportedVersionError: the version is not one of the class's.
    """
    if version not in cls.VERSIONS:
        spoken = f"{cls.VERSIONS.start} to {cls.VERSIONS.stop - 1}" if cls.VERSIONS else "none"
        reason = f"version {version} is not one of its versions: {spoken}"
        raise UnsupportedVersionError(cls.__name__, reason)
    known: Any = cls  # mypy takes the hash of a message for that of its class
    made: st.SearchStrategy[M] = _rows(known, version)
    return made


@cache
def _rows(cls: Any, version: int) -> st.SearchStrategy[Any]:  # noqa: ANN401  # see above
    layout = layout_of(cls, version)
    fields = {}
    for step in layout.present + layout.tagged:
        values = _values(step.form, version)
        fields[step.name] = st.none() | values if step.nullable else values
    return st.builds(cls, **fields)


def _values(form: Form, version: int) -> st.SearchStrategy[Any]:
    match form:
        case ScalarForm("?", _):
            return st.booleans()
        case ScalarForm(code, size) if code == _UUID:
            return st.binary(min_size=size, max_size=size)
        case ScalarForm(code, _):
            bound = 1 << (_BITS[code] - 1)
            edges = st.sampled_from((-bound, -1, 0, bound - 1))
            return st.integers(-bound, bound - 1) | edges
        case RowForm(cls):
            known: Any = cls
            return _rows(known, version)
        case ArrayForm(item):
            return _repeated(_values(item, version))
        case BlobForm():
            return st.binary(max_size=_SHORT) | st.sampled_from(_EDGES)
        case _:
            return st.text(max_size=_SHORT) | st.sampled_from(_TEXT_EDGES)


def _repeated(item: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Few different items, each several times in a row."""
    runs = st.lists(st.tuples(item, st.integers(1, _TIMES)), max_size=_KINDS)
    return runs.map(lambda pairs: tuple(one for one, times in pairs for _ in range(times)))
