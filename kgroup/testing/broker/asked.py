"""What reaches the core of a broker, and what leaves it.

Decides: nothing. A request comes with a ticket; its answer leaves under the same ticket, at once
or whenever the core has it. A ticket that is never answered is a request that stays parked.
Never: knows bytes or connections; `kgroup.testing.broker.server` pairs tickets with them.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Any, Final, TypeAlias

from kgroup.values import dataclass
from kgroup.wire.schema import Message


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as a broker reads it.

    Args:
        ticket: under which the answer leaves; no other request has it.
        node_id: the broker that was asked.
        connection: number of the connection, over all brokers.
        client_id: name the client gave itself, None without one.
        client_host: address the client came from, as DescribeGroups shows it.
        version: of the request and of its answer.
    """

    ticket: int
    node_id: int
    connection: int
    client_id: str | None
    client_host: str
    version: int


class Parked:
    """Stands for "the answer comes later, or never"."""


class HungUp:
    """Stands for "close the connection instead of answering"."""


class NoAnswer:
    """Stands for "this request has no answer", as Produce with acks 0; the connection goes on."""


PARKED: Final = Parked()
HUNG_UP: Final = HungUp()
NO_ANSWER: Final = NoAnswer()

Answer: TypeAlias = Message | Parked | HungUp | NoAnswer
Handler: TypeAlias = Callable[[Asked, Any], Answer]
"""Answers requests of one class; what is `PARKED` goes to the outbox later."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that leaves.

    Args:
        ticket: of its request.
        answer: the message, or `HUNG_UP`, or `NO_ANSWER`.
    """

    ticket: int
    answer: Message | HungUp | NoAnswer


@dataclass(slots=True)
class Outbox:
    """Answers that wait for the server to send them, in the order in which they were given.

    Args:
        waiting: the answers; `take` takes them.
    """

    waiting: list[Reply] = field(default_factory=list)

    def reply(self, ticket: int, answer: Message | HungUp | NoAnswer) -> None:
        """Give an answer."""
        self.waiting.append(Reply(ticket, answer))

    def take(self) -> list[Reply]:
        """Take all that has been given since the last call."""
        taken, self.waiting = self.waiting, []
        return taken
