import pytest

from kgroup.audit.oracles import judge
from kgroup.journal import CallbackStage, CallbackStep, MemberStopped, Phase, Polled
from kgroup.types import ChangeKind, Claim, RebalanceProtocol
from tests.audit.histories import History, one_member, tp
from tests.search.oracles.listener_calls import ListenerEnds, ListenerSerial
from tests.search.oracles.ownership_changes import OwnershipAlternates, TakenBeforeAdded


def rules(history: History) -> list[str]:
    oracles = (ListenerSerial(), OwnershipAlternates())
    return [found.rule for found in judge(oracles, history.entries)]


def call(stage: CallbackStage, serial: int) -> CallbackStep:
    return CallbackStep(kind=ChangeKind.REVOKED, stage=stage, serial=serial)


def test_b1_a_call_inside_a_call_is_found():
    history, member = one_member(0)
    member.write(call(CallbackStage.ENTER, 2))
    member.write(call(CallbackStage.ENTER, 3))
    assert rules(history) == ["B1"]


def test_b1_a_change_that_is_reported_twice_is_found():
    history, member = one_member(0)
    for stage in (CallbackStage.ENTER, CallbackStage.EXIT):
        member.write(call(stage, 1))
    assert rules(history) == ["B1"]


def test_b1_a_return_without_a_call_is_found():
    history, member = one_member(0)
    member.write(call(CallbackStage.EXIT, 2))
    assert rules(history) == ["B1"]


@pytest.mark.parametrize(
    ("after", "expected"),
    [(call(CallbackStage.EXIT, 2), []), (call(CallbackStage.ENTER, 3), ["B1"])],
)
def test_b1_a_call_that_could_not_be_cut_off_has_not_returned(
    after: CallbackStep, expected: list[str]
) -> None:
    history, member = one_member(0)
    member.write(call(CallbackStage.ENTER, 2))
    member.write(call(CallbackStage.OVERDUE, 2))
    member.write(after)
    assert rules(history) == expected


def test_b7_a_call_that_could_not_be_cut_off_and_outlasts_its_member_is_found() -> None:
    history, member = one_member(0)
    member.write(call(CallbackStage.ENTER, 2))
    member.write(call(CallbackStage.OVERDUE, 2))
    member.write(MemberStopped("closed"))
    assert [found.rule for found in judge([ListenerEnds()], history.entries)] == ["B7"]


def test_b2_an_assignment_of_what_is_held_is_found():
    history, member = one_member(0)
    member.change(ChangeKind.ASSIGNED, (Claim(tp(0), 9),))
    assert rules(history) == ["B2"]


def test_b2_a_partition_that_is_revoked_and_then_lost_is_found():
    history, member = one_member(0)
    claim = member.claims[tp(0)]
    member.revoke(0)
    member.change(ChangeKind.LOST, (claim,))
    assert rules(history) == ["B2"]


def test_b2_an_end_without_a_begin_is_found():
    history, member = one_member(0)
    member.step(ChangeKind.REVOKED, Phase.END, (member.claims[tp(0)],))
    assert rules(history) == ["B2"]


def raising() -> tuple[History, Claim]:
    history, member = one_member(0)
    claim = member.claims[tp(0)]
    member.changes += 1
    member.step(ChangeKind.REVOKED, Phase.BEGIN, (claim,))
    member.write(call(CallbackStage.ENTER, 2))
    member.write(call(CallbackStage.RAISE, 2))
    return history, claim


def test_b4_ownership_changes_although_the_listener_raised():
    history, claim = raising()
    member = history.member("a")
    member.changes = 2
    member.step(ChangeKind.REVOKED, Phase.END, (claim,))
    member.write(MemberStopped("closed"))
    assert rules(history) == []


def test_b4_a_change_that_a_raising_listener_held_up_is_found():
    for last in (Polled(), MemberStopped("closed")):
        history, _ = raising()
        history.member("a").write(last)
        assert rules(history) == ["B4"]


def test_b4_a_process_killed_right_after_the_raise_is_forgiven():
    history, _ = raising()
    assert rules(history) == []


@pytest.mark.parametrize(
    ("fault", "target", "after", "expected"),
    [
        ("SIGKILL", "a", 9.9, []),
        ("RESTART", "a", 9.9, []),
        ("SIGKILL", "a", 10.1, ["B4"]),
        ("SIGKILL", "b", 9.9, ["B4"]),
        ("FREEZE", "a", 9.9, ["B4"]),
    ],
)
def test_b4_a_process_killed_while_the_change_awaits_an_answer_is_forgiven_for_a_round(
    fault: str, target: str, after: float, expected: list[str]
) -> None:
    # 1. the listener commits, and raises; 2. the coordinator is away; 3. the process is killed.
    history, _ = raising()
    history.member("b").start()
    history.wait(after)
    history.member("a").write(Polled())
    history.fault(fault, target)
    assert rules(history) == expected


def test_b4_a_killed_process_that_had_stopped_before_is_not_forgiven() -> None:
    history, _ = raising()
    history.member("a").write(MemberStopped("closed"))
    history.fault("SIGKILL", "a")
    assert rules(history) == ["B4"]


def test_b1_what_an_eager_round_takes_away_is_given_back_before_what_it_adds():
    for taken_first, expected in ((True, []), (False, ["B1"])):
        history, member = one_member(0, 1, protocol=RebalanceProtocol.EAGER)
        member.enter(2, 0, 2)
        if taken_first:
            member.revoke(1)
        member.assign(2)
        if not taken_first:
            member.revoke(1)
        assert [v.rule for v in judge([TakenBeforeAdded()], history.entries)] == expected


def test_b1_what_a_cooperative_round_adds_does_not_wait_for_what_is_in_hand():
    history, member = one_member(0, 1)
    member.enter(2, 0, 2)
    member.assign(2)
    member.revoke(1)
    assert judge([TakenBeforeAdded()], history.entries) == ()


def test_b1_what_is_given_back_at_the_end_may_have_been_added_by_the_last_round():
    history, member = one_member(0, 1, protocol=RebalanceProtocol.EAGER)
    member.enter(2, 0, 1, 2)
    member.assign(2)
    member.revoke(0, 1, 2)
    assert judge([TakenBeforeAdded()], history.entries) == ()


def test_b1_what_an_earlier_eager_round_added_may_be_reported_and_lost_in_the_next_one():
    """1. A listener runs; 2. a round adds t-1, on_assigned waits; 3. that is lost, and on_lost
    waits, too; 4. a round without t-1 is entered; 5. the listener returns: both are called."""
    for late, expected in ((True, []), (False, ["B1"])):
        history, member = one_member(0, protocol=RebalanceProtocol.EAGER)
        member.enter(3)
        member.generation = 2 if late else 3
        member.assign(1)
        member.lose(1)
        assert [v.rule for v in judge([TakenBeforeAdded()], history.entries)] == expected
