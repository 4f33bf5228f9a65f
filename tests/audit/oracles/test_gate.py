from kgroup.audit.oracles import DeliveryGate, FetchedUnderClaim, judge
from kgroup.journal import Delivered, MemberStopped, PauseCause, Paused, Phase, Resumed
from kgroup.types import ChangeKind, Claim
from tests.audit.histories import History, one_member, tp


def rules(history: History) -> list[str]:
    return [v.rule for v in judge([DeliveryGate(), FetchedUnderClaim()], history.entries)]


def test_s6_a_delivery_in_a_revocation_is_found():
    history, member = one_member(0)
    member.step(ChangeKind.REVOKED, Phase.BEGIN, (member.claims[tp(0)],))
    member.deliver(0, 5)
    assert rules(history) == ["S6"]


def test_s6_a_delivery_after_a_revocation_a_loss_or_a_close_is_found():
    for ending in ("revoked", "lost", "closed"):
        history, member = one_member(0)
        claim = member.claims[tp(0)]
        if ending == "closed":
            member.write(MemberStopped("closed"))
        else:
            member.change(ChangeKind(ending), (claim,))
        member.deliver(0, 5)
        (found,) = judge([DeliveryGate()], history.entries)
        assert found.rule == "S6"
        assert len(found.entries) == 2


def test_s6_a_delivery_under_a_claim_that_never_was_is_found():
    history, member = one_member(0)
    member.write(Delivered(Claim(tp(0), 99), 0, 4, 5))
    assert rules(history) == ["S6", "S7"]


def test_s6_a_delivery_while_paused_is_found_and_one_after_resume_is_fine():
    for resumed, expected in ((True, []), (False, ["S6"])):
        history, member = one_member(0)
        member.write(Paused((member.claims[tp(0)],)))
        if resumed:
            member.write(Resumed((member.claims[tp(0)],)))
        member.deliver(0, 5)
        assert rules(history) == expected


def test_s6_what_rests_for_two_causes_goes_on_when_both_are_over():
    for over, expected in (
        ((PauseCause.APPLICATION,), ["S6"]),
        ((PauseCause.UNCOMMITTED,), ["S6"]),
        ((PauseCause.APPLICATION, PauseCause.UNCOMMITTED), []),
    ):
        history, member = one_member(0)
        for cause in PauseCause:
            member.write(Paused((member.claims[tp(0)],), cause))
        for cause in over:
            member.write(Resumed((member.claims[tp(0)],), cause))
        member.deliver(0, 5)
        assert rules(history) == expected


def test_b3_a_delivery_while_the_assigned_listener_runs_is_found():
    history, member = one_member(0)
    claim = Claim(tp(1), 9)
    member.claims[tp(1)] = claim
    member.positions[tp(1)] = 0
    member.step(ChangeKind.ASSIGNED, Phase.BEGIN, (claim,))
    member.deliver(1, 5)
    assert rules(history) == ["B3"]


def test_s7_a_batch_fetched_under_an_earlier_claim_is_found():
    history, member = one_member(0)
    member.deliver(0, 5)
    member.revoke(0)
    member.assign(0, offset=0)
    member.write(Delivered(member.claims[tp(0)], 0, 4, 5))
    assert rules(history) == ["S7"]
