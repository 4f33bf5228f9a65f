from typing import Any

import pytest

from kgroup.codes import ApiKey
from kgroup.journal import (
    JoinIssued,
    MemberStarted,
    MemberStopped,
    OwnershipStep,
    Phase,
)
from kgroup.types import ChangeKind, MemberState
from tests.audit.oracles.beating import SYNCING, rules, stable
from tests.audit.oracles.logs import C0, STABLE, Log

BEAT = ApiKey.HEARTBEAT


def test_l3_a_heartbeat_every_interval_is_fine():
    log = stable()
    for _ in range(3):
        log.wait(1.0)
        log.beat()
    assert rules(log) == []


def test_l3_a_heartbeat_before_the_join_is_answered_is_found():
    log = Log()
    log.start()
    log.beat()
    assert rules(log) == ["L3"]


def test_l3_a_heartbeat_after_leaving_is_found_and_after_joining_again_is_fine():
    log = stable()
    log.sent(ApiKey.LEAVE_GROUP)
    log.beat()
    assert rules(log) == ["L3"]
    log = stable()
    log.sent(ApiKey.LEAVE_GROUP)
    log.join()
    log.beat()
    assert rules(log) == []


def test_l3_two_heartbeats_in_flight_are_found():
    log = stable()
    log.sent(BEAT)
    log.sent(BEAT)
    assert rules(log) == ["L3"]


def test_l3_an_unanswered_heartbeat_is_given_up_after_a_third_of_the_session():
    log = stable()
    log.sent(BEAT)
    log.wait(2.0)
    log.sent(BEAT)
    assert rules(log) == []


def test_l3_a_heartbeat_follows_the_sync_although_an_earlier_one_is_in_flight():
    log = Log()
    log.start()
    log.join()
    log.sent(BEAT)
    log.enter()
    log.sent(BEAT)
    assert rules(log) == []


@pytest.mark.parametrize(("more", "expected"), [(0, []), (1, ["L3"])])
def test_l3_a_heartbeat_of_a_former_id_does_not_count(more: int, expected: list[str]) -> None:
    # 1. A static member has a heartbeat out, unsubscribes, and subscribes again; 2. it joins
    # without its id, and is given another in the generation that stands; 3. SyncGroup is out, and
    # the next heartbeat is due. A second one of the new id is one too many.
    log = stable()
    log.sent(BEAT)
    log.join(member_id="new")
    log.state(MemberState.JOINING, SYNCING, "joined as follower")
    for _ in range(1 + more):
        log.sent(BEAT, member_id="new")
    assert rules(log) == expected


@pytest.mark.parametrize("change", [{}, {"member_id": "new"}, {"generation": 2}, {"connection": 7}])
def test_l3_a_heartbeat_counts_with_those_of_its_id_and_generation_and_connection(
    change: dict[str, Any],
) -> None:
    log = stable()
    log.sent(BEAT)
    log.sent(BEAT, **change)
    assert rules(log) == ([] if change else ["L3"])


def test_l3_a_heartbeat_to_a_former_coordinator_does_not_count():
    log = stable()
    log.sent(BEAT, connection=7)
    log.sent(BEAT)
    assert rules(log) == []


def test_l3_a_heartbeat_on_a_lost_connection_is_in_flight_no_more():
    log = stable()
    log.sent(BEAT)
    log.closed()
    log.sent(BEAT)
    assert rules(log) == []


def test_l3_a_gap_of_more_than_a_fifth_over_the_interval_is_found():
    for gap, expected in ((1.24, []), (1.26, ["L3"])):
        log = stable()
        log.wait(gap)
        log.beat()
        assert rules(log) == expected


def test_l3_the_first_heartbeat_of_a_generation_comes_within_one_interval():
    for gap, expected in ((1.04, []), (1.06, ["L3"])):
        log = Log()
        log.start()
        log.join()
        log.state(SYNCING, STABLE)
        log.enter()
        log.wait(gap)
        log.beat()
        assert rules(log) == expected


def test_l3_a_late_answer_postpones_the_next_heartbeat():
    log = stable()
    number = log.sent(BEAT)
    log.wait(1.9)
    log.answered(BEAT, number)
    log.wait(0.1)
    log.beat()
    assert rules(log) == []


