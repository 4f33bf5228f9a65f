"""One rule about answers: which answers it fits, and what it does to them.

Decides: which requests a rule matches, and what leaves the broker instead of an answer.
Never: decides which of several rules acts; `faults` does.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from kgroup.testing.broker.server.line import Line, Question, Slot
from kgroup.testing.broker.server.refusals import blamed, refusal
from kgroup.values import dataclass
from kgroup.wire.messages import MetadataRequest
from kgroup.wire.schema import Message, Request

Where: TypeAlias = Callable[[Any], bool]
Changing: TypeAlias = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class Ignore:
    """The request is lost before the broker sees it."""


@dataclass(frozen=True, slots=True)
class Error:
    """The request is refused before it has any effect.

    Args:
        code: error code of the answer, everywhere where it has one.
    """

    code: int

    def __post_init__(self) -> None:
        given: object = self.code
        if not isinstance(given, int):
            raise TypeError(
                "an error is a number or one of kgroup.codes.ErrorCode, such as "
                f"ErrorCode.UNKNOWN_MEMBER_ID, not {given!r}"
            )


@dataclass(frozen=True, slots=True)
class _HoldRequest:
    """The request waits for the test before the broker sees it."""


@dataclass(frozen=True, slots=True)
class _Hold:
    """The answer waits for the test."""


@dataclass(frozen=True, slots=True)
class Lose:
    """The answer never leaves."""


@dataclass(frozen=True, slots=True)
class Delay:
    """The answer is late."""

    seconds: float

    def __post_init__(self) -> None:
        if self.seconds < 0:
            raise ValueError(f"an answer cannot be late by {self.seconds:g} s")


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The answer leaves twice."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Another message leaves."""

    make: Callable[[Any, Any], Message]


@dataclass(frozen=True, slots=True)
class RewriteBytes:
    """Other bytes leave."""

    make: Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection is closed in the middle of the answer, or before it."""

    after: int

    def __post_init__(self) -> None:
        if self.after < 0:
            raise ValueError(f"after={self.after}: bytes that still arrive, so at least 0")


Effect: TypeAlias = (
    Ignore | Error | _HoldRequest | _Hold | Lose | Delay | Duplicate | Rewrite | RewriteBytes | Cut
)


class Rule:
    """One rule; `Answers` makes them.

    Args:
        request: class of the requests it is for.
        effect: what it does.
        node: the broker asked, None = any.
        client_id: of the client that asks, None = any.
        where: a question about the request, None = any will do.
        times: how often it acts, None = for ever.

    `count` says how often it has acted.
    """

    def __init__(
        self,
        request: type[Request[Any]],
        effect: Effect,
        *,
        node: int | None = None,
        client_id: str | None = None,
        where: Where | None = None,
        times: int | None = 1,
    ) -> None:
        given: object = request
        if not (isinstance(given, type) and issubclass(given, Request)):
            raise TypeError(
                "a rule is for a class of kgroup.testing.requests, such as HeartbeatRequest, "
                f"not {given!r}"
            )
        if times is not None and times < 1:
            raise ValueError(f"times={times}: a rule acts at least once; None = for ever")
        self.effect = effect
        self.count = 0
        self._request = request
        self._node = node
        self._client_id = client_id
        self._where = where
        self._times = times

    def __repr__(self) -> str:
        return f"<{self.effect} for {self._request.__name__}, acted {self.count} time(s)>"

    def acts_before(self, request: Request[Any]) -> bool:
        """Whether it acts before the broker sees the request.

        Asking for metadata has no effect, and an answer that refuses topics still names brokers.
        """
        if isinstance(self.effect, Error):
            return not isinstance(request, MetadataRequest)
        return isinstance(self.effect, Ignore | _HoldRequest)

    @property
    def is_spent(self) -> bool:
        """Whether it acts no more."""
        return self._times is not None and self.count >= self._times

    def cancel(self) -> None:
        """Act no more; what it holds stays held."""
        self._times = self.count

    def matches(self, node_id: int, client_id: str | None, request: Request[Any]) -> bool:
        """Whether it is for this request."""
        return (
            not self.is_spent
            and isinstance(request, self._request)
            and self._node in (None, node_id)
            and self._client_id in (None, client_id)
            and (self._where is None or self._where(request))
        )

    def slots(self, question: Question, answer: Message, _line: Line) -> list[Slot]:
        """Return what leaves instead of an answer."""
        match self.effect:
            case Error(code):
                return [Slot(question.encode(blamed(answer, code)))]
            case Lose():
                return []
            case Rewrite(make):
                return [Slot(question.encode(make(question.request, answer)))]
            case RewriteBytes(make_bytes):
                return [Slot(make_bytes(question.encode(answer)))]
            case Cut(after):
                return [Slot(question.encode(answer)[:after], then_hang_up=True)]
            case Duplicate():
                data = question.encode(answer)
                return [Slot(data), Slot(data)]
            case _:
                return [Slot(question.encode(answer))]


class Held(Rule):
    """A rule that holds answers until the test lets them go.

    `asked` is the request whose answer it has taken first, None before that.
    """

    def __init__(self, request: type[Request[Any]], changing: Changing, **scope: Any) -> None:  # noqa: ANN401  # those of `Rule`
        super().__init__(request, _Hold(), **scope)
        self.asked: Request[Any] | None = None
        self._changing = changing
        self._held: list[tuple[Slot, Question, Line]] = []

    def slots(self, question: Question, answer: Message, line: Line) -> list[Slot]:
        """Return a place in the order of answers that nothing passes yet."""
        slot = Slot(question.encode(answer), ready_at=math.inf)
        self.asked = self.asked or question.request
        self._held.append((slot, question, line))
        return [slot]

    def release(self, code: int | None = None) -> None:
        """Let what it holds go, and hold nothing any more.

        Args:
            code: what is held becomes refusals with this error code; None = goes as it is.
        """
        if code is not None:
            for slot, question, _ in self._held:
                assert question.request is not None
                slot.data = question.encode(refusal(question.request, question.version, code))
        self._let_go()

    def lose(self) -> None:
        """Drop what it holds, and hold nothing any more; answers behind it go out."""
        for slot, _, _ in self._held:
            slot.data = b""
        self._let_go()

    def _let_go(self) -> None:
        self.cancel()
        with self._changing():
            for slot, _, line in self._held:
                slot.ready_at = -math.inf
                line.wake()
            self._held.clear()


class HeldRequests(Rule):
    """A rule that holds requests, before they have any effect, until the test lets them through.

    `asked` is the request it has taken first, None before that.
    """

    def __init__(self, request: type[Request[Any]], changing: Changing, **scope: Any) -> None:  # noqa: ANN401  # those of `Rule`
        super().__init__(request, _HoldRequest(), **scope)
        self.asked: Request[Any] | None = None
        self._changing = changing
        self._held: list[Callable[[], None]] = []

    def take(self, request: Request[Any], go_on: Callable[[], None]) -> None:
        """Hold a request; the switchboard calls this."""
        self.asked = self.asked or request
        self._held.append(go_on)

    def release(self) -> None:
        """Let the broker see what is held, and hold nothing any more."""
        self.cancel()
        with self._changing():
            held, self._held = self._held, []
            for go_on in held:
                go_on()


def delay_of(effect: Effect) -> float:
    """Return by how many seconds an answer is late."""
    return effect.seconds if isinstance(effect, Delay) else 0.0
