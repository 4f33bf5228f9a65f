import pytest

from kgroup.journal import (
    Delivered,
    MemberStopped,
    OffsetRead,
    OwnershipStep,
    Phase,
    PositionMove,
    PositionMoved,
)
from kgroup.journal.faults import Faults
from kgroup.types import Cause, ChangeKind
from tests.audit.oracles.logs import C0, C1, T0, T1, Log
from tests.search.oracles.outage import OutageUnnoticed
from tests.search.oracles.recovery import Recovers

TWO = {"t": 2}
ENDS = {T0: 5, T1: 0}
ALL_0 = Delivered(C0, 0, 4, 5)


def recovered(log: Log) -> list[str]:
    return log.rules(Recovers(TWO, bound=30.0, ends=ENDS, ends_at=log.now))


def whole() -> Log:
    """Return the log of one member that has everything, and has read it."""
    log = Log()
    log.start()
    log.own(C0, C1)
    log.write(ALL_0)
    return log


# -- L1 ------------------------------------------------------------------------------------


def test_l1_a_group_that_has_everything_again_is_fine():
    log = whole()
    log.fault("BLACKHOLE")
    log.fault("BLACKHOLE", end=True)
    log.wait(31.0)
    assert recovered(log) == []


def test_l1_a_partition_that_nobody_owns_is_found():
    log = whole()
    log.revoke(C1)
    log.wait(31.0)
    assert recovered(log) == ["L1"]


def test_l1_a_partition_that_two_own_is_found():
    log = whole()
    log.start(member="b")
    log.own(C1, member="b")
    log.own(C1)
    log.wait(31.0)
    assert recovered(log) == []
    log.own(C0, member="b")
    log.wait(31.0)
    assert recovered(log) == ["L1"]


def test_l1_a_partition_whose_owner_was_killed_is_found():
    log = whole()
    log.start(member="b")
    log.fault("SIGKILL", "a")
    log.wait(31.0)
    assert recovered(log) == ["L1", "L1"]


def test_l1_a_partition_that_is_owned_but_not_read_to_its_end_is_found():
    for event in (Delivered(C0, 0, 3, 4), OffsetRead(C0, 4), OffsetRead(C0, None)):
        log = Log()
        log.start()
        log.own(C0, C1)
        log.write(event)
        log.wait(31.0)
        assert recovered(log) == ["L1"]


def test_l1_a_position_at_the_end_needs_no_delivery():
    for event in (OffsetRead(C0, 5), PositionMoved(C0, 5, PositionMove.RESET)):
        log = Log()
        log.start()
        log.own(C0, C1)
        log.write(event)
        log.wait(31.0)
        assert recovered(log) == []


@pytest.mark.parametrize("why", ["too early", "fault lasts", "nobody left", "all killed"])
def test_l1_a_group_that_cannot_be_whole_yet_is_not_judged(why):
    log = whole()
    log.revoke(C1)
    match why:
        case "too early":
            log.wait(20.0)
            log.fault("BLACKHOLE", end=True)
            log.wait(29.0)
        case "fault lasts":
            log.fault("BLACKHOLE")
            log.wait(99.0)
        case "nobody left":
            log.write(MemberStopped("closed"))
            log.wait(99.0)
        case _:
            log.fault("SIGKILL", "a")
            log.wait(99.0)
    assert recovered(log) == []


def test_l1_without_partitions_nothing_is_judged():
    log = Log()
    log.start()
    log.wait(99.0)
    assert log.rules(Recovers(ends_at=log.now)) == []


def test_l1_partitions_and_ends_are_looked_at_when_the_run_is_over():
    log, partitions = whole(), {"t": 2}
    oracle = Recovers(partitions, bound=30.0, ends=ENDS, ends_at=log.now + 31.0)
    partitions["t"] = 3
    assert log.rules(oracle) == ["L1"]


# -- L6 ------------------------------------------------------------------------------------


def outage(seconds: float, what: str = "COORDINATOR_KILLED") -> Log:
    """Return the log of a group at rest whose coordinator goes away; its session is 6 s."""
    log = Log()
    log.start()
    log.issue()
    log.enter(1)
    log.wait(10.0)
    log.fault(what)
    log.wait(seconds)
    log.fault(what, end=True)
    return log


def test_l6_a_group_that_comes_through_a_short_outage_is_fine():
    log = outage(2.0)
    log.wait(1.0)
    log.enter(1)
    assert log.rules(OutageUnnoticed()) == []


def test_l6_a_new_generation_after_a_short_outage_is_found():
    log = outage(2.0)
    log.wait(1.0)
    log.issue()
    log.enter(2)
    assert log.rules(OutageUnnoticed()) == ["L6"]


@pytest.mark.parametrize("seconds", [2.0, 3.5])
def test_l6_what_is_lost_in_an_outage_is_found_when_the_outage_was_short(seconds):
    log = Log()
    log.start()
    log.enter(1)
    log.own(C0)
    log.wait(10.0)
    log.fault("COORDINATOR_KILLED")
    log.wait(0.5)
    log.lose(C0)
    log.enter(2)
    log.wait(seconds - 0.5)
    log.fault("COORDINATOR_KILLED", end=True)
    assert log.rules(OutageUnnoticed()) == (["L6"] if seconds < 3.0 else [])