def test_l3_a_member_that_falls_silent_is_found_at_the_end():
    log = stable()
    log.wait(9.0)
    log.start(member="b")
    assert rules(log) == ["L3"]


def test_l3_a_silence_that_ends_with_the_stable_state_is_found():
    log = stable()
    log.wait(2.0)
    log.state(STABLE, MemberState.PREPARING, "rebalance enforced")
    assert rules(log) == ["L3"]


def syncing() -> Log:
    """Return the log of a member that has joined, and has just asked for its assignment."""
    log = Log()
    log.start()
    log.join()
    log.state(MemberState.JOINING, SYNCING, "joined as follower")
    return log


@pytest.mark.parametrize(
    ("beats", "gap", "expected"),
    [
        (0, 2.04, []),
        (0, 2.06, ["L3"]),
        (1, 1.24, []),
        (1, 1.26, ["L3"]),
        (3, 1.24, []),
        (3, 1.26, ["L3"]),
    ],
)
def test_l3_heartbeats_go_on_while_the_answer_to_sync_group_is_awaited(
    beats: int, gap: float, expected: list[str]
) -> None:
    log = syncing()
    for _ in range(beats):
        log.wait(1.0)
        log.beat()
    log.wait(gap)
    log.state(SYNCING, STABLE, "synced")
    log.enter()
    assert rules(log) == expected


@pytest.mark.parametrize(("gap", "expected"), [(0.64, []), (0.66, ["L3"])])
def test_l3_what_was_due_before_sync_group_stays_due(gap: float, expected: list[str]) -> None:
    log = stable()
    log.state(STABLE, MemberState.JOINING, "coordinator known")
    log.wait(0.6)
    log.state(MemberState.JOINING, SYNCING, "joined as follower")
    log.wait(gap)
    log.beat()
    assert rules(log) == expected


@pytest.mark.parametrize(("gap", "expected"), [(2.04, []), (2.06, ["L3"])])
def test_l3_a_gap_that_was_excused_before_sync_group_begins_anew(
    gap: float, expected: list[str]
) -> None:
    log = stable()
    log.state(STABLE, MemberState.BACKING_OFF, "retry later")
    log.wait(3.0)
    log.state(MemberState.JOINING, SYNCING, "joined as follower")
    log.wait(gap)
    log.beat()
    assert rules(log) == expected


@pytest.mark.parametrize(("concerned", "expected"), [("a", []), ("b", ["L3"])])
def test_l3_a_leader_whose_sync_group_is_held_excuses_no_follower(
    concerned: str, expected: list[str]
) -> None:
    log = syncing()
    log.start(member="b")
    log.fault("HOLD", concerned)
    log.wait(3.0)
    log.beat()
    assert rules(log) == expected


@pytest.mark.parametrize("what", ["fault", "search", "refusal", "lost connection", "not stable"])
def test_l3_a_gap_is_excused(what):
    log = stable()
    match what:
        case "fault":
            log.fault("SIGSTOP", "a")
            log.wait(1.0)
            log.fault("SIGSTOP", "a", end=True)
        case "search":
            log.sent(ApiKey.FIND_COORDINATOR)
        case "refusal":
            log.beat(16)
        case "lost connection":
            log.closed()
        case _:
            log.state(STABLE, MemberState.BACKING_OFF, "retry later")
    log.wait(3.0)
    log.beat()
    assert rules(log) == []


def test_l3_a_member_that_lost_its_generation_owes_no_heartbeat_until_it_has_another():
    for generation, expected in ((None, []), (1, ["L3"])):
        log = stable()
        log.state(STABLE, MemberState.JOINING, "coordinator known")
        log.write(JoinIssued(member_id="id", generation_id=generation, owned=()))
        log.wait(3.0)
        log.state(SYNCING, STABLE)
        log.state(STABLE, MemberState.JOINING, "the group must be told")
        assert rules(log) == expected


