"""What goes wrong on the way: rules that tests lay down for requests and their answers.

Decides: which rule a request or an answer falls under: the first that was laid down, is not used up
and matches. `ignore`, `error` and `hold_request` act before the broker has seen the request; all
others act on the answer, so the request has had its effect. What a rule does is in `misdeeds`.
A delayed or held answer holds up those behind it on its connection, a lost one does not.
Never: changes what the core knows.
"""

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypedDict, TypeVar, Unpack

from kgroup.testing.broker.server.misdeeds import (
    Changing,
    Cut,
    Delay,
    Duplicate,
    Effect,
    Error,
    Held,
    HeldRequests,
    Ignore,
    Lose,
    Rewrite,
    RewriteBytes,
    Rule,
    delay_of,
)
from kgroup.wire.schema import Message, Request

__all__ = [
    "Answers",
    "Effect",
    "Error",
    "Held",
    "HeldRequests",
    "Ignore",
    "Rule",
    "Scope",
    "delay_of",
]

Q = TypeVar("Q", bound=Request[Any])


class Scope(TypedDict, Generic[Q], total=False):
    """Which requests a rule is for, besides their class.

    Args:
        node: the broker asked, None = any.
        client_id: of the client that asks, None = any.
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
            code: put wherever the answer has room for one.
            scope: see `Scope`.
        """
        return self._lay(Rule(request, Error(code), **scope))

    def hold_request(self, request: type[Q], **scope: Unpack[Scope[Q]]) -> HeldRequests:
        """Hold the request, and with it those behind it on the connection, until `release()`.

        It arrives late: the broker judges it by what is so then.
        """
        held = HeldRequests(request, self._changing, **scope)
        self._lay(held)
        return held

    # -- after its effect --------------------------------------------------------------------------

    def hold(self, request: type[Q], **scope: Unpack[Scope[Q]]) -> Held:
        """Hold the answer, and with it those behind it on the connection, until `release()`."""
        held = Held(request, self._changing, **scope)
        self._lay(held)
        return held

    def lose(self, request: type[Q], **scope: Unpack[Scope[Q]]) -> Rule:
        """Drop the answer; those behind it on the connection go out."""
        return self._lay(Rule(request, Lose(), **scope))

    def delay(self, request: type[Q], seconds: float, **scope: Unpack[Scope[Q]]) -> Rule:
        """Let the answer, and with it those behind it on the connection, be late by `seconds`."""
        return self._lay(Rule(request, Delay(seconds), **scope))

    def duplicate(self, request: type[Q], **scope: Unpack[Scope[Q]]) -> Rule:
        """Send the answer twice, under the same correlation id."""
        return self._lay(Rule(request, Duplicate(), **scope))

    def rewrite(
        self, request: type[Q], make: Callable[[Q, Any], Message], **scope: Unpack[Scope[Q]]
    ) -> Rule:
        """Send what `make(request, answer)` returns; `kgroup.wire.schema.replace` is of use in it.

        Args:
            request: class of the requests.
            make: gets the request and the answer, returns an answer of the same class.
            scope: see `Scope`.
        """
        return self._lay(Rule(request, Rewrite(make), **scope))

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
        return self._lay(Rule(request, RewriteBytes(make), **scope))

    def cut(self, request: type[Q], *, after: int, **scope: Unpack[Scope[Q]]) -> Rule:
        """Close the connection in the middle of the answer.

        Args:
            request: class of the requests.
            after: bytes that still arrive, counted from the first byte of the frame's size.
            scope: see `Scope`.
        """
        return self._lay(Rule(request, Cut(after), **scope))

    def hang_up(self, request: type[Q], **scope: Unpack[Scope[Q]]) -> Rule:
        """Close the connection instead of answering."""
        return self._lay(Rule(request, Cut(0), **scope))

    def clear(self) -> None:
        """Take all rules away; what they hold goes out."""
        with self._changing():
            rules, self._rules = self._rules, []
            for rule in rules:
                rule.cancel()
                if isinstance(rule, Held | HeldRequests):
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
