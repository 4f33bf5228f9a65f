import pytest

from kgroup.codes import ApiKey
from kgroup.journal import CallbackStage, CallbackStep, CloseAsked, MemberStopped
from kgroup.types import ChangeKind, Leave, MemberState
from tests.audit.oracles.logs import Log
from tests.search.oracles.closing import ClosesWell
from tests.search.oracles.listener_calls import ListenerEnds

CLOSED = MemberStopped("closed", left=True)
ENTER = CallbackStep(kind=ChangeKind.REVOKED, stage=CallbackStage.ENTER, serial=1)


def rules(log: Log) -> list[str]:
    return log.rules(ClosesWell())


def member(instance: str | None = None) -> Log:
    log = Log()
    log.start(instance)
    log.join()
    log.enter()
    return log


def test_l7_a_member_that_leaves_in_time_is_fine():
    log = member()
    log.write(CloseAsked(5.0))
    log.sent(ApiKey.LEAVE_GROUP)
    log.wait(5.0)
    log.write(CLOSED)
    assert rules(log) == []


def test_l7_closing_for_longer_than_the_timeout_is_found():
    log = member()
    log.write(CloseAsked(5.0))
    log.sent(ApiKey.LEAVE_GROUP)
    log.wait(5.1)
    log.write(CLOSED)
    assert rules(log) == ["L7"]


def test_l7_a_member_that_never_comes_to_its_end_is_found():
    log = member()
    log.write(CloseAsked(5.0))
    log.wait(6.0)
    log.start(member="b")
    assert rules(log) == ["L7"]


def test_l7_a_member_that_was_killed_while_it_closed_is_excused():
    log = member()
    log.write(CloseAsked(5.0))
    log.fault("SIGKILL", "a")
    log.wait(6.0)
    log.start(member="b")
    assert rules(log) == []


@pytest.mark.parametrize(("began", "moved", "ended"), [(1.0, 9.0, 9.5), (1.0, 3.0, 5.1)])
def test_l7_a_member_that_stood_still_while_it_closed_is_not_judged(
    began: float, moved: float, ended: float
) -> None:
    log = member()
    log.write(CloseAsked(5.0))
    log.sent(ApiKey.LEAVE_GROUP)
    log.wait(began)
    log.fault("FREEZE", "a")
    log.wait(moved - began)
    log.fault("FREEZE", "a", end=True)
    log.wait(ended - moved)
    log.write(CLOSED)
    assert rules(log) == []


def test_l7_of_two_standstills_the_later_end_counts_and_that_of_another_member_never():
    for target, expected in (("a", []), ("b", ["L7"])):
        log = member()
        log.start(member="b")
        log.write(CloseAsked(5.0))
        log.sent(ApiKey.LEAVE_GROUP)
        log.fault("FREEZE", target)
        log.fault("FREEZE", target)
        log.wait(2.0)
        log.fault("FREEZE", target, end=True)
        log.wait(7.0)
        log.write(CLOSED)
        assert rules(log) == expected


def test_l7_the_late_answer_to_a_join_given_up_names_an_id_that_has_left():
    log = Log()
    log.start()
    number = log.sent(ApiKey.JOIN_GROUP)
    log.sent(ApiKey.LEAVE_GROUP)
    log.answered(ApiKey.JOIN_GROUP, number, generation=1, member_id="id")
    log.write(CloseAsked(5.0), MemberStopped("closed"))
    assert rules(log) == []


def test_l7_a_member_that_joins_again_after_leaving_has_to_leave_again():
    log = member()
    log.sent(ApiKey.LEAVE_GROUP)
    log.join()
    log.write(CloseAsked(5.0), MemberStopped("closed"))
    assert rules(log) == ["L7"]


@pytest.mark.parametrize(
    ("before", "expected"), [(MemberState.FINDING, []), (MemberState.STABLE, ["L7"])]
)
def test_l7_a_member_that_does_not_poll_leaves_unless_the_coordinator_is_lost(before, expected):
    log = member()
    log.state(before, MemberState.DORMANT, "poll interval over")
    log.write(CloseAsked(5.0), MemberStopped("closed"))
    assert rules(log) == expected


def test_l7_a_dynamic_member_that_goes_without_a_word_is_found():
    log = member()
    log.write(MemberStopped("closed"))
    assert rules(log) == ["L7"]


