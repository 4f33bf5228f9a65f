"""Scenes for the rows of a key that storms hardly ever come to."""

import pytest

from kgroup.marshal.events import KeyRead
from kgroup.marshal.extension import Extension, write_extension
from kgroup.marshal.messages import Kind, Message
from kgroup.marshal.phases import KeyPhase
from kgroup.marshal.rules import Verdict
from kgroup.types import ChangeKind, Leave
from tests.marshal.room.node import Node
from tests.marshal.room.room import Fate, Room
from tests.marshal.scenes import IDLE, P0, enter, heard_of, room_of, written


def owning() -> tuple[Room, Node]:
    """Return a room with one member that owns its partition, and has no write under way."""
    room = room_of()
    node = enter(room, "a", IDLE)
    room.run(5)
    assert room.owner_of(P0) is node
    return room, node


def say(room: Room, kind: Kind, client: bytes, instance: bytes, epoch: int) -> KeyRead:
    """Append a message of anybody; return what it came to."""
    headers = tuple(write_extension(Extension(epoch, 1, 60, b"1")))
    time = int(room.log.clock(room.now))
    room.append(Message(kind, time, instance, client, b"g", b"t", 0, 0), headers)
    return room.log.facts[-1].read


def last_write_is_lost(room: Room, node: Node, mode: Leave) -> None:
    """Ask for the end; let nothing of its release, or last heartbeat, arrive at once."""
    room.fates += [Fate(())] * 3
    node.close(mode, 100.0, 200.0)
    room.run(1.0)
    room.fates.clear()
    assert node.member.life(P0).phase is KeyPhase.RELEASING


def test_the_last_heartbeat_of_who_remains_is_written_again_when_it_is_not_read_back() -> None:
    room, node = owning()
    count = len(written(room, Kind.HEARTBEAT, "a"))
    last_write_is_lost(room, node, Leave.REMAIN)
    room.run(28.0)
    assert len(written(room, Kind.HEARTBEAT, "a")) == count
    room.run(5.0)
    assert len(written(room, Kind.HEARTBEAT, "a")) == count + 1
    assert room.judge.rows["RELEASING+WRITE_LIMIT[REMAINS]"] == 1
    assert node.done_at is not None
    assert not [read for read in written(room, Kind.RELEASING_PARTITION) if read.tp == P0]


def test_what_another_takes_during_a_release_is_given_up_without_one() -> None:
    room, node = owning()
    last_write_is_lost(room, node, Leave.LEAVE)
    say(room, Kind.HEARTBEAT, b"b", b"i", 10**6)
    room.run(1.0)
    assert room.judge.rows["RELEASING+TAKEN"] == 1
    assert node.done_at is not None
    assert heard_of(node, ChangeKind.REVOKED) == [P0]
    assert heard_of(node, ChangeKind.LOST) == []


@pytest.mark.parametrize("releasing", [False, True])
def test_who_reads_that_its_own_message_counts_for_nothing_does_not_own(*, releasing: bool) -> None:
    """1. Somebody releases the key in this process's name; 2. what it writes next is void."""
    room, node = owning()
    if releasing:
        last_write_is_lost(room, node, Leave.REMAIN)
    epoch, instance = node.member.life(P0).epoch, node.settings.instance_id.encode()
    assert epoch is not None
    assert say(room, Kind.RELEASING_PARTITION, b"a", instance, epoch).verdict is Verdict.RELEASED
    row = "RELEASING+VOID" if releasing else "OWNED+VOID"
    assert not room.judge.rows[row]
    room.run(35.0)
    assert room.judge.rows[row] == 1
    assert heard_of(node, ChangeKind.REVOKED if releasing else ChangeKind.LOST) == [P0]
    assert (room.owner_of(P0) is node) is not releasing
