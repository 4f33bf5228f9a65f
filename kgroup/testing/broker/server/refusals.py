"""Answers that are nothing but an error.

Decides: where in an answer its error codes stand: at the top, and in a row for each row asked for.
Never: decides when something is refused.

Answers echo what was asked: a row of the answer stands for a row of the request, and fields of the
same name have the same value. The few APIs whose names differ are listed here; what is left over is
empty.
"""

from collections.abc import Mapping
from typing import Any, Final

from kgroup.codes import ErrorCode
from kgroup.wire.messages import FetchRequest
from kgroup.wire.schema import Message, Request, replace
from kgroup.wire.source import REQUIRED, Step, layout_of
from kgroup.wire.vocabulary import ArrayForm, BlobForm, RowForm, ScalarForm, TextForm

_ELSEWHERE: Final[Mapping[str, tuple[str, ...]]] = {
    "configs": (),
    "coordinators": ("coordinator_keys",),
    "groups": ("groups", "groups_names", "group_ids"),
    "high_watermark": (),
    "name": ("name", "topic_name", "topic"),
    "partition_index": ("partition_index", "index", "partition"),
    "index": ("partition_index", "index", "partition"),
    "partition_responses": ("partition_data",),
    "partitions": ("partitions", "partition_indexes"),
    "results_by_partition": ("partitions",),
    "results_by_topic_v3_and_below": ("v3_and_below_topics",),
    "results_by_transaction": ("transactions",),
    "topic_results": ("topics",),
    "responses": ("responses", "topic_data", "topics", "topic_names", "resources"),
    "results": ("groups_names", "topics", "resources"),
    "topic": ("topic", "name"),
}
"""Field of an answer -> fields of a request that may hold what it echoes."""

_CODES: Final = ("error_code", "partition_error_code")

OF_SESSIONS: Final = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)
"""Errors of a Fetch as a whole (KIP-227, KIP-516); any other is one of its partitions."""

_NAMES: Final = ("group_id", "key", "name", "partition_index")
"""What the items of an array of names or numbers are called where they become rows."""


def refusal(request: Request[Any], version: int, code: int) -> Message:
    """Build the answer that refuses a request, in all that it asks for.

    Args:
        request: what is refused.
        version: of both.
        code: put wherever the answer has room for one.
    """
    answer: Message = _echo(type(request).RESPONSE, request, version, code)
    if not isinstance(request, FetchRequest):
        return answer
    if code in OF_SESSIONS:
        return replace(answer, responses=())
    return replace(answer, error_code=0) if request.topics else answer


def blamed(answer: Message, code: int) -> Message:
    """Turn an answer to Metadata into one that refuses every topic and knows the brokers."""
    topics: Any = getattr(answer, "topics", ())
    refused = tuple(replace(topic, error_code=code, partitions=()) for topic in topics)
    return replace(answer, topics=refused)


def _echo(cls: type[Any], asked: object, version: int, code: int) -> Any:  # noqa: ANN401
    layout = layout_of(cls, version)
    values = {
        step.name: _value(step, asked, version, code) for step in (*layout.present, *layout.tagged)
    }
    for step in layout.absent:
        values.setdefault(step.name, step.default)
    return cls(**values)


def _value(step: Step, asked: object, version: int, code: int) -> Any:  # noqa: ANN401
    if step.name in _CODES:
        return code
    echoed = _counterpart(step, asked)
    match step.form:
        case ArrayForm(RowForm(cls)):
            rows = echoed if isinstance(echoed, tuple) else ()
            return tuple(_echo(cls, row, version, code) for row in rows)
        case ArrayForm() | RowForm():
            return _empty(step) if step.default is REQUIRED else step.default
    if _fits(step, echoed):
        return echoed
    return _empty(step) if step.default is REQUIRED else step.default


def _counterpart(step: Step, asked: object) -> object:
    """Return what a field of the answer echoes, None if nothing."""
    if isinstance(asked, str | int):  # an item of an array of names or numbers
        return asked if step.name in _NAMES else None
    for name in _ELSEWHERE.get(step.name, (step.name,)):
        found = getattr(asked, name, None)
        if found is not None and found != ():
            return found
    return None


def _fits(step: Step, value: object) -> bool:
    match step.form:
        case TextForm():
            return isinstance(value, str) and step.default in (REQUIRED, "")
        case ScalarForm(format="16s"):
            return isinstance(value, bytes)
        case ScalarForm(format="?"):
            return False
        case ScalarForm():
            return isinstance(value, int) and step.default is REQUIRED
        case _:
            return False


def _empty(step: Step) -> object:
    """Return what says "nothing" where a value must stand."""
    if step.nullable and not isinstance(step.form, ArrayForm):
        return None
    match step.form:
        case ArrayForm():
            return ()
        case TextForm():
            return ""
        case BlobForm():
            return b""
        case ScalarForm(format="16s"):
            return bytes(16)
        case ScalarForm(format="?"):
            return False
        case ScalarForm():
            return -1
        case RowForm(cls):
            return cls()
