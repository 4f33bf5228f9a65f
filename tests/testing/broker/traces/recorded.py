"""A recorded trace as exchanges: each a request, what became of it, and on which connection.

Decides: which answer belongs to which request, and which frames share a connection where names and
correlation ids were used twice.
Never: judges an answer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType
from typing import Any

from kgroup.codes import ApiKey
from kgroup.errors import UnsupportedVersionError
from kgroup.wire.frames import decode_request, decode_response, request_class
from kgroup.wire.schema import Message, Request
from tests import vectors

_ELSEWHERE = ("kip848_flow-3.9.1", "upgrade_downgrade-3.9.1")
"""What the in-process broker does not do: KIP-848 as 3.9 previewed it."""


@dataclass(frozen=True, slots=True)
class Note:
    """What the script that recorded a trace said at an instant."""

    at: float
    text: str


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request of a trace.

    Args:
        name: of its connection.
        line: number of its connection.
        correlation: its id on that connection.
        at: seconds when it was sent.
        api: what was asked.
        version: of the request.
        request: decoded; None = kgroup does not speak this version.
        answer: decoded; None = never answered, or not readable.
        answered_at: seconds when the answer was read; None = never answered.
        ended_at: seconds when the connection ended; infinity = never.
        codes: a rebuilt poll has this set of possible error codes instead of an answer.
    """

    name: str
    line: int
    correlation: int
    at: float
    api: ApiKey
    version: int
    request: Request[Any] | None
    answer: Message | None = None
    answered_at: float | None = None
    ended_at: float = inf
    codes: frozenset[str] | None = None

    @property
    def client(self) -> str:
        """The client id; further connections of a client have `.2` and so on in their names."""
        return self.name.partition(".")[0]

    @property
    def title(self) -> str:
        """How a difference names it."""
        return f"{self.at:.3f} {self.name}#{self.correlation} {self.api.name} v{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One recorded scenario on one broker.

    Args:
        name: of its file, such as `first_join-4.3.1-d300`.
        scenario: such as `first_join`.
        release: such as `4.3.1`.
        settings: broker settings that differ from Kafka's defaults.
        exchanges: in the order in which they were sent.
        notes: in order.
    """

    name: str
    scenario: str
    release: str
    settings: Mapping[str, str]
    exchanges: tuple[Exchange, ...]
    notes: tuple[Note, ...]

    @property
    def ends_at(self) -> float:
        """The last recorded instant, in seconds."""
        return max(
            *(exchange.answered_at or exchange.at for exchange in self.exchanges),
            *(note.at for note in self.notes),
            0.0,
        )


def names() -> Iterator[str]:
    """Yield the names of all traces that are to be replayed."""
    for path in vectors.names("broker"):
        name = path.removeprefix("broker/")
        if not name.startswith(_ELSEWHERE):
            yield name


def trace(name: str) -> Trace:
    """Read one trace."""
    header, *lines = vectors.load(f"broker/{name}")
    reader = _Reader()
    for line in lines:
        reader.read(line)
    return Trace(
        name=name,
        scenario=header["scenario"],
        release=header["broker"],
        settings=MappingProxyType(header["config"]),
        exchanges=tuple(reader.exchanges),
        notes=tuple(reader.notes),
    )


@dataclass(slots=True)
class _Line:
    """One connection."""

    number: int
    name: str
    last: int = 0
    open: bool = True
    exchanges: list[Exchange] = field(default_factory=list)


@dataclass(slots=True)
class _Reader:
    exchanges: list[Exchange] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    lines: list[_Line] = field(default_factory=list)

    def read(self, line: dict[str, Any]) -> None:
        at = line["t"] / 1000
        if "note" in line:
            self.notes.append(Note(at, line["note"]))
        elif line.get("e") == "open":
            self._open(line["c"])
        elif "e" in line:
            self._end(line["c"], at)
        elif line["d"] == ">":
            self._sent(line, at)
        else:
            self._answered(line, at)

    def _open(self, name: str) -> _Line:
        self.lines.append(_Line(len(self.lines), name))
        return self.lines[-1]

    def _end(self, name: str, at: float) -> None:
        ended = next((each for each in self.lines if each.name == name and each.open), None)
        if ended is None:
            return
        ended.open = False
        for exchange in ended.exchanges:
            exchange.ended_at = at

    def _line_of(self, name: str, correlation: int) -> _Line:
        """Find the connection of a request; hidden polls make ids jump, twins share a name."""
        there = [each for each in self.lines if each.name == name and each.open]
        there.sort(key=lambda each: each.exchanges[-1].at if each.exchanges else inf, reverse=True)
        following = [each for each in there if each.last == correlation - 1]
        later = [each for each in there if each.last < correlation]
        return (following or later or [self._open(name)])[0]

    def _sent(self, line: dict[str, Any], at: float) -> None:
        found = self._line_of(line["c"], line["i"])
        found.last = line["i"]
        exchange = Exchange(
            name=line["c"],
            line=found.number,
            correlation=line["i"],
            at=at,
            api=ApiKey(line["k"]),
            version=line["v"],
            request=_request(line["x"]),
        )
        found.exchanges.append(exchange)
        self.exchanges.append(exchange)

    def _answered(self, line: dict[str, Any], at: float) -> None:
        exchange = next(
            each
            for each in self.exchanges
            if (each.name, each.correlation, each.api) == (line["c"], line["i"], line["k"])
            and each.answered_at is None
            and each.ended_at >= at
        )
        exchange.answered_at = at
        if exchange.request is not None:
            exchange.answer = _answer(exchange.api, exchange.version, line["x"])


def _request(frame: str) -> Request[Any] | None:
    try:
        return decode_request(memoryview(bytes.fromhex(frame))[4:])[1]
    except UnsupportedVersionError:
        return None


def _answer(api: ApiKey, version: int, frame: str) -> Message:
    body = memoryview(bytes.fromhex(frame))[4:]
    answer: Message = decode_response(request_class(api), version, body)[1]
    return answer
