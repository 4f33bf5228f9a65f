import pytest

from kgroup.audit.oracles import judge
from kgroup.codes import ApiKey
from kgroup.journal import JoinIssued
from kgroup.journal.events import StateChanged
from kgroup.journal.faults import StateCause
from kgroup.types import MemberState, RebalanceProtocol, TopicPartition
from tests.audit.histories import COOPERATIVE, EAGER, one_member, tp
from tests.search.oracles.handover import JoinClaims


def rejoin_with(protocol: RebalanceProtocol, *owned: int) -> list[str]:
    history, member = one_member(0, 1, protocol=protocol)
    member.revoke(1)
    listed = tuple(tp(partition) for partition in owned)
    member.write(JoinIssued(member_id="m", generation_id=1, owned=listed))
    return [found.rule for found in judge([JoinClaims()], history.entries)]


def test_s4_an_eager_member_that_joins_before_it_gave_everything_back_is_found() -> None:
    assert rejoin_with(EAGER) == ["S4"]


def test_s4_a_cooperative_member_may_list_what_it_holds() -> None:
    assert rejoin_with(COOPERATIVE, 0) == []


def test_s4_a_cooperative_member_that_hides_what_it_holds_is_found() -> None:
    assert rejoin_with(COOPERATIVE) == ["S4"]


@pytest.mark.parametrize(
    ("generation", "owned", "expected"),
    [(None, (), []), (1, (), ["S9"]), (None, (tp(0),), ["S9"])],
)
def test_s9_after_a_loss_a_join_that_lists_or_names_anything_is_found(
    generation: int | None, owned: tuple[TopicPartition, ...], expected: list[str]
) -> None:
    history, member = one_member(0)
    member.decide_loss(0)
    member.write(JoinIssued(member_id=None, generation_id=generation, owned=owned))
    assert [v.rule for v in judge([JoinClaims()], history.entries)] == expected


@pytest.mark.parametrize(("lost", "expected"), [(True, []), (False, ["S4"])])
def test_s4_a_lost_partition_of_which_the_listener_has_not_heard_is_not_held(
    lost: bool, expected: list[str]
) -> None:
    history, member = one_member(0, 1)
    if lost:
        member.decide_loss(0, 1)
        member.write(JoinIssued(member_id=None, generation_id=None, owned=()))
    member.enter(2, 0)
    member.write(JoinIssued(member_id="m", generation_id=2, owned=(tp(0),)))
    assert [v.rule for v in judge([JoinClaims()], history.entries)] == expected


@pytest.mark.parametrize(
    ("cause", "expected"), [(StateCause.RELEASE_LIMIT, []), (StateCause.LEAVE_ENDED, ["S4"])]
)
def test_s4_what_a_listener_still_revokes_when_its_time_is_over_is_not_held(
    cause: StateCause, expected: list[str]
) -> None:
    history, member = one_member(0, protocol=EAGER)
    member.write(StateChanged(MemberState.RELEASING, MemberState.LEAVING, cause))
    member.write(JoinIssued(member_id=None, generation_id=None, owned=()))
    assert [v.rule for v in judge([JoinClaims()], history.entries)] == expected


def test_s4_a_partition_that_is_assigned_again_after_a_loss_is_held() -> None:
    history, member = one_member(0, protocol=COOPERATIVE)
    member.decide_loss(0)
    member.lose(0)
    member.enter(2, 0)
    member.assign(0)
    member.write(JoinIssued(member_id="m", generation_id=2, owned=()))
    assert [v.rule for v in judge([JoinClaims()], history.entries)] == ["S4"]


@pytest.mark.parametrize(("answered", "expected"), [(True, []), (False, ["S9"])])
def test_s9_a_generation_that_was_joined_and_not_entered_may_be_named(
    answered: bool, expected: list[str]
) -> None:
    """SyncGroup answers REBALANCE_IN_PROGRESS: the member joins again without having entered."""
    history, member = one_member(0)
    member.decide_loss(0)
    member.write(JoinIssued(member_id="m", generation_id=None, owned=()))
    if answered:
        member.ask(ApiKey.JOIN_GROUP)
    member.write(JoinIssued(member_id="m", generation_id=2, owned=()))
    assert [v.rule for v in judge([JoinClaims()], history.entries)] == expected
