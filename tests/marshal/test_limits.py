"""Members that take no more than so much, and what the others make of it."""

from collections import Counter
from random import Random

import pytest

from kgroup.marshal.messages import (
    Extension,
    Kind,
    Message,
    Reject,
    encode,
    read_extension,
    write_extension,
)
from kgroup.marshal.presence import PRESENCE_SUFFIX
from kgroup.marshal.rules import ClaimPolicy, WorldRules
from kgroup.marshal.shares import Share
from kgroup.marshal.view import LogView
from tests.marshal.room.log import RoomLog
from tests.marshal.room.node import Node
from tests.marshal.room.room import Room
from tests.marshal.scenes import IDLE, enter, room_of

# -- shares --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("partitions", "members", "limits", "level", "quota"),
    [
        (10, 3, (), 3, 4),
        (10, 3, (1,), 4, 5),
        (10, 3, (1, 2), 7, 7),
        (10, 3, (0, 0), 10, 10),
        (10, 3, (4,), 3, 4),
        (9, 3, (3,), 3, 3),
        (7, 3, (2,), 2, 3),
        (7, 3, (1, 3), 3, 3),
        (2, 4, (1,), 0, 1),
    ],
)
def test_members_without_a_limit_divide_what_limited_members_leave(
    partitions: int, members: int, limits: tuple[int, ...], level: int, quota: int
) -> None:
    share = Share(partitions, members, limits=limits)
    assert (share.level, share.floor, share.quota) == (level, level, quota)


@pytest.mark.parametrize(
    ("limits", "most", "floor", "quota"),
    [((2,), 2, 2, 2), ((3,), 3, 3, 3), ((4,), 4, 3, 4), ((9, 9, 9), 9, 3, 4), ((1, 2, 2), 2, 2, 2)],
)
def test_nobody_should_have_more_than_it_takes(
    limits: tuple[int, ...], most: int, floor: int, quota: int
) -> None:
    share = Share(10, 3, limits=limits, most=most)
    assert (share.floor, share.quota) == (floor, quota)


@pytest.mark.parametrize("seed", range(20))
def test_all_is_divided_as_long_as_somebody_takes_it(seed: int) -> None:
    dice = Random(seed)
    limits = [dice.choice([None, 0, 1, 2, 3, 8]) for _ in range(dice.randint(1, 6))]
    partitions = dice.randint(0, 12)
    limited = [limit for limit in limits if limit is not None]
    shares = [Share(partitions, len(limits), limits=limited, most=limit) for limit in limits]
    taken = partitions if None in limits else min(partitions, sum(limited))
    assert sum(share.floor for share in shares) <= taken <= sum(share.quota for share in shares)
    assert all(share.quota - share.floor <= 1 for share in shares)


# -- in the log ----------------------------------------------------------------------------------


def test_a_limit_stands_in_a_header_of_its_own() -> None:
    words = write_extension(Extension(most=3, nonce=b"1"))
    assert words == [("kg-v", b"1"), ("kg-max", b"3"), ("kg-nonce", b"1")]
    assert read_extension(words) == Extension(most=3, nonce=b"1")
    assert read_extension([("kg-v", b"1"), ("kg-max", b"x")]) is Reject.HEADER


def test_a_sign_of_presence_tells_how_much_its_sender_takes_until_the_next_one() -> None:
    view = LogView(0, "g", WorldRules(append_time=True, complete=True))
    topic = ("t" + PRESENCE_SUFFIX).encode()

    def shows(offset: int, most: int | None, at: int) -> object:
        message = Message(Kind.HEARTBEAT, at, b"i", b"A", b"g", topic, 0, 0)
        headers = tuple(write_extension(Extension(None, 1000, 10, b"1", most)))
        row = (offset, at * 1000, None, encode(message), headers)
        return view.read([row], offset + 1).limits

    assert shows(0, 3, 1000) == {"t": {b"A": 3}}
    assert view.opened(frozenset({"t"}), 1).limits == {"t": {b"A": 3}}
    assert shows(1, 0, 1001) == {"t": {b"A": 0}}
    assert shows(2, None, 1002) == {}


# -- members -------------------------------------------------------------------------------------


