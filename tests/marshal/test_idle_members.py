"""Members that show themselves and take nothing: how long the others wait, and how often."""

from collections import Counter
from random import Random

import pytest

from kgroup.marshal.messages import Kind
from kgroup.marshal.rules import Verdict
from tests.marshal.room.habits import Habits
from tests.marshal.room.log import RoomLog
from tests.marshal.room.node import Node
from tests.marshal.room.room import Room
from tests.marshal.scenes import IDLE, enter, room_of, written

MUTE = Habits(commits=0.0, may_claim=False)
"""Its claims are refused; its signs of presence are not."""

BLIND = Habits(commits=0.0, may_read=False)
"""It claims, and never gets a position to begin at."""

HOUR = 3600.0


def owned(room: Room) -> dict[str, int]:
    """Return how many partitions each client may hand out records of."""
    owners = (room.owner_of(tp) for tp in room.partitions())
    return dict(Counter(node.settings.client_id for node in owners if node is not None))


def released(room: Room) -> int:
    """Return how many releases have counted."""
    found = written(room, Kind.RELEASING_PARTITION)
    return sum(read.verdict is Verdict.RELEASED for read in found)


@pytest.mark.parametrize("habits", [MUTE, BLIND], ids=["claims refused", "cannot begin"])
def test_what_a_member_does_not_take_is_not_kept_for_it(habits: Habits) -> None:
    room = room_of(4)
    enter(room, "a", habits)
    enter(room, "b", IDLE)
    room.run(300)
    assert owned(room) == {"b": 4}
    assert room.judge.broken == []


def releases_for_a_mute_member(room: Room, seconds: float) -> int:
    """Let two members share all, then a third show itself; return how many releases it cost."""
    enter(room, "b", IDLE)
    enter(room, "c", IDLE)
    room.run(60)
    before = released(room)
    enter(room, "a", MUTE)
    room.run(seconds)
    return released(room) - before


def test_a_key_handed_back_for_a_member_that_does_not_take_it_is_taken_back() -> None:
    room = room_of(8)
    assert 1 <= releases_for_a_mute_member(room, 120) <= 2
    assert owned(room) == {"b": 4, "c": 4}
    assert room.judge.broken == []


def test_members_do_not_hand_back_again_and_again_for_a_member_that_takes_nothing() -> None:
    room = room_of(8)
    assert releases_for_a_mute_member(room, HOUR) <= 2 * 6
    assert sum(owned(room).values()) >= 6
    assert room.judge.broken == []


def test_a_member_that_can_claim_again_has_its_share_within_minutes() -> None:
    room = room_of(6)
    enter(room, "b", IDLE)
    late = enter(room, "a", MUTE)
    room.run(200)
    assert owned(room) == {"b": 6}
    late.gets(may_claim=True)
    room.run(700)
    assert owned(room) == {"a": 3, "b": 3}
    assert room.judge.broken == []


def test_a_member_that_starts_again_is_waited_for_at_once() -> None:
    room = room_of(6)
    enter(room, "b", IDLE)
    before = enter(room, "a", MUTE)
    room.run(200)
    before.dead = True
    enter(room, "a", IDLE)
    room.run(90)
    assert owned(room) == {"a": 3, "b": 3}
    assert room.judge.broken == []


def test_a_member_that_could_not_read_for_minutes_has_its_share_soon_after() -> None:
    room = room_of(6)
    enter(room, "b", IDLE)
    late = enter(room, "a", IDLE)
    room.run(60)
    late.deaf_until = room.now + 400
    room.run(390)
    assert owned(room) == {"b": 6}
    room.run(130)
    assert owned(room) == {"a": 3, "b": 3}
    assert room.judge.broken == []


def test_a_pause_of_the_group_makes_nobody_late() -> None:
    room = room_of(8)
    nodes = [enter(room, name, IDLE) for name in "abcd"]
    room.run(60)
    room.pause_group(120)
    room.run(130)
    assert not any(
        room.now < log.instant_of(wait.skipped_until)
        for node in nodes
        for log in node.member.logs.values()
        for wait in log.waits["t"].values()
    )
    room.run(30)
    assert owned(room) == dict.fromkeys("abcd", 2)
    assert room.judge.broken == []


def test_partitions_that_a_topic_gets_are_shared_like_the_first_ones() -> None:
    room = room_of(4)
    enter(room, "a", IDLE)
    enter(room, "b", IDLE)
    room.run(120)
    before = released(room)
    room.grow({"t": 8})
    room.run(30)
    assert owned(room) == {"a": 4, "b": 4}
    assert released(room) == before


def test_a_late_member_has_its_first_partition_within_a_quarter_of_a_minute() -> None:
    room = room_of(8)
    enter(room, "b", IDLE)
    enter(room, "c", IDLE)
    room.run(60)
    enter(room, "a", IDLE)
    room.run(15)
    assert owned(room)["a"] >= 1


TOPICS = ("t", "u", "v", "w")


def whole(name: str, room: Room, habits: Habits) -> Node:
    return enter(room, name, habits, whole_topics=True)


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("habits", [MUTE, BLIND], ids=["claims refused", "cannot begin"])
def test_a_topic_that_a_member_does_not_take_is_not_kept_for_it(
    habits: Habits, partitions: int
) -> None:
    room = Room(Random(1), RoomLog(append_time=True), dict.fromkeys(TOPICS, partitions))
    whole("a", room, habits)
    whole("b", room, IDLE)
    room.run(400)
    assert owned(room) == {"b": 4 * partitions}
    assert room.judge.broken == []


def test_whole_topics_are_shared_by_members_that_take_some() -> None:
    room = Room(Random(1), RoomLog(append_time=True), dict.fromkeys(TOPICS, 2))
    whole("a", room, IDLE)
    whole("b", room, IDLE)
    room.run(400)
    assert owned(room) == {"a": 4, "b": 4}
    assert room.judge.broken == []


def test_a_topic_is_left_for_half_a_minute_to_a_member_with_less() -> None:
    room = Room(Random(1), RoomLog(append_time=True), dict.fromkeys(TOPICS, 1))
    late = whole("a", room, MUTE)
    whole("b", room, IDLE)
    room.run(10)
    late.gets(may_claim=True)
    room.run(15)
    assert owned(room) == {"a": 2, "b": 2}
    room.run(60)
    assert owned(room) == {"a": 2, "b": 2}
    assert room.judge.broken == []
