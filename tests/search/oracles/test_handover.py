import pytest

from kgroup.audit.oracles import judge
from kgroup.codes import ApiKey
from kgroup.journal import JoinIssued, OwnershipStep, Phase, StateChanged
from kgroup.membership.triggers import Trigger
from kgroup.types import Cause, ChangeKind, MemberState, RebalanceProtocol
from tests.audit.histories import COOPERATIVE, EAGER, one_member, tp
from tests.search.oracles.handover import JoinClaims

UNREADABLE = StateChanged(
    MemberState.SYNCING, MemberState.BACKING_OFF, Trigger.ASSIGNMENT_UNREADABLE.value
)


def rejoin_with(protocol: RebalanceProtocol, *owned: int) -> list[str]:
    history, member = one_member(0, 1, protocol=protocol)
    member.revoke(1)
    member.write(
        JoinIssued(
            member_id="m", generation_id=1, owned=tuple(tp(partition) for partition in owned)
        )
    )
    return [found.rule for found in judge([JoinClaims()], history.entries)]


def test_s4_an_eager_member_that_joins_before_it_gave_everything_back_is_found():
    assert rejoin_with(EAGER) == ["S4"]


def test_s4_a_cooperative_member_lists_what_it_holds():
    assert rejoin_with(COOPERATIVE, 0) == []


def test_s4_a_cooperative_member_that_hides_what_it_holds_is_found():
    assert rejoin_with(COOPERATIVE) == ["S4"]


def test_s9_after_a_loss_nothing_may_be_listed_and_no_generation_named():
    for generation, owned, expected in (
        (None, (), []),
        (1, (), ["S9"]),
        (None, (tp(0),), ["S9"]),
    ):
        history, member = one_member(0)
        member.lose(0)
        member.write(JoinIssued(member_id=None, generation_id=generation, owned=owned))
        assert [v.rule for v in judge([JoinClaims()], history.entries)] == expected


def join_as_one_who_lost(*, told: bool, delivers: bool) -> list[str]:
    history, member = one_member(0)
    member.write(JoinIssued(member_id="m", generation_id=None, owned=()))
    if delivers:
        member.deliver(0, 1)
    if told:
        member.lose(0)
    member.enter(2, 0)
    member.assign(0)
    return [found.rule for found in judge([JoinClaims()], history.entries)]


def test_s9_a_loss_may_be_told_right_after_the_join_that_follows_from_it():
    assert join_as_one_who_lost(told=True, delivers=False) == []


def test_s4_what_was_lost_before_the_generation_is_not_hidden_while_the_listener_is_busy():
    for lost, expected in ((True, []), (False, ["S4"])):
        history, member = one_member(0, 1)
        if lost:
            member.write(JoinIssued(member_id=None, generation_id=None, owned=()))
        member.enter(2, 0)
        member.write(JoinIssued(member_id="m", generation_id=2, owned=(tp(0),)))
        assert [v.rule for v in judge([JoinClaims()], history.entries)] == expected


@pytest.mark.parametrize(("owned", "expected"), [((), []), ((0,), ["S4"]), ((0, 1), ["S4", "S4"])])
def test_s4_who_cannot_read_what_it_was_assigned_lists_nothing_with_the_next_join(
    owned: tuple[int, ...], expected: list[str]
) -> None:
    # Who lists something has not lost all: the next JoinGroup must list the same.
    history, member = one_member(0, 1, protocol=COOPERATIVE)
    member.write(UNREADABLE)
    listed = tuple(tp(partition) for partition in owned)
    member.write(JoinIssued(member_id="m", generation_id=2, owned=listed))
    if len(owned) != 1:
        member.write(JoinIssued(member_id="m", generation_id=2, owned=()))
    assert [found.rule for found in judge([JoinClaims()], history.entries)] == expected


@pytest.mark.parametrize("joins", [0, 1])
def test_s4_what_was_assigned_after_an_unreadable_round_is_listed(joins: int) -> None:
    history, member = one_member(0, protocol=COOPERATIVE)
    member.write(UNREADABLE)
    for _ in range(joins):
        member.write(JoinIssued(member_id="m", generation_id=2, owned=()))
    member.lose(0)
    member.enter(3, 0)
    member.assign(0)
    member.write(JoinIssued(member_id="m", generation_id=3, owned=()))
    assert [found.rule for found in judge([JoinClaims()], history.entries)] == ["S4"]


@pytest.mark.parametrize(
    ("member_id", "cause", "expected"),
    [("m", "", ["S9"]), ("older", "", []), ("m", Cause.ASSIGNED.value, [])],
)
def test_s9_a_loss_is_one_of_the_newest_generation_by_its_member_id_and_its_cause(
    member_id: str, cause: str, expected: list[str]
) -> None:
    history, member = one_member(0)
    lost = OwnershipStep(
        kind=ChangeKind.LOST,
        phase=Phase.BEGIN,
        claims=(member.claims[tp(0)],),
        member_id=member.member_id if member_id == "m" else member_id,
        generation_id=member.generation,
        cause=cause,
        serial=member.changes + 1,
    )
    member.write(lost)
    member.write(JoinIssued(member_id="m", generation_id=member.generation, owned=()))
    assert [found.rule for found in judge([JoinClaims()], history.entries)] == expected


def test_s4_what_is_told_late_of_a_generation_before_the_loss_is_not_hidden():
    """1. Two rounds are entered while the listener is busy, and all is lost; 2. a third is; 3. the
    listener hears of the loss of the first, and that the second added t-1; 4. it joins once more,
    before the listener hears of that loss, too."""
    for late, expected in ((True, []), (False, ["S4"])):
        history, member = one_member(0)
        member.enter(2, 0, 1)
        member.write(JoinIssued(member_id="m", generation_id=None, owned=()))
        member.generation = 1
        member.lose(0)
        if not late:
            member.enter(3, 1)
        member.generation = 2 if late else 3
        member.assign(1)
        if late:
            member.enter(3)
        member.write(JoinIssued(member_id="m", generation_id=3, owned=()))
        assert [v.rule for v in judge([JoinClaims()], history.entries)] == expected


def test_generation_given_again_after_a_loss_may_be_named():
    """SyncGroup answers REBALANCE_IN_PROGRESS: the member joins again without having entered."""
    for answered, expected in ((True, []), (False, ["S9"])):
        history, member = one_member(0)
        member.lose(0)
        member.write(JoinIssued(member_id="m", generation_id=None, owned=()))
        if answered:
            member.ask(ApiKey.JOIN_GROUP)
        member.write(JoinIssued(member_id="m", generation_id=1, owned=()))
        assert [v.rule for v in judge([JoinClaims()], history.entries)] == expected


def test_generation_that_was_joined_and_not_entered_may_be_named():
    history, member = one_member(0)
    member.ask(ApiKey.JOIN_GROUP)
    member.lose(0)
    member.write(JoinIssued(member_id="m", generation_id=2, owned=()))
    assert judge([JoinClaims()], history.entries) == ()
