"""A line of an event log exactly as the writer makes it, as a pattern.

Decides: which lines the sieve may read: those the journal's own writer could have written, with
nothing that a reader could take in two ways. A line that fits can be decoded; one that does not may
be good all the same, and is left to the judge.
Never: reads a line; `re` and Java's patterns understand the pattern in the same way.
Source: the vocabulary, `kgroup.journal.events`; the written form is that of `kgroup.journal.codec`.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import MISSING, Field, fields
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

from kgroup.codes import ApiKey
from kgroup.journal.codec import VERSION
from kgroup.journal.events import EVENT_CLASSES, Event, RoundMember
from kgroup.types import Claim, TopicPartition

COLUMNS: Final = (
    "host string, process string, member string, group string, seq bigint, at double, "
    "wall double, event string, kind string, phase string, cause string, claim array<string>, "
    "claims array<array<string>>, `offset` bigint, move string, `first` bigint, `last` bigint, "
    "count bigint, stage string"
)
"""What the sieve looks at, as Spark's `from_json` reads it."""

# Runs of what needs no escape are one step each: Java's matcher would recurse at each character.
_RUN: Final = r"[ !#-\[\]-~]*+"
_ESCAPE: Final = r'\\(?:["\\/bfnrt]|u(?!d[89a-f])[0-9a-f]{4})'
_TEXT: Final = f'"{_RUN}(?:{_ESCAPE}{_RUN})*+"'
_WHOLE: Final = r"-?(?:0|[1-9][0-9]{0,17}+)"
_NUMBER: Final = _WHOLE + r"(?:\.[0-9]{1,30}+)?(?:e[+-]?[0-9]{1,2}+)?"
_PLACE: Final = rf"\[{_TEXT},{_WHOLE}\]"


def _listed(each: str) -> str:
    return rf"\[(?:{each}(?:,{each})*+)?\]"


_ROUND_MEMBER: Final = (
    rf"\[{_TEXT},(?:null|{_TEXT}),{_listed(_PLACE)}"
    rf"(?:,{_listed(_TEXT)}(?:,{_listed(_PLACE)}(?:,(?:null|{_WHOLE}))?)?)?\]"
)
_PLAIN: Final[dict[object, str]] = {
    str: _TEXT,
    int: _WHOLE,
    float: _NUMBER,
    bool: "(?:true|false)",
    Claim: rf"\[{_TEXT},{_WHOLE},{_WHOLE}\]",
    TopicPartition: _PLACE,
    RoundMember: _ROUND_MEMBER,
}


def _one_of(words: Iterable[object]) -> str:
    return f"(?:{'|'.join(re.escape(json.dumps(word)) for word in words)})"


def _value(hint: object) -> str:
    if get_origin(hint) is tuple:
        return _listed(_value(get_args(hint)[0]))
    if hint is ApiKey:
        return _one_of(each.name for each in ApiKey)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _one_of(each.value for each in hint)
    return _PLAIN[hint]


def _field(field: Field[Any], hint: object) -> str:
    absent = field.default is not MISSING
    if isinstance(hint, UnionType):
        (hint,) = (arm for arm in get_args(hint) if arm is not NoneType)
        absent = True
    said = f',"{field.name}":{_value(hint)}'
    return f"(?:{said})?" if absent else said


def _event(event: type[Event]) -> str:
    hints = get_type_hints(event)
    return f'"{event.KIND}"' + "".join(_field(each, hints[each.name]) for each in fields(event))


FORM: Final = (
    rf'\A\{{"v":{VERSION},"host":{_TEXT},"process":{_TEXT},"member":{_TEXT}'
    rf'(?:,"group":(?!""){_TEXT})?,"seq":{_WHOLE},"at":{_NUMBER},"wall":{_NUMBER}'
    rf',"event":(?:{"|".join(map(_event, EVENT_CLASSES))})\}}(?![\s\S])'
)
"""Fits a line without its end."""
