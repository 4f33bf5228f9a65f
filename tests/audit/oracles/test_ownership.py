from dataclasses import replace

import pytest

from kgroup.audit.oracles import OneOwnerInTime, judge
from kgroup.codes import ApiKey
from kgroup.journal import (
    CloseAsked,
    CommitStage,
    CommitStep,
    MemberStopped,
    Phase,
    Polled,
    StateChanged,
)
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


def test_s2_a_delivery_by_the_former_owner_is_found_at_once():
    history, a, _ = two_owners()
    a.deliver(0, 5)
    (found,) = judge([OneOwnerInTime()], history.entries)
    assert (found.rule, found.tp) == ("S2", tp(0))
    assert found.entries[-1].source == a.source


def test_s2_a_member_that_an_administrator_removed_is_forgiven_for_as_long_as_a_session():
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


def test_s2_a_revocation_that_ends_after_the_next_assignment_is_found():
    history, a, _ = two_owners()
    a.revoke(0)
    assert [found.rule for found in judge([OneOwnerInTime()], history.entries)] == ["S2"]


def test_s2_a_close_after_the_next_assignment_is_found():
    history, a, _ = two_owners()
    a.write(MemberStopped("closed"))
    assert [found.rule for found in judge([OneOwnerInTime()], history.entries)] == ["S2"]


def test_s2_a_member_that_polls_on_for_ever_is_found_at_the_end():
    history, a, _ = two_owners()
    a.write(Polled())
    assert [found.rule for found in judge([OneOwnerInTime()], history.entries)] == ["S2"]


def test_s2_a_member_that_wakes_and_says_lost_is_forgiven():
    history, a, b = two_owners()
    b.deliver(0, 5)
    a.lose(0)
    assert judge([OneOwnerInTime()], history.entries) == ()


def test_s2_a_killed_member_is_forgiven():
    history, _, b = two_owners()
    b.deliver(0, 5)
    assert judge([OneOwnerInTime()], history.entries) == ()


def test_s2_one_overlap_is_told_once():
    history, a, _ = two_owners()
    a.deliver(0, 5)
    a.deliver(0, 5)
    a.end(ChangeKind.REVOKED, 0)
    assert len(judge([OneOwnerInTime()], history.entries)) == 1


def test_s2_of_two_that_use_one_instance_id_the_later_takes_over_at_once():
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


@pytest.mark.parametrize("how", ["heartbeat", "commit", "not"])
def test_s2_a_membership_lost_while_the_listener_hears_of_a_revocation_is_forgiven(how: str):
    history, first = one_member(0)
    first.step(ChangeKind.REVOKED, Phase.BEGIN, (first.claims[tp(0)],))
    if how == "heartbeat":
        first.heartbeat(error=25)
    if how == "commit":
        asked = first.commit(0, stage=None).event
        assert isinstance(asked, CommitStep)
        first.write(replace(asked, stage=CommitStage.ERROR, code=25))
    second = history.member("b")
    second.start()
    second.join(2, 0)
    second.assign(0, offset=0)
    first.step(ChangeKind.REVOKED, Phase.END, (first.claims[tp(0)],))
    expected = ["S2"] if how == "not" else []
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == expected


@pytest.mark.parametrize(("renews", "broken"), [(0, ["S2"]), (27, ["S2"]), (16, [])])
def test_s2_only_who_coordinates_renews_a_session(renews: int, broken: list[str]):
    history, first = one_member(0)
    first.step(ChangeKind.REVOKED, Phase.BEGIN, (first.claims[tp(0)],))
    history.wait(4.0)
    first.heartbeat(error=renews)
    history.wait(4.0)
    second = history.member("b")
    second.start()
    second.join(2, 0)
    second.assign(0, offset=0)
    first.step(ChangeKind.REVOKED, Phase.END, (first.claims[tp(0)],))
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == broken


