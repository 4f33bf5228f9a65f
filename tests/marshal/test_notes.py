"""What a member tells of itself, and how often: once for what lasts."""

from random import Random

import pytest

from kgroup.marshal.events import Note
from kgroup.marshal.messages import Kind, Message
from kgroup.marshal.rules import Compat
from kgroup.types import TopicPartition
from tests.marshal.room.log import RoomLog
from tests.marshal.room.node import Node
from tests.marshal.room.room import Room
from tests.marshal.scenes import IDLE, P0, enter, room_of


def warnings(node: Node, note: Note) -> list[str]:
    return [tell.detail for tell in node.tells if tell.note is note]


def test_a_claim_that_is_not_read_back_is_reported_once_while_it_is_tried_again() -> None:
    room = room_of()
    room.trouble.lost = 1.0
    node = enter(room, "a", IDLE)
    room.run(130)
    assert warnings(node, Note.CLAIM_UNCONFIRMED) == [str(P0)]
    room.trouble.lost = 0.0
    room.run(60)
    assert room.owner_of(P0) is node


def test_a_claim_that_is_read_back_is_not_reported() -> None:
    room = room_of(3)
    node = enter(room, "a", IDLE)
    room.run(100)
    assert warnings(node, Note.CLAIM_UNCONFIRMED) == []


def test_peers_without_headers_are_reported_once_for_the_whole_group() -> None:
    room = room_of(3)
    node = enter(room, "a", IDLE)
    room.run(10)
    for number in (0, 1, 0):
        time = int(room.log.clock(room.now))
        room.append(Message(Kind.HEARTBEAT, time, b"i", b"old", b"g", b"t", number, 0))
        room.run(5)
    assert warnings(node, Note.MIXED_GROUP) == [f"group 'g', {TopicPartition('t', 0)}"]


@pytest.mark.parametrize("compat", list(Compat))
def test_a_group_of_its_own_kind_is_not_reported(compat: Compat) -> None:
    room = Room(Random(1), RoomLog(append_time=True, compat=compat), {"t": 2})
    node = enter(room, "a", IDLE)
    enter(room, "b", IDLE)
    room.run(60)
    assert warnings(node, Note.MIXED_GROUP) == []


def test_where_nobodys_headers_count_a_peer_without_any_is_reported_all_the_same() -> None:
    room = Room(Random(1), RoomLog(append_time=True, compat=Compat.GO), {"t": 2})
    node = enter(room, "a", IDLE)
    room.run(60)
    time = int(room.log.clock(room.now))
    room.append(Message(Kind.CLAIMING_PARTITION, time, b"i", b"old", b"g", b"t", 1))
    room.run(5)
    assert warnings(node, Note.MIXED_GROUP) == [f"group 'g', {TopicPartition('t', 1)}"]
