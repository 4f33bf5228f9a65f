"""Faults that members in a room have shown, each with its story; none of them comes back."""

import pytest

from kgroup.marshal.events import Assigned, Committed
from kgroup.marshal.messages import Extension, Kind, Message, write_extension
from kgroup.marshal.rules import ClaimPolicy, Guarantee
from kgroup.types import ChangeKind, Leave, TopicPartition
from tests.marshal.room.habits import Habits
from tests.marshal.room.room import Fate
from tests.marshal.scenes import IDLE, P0, enter, heard_of, offsets_of, room_of, written


def test_a_member_that_was_ended_claims_nothing_more() -> None:
    """1. A later twin fences a member; 2. its other partitions are free; 3. it claimed them."""
    room = room_of(4)
    first = enter(room, "a")
    room.run(10)
    second = enter(room, "a")
    room.run(10)
    assert first.failure is not None
    second.dead = True
    count = len(room.log.rows)
    room.run(400)
    assert len(room.log.rows) == count


def test_a_claim_that_nobody_wants_any_more_is_not_released_at_offset_0() -> None:
    """1. The log knows no position, 2. the group has committed 20; 3. a claim is accepted after
    the member was asked to close; 4. its release said 0, and 0 to 20 were repeated."""
    room = room_of()
    room.committed[P0] = 20
    node = enter(room, "a")
    while not written(room, Kind.CLAIMING_PARTITION):
        room.run(0.001)
    node.close(Leave.LEAVE, 3, 5)
    room.run(5)
    assert [read.tail for read in written(room, Kind.RELEASING_PARTITION)] == [20]


def test_a_lower_commit_overtakes_a_heartbeat_that_is_under_way() -> None:
    """1. A heartbeat with 17 is written; 2. 15 is committed before it is read back; 3. a heartbeat
    with 15 cannot take it back, and was reported as committed all the same."""
    room = room_of()
    node = enter(room, "a", IDLE)
    room.run(5)
    claim = node.member.holdings.claims[0]
    room.fates.append(Fate((1.0,)))
    node.commit({claim: 17})
    room.run(0.5)
    serial = node.commit({claim: 15})
    room.run(5)
    answer = node.answers[serial]
    assert isinstance(answer, Committed)
    assert not answer.refused
    assert room.log.state(P0).offset == 15


def test_a_second_lower_commit_during_the_first_counts() -> None:
    """1. 17 stands in the log; 2. 9 is committed, and released; 3. so is 4 before the new claim is
    read back; 4. the heartbeat with 4 counts for nothing, for 9 stands in the log."""
    room = room_of()
    node = enter(room, "a", IDLE)
    room.run(5)
    claim = node.member.holdings.claims[0]
    node.commit({claim: 17})
    room.run(5)
    node.commit({claim: 9})
    while not any(read.tail == 9 for read in written(room, Kind.RELEASING_PARTITION)):
        room.run(0.001)
    node.commit({claim: 4})
    room.run(5)
    assert room.log.state(P0).offset == 4
    assert heard_of(node, ChangeKind.ASSIGNED) == [P0]


def test_a_commit_that_waits_at_the_very_end_is_answered() -> None:
    """1. No write is read back; 2. the consumer closes, its time is over; 3. a commit waits."""
    room = room_of()
    node = enter(room, "a", IDLE)
    room.run(5)
    node.deaf_until = room.now + 100
    serial = node.commit({node.member.holdings.claims[0]: 5})
    node.close(Leave.LEAVE, 2, 3)
    room.run(10)
    answer = node.answers[serial]
    assert isinstance(answer, Committed)
    assert answer.unknown
    late = node.commit(dict.fromkeys(answer.refused, 1))
    assert late in node.answers


def test_what_is_taken_in_the_reading_that_confirms_it_was_never_had() -> None:
    """1. A first heartbeat stands in the log, and behind it that of somebody else; 2. both are read
    at once. The claim was kept for good, of a key that the member had nothing to do with."""
    room = room_of()
    node = enter(room, "a", Habits(commits=0.0, read_delay=0.5))
    while not written(room, Kind.HEARTBEAT):
        room.run(0.001)
    node.deaf_until = room.now + 1.0
    time = int(room.log.clock(room.now))
    room.append(Message(Kind.HEARTBEAT, time, b"i", b"old", b"g", b"t", 0, 1))
    room.run(5.0)
    assert not node.member.holdings
    assert node.changes == []
    room.run(300.0)  # until that claim expires
    assert heard_of(node, ChangeKind.ASSIGNED) == [P0]
    assert room.owner_of(P0) is node


