"""Connections, tickets and threads: nothing is kept of what is over, and nobody is lost."""

import gc
import threading
import weakref
from functools import partial
from typing import Any

import pytest

from kgroup.testing.broker.core import Core
from kgroup.testing.broker.server.sockets import LOOPBACK
from kgroup.testing.broker.server.switchboard import Switchboard
from kgroup.testing.broker.waiting import wait_until
from kgroup.wire.frames import encode_request
from kgroup.wire.messages import (
    CreateTopicsRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
)
from kgroup.wire.messages.topics import CreatableTopic
from kgroup.wire.schema import Message, Request
from tests.testing.broker.driver import surroundings

JOIN_WITHOUT_ID = 3


def nothing() -> None:
    pass


def after_the_round() -> float:
    """Read a clock when a round has ended without the absent members."""
    return 11.0


def make(topic: str) -> bytes:
    row = CreatableTopic(
        name=topic, num_partitions=1, replication_factor=1, assignments=(), configs=()
    )
    return encode_request(CreateTopicsRequest(topics=(row,)), 2, 1, "B")


def join(client: str) -> bytes:
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=(JoinGroupRequestProtocol(name="range", metadata=b""),),
    )
    return encode_request(request, JOIN_WITHOUT_ID, 1, client)


def made(board: Switchboard) -> list[str]:
    return [name for name, topic in board.core.cluster.topics.items() if not topic.internal]


def test_a_connection_that_ends_while_its_request_is_parked_leaves_nothing() -> None:
    board = Switchboard(Core(surroundings(), 1))
    # The first one joins at once; the second waits for the first, and is left to wait.
    first, second = (board.connect(1, nothing) for _ in "AB")
    board.receive(first, join("A"))
    board.receive(second, join("B"))
    assert first.take(0)
    assert not second.take(0)

    gone = weakref.ref(second)
    board.disconnect(second)
    del second
    gc.collect()

    assert gone() is None


def test_of_what_waits_behind_a_parked_request_one_is_served_after_the_client_has_closed() -> None:
    board = Switchboard(Core(surroundings(), 1))
    first, second = (board.connect(1, nothing) for _ in "AB")
    board.receive(first, join("A"))
    board.receive(second, join("B"))
    board.receive(second, b"".join(make(topic) for topic in ("one", "two", "three")))

    board.disconnect(second)
    assert made(board) == []
    assert second.number in board.lines
    board.clock = after_the_round
    board.look()

    assert made(board) == ["one"]
    assert second.number not in board.lines


def test_nothing_is_served_after_a_client_that_had_not_read_all_has_closed() -> None:
    board = Switchboard(Core(surroundings(), 1))
    first, second = (board.connect(1, nothing) for _ in "AB")
    board.receive(first, join("A"))
    board.receive(second, join("B"))
    board.receive(second, make("one"))

    board.disconnect(second, reset=True)
    board.clock = after_the_round
    board.look()

    assert made(board) == []


def test_a_rule_that_fails_costs_no_other_client_an_answer() -> None:
    context = surroundings()
    board = Switchboard(Core(context, 1))

    def fail(spared: str, _request: Request[Any], answer: Message) -> Message:
        raise ZeroDivisionError(spared, answer)

    lines = [board.connect(1, nothing) for _ in "ABC"]
    for line, client in zip(lines, "ABC", strict=True):
        board.receive(line, join(client))
    lines[0].take(0)
    board.answers.rewrite(JoinGroupRequest, partial(fail, "C"), client_id="B")

    # A never joins again, so the round ends without it and answers B and C at one instant.
    board.clock = partial(float, 10)
    with pytest.raises(ZeroDivisionError):
        board.look()

    assert [bool(line.take(10)) for line in lines[1:]] == [False, True]


def test_threads_change_a_cluster_one_after_the_other() -> None:
    board, changed = Switchboard(Core(surroundings(), 1)), threading.Event()

    def change() -> None:
        with board.changing():
            changed.set()

    other = threading.Thread(target=change)
    with board.changing():
        other.start()
        assert not changed.wait(0.03)
    assert changed.wait(5)
    other.join(5)


def test_a_wait_that_is_over_listens_no_more() -> None:
    board = Switchboard(Core(surroundings(), 1))
    board.core.cluster.nodes[1].host = LOOPBACK  # as while it is served
    answers = [True, False]
    wait_until(board, answers.pop, timeout=5)
    with pytest.raises(TimeoutError):
        wait_until(board, lambda: False, timeout=0)
    assert board.listeners == []