@pytest.mark.parametrize(("back", "expected"), [(True, ["L6"]), (False, [])])
def test_l6_a_short_outage_amid_a_long_one_is_not_judged_by_itself(back, expected):
    # 1. the coordinator goes; 2. for a moment it goes once more; 3. a member's session ends.
    log = Log()
    log.start()
    log.enter(1)
    log.own(C0)
    log.wait(10.0)
    log.fault("COORDINATOR_KILLED")
    log.wait(4.0)
    if back:
        log.fault("COORDINATOR_KILLED", end=True)
    log.wait(6.0)
    log.fault("COORDINATOR_KILLED")
    log.wait(0.05)
    log.fault("COORDINATOR_KILLED", end=True)
    log.wait(0.5)
    log.lose(C0)
    assert log.rules(OutageUnnoticed()) == expected


def test_l6_a_loss_after_a_short_outage_is_found():
    log = outage(2.0)
    log.lose(C0)
    assert log.rules(OutageUnnoticed()) == ["L6"]


@pytest.mark.parametrize(("ended", "expected"), [(False, []), (True, ["L6"])])
def test_l6_an_outage_beside_a_fault_that_has_not_ended_is_not_judged(
    ended: bool, expected: list[str]
):
    """1. No broker hears m1 for long; 2. meanwhile the coordinator is away for a moment; 3. the
    session of m1 ends: for want of its heartbeats, not because of step 2."""
    log = Log()
    log.start()
    log.own(C0)
    log.fault("BLACKHOLE", "a")
    log.fault("BLACKHOLE", "a", end=ended)
    log.wait(6.0)
    log.fault("COORDINATOR_LOADS")
    log.wait(1.25)
    log.fault("COORDINATOR_LOADS", end=True)
    log.wait(1.0)
    log.lose(C0)
    assert log.rules(OutageUnnoticed()) == expected


def test_l6_a_long_outage_may_cost_a_generation():
    log = outage(3.5)
    log.enter(2)
    assert log.rules(OutageUnnoticed()) == []


def test_l6_a_generation_much_later_has_other_reasons():
    log = outage(2.0)
    log.wait(20.0)
    log.enter(2)
    assert log.rules(OutageUnnoticed()) == []


@pytest.mark.parametrize("why", ["member", "loss", "own accord", "fault", "another kind"])
def test_l6_an_outage_beside_something_else_is_not_judged(why):
    log = outage(2.0, "SIGSTOP" if why == "another kind" else "COORDINATOR_MOVED")
    match why:
        case "member":
            log.start(member="b")
        case "loss":
            kind, cause = ChangeKind.LOST, Cause.POLL_TIMEOUT.value
            log.write(OwnershipStep(kind=kind, phase=Phase.BEGIN, claims=(C0,), cause=cause))
        case "own accord":
            log.issue("id", Cause.TOPICS_CHANGED.value)
        case "fault":
            log.fault("SIGSTOP", "a")
        case _:
            pass
    log.enter(2)
    assert log.rules(OutageUnnoticed()) == []


@pytest.mark.parametrize(
    ("gone", "moved", "expected"),
    [(8.0, False, []), (12.0, False, ["L6"]), (12.0, True, []), (17.0, True, ["L6"])],
)
def test_l6_an_outage_is_judged_when_the_session_of_a_member_that_was_killed_is_over(
    gone, moved, expected
):
    """A session lasts 6 seconds; 5 more are asked for, so that its end can have been heard of."""
    log = Log()
    log.start(member="b")
    log.start()
    log.enter(1)
    log.fault("KILL", "b")
    log.wait(1.0)
    log.fault("KILL", "b", end=True)
    log.wait(4.0)
    if moved:
        log.fault("COORDINATOR_LOADS")
        log.fault("COORDINATOR_LOADS", end=True)
    log.wait(gone - 5.0)
    log.fault("COORDINATOR_MOVED")
    log.fault("COORDINATOR_MOVED", end=True)
    log.wait(1.0)
    log.enter(2)
    assert log.rules(OutageUnnoticed()) == expected


def test_l6_an_outage_during_a_rebalance_is_not_judged():
    log = Log()
    log.start()
    log.enter(1)
    log.wait(10.0)
    log.issue()
    log.fault("COORDINATOR_KILLED")
    log.fault("COORDINATOR_KILLED", end=True)
    log.enter(2)
    assert log.rules(OutageUnnoticed()) == []


# -- faults --------------------------------------------------------------------------------


def faults(log: Log) -> Faults:
    follower = Faults()
    for entry in log.entries:
        follower.observe(entry)
    return follower


def test_a_fault_concerns_its_target_and_one_of_no_member_concerns_everybody():
    log = Log()
    log.start()
    log.start(member="b")
    log.fault("SIGSTOP", "a")
    assert faults(log).calm_since("b") == float("-inf")
    assert faults(log).calm_since("a") == faults(log).calm_since() == float("inf")
    log.fault("SIGSTOP", "a", end=True)
    assert faults(log).calm_since("a") == log.now
    log.fault("SIGSTOP", "broker-1")
    assert faults(log).calm_since("b") == float("inf")


def test_a_fault_that_begins_twice_lasts_until_it_has_ended_twice():
    log = Log()
    log.start()
    log.fault("COORDINATOR_KILLED")
    log.fault("COORDINATOR_KILLED")
    log.fault("COORDINATOR_KILLED", end=True)
    assert faults(log).calm_since() == float("inf")
    log.fault("COORDINATOR_KILLED", end=True)
    assert faults(log).calm_since() == log.now


def test_a_kill_lasts_until_its_member_starts_again():
    log = Log()
    log.start()
    log.fault("SIGKILL", "a")
    log.fault("SIGKILL", "a", end=True)
    source = log.entries[0].source
    assert faults(log).calm_since("a") == float("inf")
    assert faults(log).calm_since() == log.now
    assert faults(log).is_dead(source)
    log.start(process="2")
    assert faults(log).calm_since("a") == log.now
    assert not faults(log).is_dead(log.entries[-1].source)
