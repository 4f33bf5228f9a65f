"""Peers without headers, clocks of brokers that step back, and answers that tell nothing."""

import pytest

from kgroup.marshal.messages import Kind, Message
from kgroup.marshal.rules import Guarantee
from kgroup.types import ChangeKind
from tests.marshal.room.habits import Habits
from tests.marshal.room.room import Fate
from tests.marshal.scenes import P0, enter, heard_of, offsets_of, room_of, written

pytestmark = pytest.mark.slow  # each plays minutes of a group


@pytest.mark.parametrize("fails_after", [0.1, 5.0])
@pytest.mark.parametrize("kind", [Kind.CLAIMING_PARTITION, Kind.HEARTBEAT])
def test_a_write_of_which_nobody_knows_is_settled_by_reading(
    kind: Kind, fails_after: float
) -> None:
    """Scenario 4: 1. a write times out, 2. it was appended; nobody sits on what nobody has."""
    room = room_of()
    lucky = Fate()
    presence_and_claim = [lucky] if kind is Kind.CLAIMING_PARTITION else [lucky, lucky]
    room.fates += [*presence_and_claim, Fate((0.02,), fails_after)]
    node = enter(room, "a", Habits(poll_every=0.5))
    room.run(20)
    assert room.owner_of(P0) is node
    assert heard_of(node, ChangeKind.ASSIGNED) == [P0]
    assert len(written(room, Kind.CLAIMING_PARTITION)) == 1
    assert offsets_of(node) == list(range(offsets_of(node)[-1] + 1))
    assert room.judge.broken == []


@pytest.mark.parametrize("back", [10.0, 119.0, 600.0])
def test_a_broker_whose_clock_steps_back_makes_nobody_take_over_early(back: float) -> None:
    """Scenario 26: log time stands until the clock has caught up, so claims last longer."""
    room = room_of()
    node = enter(room, "a")
    room.run(30)
    room.log.behind += back
    other = enter(room, "b")
    room.run(100)
    assert room.owner_of(P0) is node
    assert len(written(room, Kind.CLAIMING_PARTITION, "b")) == 0
    last = room.now
    node.dead = True
    room.run(100)
    assert room.owner_of(P0) is None
    room.run(back + 150)
    assert room.owner_of(P0) is other
    assert other.handed_out[0][0] > last + 100
    assert room.judge.broken == []


@pytest.mark.parametrize("guarantee", Guarantee)
def test_nothing_is_handed_out_once_a_heartbeat_of_the_original_was_read(
    guarantee: Guarantee,
) -> None:
    """Scenario 28. Until it was read both may hand out, which is what the original is known for."""
    room = room_of()
    room.rate = 10.0
    node = enter(room, "a", Habits(poll_every=0.5), guarantee=guarantee)
    room.run(20)
    assert node.handed_out
    for _ in range(10):
        time = int(room.log.clock(room.now))
        room.append(Message(Kind.HEARTBEAT, time, b"i", b"old", b"g", b"t", 0, 1000))
        room.run(node.habits.read_delay + 0.002)
        read_at = room.now
        room.run(29)
        assert all(at <= read_at for at, *_ in node.handed_out)
    assert heard_of(node, ChangeKind.LOST) == [P0]
    assert (node.failure is not None) is (guarantee is Guarantee.AT_MOST_ONCE)
    if guarantee is Guarantee.AT_LEAST_ONCE:
        room.run(200)
        assert room.owner_of(P0) is node


@pytest.mark.parametrize("interval", [5, 20])
def test_at_most_once_heartbeats_between_the_steps_of_a_batch_keep_the_claim(interval: int) -> None:
    """Each of a batch's writes is read back within half an interval, so beats come in between."""
    room = room_of()
    habits = Habits(poll_every=0.5, read_delay=interval / 2)
    node = enter(room, "a", habits, guarantee=Guarantee.AT_MOST_ONCE, interval=interval)
    room.run(40 * interval)
    assert heard_of(node, ChangeKind.LOST) == []
    assert len(node.handed_out) >= 10
