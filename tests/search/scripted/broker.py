"""Brokers that answer what a test tells them to, byte by byte, in memory and without tasks.

Decides: nothing by itself, except that ApiVersions is answered from a table, and that one
connection's answers leave in the order of its requests, as a real broker's do.
Never: keeps rules of Kafka's coordinator; for those use the in-process broker.

A `ScriptedBroker` is a `Dial` port. Everything it does happens inside the client's own `send` and
`receive` calls, so a test has nothing to start or stop and time can be virtual:

    broker = ScriptedBroker()
    broker.on(HeartbeatRequest, HeartbeatResponse())                     # from now on
    broker.once(HeartbeatRequest, HeartbeatResponse(error_code=27))      # first this
    ports = virtual_ports(broker)
    ...
    assert broker.requests(HeartbeatRequest)[0].member_id == "m"

An answer is a message, a function of the request that returns one, or one of the misdeeds below:
`Delayed`, `Held`, `Lost`, `Cut`, `Raw`, `Misnumbered`, `HungUp`.
`tests.search.scripted.cluster` puts several brokers behind one `Dial` and answers Metadata and
FindCoordinator for them.
"""

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import anyio

from kgroup.codes import ApiKey, ErrorCode
from kgroup.wire.frames import decode_request, encode_response, request_class
from kgroup.wire.messages import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kgroup.wire.schema import Message, Request
from tests.search.scripted.stream import ScriptedStream, Slot

Q = TypeVar("Q", bound=Request[Any])


@dataclass(frozen=True, slots=True)
class Delayed:
    """Answer after a while; later requests of the connection wait behind it.

    Args:
        message: the answer.
        seconds: how long to wait, in the clock of the event loop.
    """

    message: Message
    seconds: float


@dataclass(slots=True)
class Held:
    """Answer when the test says so; until then later requests of the connection wait behind it.

    One `Held` holds one request. `asked` is that request once it has come.
    """

    asked: Request[Any] | None = None
    _slot: Slot | None = None
    _encode: Callable[[Message], bytes] | None = None

    def take(self, request: Request[Any], encode: Callable[[Message], bytes], slot: Slot) -> None:
        """Hold a request; the broker calls this."""
        self.asked, self._encode, self._slot = request, encode, slot

    def release(self, message: Message) -> None:
        """Give the answer now.

        Raises:
            RuntimeError: the request has not come yet.
        """
        if self._slot is None or self._encode is None:
            raise RuntimeError("nothing is held yet: the request has not come")
        self._slot.fill(self._encode(message))


@dataclass(frozen=True, slots=True)
class Lost:
    """Swallow the answer; what comes behind it goes out."""


@dataclass(frozen=True, slots=True)
class HungUp:
    """Close the connection instead of answering."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Close the connection in the middle of the answer.

    Args:
        message: the answer.
        after: bytes that still arrive, counted from the first byte of the frame's size.
    """

    message: Message
    after: int


@dataclass(frozen=True, slots=True)
class Raw:
    """Send bytes that need not be an answer at all.

    Args:
        data: what is sent, size of the frame included if it is to be a frame.
    """

    data: bytes


@dataclass(frozen=True, slots=True)
class Misnumbered:
    """Answer under another correlation id.

    Args:
        message: the answer.
        shift: added to the right correlation id.
    """

    message: Message
    shift: int = 1


Answer: TypeAlias = Message | Delayed | Held | Lost | HungUp | Cut | Raw | Misnumbered
Rule: TypeAlias = Answer | Callable[[Any], Answer]
"""What to do with a request: an answer, or a function of the request that returns one."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived.

    Args:
        connection: number of the broker's connection, from 1.
        at: instant on the loop's clock.
        version: version it was written in.
        client_id: name the client gave itself.
        request: the message.
    """

    connection: int
    at: float
    version: int
    client_id: str | None
    request: Request[Any]


def _all_versions() -> dict[ApiKey, tuple[int, int]]:
    """Return every version that kgroup can read and write."""
    spoken: dict[ApiKey, tuple[int, int]] = {}
    for api in ApiKey:
        versions = request_class(api).VERSIONS
        spoken[api] = (versions.start, versions.stop - 1)
    return spoken


