"""At most once, two readers of one member: what one asked about while the other still works.

The applications of rooms ask about one batch at a time; these ask by hand.
"""

from collections.abc import Callable

import pytest

from kgroup.machine.claims import HoldingState
from kgroup.marshal.admission import AdmissionStage
from kgroup.marshal.events import Admitted
from kgroup.marshal.messages import Kind
from kgroup.marshal.rules import Guarantee
from tests.marshal.room.habits import Habits
from tests.marshal.room.node import Node
from tests.marshal.room.room import Fate, Room
from tests.marshal.scenes import P0, enter, room_of, written

QUIET = Habits(poll_every=10_000.0, work=10_000.0)
"""It reads nothing by itself, and is long with what it has."""


def wait(room: Room, is_so: Callable[[], object], patience: float = 60.0) -> None:
    """Let time pass until something holds."""
    end = room.now + patience
    while not is_so():
        assert room.now < end
        room.run(0.0005)


def reads(node: Node, begin: int, end: int) -> int:
    """Ask for records on behalf of one reader."""
    (claim,) = node.member.holdings.claims
    return node.ask(claim, end, begin=begin)


def is_writing(node: Node, kind: Kind, tail: int) -> bool:
    write = node.member.life(P0).write
    return write is not None and (write.kind, write.tail) == (kind, tail)


@pytest.mark.parametrize("asks_again", [False, True])
def test_what_was_refused_when_it_was_handed_back_is_not_admitted_without_a_word_when_it_is_kept(
    asks_again: bool,
) -> None:
    """What stands in the log of it is of nobody, and is about to be taken back.

    1. One reader has a batch; the next is asked for, and its heartbeat is on its way; 2. the group
    is paused: that question is refused, but the member has to wait for the reader; 3. the
    heartbeat is read back; 4. the pause ends, and the partition is kept; 5. the next is asked for.
    """
    room = room_of()
    room.rate = 0.0
    node = enter(room, "a", QUIET, guarantee=Guarantee.AT_MOST_ONCE)
    room.run(5)
    room.rate = 10.0
    begin = node.member.life(P0).position
    assert begin is not None
    first = reads(node, begin, begin + 10)
    wait(room, lambda: first in node.answers)
    second = reads(node, begin + 10, begin + 20)
    wait(room, lambda: _stage(node) is AdmissionStage.COMMITTING)
    room.fates.append(Fate((8.0,)))
    wait(room, lambda: is_writing(node, Kind.HEARTBEAT, begin + 20))
    room.pause_group(12)
    wait(room, lambda: node.member.holdings.having(HoldingState.DRAINING))
    assert node.answers[second] == Admitted(second, admitted=False)
    wait(room, lambda: (node.member.life(P0).logged or 0) >= begin + 20)
    wait(room, lambda: not node.member.holdings.having(HoldingState.DRAINING))
    if asks_again:
        third = reads(node, begin + 10, begin + 20)
        wait(room, lambda: third in node.answers)
    room.run(60)
    node.dead = True
    enter(room, "b", guarantee=Guarantee.AT_MOST_ONCE)
    room.run(300)
    assert room.judge.broken == []


def _stage(node: Node) -> AdmissionStage | None:
    admission = node.member.life(P0).admission
    return None if admission is None else admission.stage


def test_what_is_sought_back_is_admitted_without_a_word() -> None:
    room = room_of()
    node = enter(room, "a", QUIET, guarantee=Guarantee.AT_MOST_ONCE)
    room.rate = 10.0
    room.run(20)
    begin = node.member.life(P0).position
    assert begin is not None
    first = reads(node, begin, begin + 10)
    wait(room, lambda: first in node.answers)
    said = len(written(room, Kind.CLAIMING_MESSAGES))
    again = node.ask(node.member.holdings.claims[0], begin + 5)
    assert node.answers[again] == Admitted(again, admitted=True)
    assert len(written(room, Kind.CLAIMING_MESSAGES)) == said
