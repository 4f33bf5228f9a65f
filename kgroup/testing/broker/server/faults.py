"""What goes wrong on the way: rules that tests lay down for requests and their answers.

Decides: which rule a request or an answer falls under: the first that was laid down, is not used up
and matches; and what then leaves the broker instead of the answer. `ignore` and `error` act before
the broker has seen the request; all others act on the answer, so the request has had its effect.
A delayed or held answer holds up those behind it on its connection, a lost one does not.
Never: changes what the core knows.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypedDict, TypeVar, Unpack

from kgroup.testing.broker.server.line import Line, Question, Slot
from kgroup.testing.broker.server.refusals import blamed
from kgroup.wire.messages import MetadataRequest
from kgroup.wire.schema import Message, Request

__all__ = ["Answers", "Effect", "Error", "Held", "Ignore", "Rule", "Scope", "delay_of"]

Q = TypeVar("Q", bound=Request[Any])
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


@dataclass(frozen=True, slots=True)
class _Hold:
    """The answer waits for the test."""


@dataclass(frozen=True, slots=True)
class _Lose:
    """The answer never leaves."""


@dataclass(frozen=True, slots=True)
class _Delay:
    """The answer is late."""

    seconds: float


@dataclass(frozen=True, slots=True)
class _Duplicate:
    """The answer leaves twice."""


@dataclass(frozen=True, slots=True)
class _Rewrite:
    """Another message leaves."""

    make: Callable[[Any, Any], Message]


@dataclass(frozen=True, slots=True)
class _RewriteBytes:
    """Other bytes leave."""

    make: Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class _Cut:
    """The connection is closed in the middle of the answer, or before it."""

    after: int


Effect: TypeAlias = (
    Ignore | Error | _Hold | _Lose | _Delay | _Duplicate | _Rewrite | _RewriteBytes | _Cut
)


class Rule:
    """One rule; `Answers` makes them.

    Args:
        request: class of the requests it is for.
        effect: what it does.
        node: the broker asked, None = any.
        client_id: who asks, None = anybody.
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
        return isinstance(self.effect, Ignore)

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
            case _Lose():
                return []
            case _Rewrite(make):
                return [Slot(question.encode(make(question.request, answer)))]
            case _RewriteBytes(make_bytes):
                return [Slot(make_bytes(question.encode(answer)))]
            case _Cut(after):
                return [Slot(question.encode(answer)[:after], then_hang_up=True)]
            case _Duplicate():
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
        self._held: list[tuple[Slot, Line]] = []

    def slots(self, question: Question, answer: Message, line: Line) -> list[Slot]:
        """Return a place in the order of answers that nothing passes yet."""
        slot = Slot(question.encode(answer), ready_at=math.inf)
        self.asked = self.asked or question.request
        self._held.append((slot, line))
        return [slot]

    def release(self) -> None:
        """Let what it holds go, and hold nothing any more."""
        self._let_go()

    def lose(self) -> None:
        """Drop what it holds, and hold nothing any more; answers behind it go out."""
        for slot, _ in self._held:
            slot.data = b""
        self._let_go()

    def _let_go(self) -> None:
        self.cancel()
        with self._changing():
            for slot, line in self._held:
                slot.ready_at = -math.inf
                line.wake()
            self._held.clear()


def delay_of(effect: Effect) -> float:
    """Return by how many seconds an answer is late."""
    return effect.seconds if isinstance(effect, _Delay) else 0.0


class Scope(TypedDict, Generic[Q], total=False):
    """Which requests a rule is for, besides their class.

    Args:
        node: the broker asked, None = any.
        client_id: who asks, None = anybody.
        where: a function of the request, None = any will do.
        times: how often the rule acts, None = for ever; once if left out.
    """

    node: int | None
    client_id: str | None
    where: Callable[[Q], bool] | None
    times: int | None


