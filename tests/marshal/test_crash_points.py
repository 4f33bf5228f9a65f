"""What a crash costs, point by point: nothing twice at most once, nothing lost at least once.

Batches of five records, crashes between any two messages; each row of the two tables is a test.
"""

from collections.abc import Callable

import pytest

from kgroup.marshal.messages import Kind
from kgroup.marshal.rules import Guarantee
from kgroup.types import Leave
from tests.marshal.room.habits import Habits
from tests.marshal.room.node import Node
from tests.marshal.room.room import Fate, Room
from tests.marshal.scenes import P0, enter, offsets_of, room_of, written

pytestmark = pytest.mark.slow  # each plays minutes of a group

BATCH = 5
Until = Callable[[Room, Node], bool]


def run_until(room: Room, node: Node, reached: Until) -> None:
    """Let time go by until something is so."""
    for _ in range(200_000):
        if reached(room, node):
            return
        room.run(0.0005)
    raise AssertionError("it never came to that")


def at_most_once(*, first_batches: int = 2) -> tuple[Room, Node]:
    """Return a room whose one member has handed out some batches, and has no other yet."""
    room = room_of()
    room.rate = 10.0
    node = enter(room, "a", Habits(poll_every=5.0), guarantee=Guarantee.AT_MOST_ONCE)
    run_until(room, node, lambda _, one: len(one.handed_out) >= first_batches)
    return room, node


def succeed(room: Room, node: Node) -> tuple[list[int], list[int]]:
    """Kill the member, let another one follow; return the offsets that each handed out."""
    node.dead = True
    before = offsets_of(node)
    other = enter(room, "b", Habits(poll_every=1.0), guarantee=node.settings.guarantee)
    room.run(200)
    return before, offsets_of(other)


def counted(kind: Kind, tail: int) -> Until:
    return lambda room, _: any(read.tail == tail for read in written(room, kind))


# -- at most once ------------------------------------------------------------------------------


def test_between_two_batches_nothing_is_lost_and_nothing_repeated() -> None:
    """8.3, rows 1 to 3, and the last."""
    room, node = at_most_once()
    before, after = succeed(room, node)
    assert after[0] == before[-1] + 1


def test_a_probe_that_was_not_appended_costs_nothing() -> None:
    """8.3, row 4."""
    room, node = at_most_once()
    node.mute_until = room.now + 100
    room.run(6)
    before, after = succeed(room, node)
    assert after[0] == before[-1] + 1


def test_a_probe_that_was_appended_costs_nothing() -> None:
    """8.3, rows 4 to 7."""
    room, node = at_most_once()
    last = offsets_of(node)[-1] + 1
    run_until(room, node, counted(Kind.CLAIMING_MESSAGES, last + BATCH))
    before, after = succeed(room, node)
    assert after[0] == before[-1] + 1


def test_a_batch_that_is_committed_and_not_in_the_log_is_lost_whole() -> None:
    """8.3, row 8a."""
    room, node = at_most_once()
    end = offsets_of(node)[-1] + 1 + BATCH
    run_until(room, node, counted(Kind.CLAIMING_MESSAGES, end))
    node.mute_until = room.now + 100
    run_until(room, node, lambda one, _: one.committed.get(P0) == end)
    before, after = succeed(room, node)
    assert not any(read.tail == end for read in written(room, Kind.HEARTBEAT, "a"))
    assert after[0] == before[-1] + 1 + BATCH


def test_a_batch_whose_heartbeat_was_not_read_back_is_lost_whole() -> None:
    """8.3, row 8b."""
    room, node = at_most_once()
    end = offsets_of(node)[-1] + 1 + BATCH
    run_until(room, node, counted(Kind.HEARTBEAT, end))
    assert len(node.handed_out) == 2
    before, after = succeed(room, node)
    assert after[0] == before[-1] + 1 + BATCH


@pytest.mark.parametrize("appended", [False, True])
def test_a_heartbeat_of_which_nobody_knows_is_settled_by_reading(*, appended: bool) -> None:
    """8.3, row 8c: the process lives."""
    room, node = at_most_once()
    end = offsets_of(node)[-1] + 1 + BATCH
    run_until(room, node, counted(Kind.CLAIMING_MESSAGES, end))
    room.fates.append(Fate((0.01,) if appended else (), 1.0))
    room.run(60)
    assert not room.fates
    offsets = offsets_of(node)
    assert offsets == list(range(offsets[-1] + 1))


