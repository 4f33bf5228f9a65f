"""Stories of whole members that go wrong, each with the number it has among the scenarios."""

import pytest

from kgroup.machine.claims import HoldingState
from kgroup.marshal.messages import Kind
from kgroup.marshal.rules import Guarantee, Verdict
from kgroup.types import ChangeKind, Leave
from tests.marshal.room.habits import Habits
from tests.marshal.scenes import IDLE, P0, enter, heard_of, offsets_of, room_of, written

pytestmark = pytest.mark.slow  # each plays minutes of a group


def test_claim_of_an_owner_dead_before_its_heartbeat_expires_and_keeps_its_offset(
) -> None:  # fmt: skip
    """Scenario 1."""
    room = room_of()
    first = enter(room, "a")
    room.run(60)
    first.close(Leave.LEAVE, 1, 2)
    room.run(5)
    stopped = room.log.state(P0).offset
    second = enter(room, "b")
    before = len(room.log.facts)
    while not any(f.read.kind is Kind.CLAIMING_PARTITION for f in room.log.facts[before:]):
        room.run(0.001)
    second.dead = True
    died_at = room.now
    third = enter(room, "c")
    room.run(200)
    assert stopped > 0
    began_at, _, begin, _ = third.handed_out[0]
    assert begin == stopped
    assert 119 < began_at - died_at < 150


@pytest.mark.parametrize("pause", [119, 121, 600])
def test_member_stopped_past_the_end_of_its_claim_hands_out_nothing_on_waking(pause: int) -> None:
    """Scenario 9."""
    room = room_of()
    node = enter(room, "a")
    room.run(60)
    other = enter(room, "b")
    room.run(5)
    node.paused_until = room.now + pause
    room.run(pause - 0.01)
    claim = node.member.holdings.claims[0]
    count = len(node.handed_out)
    room.run(0.02)
    assert not node.member.may_deliver(claim, room.now)
    room.run(10)
    assert all(c != claim for _, c, _, _ in node.handed_out[count:])
    assert heard_of(node, ChangeKind.LOST) == [P0]
    room.run(200)
    assert room.owner_of(P0) in (node, other)
    assert room.judge.broken == []


def test_a_member_that_is_cut_off_from_the_log_stops_before_another_begins() -> None:
    """Scenario 10."""
    room = room_of()
    node = enter(room, "a")
    room.run(60)
    other = enter(room, "b")
    room.run(5)
    node.deaf_until = node.mute_until = room.now + 400
    room.run(390)
    assert heard_of(node, ChangeKind.LOST) == [P0]
    assert other.handed_out
    assert node.handed_out[-1][0] < other.handed_out[0][0]
    assert room.judge.broken == []


def test_claims_are_kept_while_the_group_coordinator_is_away() -> None:
    """Scenario 11."""
    room = room_of(3)
    node = enter(room, "a")
    room.run(20)
    room.trouble.unanswered = 1.0
    room.run(600)
    assert len(node.member.holdings.having(HoldingState.HELD)) == 3
    assert {change.kind for change in node.changes} == {ChangeKind.ASSIGNED}
    assert room.log.state(P0).offset > 100


def test_at_most_once_stalls_without_the_group_coordinator_and_loses_nothing() -> None:
    """Scenario 11, at most once."""
    room = room_of()
    node = enter(room, "a", guarantee=Guarantee.AT_MOST_ONCE)
    room.run(60)
    room.trouble.unanswered = 1.0
    room.run(5)
    count = len(node.handed_out)
    room.run(300)
    assert len(node.handed_out) == count
    room.trouble.unanswered = 0.0
    room.run(60)
    offsets = offsets_of(node)
    assert offsets == list(range(offsets[-1] + 1))


def test_member_that_reads_nothing_loses_its_expired_claim_and_claims_nothing() -> None:
    """Scenario 12."""
    room = room_of(2)
    node = enter(room, "a")
    room.run(60)
    node.deaf_until = room.now + 400
    count = len(written(room, Kind.CLAIMING_PARTITION))
    room.run(399)
    assert len(heard_of(node, ChangeKind.LOST)) == 2
    assert len(written(room, Kind.CLAIMING_PARTITION)) == count
    room.run(200)
    assert room.owner_of(P0) is node
    assert room.judge.broken == []


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_log_that_loses_its_end_is_read_anew_and_its_claims_are_over(lost: int) -> None:
    """Scenario 13."""
    room = room_of()
    node = enter(room, "a")
    room.run(30)
    room.log.truncate(lost)
    node.heard()
    room.run(0.15)
    assert heard_of(node, ChangeKind.LOST) == [P0]
    room.judge.loose_until = room.now + 300
    room.run(300)
    assert room.owner_of(P0) is node
    assert room.judge.broken == []


@pytest.mark.parametrize("kind", [Kind.CLAIMING_PARTITION, Kind.HEARTBEAT])
def test_a_write_that_fails_while_its_partition_gets_another_leader_costs_only_time(
    kind: Kind,
) -> None:
    """Scenario 14."""
    room = room_of()
    if kind is Kind.HEARTBEAT:
        node = enter(room, "a")
        while not written(room, Kind.CLAIMING_PARTITION):
            room.run(0.001)
    else:
        node = enter(room, "a")
    node.mute_until = room.now + 20
    room.run(18)
    assert not node.handed_out
    room.run(200)
    assert room.owner_of(P0) is node
    assert heard_of(node, ChangeKind.ASSIGNED) == [P0]
    assert room.judge.broken == []