class Answers:
    """The rules of one cluster; `broker.answers` in a test.

    Each call lays down a rule for requests of a class (`Request` = any), behind those that are
    there, and returns it: `rule.count` says how often it has acted, `rule.cancel()` ends it. All
    take the conditions of `Scope` as keywords:

        broker.answers.lose(HeartbeatRequest, client_id="a", times=3)
        broker.answers.error(OffsetCommitRequest, 27, where=lambda asked: asked.group_id == "g")

    Args:
        changing: lends the cluster out for a change.
    """

    def __init__(self, changing: Changing) -> None:
        self._changing = changing
        self._rules: list[Rule] = []

    def __iter__(self) -> Iterator[Rule]:
        return iter([*self._rules])

    # -- before the broker sees the request --------------------------------------------------------

    def ignore(self, request: type[Q], **scope: Unpack[Scope[Q]]) -> Rule:
        """Lose the request before it has any effect; it is never answered."""
        return self._lay(Rule(request, Ignore(), **scope))

    def error(self, request: type[Q], code: int, **scope: Unpack[Scope[Q]]) -> Rule:
        """Answer with an error code instead of doing what is asked.

        Args:
            request: class of the requests.
            code: stands wherever the answer has room for one.
            scope: see `Scope`.
        """
        return self._lay(Rule(request, Error(code), **scope))

    # -- after its effect --------------------------------------------------------------------------

    def hold(self, request: type[Q], **scope: Unpack[Scope[Q]]) -> Held:
        """Hold the answer, and with it those behind it on the connection, until `release()`."""
        held = Held(request, self._changing, **scope)
        self._lay(held)
        return held

    def lose(self, request: type[Q], **scope: Unpack[Scope[Q]]) -> Rule:
        """Drop the answer; those behind it on the connection go out."""
        return self._lay(Rule(request, _Lose(), **scope))

    def delay(self, request: type[Q], seconds: float, **scope: Unpack[Scope[Q]]) -> Rule:
        """Let the answer, and with it those behind it on the connection, be late by `seconds`."""
        return self._lay(Rule(request, _Delay(seconds), **scope))

    def duplicate(self, request: type[Q], **scope: Unpack[Scope[Q]]) -> Rule:
        """Send the answer twice, under the same correlation id."""
        return self._lay(Rule(request, _Duplicate(), **scope))

    def rewrite(
        self, request: type[Q], make: Callable[[Q, Any], Message], **scope: Unpack[Scope[Q]]
    ) -> Rule:
        """Send what `make(request, answer)` returns; `kgroup.wire.schema.replace` is of use in it.

        Args:
            request: class of the requests.
            make: gets the request and the answer, returns an answer of the same class.
            scope: see `Scope`.
        """
        return self._lay(Rule(request, _Rewrite(make), **scope))

    def rewrite_bytes(
        self, request: type[Q], make: Callable[[bytes], bytes], **scope: Unpack[Scope[Q]]
    ) -> Rule:
        """Send other bytes.

        Args:
            request: class of the requests.
            make: gets the whole frame of the answer, the 4 bytes of its size included, and returns
                what is to be sent: a frame or anything else.
            scope: see `Scope`.
        """
        return self._lay(Rule(request, _RewriteBytes(make), **scope))

    def cut(self, request: type[Q], *, after: int, **scope: Unpack[Scope[Q]]) -> Rule:
        """Close the connection in the middle of the answer.

        Args:
            request: class of the requests.
            after: bytes that still arrive, counted from the first byte of the frame's size.
            scope: see `Scope`.
        """
        return self._lay(Rule(request, _Cut(after), **scope))

    def hang_up(self, request: type[Q], **scope: Unpack[Scope[Q]]) -> Rule:
        """Close the connection instead of answering."""
        return self._lay(Rule(request, _Cut(0), **scope))

    def clear(self) -> None:
        """Take all rules away; what they hold goes out."""
        with self._changing():
            rules, self._rules = self._rules, []
            for rule in rules:
                rule.cancel()
                if isinstance(rule, Held):
                    rule.release()

    # -- for the switchboard -----------------------------------------------------------------------

    def before(self, node_id: int, client_id: str | None, request: Request[Any]) -> Rule | None:
        """Find the rule for a request that the broker is about to look at, and count it."""
        return self._first(node_id, client_id, request, early=True)

    def after(self, node_id: int, client_id: str | None, request: Request[Any]) -> Rule | None:
        """Find the rule for the answer to a request, and count it."""
        return self._first(node_id, client_id, request, early=False)

    def _lay(self, rule: Rule) -> Rule:
        with self._changing():
            self._rules = [known for known in self._rules if not known.is_spent]
            self._rules.append(rule)
        return rule

    def _first(
        self, node_id: int, client_id: str | None, request: Request[Any], *, early: bool
    ) -> Rule | None:
        for rule in self._rules:
            fits = rule.acts_before(request) is early
            if fits and rule.matches(node_id, client_id, request):
                rule.count += 1
                return rule
        return None
