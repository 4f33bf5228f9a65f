import pytest

from kgroup.audit.oracles import OneOwnerInTime, judge
from kgroup.journal import (
    Phase,
    StateChanged,
)
from kgroup.journal.faults import StateCause
from kgroup.types import ChangeKind, MemberState
from tests.audit.histories import History, Writer, one_member, tp


def two_owners() -> tuple[History, Writer, Writer]:
    """Member b is assigned t-0 while a owns it."""
    history = History()
    a, b = history.member("a"), history.member("b")
    a.start()
    b.start()
    a.join(1, 0)
    a.assign(0, offset=0)
    b.join(2, 0)
    b.assign(0, offset=0)
    return history, a, b


def test_delivery_by_the_former_owner_is_a_breach():
    history, a, _ = two_owners()
    a.deliver(0, 5)
    (found,) = judge([OneOwnerInTime()], history.entries)
    assert (found.rule, found.tp) == ("S2", tp(0))
    assert found.entries[-1].source == a.source


def test_removed_member_may_deliver_for_one_session():
    for seconds, expected in ((1.0, []), (7.0, ["S2"])):
        history = History()
        a, b = history.member("a"), history.member("b")
        for member in (a, b):
            member.start()
            member.join(1, 0)
            member.assign(0, offset=0)
        history.fault("EVICT", "a")
        history.wait(seconds)
        a.deliver(0, 5)
        found = judge([OneOwnerInTime()], history.entries)
        assert [each.rule for each in found] == expected


def test_member_that_wakes_and_reports_its_loss_is_no_breach():
    history, a, b = two_owners()
    b.deliver(0, 5)
    a.lose(0)
    assert judge([OneOwnerInTime()], history.entries) == ()


def test_killed_member_is_no_breach():
    history, _, b = two_owners()
    b.deliver(0, 5)
    assert judge([OneOwnerInTime()], history.entries) == ()


def test_one_overlap_is_reported_once():
    history, a, _ = two_owners()
    a.deliver(0, 5)
    a.deliver(0, 5)
    a.end(ChangeKind.REVOKED, 0)
    assert len(judge([OneOwnerInTime()], history.entries)) == 1


def test_second_process_with_the_instance_id_takes_over_at_once():
    for instance, expected in (("static-1", []), ("static-2", ["S2"])):
        history = History()
        first = history.member("a", instance="static-1")
        second = history.member("a", "2", instance=instance)
        first.start()
        first.join(1, 0)
        first.assign(0, offset=0)
        second.start()
        second.join(1, 0)
        second.assign(0, offset=0)
        first.deliver(0, 1)
        first.stop()
        assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == expected


@pytest.mark.parametrize(
    ("instance", "seconds", "broken"),
    [("i", 1.0, []), ("i", 7.0, ["S2"]), ("j", 1.0, ["S2"])],
)
def test_replaced_static_member_may_deliver_for_one_session(
    instance: str, seconds: float, broken: list[str]
):
    history = History()
    first = history.member("a", instance="i")
    twin = history.member("a", "2", instance=instance)
    other = history.member("b")
    for member in (first, twin, other):
        member.start()
    first.join(1, 0)
    first.assign(0, offset=0)
    twin.join(2, 1)
    other.join(2, 0)
    given = {twin: (1,), other: (0,)}
    history.round(2, given if instance == "i" else {first: (), **given})
    twin.assign(1, offset=0)
    other.assign(0, offset=0)
    history.wait(seconds)
    first.deliver(0, 5)
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == broken


def late_answer(*, asked: bool) -> tuple[History, Writer, Writer]:
    """Member a is given t-0 in generation 1 after b was in 2; if `asked`, it had asked before.

    1. a asks for its assignment, and stands still; 2. its session ends, and b is given t-0; 3. a
    goes on, reads the answer, and its listener hears of t-0.
    """
    history = History()
    a, b = history.member("a"), history.member("b")
    a.start()
    b.start()
    if asked:
        a.write(StateChanged(MemberState.JOINING, MemberState.SYNCING, "joined as follower"))
    b.join(2, 0)
    b.assign(0, offset=0)
    history.wait(5.0)
    a.join(1, 0)
    a.assign(0, offset=0)
    return history, a, b


def test_late_assignment_of_an_earlier_generation_leaves_the_owner_alone():
    history, a, b = late_answer(asked=True)
    a.lose(0)
    b.deliver(0, 5)
    b.stop()
    assert judge([OneOwnerInTime()], history.entries) == ()


def test_delivery_after_a_late_assignment_of_an_earlier_generation_is_a_breach():
    history, a, _ = late_answer(asked=True)
    a.deliver(0, 5)
    (found,) = judge([OneOwnerInTime()], history.entries)
    assert found.entries[-1].source == a.source


def test_owner_of_a_group_that_begins_at_generation_1_again_may_deliver():
    history, a, b = late_answer(asked=False)
    a.deliver(0, 5)
    assert judge([OneOwnerInTime()], history.entries) == ()
    b.deliver(0, 5)
    (found,) = judge([OneOwnerInTime()], history.entries)
    assert found.entries[-1].source == b.source


def test_revocation_that_begins_after_the_next_assignment_is_a_breach():
    history, a, _ = two_owners()
    a.revoke(0)
    assert [each.rule for each in judge([OneOwnerInTime()], history.entries)] == ["S2"]


def test_revocation_that_begins_in_time_may_end_late():
    history, a = one_member(0)
    a.step(ChangeKind.REVOKED, Phase.BEGIN, (a.claims[tp(0)],))
    b = history.member("b")
    b.start()
    b.join(2, 0)
    b.assign(0, offset=0)
    a.step(ChangeKind.REVOKED, Phase.END, (a.claims[tp(0)],))
    assert judge([OneOwnerInTime()], history.entries) == ()


@pytest.mark.parametrize(("in_time", "expected"), [(True, []), (False, ["S2"])])
def test_revocation_after_the_member_left_as_if_it_were_done_is_a_breach(
    in_time: bool, expected: list[str]
):
    history, a = one_member(0)
    if in_time:
        a.revoke(0)
    a.write(StateChanged(MemberState.RELEASING, MemberState.LEAVING, StateCause.HANDED_BACK))
    if not in_time:
        a.revoke(0)
    assert [each.rule for each in judge([OneOwnerInTime()], history.entries)] == expected
