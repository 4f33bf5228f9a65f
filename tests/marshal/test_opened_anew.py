"""A log is opened again, and shows which client has what now."""

from kgroup.marshal.events import LogOpened
from kgroup.marshal.standing import Standing
from kgroup.types import ChangeKind
from tests.marshal.room.node import Node
from tests.marshal.scenes import P0, enter, heard_of, room_of


def opened(node: Node, standing: Standing) -> LogOpened:
    """Return the event of a log in which only one key stands otherwise than before."""
    log = node.member.logs[0]
    return LogOpened(
        0,
        log.topics,
        log.next_offset,
        log.time,
        log.since,
        log.append_time,
        log.complete,
        {P0: standing},
        log.presence,
    )


def test_what_is_of_another_by_then_is_lost() -> None:
    room = room_of()
    node = enter(room, "a")
    room.run(30)
    before = node.member.standing(P0)
    assert before.epoch is not None
    other = before._replace(client_id=b"b", instance_id=b"x", epoch=before.epoch + 1)
    node.apply(opened(node, other))
    room.run(1)
    assert heard_of(node, ChangeKind.LOST) == [P0]


def test_what_is_of_this_process_under_another_claim_is_lost() -> None:
    room = room_of()
    node = enter(room, "a")
    room.run(30)
    before = node.member.standing(P0)
    assert before.epoch is not None
    node.apply(opened(node, before._replace(epoch=before.epoch + 1)))
    room.run(1)
    assert heard_of(node, ChangeKind.LOST) == [P0]


def test_what_is_still_its_own_stays() -> None:
    room = room_of()
    node = enter(room, "a")
    room.run(30)
    node.apply(opened(node, node.member.standing(P0)))
    room.run(60)
    assert heard_of(node, ChangeKind.LOST) == []
    assert node.member.holdings.partitions == {P0}