@pytest.mark.parametrize(("code", "expected"), [(25, []), (22, ["L7"])])
def test_l7_a_member_that_a_commit_tells_of_its_removal_need_not_leave(code, expected):
    log = member()
    log.write(CloseAsked(5.0))
    log.refused_commit(code, generation=1, member_id="id")
    log.write(CLOSED)
    assert rules(log) == expected


@pytest.mark.parametrize(
    ("code", "expected"), [(25, []), (82, []), (22, ["L7"]), (27, ["L7"]), (0, ["L7"])]
)
def test_l7_a_member_that_hears_from_its_sync_of_its_removal_has_nothing_to_say(code, expected):
    # 1. JoinGroup is answered; 2. SyncGroup hears that the member is unknown: it drops its id, and
    # joins anew; 3. it is closed before that is answered. Of another generation it keeps its id.
    log = Log()
    log.start()
    log.answered(ApiKey.JOIN_GROUP, log.sent(ApiKey.JOIN_GROUP), generation=8, member_id="id")
    log.answered(ApiKey.SYNC_GROUP, log.sent(ApiKey.SYNC_GROUP, generation=8), code)
    log.sent(ApiKey.JOIN_GROUP, generation=None)
    log.write(CloseAsked(5.0), MemberStopped("closed", left=False, mode=Leave.LEAVE))
    assert rules(log) == expected


def test_l7_a_pending_member_id_must_be_given_back_too():
    log = Log()
    log.start()
    number = log.sent(ApiKey.JOIN_GROUP, member_id="")
    log.answered(ApiKey.JOIN_GROUP, number, 79, member_id="pending")
    log.write(MemberStopped("closed"))
    assert rules(log) == ["L7"]


def test_l7_a_member_that_never_joined_has_nothing_to_tell():
    log = Log()
    log.start()
    log.write(MemberStopped("closed"))
    assert rules(log) == []


def test_l7_a_static_member_stays_unless_it_was_asked_to_leave():
    for mode, expected in ((Leave.DEFAULT, []), (Leave.LEAVE, ["L7"])):
        log = member("static-1")
        log.write(MemberStopped("closed", mode=mode))
        assert rules(log) == expected


@pytest.mark.parametrize(
    ("why", "expected"), [("fenced", []), ("unsubscribed", []), ("rebalancing", ["L7"])]
)
def test_l7_a_static_member_that_has_no_id_any_more_has_nothing_to_leave_under(why, expected):
    log = member("static-1")
    if why == "unsubscribed":
        log.state(MemberState.LEAVING, MemberState.UNSUBSCRIBED, "leave ended")
    log.write(CloseAsked(5.0))
    if why != "unsubscribed":
        log.refused_commit(82 if why == "fenced" else 27, generation=1, member_id="id")
    log.write(MemberStopped("closed", mode=Leave.LEAVE))
    assert rules(log) == expected


def test_l7_a_dynamic_member_that_was_asked_to_remain_tells_nothing():
    log = member()
    log.write(MemberStopped("closed", mode=Leave.REMAIN))
    assert rules(log) == []


@pytest.mark.parametrize("why", ["fault", "lost connection", "expelled", "failure"])
def test_l7_a_member_that_cannot_tell_is_excused(why):
    log, reason = member(), "closed"
    if why == "fault":
        log.fault("BLACKHOLE", "a")
    if why == "expelled":
        log.beat(25)
    log.write(CloseAsked(5.0))
    if why == "lost connection":
        log.closed()
    if why == "failure":
        reason = "the group is not authorized"
    log.write(MemberStopped(reason))
    assert rules(log) == []


def test_l7_a_fault_that_was_over_before_it_closed_excuses_nothing():
    log = member()
    log.fault("BLACKHOLE", "a")
    log.fault("BLACKHOLE", "a", end=True)
    log.wait(1.0)
    log.write(CloseAsked(5.0), MemberStopped("closed"))
    assert rules(log) == ["L7"]


def test_b7_a_listener_that_is_still_called_when_its_member_stops_is_found():
    log = member("static-1")
    log.write(ENTER, MemberStopped("closed"))
    assert log.rules(ListenerEnds()) == ["B7"]


@pytest.mark.parametrize("stage", [CallbackStage.EXIT, CallbackStage.RAISE])
def test_b7_a_listener_that_returned_or_raised_is_fine(stage):
    log = member("static-1")
    log.write(ENTER, CallbackStep(kind=ChangeKind.REVOKED, stage=stage, serial=1))
    log.write(MemberStopped("closed"))
    assert log.rules(ListenerEnds()) == []
