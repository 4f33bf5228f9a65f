"""What happened when a script ran on a real broker: every frame, and when.

Decides: how that is kept in a file.
Never: judges.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgroup.wire.frames import RequestHeader, decode_request, decode_response
from kgroup.wire.schema import Message, Request
from tests.testing.differential.script import Script, from_json, to_json

SENT, RECEIVED, CLOSED, HUNG_UP = ">", "<", "x", "e"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    Args:
        at: seconds since the start of the script.
        connection: such as `A0`: an actor, and the number of the connection among its own.
        kind: `>` sent, `<` received, `x` closed by us, `e` closed by the broker.
        frame: without the size; empty when something was closed.
        step: of the script; -1 for what an observer asks.
    """

    at: float
    connection: str
    kind: str
    frame: bytes = b""
    step: int = -1


@dataclass(frozen=True, slots=True)
class Trace:
    """One run of a script.

    Args:
        version: of Kafka.
        script: what was to be done.
        group_id: under which name.
        events: in order of time.
        lateness: by how many seconds the latest request was late.
    """

    version: str
    script: Script
    group_id: str
    events: tuple[Event, ...]
    lateness: float


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and what became of it.

    Args:
        step: of the script, -1 for an observer's.
        connection: on which.
        header: of the request.
        request: as read from its frame.
        sent_at: seconds.
        answered_at: None without an answer.
        answer: None without one.
        frame: of the request.
        answer_frame: empty without an answer.
        closed_at: when its connection was closed by us, None if it was not.
        hung_up: the broker closed the connection before it had answered.
    """

    step: int
    connection: str
    header: RequestHeader
    request: Request[Any]
    sent_at: float
    answered_at: float | None
    answer: Message | None
    frame: bytes
    answer_frame: bytes
    closed_at: float | None
    hung_up: bool


def exchanges(trace: Trace) -> list[Exchange]:
    """Pair requests with answers, in the order of sending."""
    answers: dict[tuple[str, int], Event] = {}
    closed: dict[str, Event] = {}
    for event in trace.events:
        if event.kind == RECEIVED:
            correlation_id = int.from_bytes(event.frame[:4], "big")
            answers[event.connection, correlation_id] = event
        elif event.kind != SENT:
            closed.setdefault(event.connection, event)
    return [
        _exchange(event, answers, closed.get(event.connection))
        for event in trace.events
        if event.kind == SENT
    ]


def _exchange(
    event: Event, answers: dict[tuple[str, int], Event], closed: Event | None
) -> Exchange:
    header, request = decode_request(event.frame)
    found = answers.get((event.connection, header.correlation_id))
    answer = None
    if found is not None:
        _, answer = decode_response(type(request), header.api_version, found.frame)
    return Exchange(
        step=event.step,
        connection=event.connection,
        header=header,
        request=request,
        sent_at=event.at,
        answered_at=None if found is None else found.at,
        answer=answer,
        frame=event.frame,
        answer_frame=b"" if found is None else found.frame,
        closed_at=closed.at if closed is not None and closed.kind == CLOSED else None,
        hung_up=found is None and closed is not None and closed.kind == HUNG_UP,
    )


# -- files ---------------------------------------------------------------------------------------


def to_document(trace: Trace) -> dict[str, Any]:
    """Return what `json` can write."""
    return {
        "version": trace.version,
        "group": trace.group_id,
        "late": round(trace.lateness, 4),
        "script": to_json(trace.script),
        "events": [
            [round(e.at, 4), e.connection, e.kind, e.step, e.frame.hex()] for e in trace.events
        ],
    }


def from_document(document: dict[str, Any]) -> Trace:
    """Read what `to_document` wrote."""
    events = (
        Event(at, connection, kind, bytes.fromhex(frame), step)
        for at, connection, kind, step, frame in document["events"]
    )
    return Trace(
        document["version"],
        from_json(document["script"]),
        document["group"],
        tuple(events),
        document["late"],
    )


def save_traces(path: Path, traces: Iterable[Trace]) -> None:
    """Write traces, one per line; the same traces give the same bytes."""
    lines = (json.dumps(to_document(trace), separators=(",", ":")) for trace in traces)
    text = "".join(f"{line}\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def load_traces(path: Path) -> Iterator[Trace]:
    """Read what `save_traces` wrote."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield from_document(json.loads(line))
    return