def test_a_batch_in_hand_is_not_handed_out_again() -> None:
    """8.3, row 9: what was not processed of it is lost."""
    room, node = at_most_once(first_batches=3)
    assert node.in_hand
    before, after = succeed(room, node)
    assert after[0] == before[-1] + 1


def test_a_batch_that_is_refused_for_a_release_goes_to_the_next_member() -> None:
    """Nobody has got it: what was written of it is taken back by the release."""
    room, node = at_most_once()
    end = offsets_of(node)[-1] + 1 + BATCH
    run_until(room, node, counted(Kind.HEARTBEAT, end))
    assert len(node.handed_out) == 2
    node.close(Leave.LEAVE, 3, 5)
    room.run(6)
    assert room.log.state(P0).offset == end - BATCH
    before, after = succeed(room, node)
    assert after[0] == before[-1] + 1


# -- at least once -----------------------------------------------------------------------------


def at_least_once(commits: float = 1.0) -> tuple[Room, Node]:
    """Return a room whose one member has committed two batches and has the third in hand."""
    room = room_of()
    room.rate = 10.0
    node = enter(room, "a", Habits(poll_every=2.0, work=1.0, commits=commits))
    run_until(room, node, lambda _, one: len(one.handed_out) == 3)
    return room, node


def test_a_crash_before_the_first_heartbeat_repeats_nothing() -> None:
    """8.4, rows 1 and 2."""
    room = room_of()
    node = enter(room, "a")
    run_until(room, node, counted(Kind.CLAIMING_PARTITION, 0))
    before, after = succeed(room, node)
    assert before == []
    assert after[0] == 0


def test_a_crash_amid_a_batch_repeats_that_batch() -> None:
    """8.4, rows 3 and 4."""
    room, node = at_least_once()
    before, after = succeed(room, node)
    assert after[0] == before[-1] + 1 - BATCH == 2 * BATCH


def test_a_commit_that_did_not_reach_the_log_repeats_what_it_was_for() -> None:
    """8.4, row 5."""
    room, node = at_least_once()
    node.mute_until = room.now + 100
    room.run(1.5)
    before, after = succeed(room, node)
    assert before[-1] + 1 == 3 * BATCH
    assert after[0] == 2 * BATCH


def test_a_commit_in_the_log_counts_though_no_caller_got_its_outcome() -> None:
    """8.4, row 6."""
    room, node = at_least_once()
    node.deaf_until = room.now + 100
    run_until(room, node, counted(Kind.HEARTBEAT, 3 * BATCH))
    assert not node.answers.get(3)
    _, after = succeed(room, node)
    assert after[0] == 3 * BATCH


def test_a_release_that_was_not_appended_leaves_the_last_heartbeat() -> None:
    """8.4, row 7: idle until the claim expires."""
    room, node = at_least_once(commits=0.0)
    node.mute_until = room.now + 100
    node.close(Leave.LEAVE, 3, 5)
    room.run(5)
    before, after = succeed(room, node)
    assert before[-1] + 1 == 3 * BATCH
    assert after[0] == 0


def test_a_release_in_the_log_leaves_what_was_committed() -> None:
    """8.4, row 8."""
    room, node = at_least_once()
    node.close(Leave.LEAVE, 3, 5)
    room.run(5)
    _, after = succeed(room, node)
    assert after[0] == 3 * BATCH


def test_restart_before_the_claim_expires_goes_on_from_the_last_heartbeat() -> None:
    """8.4, row 9."""
    room, node = at_least_once()
    node.dead = True
    again = enter(room, "a")
    room.run(3)
    assert offsets_of(again)[0] == 2 * BATCH


def test_member_paused_past_the_end_of_its_claim_repeats_nothing_more() -> None:
    """8.4, row 10."""
    room, node = at_least_once()
    node.paused_until = room.now + 200
    other = enter(room, "b")
    room.run(190)
    count = len(node.handed_out)
    room.run(30)
    assert offsets_of(other)[0] == 2 * BATCH
    assert len(node.handed_out) == count