@pytest.mark.parametrize("offset", [7, 3])
def test_a_commit_that_the_release_carries_is_answered_as_done(offset: int) -> None:
    """1. It is asked for; 2. its partition is given up before a heartbeat has it."""
    room = room_of()
    node = enter(room, "a", IDLE)
    room.run(5.0)
    claim = node.member.holdings.claims[0]
    node.commit({claim: 5})
    while room.log.state(P0).offset != 5:
        room.run(0.001)
    serial = node.commit({claim: offset})
    node.close(Leave.LEAVE, 5, 8)
    while not written(room, Kind.RELEASING_PARTITION):
        assert serial not in node.answers, "nothing says it yet"
        room.run(0.001)
    room.run(1.0)
    assert (room.log.state(P0).owned, room.log.state(P0).offset) == (False, offset)
    answer = node.answers[serial]
    assert isinstance(answer, Committed)
    assert (dict(answer.refused), answer.unknown) == ({}, False)


def test_a_commit_whose_release_is_not_read_back_is_in_doubt() -> None:
    """1. It is asked for; 2. its partition is given up; 3. somebody else has it by then."""
    room = room_of()
    node = enter(room, "a", IDLE)
    room.run(5.0)
    room.trouble.lost = 1.0
    serial = node.commit({node.member.holdings.claims[0]: 5})
    node.close(Leave.LEAVE, 5, 300)
    room.run(4.0)
    assert serial not in node.answers
    time = int(room.log.clock(room.now))
    room.append(Message(Kind.HEARTBEAT, time, b"i", b"old", b"g", b"t", 0, 1))
    room.run(1.0)
    answer = node.answers[serial]
    assert isinstance(answer, Committed)
    assert answer.unknown


def test_twin_of_unknown_start_is_waited_for_until_its_claim_expires() -> None:
    """1. A peer without headers dies; 2. a static member of its name waited for ever."""
    room = room_of()
    time = int(room.log.clock(room.now))
    for kind in (Kind.CLAIMING_PARTITION, Kind.HEARTBEAT):
        room.append(Message(kind, time, b"old", b"a", b"g", b"t", 0, 0))
    node = enter(room, "a")
    room.run(200)
    assert room.owner_of(P0) is node


def test_a_dead_predecessor_whose_clock_was_ahead_ends_nobody() -> None:
    """1. A process with a clock an hour ahead dies; 2. the next one under its name was fenced."""
    room = room_of()
    started = room.settings("a", 1).started + 3_600_000
    headers = tuple(write_extension(Extension(None, started, 60, b"1")))
    time = int(room.log.clock(room.now))
    room.append(Message(Kind.CLAIMING_PARTITION, time, b"old", b"a", b"g", b"t", 0, 0), headers)
    node = enter(room, "a")
    room.run(200)
    assert node.failure is None
    assert room.owner_of(P0) is node


def test_exact_partitions_are_not_shared_out() -> None:
    """1. One member asks for partitions 0 and 1, another for 2 and 3; 2. each had half of them."""
    room = room_of(4)
    a, b = enter(room, "a"), enter(room, "b")
    a.apply(Assigned(frozenset({TopicPartition("t", 0), TopicPartition("t", 1)})))
    b.apply(Assigned(frozenset({TopicPartition("t", 2), TopicPartition("t", 3)})))
    room.run(60)
    assert len(a.member.holdings.claims) == len(b.member.holdings.claims) == 2


def test_a_position_that_nobody_can_tell_now_is_asked_for_again() -> None:
    """1. The answer to a question is late; 2. the partition was left alone for two minutes, and
    every read raised what ends by itself."""
    room = room_of()
    room.trouble.unanswered = 1.0
    node = enter(room, "a", IDLE)
    room.run(10)
    assert room.owner_of(P0) is not node
    assert node.member.trouble is None
    room.trouble.unanswered = 0.0
    room.run(20)
    assert room.owner_of(P0) is node
    assert node.member.trouble is None