@pytest.mark.parametrize(
    ("lost_in", "expected"),
    [(1, []), (2, []), (0, ["L3"]), (None, ["L3"])],
    ids=["it", "one that was never entered", "older", "none"],
)
def test_l3_a_member_that_lost_its_generation_while_joining_owes_none_for_a_late_answer(
    lost_in: int | None, expected: list[str]
) -> None:
    # 1. JoinGroup is out, and a heartbeat; 2. the lease ends; 3. the heartbeat is answered; 4. the
    # next generation stands, and another round is owed at once.
    log = stable()
    log.state(STABLE, MemberState.JOINING, "coordinator known")
    beat = log.sent(BEAT)
    if lost_in is not None:
        lost = OwnershipStep(
            kind=ChangeKind.LOST, phase=Phase.BEGIN, claims=(C0,), generation_id=lost_in
        )
        log.write(lost)
    log.answered(BEAT, beat)
    log.wait(3.0)
    log.state(SYNCING, STABLE)
    log.state(STABLE, MemberState.JOINING, "the group must be told")
    assert rules(log) == expected


def test_l3_a_silence_that_ends_with_the_generation_is_found():
    log = stable()
    log.wait(3.0)
    log.state(STABLE, MemberState.JOINING, "lease expired")
    log.issue()
    assert rules(log) == ["L3"]


def test_l3_a_fault_of_another_member_excuses_nothing():
    log = stable()
    log.start(member="b")
    log.fault("SIGSTOP", "b")
    log.wait(3.0)
    log.beat()
    assert rules(log) == ["L3"]


def test_l3_a_member_that_was_killed_or_stopped_may_be_silent():
    log = stable()
    log.fault("SIGKILL", "a")
    log.wait(9.0)
    log.start(member="b")
    assert rules(log) == []
    log = stable()
    log.write(MemberStopped("closed"))
    log.wait(9.0)
    log.start(member="b")
    assert rules(log) == []


def test_l3_a_session_shorter_than_three_heartbeats_is_found():
    log = Log()
    started = MemberStarted(session_timeout=6.0, rebalance_timeout=9.0, heartbeat_interval=2.5)
    log.write(started)
    assert rules(log) == ["L3"]


def test_l3_a_member_without_a_group_is_not_judged():
    log = Log()
    log.write(MemberStarted())
    log.beat()
    assert rules(log) == []


@pytest.mark.parametrize(("lost", "expected"), [(True, []), (False, ["L3"])])
def test_l3_a_heartbeat_for_a_generation_that_was_never_entered_is_no_base(
    lost: bool, expected: list[str]
) -> None:
    # 1. JoinGroup is answered, and SyncGroup waits for the leader; 2. a heartbeat is out when the
    # lease ends; 3. the member joins without anything, and the heartbeat is answered;
    # 4. the next generation stands an interval later, and another round is owed at once.
    log = stable()
    log.state(STABLE, SYNCING, "joined as follower")
    beat = log.sent(BEAT, generation=2)
    if lost:
        log.state(SYNCING, MemberState.JOINING, "lease expired")
        log.issue()
    log.answered(BEAT, beat)
    log.wait(3.0)
    log.state(SYNCING, STABLE)
    log.state(STABLE, MemberState.JOINING, "the group must be told")
    assert rules(log) == expected


@pytest.mark.parametrize(
    ("isolated", "silence", "expected"),
    [(False, 1.3, ["L3"]), (True, 1.3, []), (True, 2.0, []), (True, 2.1, ["L3"])],
)
def test_l3_where_a_thread_beats_for_a_blocked_loop_two_intervals_may_pass(
    isolated: bool, silence: float, expected: list[str]
) -> None:
    log = stable(isolated=isolated)
    log.wait(silence)
    log.sent(BEAT, connection=-1)
    assert rules(log) == expected


def test_l3_a_thread_may_beat_beside_a_heartbeat_whose_answer_the_loop_has_not_read() -> None:
    log = stable(isolated=True)
    log.sent(BEAT)
    log.wait(1.5)
    log.sent(BEAT, connection=-1)
    assert rules(log) == []


def test_l3_a_thread_that_beats_for_a_member_that_has_left_is_found() -> None:
    log = stable(isolated=True)
    log.sent(ApiKey.LEAVE_GROUP)
    log.sent(BEAT, connection=-1)
    assert rules(log) == ["L3"]
