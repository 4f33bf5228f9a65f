"""From the JSON of Kafka's own converters to messages, for comparison with decoded bytes."""

import base64
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from kgroup.wire import messages
from kgroup.wire.schema import Message
from kgroup.wire.vocabulary import ArrayForm, BlobForm, Form, RowForm, ScalarForm, form_of
from tests import vectors


class Case(NamedTuple):
    """One line of a vector file."""

    name: str
    cls: type[Message]
    version: int
    message: Message
    data: bytes
    decode_only: bool


def apis() -> list[str]:
    """Names of all APIs that have vectors."""
    names = (name.removeprefix("wire/") for name in vectors.names("wire"))
    return [name for name in names if not name.startswith("_")]


def cases(api: str) -> Iterator[Case]:
    """Yield the vectors of an API, read by the adapter."""
    for line in vectors.load(f"wire/{api}"):
        cls = message_class(api, line["kind"])
        yield Case(
            name=f"{api} {line['kind']} v{line['version']} {line['case']}",
            cls=cls,
            version=line["version"],
            message=message_of(cls, line["json"]),
            data=bytes.fromhex(line["hex"]),
            decode_only=line.get("decode_only", False),
        )


def message_class(api: str, kind: str) -> type[Message]:
    found: type[Message] = getattr(messages, api + kind.capitalize())
    return found


def message_of(cls: type[Message], fields: dict[str, Any]) -> Message:
    """Make a message out of camelCase fields; those not given keep their defaults."""
    values = {}
    for camel, value in fields.items():
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", camel).lower()
        form, _ = form_of(cls.FIELDS[name].type)
        values[name] = value_of(form, value)
    return cls(**values)


def value_of(form: Form, value: Any) -> Any:
    match form:
        case _ if value is None:
            return None
        case RowForm(cls):
            return message_of(cls, value)
        case ArrayForm(item):
            return tuple(value_of(item, one) for one in value)
        case BlobForm():
            return base64.b64decode(value)
        case ScalarForm("16s", _):
            return base64.urlsafe_b64decode(value + "==")
        case _:
            return value