def test_a_pause_between_claim_and_first_heartbeat_ends_in_a_release() -> None:
    """Scenario 18."""
    room = room_of()
    node = enter(room, "a")
    while not written(room, Kind.CLAIMING_PARTITION):
        room.run(0.001)
    room.pause_group(60)
    room.run(30)
    assert written(room, Kind.HEARTBEAT) == []
    assert [read.verdict for read in written(room, Kind.RELEASING_PARTITION)] == [Verdict.RELEASED]
    assert node.changes == []
    room.run(60)
    assert room.owner_of(P0) is node


@pytest.mark.parametrize("seconds", [0, -60])
def test_a_pause_that_is_over_already_changes_nothing(seconds: int) -> None:
    """Scenario 19."""
    room = room_of()
    node = enter(room, "a")
    room.run(10)
    room.pause_group(seconds)
    room.run(60)
    assert len(node.changes) == 1
    assert room.owner_of(P0) is node


def test_the_later_of_two_pauses_counts_also_when_it_ends_sooner() -> None:
    """Scenario 19."""
    room = room_of()
    node = enter(room, "a")
    room.run(10)
    room.pause_group(600)
    room.run(5)
    assert heard_of(node, ChangeKind.REVOKED) == [P0]
    room.pause_group(20)
    room.run(40)
    assert room.owner_of(P0) is node


def test_a_pause_that_ends_during_on_revoked_still_ends_in_a_release() -> None:
    """Scenario 19."""
    room = room_of()
    node = enter(room, "a", Habits(listens=30.0))
    room.run(60)
    room.pause_group(5)
    room.run(100)
    assert heard_of(node, ChangeKind.REVOKED) == [P0]
    assert len(written(room, Kind.RELEASING_PARTITION)) == 1
    assert room.owner_of(P0) is node
    assert room.judge.broken == []


def test_of_two_processes_with_one_client_id_the_later_one_stays() -> None:
    """Scenario 21."""
    room = room_of(2)
    first = enter(room, "a")
    room.run(30)
    second = enter(room, "a")
    room.judge.loose_until = room.now + 5  # until the first has read of it
    room.run(30)
    assert type(first.failure).__name__ == "FencedError"
    assert second.failure is None
    assert room.owner_of(P0) is second
    count = len(room.log.facts)
    room.run(60)
    assert all(fact.read.instance_id == second.member.who[1] for fact in room.log.facts[count:])


@pytest.mark.slow
def test_twenty_members_share_eighty_partitions_without_a_stampede() -> None:
    """Scenario 23."""
    room = room_of(80)
    room.rate = 0.0
    quiet = Habits(poll_every=30.0)
    nodes = [enter(room, f"m{n}", quiet) for n in range(20)]
    room.run(30)
    assert {len(node.member.holdings.claims) for node in nodes} == {4}
    assert len(written(room, Kind.CLAIMING_PARTITION)) <= 3 * 80
    nodes[0].dead = True
    enter(room, "late", quiet)
    room.run(2 * 60 + 60)
    assert {len(node.member.holdings.claims) for node in room.living()} == {4}


@pytest.mark.parametrize(("stood", "begins"), [(5_000, "end"), (7, 7), (0, 0)])
def test_an_offset_beyond_the_end_is_taken_back_to_the_end_in_the_log_too(
    stood: int, begins: int | str
) -> None:
    """Scenario 24."""
    room = room_of()
    room.rate = 0.0
    node = enter(room, "a", IDLE)
    room.run(5)
    node.commit({node.member.holdings.claims[0]: stood})
    room.run(5)
    node.close(Leave.LEAVE, 1, 2)
    room.run(5)
    room.rate = 0.3
    last = room.end(P0)
    room.run(0)
    other = enter(room, "b", IDLE)
    room.run(3)
    begin = last if begins == "end" else begins
    assert other.member.life(P0).position == begin
    assert room.log.state(P0).offset == begin
    room.run(60)
    assert offsets_of(other)[0] == begin


def test_only_what_was_handed_out_after_the_last_commit_is_repeated() -> None:
    """Scenario 25."""
    room = room_of()
    node = enter(room, "a")
    room.run(60)
    stuck = room.log.state(P0).offset
    node.gets(commits=0.0)
    room.rate = 50.0
    room.run(60)
    last = offsets_of(node)[-1]
    node.dead = True
    other = enter(room, "b")
    room.run(200)
    assert last > stuck + 100
    assert offsets_of(other)[0] == stuck
    assert room.judge.broken == []


def test_refused_commits_never_end_the_claim() -> None:
    """Scenario 27."""
    room = room_of(2)
    room.coordinator_refuses = True
    node = enter(room, "a")
    room.run(900)
    assert {change.kind for change in node.changes} == {ChangeKind.ASSIGNED}
    assert len(node.member.holdings.claims) == 2
    assert node.tells
    assert room.log.state(P0).offset > 100


@pytest.mark.parametrize("mode", list(Leave))
@pytest.mark.parametrize("after", [0.0, 0.11, 0.115, 0.13, 0.15, 0.17, 0.19, 0.21, 0.25, 20.0])
@pytest.mark.parametrize("down", [False, True])
def test_close_returns_by_its_deadline_wherever_its_partitions_stand(
    mode: Leave, after: float, *, down: bool
) -> None:
    """Scenario 30."""
    room = room_of(2)
    node = enter(room, "a", Habits(work=30.0, listens=10.0))
    room.run(after)
    if down:
        node.mute_until = node.deaf_until = room.now + 1000
        room.trouble.unanswered = 1.0
    node.close(mode, 3.0, 5.0)
    room.run(6)
    assert node.done_at is not None
    assert node.done_at <= node.leave_by
    room.run(300)
    assert room.judge.broken == []
    assert room.judge.unanswered() == []
