"""How long a heartbeat that was read back is relied on: the three columns of the page."""

from random import Random

import pytest

from kgroup.marshal.messages import Kind, Message
from kgroup.marshal.rules import Compat
from tests.marshal.room.log import RoomLog
from tests.marshal.room.node import Node
from tests.marshal.room.room import Room
from tests.marshal.scenes import P0, enter, room_of


def term(node: Node) -> float:
    """Return how long after its sending the latest heartbeat counts."""
    life = node.member.life(P0)
    assert life.write is None
    assert life.expires_at is not None
    return life.expires_at - life.beaten_at


@pytest.mark.parametrize(("append_time", "seconds"), [(True, 105), (False, 89)])
def test_among_members_that_keep_the_rules_it_depends_on_the_clock_of_the_log(
    append_time: bool, seconds: float
) -> None:
    room = room_of(append_time=append_time)
    node = enter(room, "a")
    room.run(50)
    assert term(node) == pytest.approx(seconds)


@pytest.mark.parametrize("append_time", [True, False])
def test_beside_the_original_it_is_shorter_for_every_key_of_the_group(append_time: bool) -> None:
    """Its members judge by their own clocks, and the owner of one key may claim the next one."""
    room = room_of(2, append_time=append_time)
    node = enter(room, "a")
    room.run(30)
    time = int(room.log.clock(room.now))
    room.append(Message(Kind.HEARTBEAT, time, b"i", b"old", b"g", b"t", 1, 1000))
    room.run(50)
    assert term(node) == pytest.approx(88)


@pytest.mark.parametrize("append_time", [True, False])
def test_where_nobodys_headers_count_it_is_as_short_from_the_start(append_time: bool) -> None:
    room = Room(Random(1), RoomLog(append_time=append_time, compat=Compat.GO), {"t": 1})
    node = enter(room, "a")
    room.run(50)
    assert term(node) == pytest.approx(88)
