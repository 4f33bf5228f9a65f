import pytest

from kgroup.audit.oracles import judge
from kgroup.journal import JoinIssued, MemberStarted, OwnershipStep, Phase
from kgroup.types import Cause, ChangeKind, RebalanceProtocol
from tests.audit.histories import COOPERATIVE, EAGER, History, Writer, one_member, tp
from tests.search.oracles.cooperative import KeptUntouched
from tests.search.oracles.few_rounds import FewRounds


def rounds(protocol: RebalanceProtocol, generations: int, *, disturbances: int = 1) -> list[str]:
    history = History()
    members = [history.member(str(n), protocol=protocol) for n in range(disturbances)]
    for member in members:
        member.start()
    for generation in range(1, generations + 1):
        for member in members:
            member.enter(generation)
    return [found.rule for found in judge([FewRounds()], history.entries)]


def test_k1_a_kept_partition_that_was_revoked_over_the_round_is_found():
    history, member = one_member(0, 1)
    member.revoke(1)
    member.join(2, 0, 1)
    (found,) = judge([KeptUntouched()], history.entries)
    assert (found.rule, found.tp) == ("K1", tp(1))


def test_k1_a_partition_that_moved_away_and_came_back_is_fine():
    history, member = one_member(0, 1)
    member.join(2, 0)
    member.revoke(1)
    member.join(3, 0, 1)
    member.assign(1, offset=0)
    assert judge([KeptUntouched()], history.entries) == ()


def test_k1_a_loss_is_no_broken_promise():
    history, member = one_member(0)
    member.lose(0)
    member.join(2, 0)
    assert judge([KeptUntouched()], history.entries) == ()


def test_k1_an_eager_member_gives_everything_back():
    history, member = one_member(0, protocol=EAGER)
    member.revoke(0)
    member.join(2, 0)
    assert judge([KeptUntouched()], history.entries) == ()


def test_k1_reading_the_offset_of_a_kept_claim_again_is_found():
    history, member = one_member(0)
    member.deliver(0, 5)
    member.read(0, 0)
    assert [found.rule for found in judge([KeptUntouched()], history.entries)] == ["K1"]


def test_k2_one_disturbance_costs_one_eager_or_two_cooperative_generations():
    assert rounds(EAGER, 1) == []
    assert rounds(EAGER, 2) == ["K2"]
    assert rounds(COOPERATIVE, 2) == []
    assert rounds(COOPERATIVE, 3) == ["K2"]


def test_k2_overlapping_disturbances_cost_at_most_two_each_and_one_more():
    assert rounds(COOPERATIVE, 7, disturbances=3) == []
    assert rounds(COOPERATIVE, 8, disturbances=3) == ["K2"]


def test_k2_disturbances_of_a_group_at_rest_do_not_lend_each_other_rounds():
    history, member = one_member(0)
    history.wait(10.0)
    history.fault("SIGKILL", "z")
    for generation in (2, 3):
        member.enter(generation, 0)
    assert judge([FewRounds()], history.entries) == ()
    member.enter(4, 0)
    assert [found.rule for found in judge([FewRounds()], history.entries)] == ["K2"]


def test_k2_a_rejoin_that_the_application_asked_for_is_a_disturbance():
    history, member = one_member(0)
    history.wait(10.0)
    member.write(
        JoinIssued(member_id="m", generation_id=1, owned=(tp(0),), cause=Cause.ENFORCED.value)
    )
    member.enter(2, 0)
    member.enter(3, 0)
    assert judge([FewRounds()], history.entries) == ()


def test_k1_a_revocation_from_the_round_before_may_end_in_this_one():
    history, member = one_member(0, 1)
    claim = member.claims[tp(1)]
    member.join(2, 0)
    member.step(ChangeKind.REVOKED, Phase.BEGIN, (claim,))
    member.join(3, 0, 1)
    member.step(ChangeKind.REVOKED, Phase.END, (claim,))
    member.join(4, 0, 1)
    assert judge([KeptUntouched()], history.entries) == ()


def test_k2_a_member_that_comes_back_under_another_id_is_a_disturbance():
    history, member = one_member(0)
    history.wait(10.0)
    member.lose(0)
    history.wait(10.0)
    for generation in (2, 3):
        member.write(JoinIssued(member_id=None, generation_id=None, owned=()))
        member.enter(generation, 0)
    member.enter(4, 0)
    assert judge([FewRounds()], history.entries) == ()


def test_k2_a_group_is_not_at_rest_while_a_fault_lasts():
    history, member = one_member(0)
    history.wait(10.0)
    history.fault("HOLD", "a")
    member.enter(2, 0)
    history.wait(10.0)
    history.fault("SIGKILL", "z")
    for generation in (3, 4, 5):
        member.enter(generation, 0)
    assert judge([FewRounds()], history.entries) == ()