def owned(room: Room) -> dict[str, int]:
    """Return how many partitions each client may hand out records of."""
    owners = (room.owner_of(tp) for tp in room.partitions())
    return dict(Counter(node.settings.client_id for node in owners if node is not None))


def limit_of(node: Node, topic: str, client_id: bytes) -> int | None:
    """Return how much of a topic a client takes at most, as a member has read it."""
    limits = (log.limits.get(topic, {}) for log in node.member.logs.values())
    return next((each[client_id] for each in limits if client_id in each), None)


def test_a_member_says_how_much_it_takes_when_it_comes() -> None:
    room = room_of(9)
    enter(room, "a", IDLE, max_claims=1)
    other = enter(room, "b", IDLE)
    room.run(5)
    assert limit_of(other, "t", b"a") == 1


def test_a_member_that_has_its_most_elsewhere_says_so_within_seconds() -> None:
    room = Room(Random(1), RoomLog(append_time=True), {"t": 2, "u": 2})
    enter(room, "a", IDLE, max_claims=2)
    other = enter(room, "b", IDLE, max_claims=0)
    room.run(20)
    assert owned(room) == {"a": 2}
    mine = Counter(tp.topic for tp in room.partitions() if room.owner_of(tp) is not None)
    assert [limit_of(other, topic, b"a") for topic in "tu"] == [mine["t"], mine["u"]]


def test_what_a_member_does_not_take_is_taken_by_the_others() -> None:
    room = room_of(9)
    enter(room, "a", IDLE, max_claims=1)
    enter(room, "b", IDLE)
    enter(room, "c", IDLE)
    room.run(60)
    assert owned(room) == {"a": 1, "b": 4, "c": 4}
    assert room.judge.broken == []


def test_a_member_that_takes_less_and_comes_late_is_given_that_much() -> None:
    room = room_of(8)
    enter(room, "b", IDLE)
    enter(room, "c", IDLE)
    room.run(60)
    enter(room, "a", IDLE, max_claims=1)
    room.run(90)
    assert owned(room)["a"] == 1
    assert sum(owned(room).values()) == 8
    assert room.judge.broken == []


def test_where_all_take_less_than_there_is_the_rest_has_no_owner() -> None:
    room = room_of(8)
    enter(room, "a", IDLE, max_claims=1)
    enter(room, "b", IDLE, max_claims=4)
    room.run(60)
    assert owned(room) == {"a": 1, "b": 4}


def test_what_a_member_has_of_one_topic_it_does_not_take_of_another() -> None:
    room = Room(Random(1), RoomLog(append_time=True), {"t": 4, "u": 4})
    enter(room, "a", IDLE, max_claims=2)
    enter(room, "b", IDLE)
    room.run(120)
    assert owned(room) == {"a": 2, "b": 6}
    assert room.judge.broken == []


@pytest.mark.parametrize("policy", list(ClaimPolicy))
def test_a_claim_that_arrives_late_makes_nobody_have_more_than_it_takes(
    policy: ClaimPolicy,
) -> None:
    room = room_of(2)
    node = enter(room, "a", IDLE, max_claims=1, policy=policy)
    room.run(20)
    assert owned(room) == {"a": 1}
    other = next(tp for tp in room.partitions() if room.owner_of(tp) is None)
    second = int(room.log.clock(room.now))
    client_id, instance_id = node.member.who
    ids = (instance_id, client_id, b"g", b"t", other.partition)
    late = Message(Kind.CLAIMING_PARTITION, second, *ids)
    room.append(late, tuple(write_extension(Extension(None, node.settings.started, 60, b"1"))))
    room.run(0.2)
    assert room.log.state(other).client_id == b"a"
    assert not room.log.state(other).owned
    room.run(60)
    assert owned(room) == {"a": 1}
    assert len(node.changes) == 1
    assert room.judge.broken == []


def test_topics_that_are_had_whole_are_counted_whole() -> None:
    room = Room(Random(1), RoomLog(append_time=True), dict.fromkeys("tuvwx", 2))
    nodes: list[Node] = [
        enter(room, "a", IDLE, whole_topics=True, max_claims=1),
        enter(room, "b", IDLE, whole_topics=True),
    ]
    room.run(120)
    assert [len(node.member.holdings.claims) for node in nodes] == [2, 8]