@dataclass(slots=True)
class ScriptedBroker:
    """One broker behind any address it is dialled at.

    Args:
        node_id: its id.
        host: where a `ScriptedCluster` lists it.
        port: the same.
        rack: the same, None without one.
        versions: API -> lowest and highest version it speaks; a request outside is answered by
            closing the connection, as real brokers do. Left out, it speaks all kgroup does.
        refuses: dialling raises ConnectionRefusedError.
        deaf: dialling takes for ever.
        mute: connections take bytes and never answer anything, not even ApiVersions.
        jams: connections take no bytes at all.
        piece: most bytes that arrive at the client at once.
    """

    node_id: int = 1
    host: str = "broker-1"
    port: int = 9092
    rack: str | None = None
    versions: Mapping[ApiKey, tuple[int, int]] = field(default_factory=_all_versions)
    refuses: bool = False
    deaf: bool = False
    mute: bool = False
    jams: bool = False
    piece: float = math.inf
    seen: list[Seen] = field(default_factory=list)
    dialled_at: list[float] = field(default_factory=list)
    _always: dict[ApiKey, Rule] = field(default_factory=dict)
    _next: dict[ApiKey, deque[Rule]] = field(default_factory=dict)
    _streams: list[ScriptedStream] = field(default_factory=list)

    # -- the Dial port ---------------------------------------------------------------------

    async def __call__(self, host: str, port: int) -> ScriptedStream:
        """Connect a client.

        Raises:
            ConnectionRefusedError: the broker is down (`refuses`).
        """
        await anyio.lowlevel.checkpoint()
        self.dialled_at.append(anyio.current_time())
        if self.deaf:
            await anyio.sleep_forever()
        if self.refuses:
            raise ConnectionRefusedError(f"{host}:{port} refuses connections")
        stream = ScriptedStream(len(self._streams) + 1, self._take, self)
        self._streams.append(stream)
        return stream

    # -- the script ------------------------------------------------------------------------

    def on(self, request: type[Request[Any]], rule: Rule) -> None:
        """Answer every request of a class like this from now on."""
        self._always[request.api_key] = rule

    def once(self, request: type[Request[Any]], *rules: Rule) -> None:
        """Answer the next requests of a class like this, one rule each, before what `on` says."""
        self._next.setdefault(request.api_key, deque()).extend(rules)

    def hold(self, request: type[Request[Any]]) -> Held:
        """Hold the next request of a class; release it through what is returned."""
        held = Held()
        self.once(request, held)
        return held

    def hang_up(self, *, reset: bool = False) -> None:
        """Close every open connection; with `reset` as if the process had been killed."""
        for stream in self.connections():
            stream.hang_up(reset=reset)

    def go_down(self) -> None:
        """Close every connection and refuse new ones."""
        self.refuses = True
        self.hang_up(reset=True)

    def come_up(self) -> None:
        """Take connections again."""
        self.refuses = self.deaf = self.mute = self.jams = False

    # -- what happened ---------------------------------------------------------------------

    def requests(self, kind: type[Q]) -> list[Q]:
        """Return the requests of a class that have arrived, in order."""
        return [entry.request for entry in self.seen if isinstance(entry.request, kind)]

    def seen_of(self, kind: type[Request[Any]]) -> list[Seen]:
        """Return the arrivals of a class, in order."""
        return [entry for entry in self.seen if isinstance(entry.request, kind)]

    def connections(self) -> list[ScriptedStream]:
        """Return the connections that are open on both sides."""
        return [stream for stream in self._streams if stream.is_open]

    @property
    def address(self) -> str:
        """`host:port`."""
        return f"{self.host}:{self.port}"

    # -- inside ----------------------------------------------------------------------------

    def _take(self, stream: ScriptedStream, frame: memoryview) -> None:
        """Do with one request what the script says."""
        key, version = (int.from_bytes(frame[at : at + 2], "big", signed=True) for at in (0, 2))
        if key == ApiKey.API_VERSIONS and not self._speaks(ApiKey.API_VERSIONS, version):
            self._refuse_version(stream, frame)
            return
        if not self._speaks(ApiKey(key), version):
            stream.hang_up()
            return
        header, request = decode_request(frame)
        now = anyio.current_time()
        self.seen.append(Seen(stream.number, now, version, header.client_id, request))
        if self.mute:
            stream.slots.append(Slot())
            return

        def encode(message: Message, shift: int = 0) -> bytes:
            number = header.correlation_id + shift
            return encode_response(message, header.api_key, version, number)

        _carry_out(self._answer_to(request), stream, request, encode)

    def _speaks(self, api: ApiKey, version: int) -> bool:
        lowest, highest = self.versions.get(api, (0, -1))
        return lowest <= version <= highest

    def _refuse_version(self, stream: ScriptedStream, frame: memoryview) -> None:
        """Answer as brokers since 2.4 do: in version 0, with their range of ApiVersions."""
        number = int.from_bytes(frame[4:8], "big", signed=True)
        lowest, highest = self.versions.get(ApiKey.API_VERSIONS, (0, 0))
        row = ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=lowest, max_version=highest)
        answer = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=(row,))
        data = encode_response(answer, ApiKey.API_VERSIONS, 0, number)
        stream.slots.append(Slot(data, ready_at=anyio.current_time()))

    def _answer_to(self, request: Request[Any]) -> Answer:
        queued = self._next.get(request.api_key)
        rule = queued.popleft() if queued else self._always.get(request.api_key)
        if rule is None and isinstance(request, ApiVersionsRequest):
            return self.api_versions()
        if rule is None:
            raise AssertionError(
                f"the script of {self.address} has no rule for {type(request).__name__}; "
                f"give it one with on() or once()"
            )
        return rule(request) if callable(rule) else rule

    def api_versions(self) -> ApiVersionsResponse:
        """Return the ApiVersions answer that goes with `versions`."""
        rows = tuple(
            ApiVersion(api_key=api, min_version=lowest, max_version=highest)
            for api, (lowest, highest) in self.versions.items()
        )
        return ApiVersionsResponse(api_keys=rows)


def _carry_out(
    answer: Answer,
    stream: ScriptedStream,
    request: Request[Any],
    encode: Callable[..., bytes],
) -> None:
    now = anyio.current_time()
    match answer:
        case Delayed(message, seconds):
            stream.slots.append(Slot(encode(message), ready_at=now + seconds))
        case Held():
            slot = Slot(owner=stream)
            answer.take(request, encode, slot)
            stream.slots.append(slot)
        case Lost():
            pass
        case HungUp():
            stream.slots.append(Slot(b"", ready_at=now, then_hang_up=True))
        case Cut(message, after):
            stream.slots.append(Slot(encode(message)[:after], ready_at=now, then_hang_up=True))
        case Raw(data):
            stream.slots.append(Slot(data, ready_at=now))
        case Misnumbered(message, shift):
            stream.slots.append(Slot(encode(message, shift), ready_at=now))
        case _:
            stream.slots.append(Slot(encode(answer), ready_at=now))