@pytest.mark.parametrize(("joins", "broken"), [(True, []), (False, ["K2"])])
def test_k2_a_group_is_not_at_rest_while_somebody_joins(joins: bool, broken: list[str]):
    history, member = one_member(0)
    history.wait(3.0)
    newcomer = history.member("b")
    newcomer.start()
    if joins:
        newcomer.write(JoinIssued(member_id="b", generation_id=None, owned=()))
    history.wait(10.0)
    member.write(
        JoinIssued(member_id="m", generation_id=1, owned=(tp(0),), cause=Cause.ENFORCED.value)
    )
    for generation in (2, 3, 4):
        member.enter(generation, 0)
    assert [found.rule for found in judge([FewRounds()], history.entries)] == broken


def test_k2_a_killed_member_does_not_join_any_more():
    history, member = one_member(0)
    history.wait(3.0)
    newcomer = history.member("b")
    newcomer.start()
    newcomer.write(JoinIssued(member_id="b", generation_id=None, owned=()))
    history.fault("SIGKILL", "b")
    history.wait(10.0)
    member.write(
        JoinIssued(member_id="m", generation_id=1, owned=(tp(0),), cause=Cause.ENFORCED.value)
    )
    for generation in (2, 3, 4):
        member.enter(generation, 0)
    assert [found.rule for found in judge([FewRounds()], history.entries)] == ["K2"]


def test_k2_the_dead_are_missed_when_their_session_is_over():
    # 1. two members are killed; 2. a round goes without the first; 3. another disturbance comes
    # while the session of the second still stands, so that two rounds are to be expected.
    for pause, expected in ((5.5, []), (6.5, ["K2"])):
        history, member = one_member(0, protocol=EAGER)
        for label in ("b", "c"):
            history.member(label, protocol=EAGER).start()
        history.wait(10.0)
        for label in ("b", "c"):
            history.fault("SIGKILL", label)
        member.enter(2, 0)
        history.wait(pause)
        ask_for_a_round(member)
        for generation in (3, 4):
            member.enter(generation, 0)
        assert [found.rule for found in judge([FewRounds()], history.entries)] == expected


@pytest.mark.parametrize(("pause", "expected"), [(6.5, []), (8.0, ["K2"])])
def test_k2_the_others_hear_that_somebody_is_missed_with_their_next_heartbeat(
    pause: float, expected: list[str]
):
    """1. A member is killed; 2. its session ends, and a round begins; 3. before anybody has heard
    of that, another disturbance comes, which costs a round of its own."""
    history, member = one_member(0, protocol=EAGER)
    history.member("b").write(MemberStarted(session_timeout=6.0, heartbeat_interval=1.5))
    history.wait(10.0)
    history.fault("SIGKILL", "b")
    member.enter(2, 0)
    history.wait(pause)
    ask_for_a_round(member)
    for generation in (3, 4):
        member.enter(generation, 0)
    assert [found.rule for found in judge([FewRounds()], history.entries)] == expected


def ask_for_a_round(member: Writer) -> None:
    member.write(JoinIssued(member_id="m", generation_id=1, owned=(), cause=Cause.ENFORCED.value))


def test_k2_a_member_that_was_removed_costs_a_generation_and_its_return_another():
    # 1. it is removed; 2. it hears of that while the round without it goes on, and joins anew.
    for before, expected in ((True, []), (False, ["K2"])):
        history, member = one_member(0, protocol=EAGER)
        gone = history.member("b", protocol=EAGER)
        gone.start()
        gone.enter(1)
        history.wait(10.0)
        if not before:
            member.enter(2, 0)
            history.wait(10.0)
        gone.write(JoinIssued(member_id=None, generation_id=None, owned=()))
        for generation in (3, 4):
            member.enter(generation, 0)
        assert [found.rule for found in judge([FewRounds()], history.entries)] == expected


def test_k2_a_member_that_still_holds_what_was_taken_from_it_costs_another_generation():
    # 1. a round takes t-1; 2. its listener runs; 3. another one, faster, has the next round begin,
    # in which t-1 is still listed.
    for owned, expected in (((0, 1), []), ((0,), ["K2"])):
        history, member = one_member(0, 1)
        history.wait(10.0)
        ask_for_a_round(member)
        member.enter(2, 0)
        member.write(
            JoinIssued(member_id="m", generation_id=2, owned=tuple(tp(number) for number in owned))
        )
        for generation in (3, 4):
            member.enter(generation, 0)
        assert [found.rule for found in judge([FewRounds()], history.entries)] == expected


def test_k1_a_partition_that_the_member_gave_up_by_its_own_doing_may_come_back():
    for cause, expected in ((Cause.TOPICS_CHANGED, []), (Cause.GROUP_REBALANCED, ["K1"])):
        history, member = one_member(0)
        for phase in Phase:
            member.write(
                OwnershipStep(
                    kind=ChangeKind.REVOKED,
                    phase=phase,
                    claims=(member.claims[tp(0)],),
                    cause=cause.value,
                )
            )
        member.enter(2, 0)
        assert [v.rule for v in judge([KeptUntouched()], history.entries)] == expected


def test_k1_a_member_that_comes_back_as_somebody_new_keeps_nothing():
    history, member = one_member(0)
    member.revoke(0)
    member.write(JoinIssued(member_id=None, generation_id=None, owned=()))
    member.enter(1, 0)
    assert judge([KeptUntouched()], history.entries) == ()