def test_at_most_once_a_release_at_the_end_of_a_cut_log_repeats_nothing() -> None:
    """1. A releases at 10; 2. B hands out up to 20; 3. the log loses all that B wrote, and ends
    with the release; 4. C began at 10, for a release counted more than what was committed."""
    room = room_of()
    once = Guarantee.AT_MOST_ONCE
    a = enter(room, "a", guarantee=once)
    room.run(60)
    a.close(Leave.LEAVE, 2, 3)
    room.run(5)
    length = len(room.log.rows)
    b = enter(room, "b", guarantee=once)
    room.run(60)
    b.dead = True
    room.log.truncate(len(room.log.rows) - length)
    c = enter(room, "c", guarantee=once)
    room.run(60)
    assert offsets_of(c)[0] == offsets_of(b)[-1] + 1


def test_a_topic_had_whole_keeps_its_lock_until_the_rest_is_released() -> None:
    """The lock is released last: its next owner must not meet an owner of the rest."""
    room = room_of(4)
    first = enter(room, "a", whole_topics=True)
    room.run(10)
    assert len(first.member.holdings.claims) == 4
    other = enter(room, "b", whole_topics=True)
    room.run(60)
    assert not other.handed_out
    first.close(Leave.LEAVE, 5, 8)
    room.run(60)
    released = [read.tp.partition for read in written(room, Kind.RELEASING_PARTITION, "a")]
    assert released[-1] == 0
    assert len(other.member.holdings.claims) == 4


def test_one_after_the_other_is_claimed_until_all_are() -> None:
    """The policy of the original library."""
    room = room_of(4)
    node = enter(room, "a", policy=ClaimPolicy.GRADUAL)
    room.run(1.0)
    assert len(node.member.holdings.claims) < 4
    room.run(60)
    assert len(node.member.holdings.claims) == 4


def test_a_member_that_commits_at_most_once_may_not_commit_a_position() -> None:
    """Positions are committed before their records are handed out; nothing takes them back."""
    room = room_of()
    node = enter(room, "a", Habits(), guarantee=Guarantee.AT_MOST_ONCE)
    room.run(30)
    claim = node.member.holdings.claims[0]
    serial = node.commit({claim: 1})
    answer = node.answers[serial]
    assert isinstance(answer, Committed)
    assert set(answer.refused) == {claim}


@pytest.mark.parametrize("guarantee", Guarantee)
def test_a_member_that_reads_its_claim_and_that_of_a_later_owner_at_once_commits_nothing(
    guarantee: Guarantee,
) -> None:
    """1. A member stops reading; 2. its probe, or its heartbeat, is appended, and behind it the
    heartbeat of a later owner; 3. it reads both at once, and moved the position of the other."""
    room = room_of()
    room.rate = 10.0
    node = enter(room, "a", Habits(poll_every=5.0, commits=0.0), guarantee=guarantee)
    room.run(12)
    batches = len(node.handed_out)
    kind, end = Kind.CLAIMING_MESSAGES, offsets_of(node)[-1] + 1 + 5
    if guarantee is Guarantee.AT_LEAST_ONCE:
        kind = Kind.HEARTBEAT
        node.commit({node.member.holdings.claims[0]: end})
    while not any(read.tail == end for read in written(room, kind)):
        room.run(0.0005)
    node.deaf_until = room.now + 1.0
    time = int(room.log.clock(room.now))
    room.append(Message(Kind.HEARTBEAT, time, b"i", b"b", b"h", b"t", 0, 0))  # another group's
    headers = tuple(write_extension(Extension(len(room.log.rows) - 1, 1, 60, b"1")))
    room.append(Message(Kind.HEARTBEAT, time, b"i", b"b", b"g", b"t", 0, 100), headers)
    before = dict(room.committed)
    room.run(3)
    assert heard_of(node, ChangeKind.LOST) == [P0]
    assert room.committed == before
    assert len(node.handed_out) == batches > 0


@pytest.mark.slow
def test_a_member_claims_nothing_of_a_beating_owner_while_the_time_of_the_log_stands_still() -> (
    None
):
    """1. A broker's clock steps back by ten minutes; 2. the time of the log stands still; 3. the
    others took the claim of a living owner for expired, and claimed its key again and again."""
    room = room_of()
    node = enter(room, "a")
    other = enter(room, "b")
    room.run(30)
    owner, waiter = (node, other) if room.owner_of(P0) is node else (other, node)
    room.log.behind += 600
    room.run(900)
    assert room.owner_of(P0) is owner
    assert written(room, Kind.CLAIMING_PARTITION, waiter.settings.client_id) == []
    assert room.judge.broken == []
