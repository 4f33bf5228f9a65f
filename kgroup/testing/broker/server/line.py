"""One connection to one broker: requests go on one at a time, answers leave in order.

Decides: what bytes are a request, that the next one is looked at only when the one before has its
answer (R18, `broker_facts.md` G1), in which order and when bytes leave: in the order of the
requests, none before it is due, each behind those before it; and what a broker still serves of a
connection that its client has closed.
Never: waits, or knows what a request means; `switchboard` takes it to the core.
"""

import math
from collections import deque
from collections.abc import Callable
from itertools import takewhile
from typing import Any

from kgroup.codes import ApiKey
from kgroup.errors import DecodeError, UnsupportedVersionError
from kgroup.values import dataclass
from kgroup.wire.frames import (
    FrameSplitter,
    RequestHeader,
    decode_request_header,
    encode_response,
    request_class,
)
from kgroup.wire.schema import Message, Request, decode


@dataclass(frozen=True, slots=True)
class Question:
    """One request as it came over a connection.

    Args:
        api_key: what is asked for, None when the bytes are no request of Kafka's.
        version: in which it is written.
        correlation_id: comes back with the answer.
        client_id: name the client gave itself, None without one.
        request: None when it cannot be read; the connection is to be closed, unless it is an
            ApiVersions of an unknown version.
        problem: why it cannot be read.
    """

    api_key: ApiKey | None
    version: int = 0
    correlation_id: int = 0
    client_id: str | None = None
    request: Request[Any] | None = None
    problem: str = ""

    @classmethod
    def read(cls, frame: memoryview) -> "Question":
        """Read a frame, whatever it is."""
        try:
            header, body = decode_request_header(frame)
        except DecodeError as error:
            return cls(None, problem=str(error))
        try:
            return cls(*header, _decoded(header, body))
        except (DecodeError, UnsupportedVersionError) as error:
            return cls(*header, None, str(error))

    def encode(self, answer: Message, version: int | None = None) -> bytes:
        """Write its answer as a whole frame.

        Args:
            answer: the message.
            version: None = that of the request.
        """
        assert self.api_key is not None
        written = self.version if version is None else version
        return encode_response(answer, self.api_key, written, self.correlation_id)


def _decoded(header: RequestHeader, body: memoryview) -> Request[Any]:
    """Read a request as brokers do: what is left over behind it is not looked at.

    librdkafka writes the "all topics" of Metadata 9 and later as four bytes where one is enough.
    """
    known = request_class(header.api_key)
    try:
        return decode(known, header.api_version, body)
    except DecodeError as error:
        if error.position is None:
            raise
        whole = body[: error.position]
    return decode(known, header.api_version, whole)


@dataclass(slots=True, eq=False)
class Slot:
    """The place of one answer in the order in which a connection's answers leave.

    Args:
        data: the bytes; none when the answer is lost.
        ready_at: instant from which they may go, infinity while they are held.
        then_hang_up: whether the connection is closed behind them.
    """

    data: bytes
    ready_at: float = -math.inf
    then_hang_up: bool = False


class Line:
    """One connection, seen from the broker.

    Args:
        number: its number, over all brokers of the cluster.
        node_id: the broker.
        wake: called when bytes may have become ready, or the connection has ended.

    `ended` means that it is over for the broker; `left`, that the client has closed it, which the
    broker notices later; `reset`, that it was cut off without the bytes that were on their way.
    """

    def __init__(self, number: int, node_id: int, wake: Callable[[], None]) -> None:
        self.number = number
        self.node_id = node_id
        self.client_id: str | None = None
        self.wake = wake
        self.ended: bool = False
        self.left: bool = False
        self.reset: bool = False
        self.asking: Question | None = None
        self._closing = False
        self._inbox: deque[Question] = deque()
        self._slots: deque[Slot] = deque()
        self._splitter = FrameSplitter()

    # -- requests --------------------------------------------------------------------------------

    def feed(self, data: bytes | bytearray | memoryview) -> list[Question]:
        """Take bytes; return the questions that they complete, which wait for their turn here."""
        if self.ended or self.left or self._closing:
            return []
        try:
            questions = [Question.read(frame) for frame in self._splitter.feed(data)]
        except DecodeError as error:
            questions = [Question(None, problem=str(error))]
        self._inbox.extend(questions)
        return questions

    def next_question(self) -> Question | None:
        """Begin the next question, if the one before has its answer; `asking` is the one begun."""
        if self.asking is None and self._inbox:
            self.asking = self._inbox.popleft()
            self.client_id = self.asking.client_id
            return self.asking
        return None

    def answered(self) -> None:
        """End the question that was asked, with or without an answer."""
        self.asking = None
        if self.left and not self._inbox:
            self._end()

    # -- answers ---------------------------------------------------------------------------------

    def put(self, slot: Slot) -> None:
        """Queue an answer behind those before it; nothing is looked at behind a hang-up."""
        if self.ended or self.left or self._closing:
            return
        self._slots.append(slot)
        if slot.then_hang_up:
            self._closing = True
            self._inbox.clear()
        self.wake()

    def take(self, now: float) -> bytes:
        """Return the bytes that may leave now; the end of the connection may come with them."""
        pieces = []
        while self._slots and self._slots[0].ready_at <= now:
            slot = self._slots.popleft()
            pieces.append(slot.data)
            if slot.then_hang_up:
                self._end()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def hang_up(self, *, reset: bool = False) -> None:
        """Close it; answers that are held or late are lost, with `reset` all that have not left."""
        if self.ended:
            return
        self.reset = reset
        ready = [] if reset else [*takewhile(_is_ready, self._slots)]
        self._slots.clear()
        if ready:
            self._slots.extend(ready)
            self.put(Slot(b"", then_hang_up=True))
            return
        self._end()
        self.wake()

    def close(self, *, reset: bool = False) -> None:
        """Note that the client has closed it; at most one request is still served.

        1. A broker does not read while a request is parked, so it does not see the end. 2. The
        answer goes out, and comes back as a reset. 3. The next request is in the broker's buffer:
        it is read and served. 4. Its answer cannot be written, and the connection is dropped with
        all that is behind.

        Args:
            reset: the client had not read all, or wanted no more: the answer of step 2 cannot be
                written already.
        """
        if reset or self.asking is None or not self._inbox:
            self._end()
            return
        self.left = True
        self._slots.clear()
        self._inbox = deque([self._inbox[0]])

    def _end(self) -> None:
        self.ended = True
        self.asking = None
        self._inbox.clear()
        self._slots.clear()


def _is_ready(slot: Slot) -> bool:
    return slot.ready_at == -math.inf