@pytest.mark.parametrize(("stage", "broken"), [(CommitStage.OK, ["S2"]), (CommitStage.ERROR, [])])
def test_s2_only_a_commit_that_is_accepted_renews_a_session(stage: CommitStage, broken: list[str]):
    history, first = one_member(0)
    first.step(ChangeKind.REVOKED, Phase.BEGIN, (first.claims[tp(0)],))
    history.wait(4.0)
    first.commit(0, stage=None)
    first.ask(ApiKey.OFFSET_COMMIT)
    first.commit_step(stage, 0)
    history.wait(4.0)
    second = history.member("b")
    second.start()
    second.join(2, 0)
    second.assign(0, offset=0)
    first.step(ChangeKind.REVOKED, Phase.END, (first.claims[tp(0)],))
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == broken


@pytest.mark.parametrize(
    ("instance", "seconds", "broken"),
    [("i", 1.0, []), ("i", 7.0, ["S2"]), ("j", 1.0, ["S2"])],
)
def test_s2_who_was_replaced_by_a_twin_cannot_know_of_the_round_after_it(
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


@pytest.mark.parametrize(("seconds", "expected"), [(12.0, []), (8.0, ["S2"])])
def test_s2_what_a_member_proves_when_it_has_joined_again_says_nothing_of_the_time_before(
    seconds: float, expected: list[str]
) -> None:
    # 1. on_revoked(t-0) runs for a, which has unsubscribed; 2. a round passes it over, and gives
    # t-0 to b; 3. a leaves, subscribes again, and is answered; 4. on_revoked returns.
    history, first = one_member(0)
    first.write(Polled())
    first.heartbeat()
    claims = (first.claims[tp(0)],)
    first.step(ChangeKind.REVOKED, Phase.BEGIN, claims)
    for _ in range(int(seconds)):
        history.wait(1.0)
        first.heartbeat(error=27)
        first.write(Polled())
    second = history.member("b")
    second.start()
    second.join(2, 0)
    second.assign(0, offset=0)
    first.ask(ApiKey.LEAVE_GROUP)
    first.ask(ApiKey.JOIN_GROUP)
    first.step(ChangeKind.REVOKED, Phase.END, claims)
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == expected


@pytest.mark.parametrize(
    ("seconds", "why", "expected"),
    [
        (7, "unsubscribed", []),
        (4, "unsubscribed", ["S2"]),
        (7, "close requested", ["S2"]),
        (7, None, ["S2"]),
    ],
)
def test_s2_a_listener_that_outlasts_the_time_of_who_unsubscribed_is_forgiven(
    seconds: int, why: str | None, expected: list[str]
) -> None:
    # 1. a unsubscribes with a batch in hand; 2. 4 s later on_revoked(t-0) runs; 3. a leaves 10 s
    # after 1, whatever runs (KIP-62); 4. b is given t-0, and a has subscribed again, and is
    # answered; 5. on_revoked returns.
    history, first = one_member(0)
    first.heartbeat()
    if why is not None:
        first.write(StateChanged(MemberState.STABLE, MemberState.RELEASING, why))
    history.wait(4.0)
    claims = (first.claims[tp(0)],)
    first.step(ChangeKind.REVOKED, Phase.BEGIN, claims)
    for _ in range(seconds):
        history.wait(1.0)
        first.heartbeat()
    first.ask(ApiKey.LEAVE_GROUP)
    second = history.member("b")
    second.start()
    second.join(2, 0)
    first.join(3)
    second.assign(0, offset=0)
    first.step(ChangeKind.REVOKED, Phase.END, claims)
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == expected


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


def test_s2_who_hears_late_of_an_earlier_generation_owns_nothing_and_the_owner_may_go_on():
    history, a, b = late_answer(asked=True)
    a.lose(0)
    b.deliver(0, 5)
    b.stop()
    assert judge([OneOwnerInTime()], history.entries) == ()


@pytest.mark.parametrize("what", ["delivers", "revokes"])
def test_s2_who_hears_late_of_an_earlier_generation_and_goes_on_is_found(what: str):
    history, a, _ = late_answer(asked=True)
    if what == "delivers":
        a.deliver(0, 5)
    else:
        a.revoke(0)
    (found,) = judge([OneOwnerInTime()], history.entries)
    assert found.entries[-1].source == a.source


def test_s2_a_group_that_begins_at_1_again_has_its_owner_from_the_new_generation():
    history, a, b = late_answer(asked=False)
    a.deliver(0, 5)
    assert judge([OneOwnerInTime()], history.entries) == ()
    b.deliver(0, 5)
    (found,) = judge([OneOwnerInTime()], history.entries)
    assert found.entries[-1].source == b.source


def overtaken_amid_a_revocation(first: Writer) -> None:
    """Have somebody else own what a member's listener still hears the revocation of."""
    second = first.history.member("b")
    second.start()
    second.join(2, 0)
    second.assign(0, offset=0)


@pytest.mark.parametrize(("refused", "expected"), [(True, []), (False, ["S2"])])
def test_s2_who_lost_its_membership_amid_a_revocation_and_dies_in_it_is_forgiven(
    refused: bool, expected: list[str]
) -> None:
    """1. on_revoked runs; 2. a heartbeat is refused; 3. somebody else is given the partition;
    4. the application reads on, and its process is killed before the listener has returned."""
    history, first = one_member(0)
    first.step(ChangeKind.REVOKED, Phase.BEGIN, (first.claims[tp(0)],))
    if refused:
        first.heartbeat(error=22)
    overtaken_amid_a_revocation(first)
    first.write(Polled())
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == expected


@pytest.mark.parametrize(
    ("cause", "waited", "expected"),
    [
        ("close limit", 4.0, []),
        ("everything handed back", 4.0, ["S2"]),
        ("close limit", 2.0, ["S2"]),
        ("close limit", None, ["S2"]),
    ],
)
def test_s2_a_listener_that_outlasts_the_time_for_closing_is_forgiven(
    cause: str, waited: float | None, expected: list[str]
) -> None:
    """Of five seconds; a limit long before that, or of who was not closed, is none."""
    history, first = one_member(0)
    if waited is not None:
        first.write(CloseAsked(5.0))
    first.step(ChangeKind.REVOKED, Phase.BEGIN, (first.claims[tp(0)],))
    history.wait(waited or 4.0)
    first.write(StateChanged(MemberState.RELEASING, MemberState.LEAVING, cause))
    overtaken_amid_a_revocation(first)
    first.step(ChangeKind.REVOKED, Phase.END, (first.claims[tp(0)],))
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == expected


@pytest.mark.parametrize(("again", "expected"), [(False, []), (True, ["S2"])])
def test_s2_what_a_member_did_before_it_was_overtaken_proves_nothing(
    again: bool, expected: list[str]
) -> None:
    """1. m1 finds out late that it lost t-0, having read meanwhile; 2. it owns t-1, and is killed;
    3. another is given t-1: m1 has read before that, and not after it."""
    history, first, second = two_owners()
    first.write(Polled())
    first.lose(0)
    first.join(3, 1)
    first.assign(1, offset=0)
    second.join(4, 1)
    second.assign(1, offset=0)
    if again:
        first.write(Polled())
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == expected


@pytest.mark.parametrize(("late", "expected"), [(False, []), (True, ["S2"])])
def test_s2_what_is_revoked_when_the_time_for_closing_is_over_already_is_not_forgiven(
    late: bool, expected: list[str]
) -> None:
    history, first = one_member(0)
    claims = (first.claims[tp(0)],)
    first.write(CloseAsked(5.0))
    history.wait(4.0)
    if not late:
        first.step(ChangeKind.REVOKED, Phase.BEGIN, claims)
    first.write(StateChanged(MemberState.RELEASING, MemberState.LEAVING, "close limit"))
    if late:
        first.step(ChangeKind.REVOKED, Phase.BEGIN, claims)
    overtaken_amid_a_revocation(first)
    first.step(ChangeKind.REVOKED, Phase.END, claims)
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == expected


def test_s2_who_stops_while_a_listener_hangs_need_not_have_told_of_other_losses() -> None:
    """1. on_revoked hangs, of t-1; 2. the time for closing is over: t-0 is lost, which waits for
    that; 3. another is given t-0; 4. the member stops."""
    history, first = one_member(0, 1)
    first.write(CloseAsked(5.0))
    first.step(ChangeKind.REVOKED, Phase.BEGIN, (first.claims[tp(1)],))
    history.wait(4.0)
    first.write(StateChanged(MemberState.RELEASING, MemberState.LEAVING, "close limit"))
    overtaken_amid_a_revocation(first)
    first.stop()
    assert judge([OneOwnerInTime()], history.entries) == ()
