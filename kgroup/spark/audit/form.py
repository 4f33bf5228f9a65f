"""A line of an event log exactly as the writer makes it, as a pattern.

Decides: which lines the sieve may read: those the journal's own writer could have written, with
nothing that a reader could take in two ways. A line that fits can be decoded; one that does not may
be good all the same, and is left to the judge. The pattern comes in three pieces: who wrote the
line, when, and what, since most lines begin as an earlier one did.
Never: reads a line.
Source: the vocabulary, `kgroup.journal.events`; the written form is that of `kgroup.journal.codec`.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields
from enum import Enum
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

from kgroup.codes import ApiKey
from kgroup.journal.codec import VERSION
from kgroup.journal.events import (
    EVENT_CLASSES,
    CommitStep,
    Delivered,
    Event,
    MemberStarted,
    OffsetRead,
    OwnershipStep,
    PositionMoved,
    RoundMember,
    StateChanged,
)
from kgroup.types import Claim, TopicPartition

# Possessive: a piece that fits in one way is not tried in others.
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


_READ: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        MemberStarted.KIND: ("client",),
        StateChanged.KIND: ("cause",),
        OffsetRead.KIND: ("claim", "offset"),
        PositionMoved.KIND: ("claim", "offset", "move"),
        OwnershipStep.KIND: ("kind", "phase", "claims"),
        Delivered.KIND: ("claim", "first", "last", "count"),
        CommitStep.KIND: ("stage", "claim", "offset"),
    }
)
"""Fields that the sieve looks at, in the order in which they are written."""


def _field(field: Field[Any], hint: object, *, read: bool) -> str:
    absent = field.default is not MISSING
    if isinstance(hint, UnionType):
        (hint,) = (arm for arm in get_args(hint) if arm is not NoneType)
        absent = True
    value = f"({_value(hint)})" if read else _value(hint)
    said = f',"{field.name}":{value}'
    return f"(?:{said})?" if absent else said


def _event(event: type[Event]) -> str:
    hints, read = get_type_hints(event), _READ.get(event.KIND, ())
    told = (_field(each, hints[each.name], read=each.name in read) for each in fields(event))
    return "".join(told) + r"\}"


HEAD: Final = re.compile(
    rf'\{{"v":{VERSION},"host":{_TEXT},"process":{_TEXT},"member":{_TEXT}(?:,"group":(?!""){_TEXT})?'
)
"""Who wrote a line: all before `BREAK`."""
BREAK: Final = ',"seq":'
"""Parts a line: it cannot stand in a text, for there a quote is escaped."""
STAMP: Final = re.compile(rf'({_WHOLE}),"at":({_NUMBER}),"wall":({_NUMBER}),"event":"([a-z_]++)"')
"""Number, both clocks and kind: what follows `BREAK`."""
EVENTS: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {event.KIND: re.compile(_event(event)) for event in EVENT_CLASSES}
)
"""Kind -> the rest of the line without its end; groups are the fields that the sieve looks at."""
