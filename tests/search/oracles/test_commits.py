import pytest

from kgroup.audit.oracles import CommitOrder, judge
from kgroup.codes import ApiKey
from kgroup.journal import (
    CommitStage,
    CommitStep,
    ConnectionClosed,
    Delivered,
    OffsetRead,
    OwnershipStep,
    Phase,
    PositionMove,
    PositionMoved,
)
from kgroup.types import ChangeKind, Claim
from tests.audit.histories import History, one_member, tp
from tests.search.oracles.commit_done import CommitsOnlyDone
from tests.search.oracles.commit_identity import CommitIdentity


def rules(history: History) -> list[str]:
    oracles = (CommitIdentity(), CommitOrder(), CommitsOnlyDone())
    return [found.rule for found in judge(oracles, history.entries)]


@pytest.mark.parametrize("generation", [-1, None])
def test_c2_a_member_that_commits_without_a_generation_is_found(generation: int | None):
    history, member = one_member(0)
    member.write(
        CommitStep(
            stage=CommitStage.REQUESTED,
            commit_id=1,
            claim=member.claims[tp(0)],
            offset=0,
            member_id="m",
            generation_id=generation,
        )
    )
    assert rules(history) == ["C2"]


def test_c2_is_seen_on_the_wire_too():
    history, member = one_member(0)
    member.ask(ApiKey.OFFSET_COMMIT, generation=-1)
    assert rules(history) == ["C2"]


def test_c2_a_manual_assignment_commits_without_identity():
    history = History()
    member = history.member("a")
    claim = Claim(tp(0), 1)
    for phase in Phase:
        member.write(OwnershipStep(kind=ChangeKind.ASSIGNED, phase=phase, claims=(claim,)))
    for stage in (CommitStage.REQUESTED, CommitStage.OK):
        member.write(CommitStep(stage=stage, commit_id=1, claim=claim, offset=0))
    assert rules(history) == []


def test_c3_a_commit_that_goes_back_is_found():
    history, member = one_member(0)
    member.deliver(0, 10)
    member.commit(0)
    member.commits += 1
    for stage in (CommitStage.REQUESTED, CommitStage.OK):
        member.commit_step(stage, 0, offset=4)
    assert rules(history) == ["C3"]


def test_c3_a_seek_allows_a_commit_to_go_back():
    history, member = one_member(0)
    member.deliver(0, 10)
    member.commit(0)
    member.write(PositionMoved(member.claims[tp(0)], 4, PositionMove.SEEK))
    member.positions[tp(0)] = 4
    member.commit(0)
    assert rules(history) == []


def test_c4_a_commit_of_a_record_that_is_not_done_is_found():
    history, member = one_member(0)
    member.deliver(0, 10, done=False)
    member.commit(0)
    assert rules(history) == ["C4"]


def test_c4_a_commit_one_too_far_is_found():
    history, member = one_member(0)
    member.deliver(0, 10)
    member.positions[tp(0)] += 1
    member.commit(0, stage=None)
    assert rules(history) == ["C4"]


def test_c5_a_commit_inside_the_revocation_is_fine():
    history, member = one_member(0)
    member.step(ChangeKind.REVOKED, Phase.BEGIN, (member.claims[tp(0)],))
    member.commit(0)
    assert rules(history) == []


def test_c5_a_commit_after_the_revocation_or_the_loss_is_found():
    for kind in (ChangeKind.REVOKED, ChangeKind.LOST):
        history, member = one_member(0)
        member.change(kind, (member.claims[tp(0)],))
        member.commit(0)
        assert rules(history) == ["C5"]


def test_c6_an_outcome_that_nobody_awaits_is_found():
    history, member = one_member(0)
    member.commit(0)
    member.commit_step(CommitStage.OK, 0)
    assert rules(history) == ["C6"]


def test_c6_a_commit_that_was_refused_before_it_was_sent_needs_no_request():
    history, member = one_member(0)
    member.commit_step(CommitStage.ERROR, 0)
    assert rules(history) == []


def test_c6_an_unknown_commit_may_be_asked_again_unless_a_later_one_was_accepted():
    for later, expected in ((False, []), (True, ["C6"])):
        history, member = one_member(0)
        member.commit(0, stage=CommitStage.UNKNOWN)
        if later:
            member.commit(0)
            member.commits -= 1
        member.commit_step(CommitStage.REQUESTED, 0)
        assert rules(history) == expected


def test_c6_an_unknown_commit_is_not_asked_again_under_another_claim():
    history, member = one_member(0)
    member.commit(0, stage=CommitStage.UNKNOWN)
    member.revoke(0)
    member.assign(0, offset=0)
    member.commit_step(CommitStage.REQUESTED, 0)
    assert rules(history) == ["C6"]


@pytest.mark.parametrize("offset", [9, None])
def test_c7_a_new_owner_that_reads_less_than_was_acknowledged_is_found(offset: int | None):
    history, member = one_member(0)
    member.deliver(0, 10)
    member.commit(0)
    other = history.member("b")
    other.write(OffsetRead(Claim(tp(0), 1), offset, 2))
    assert rules(history) == ["C7"]


def test_c7_a_member_out_of_its_generation_reads_nothing_any_more():
    # 1. it asks, and stands still; 2. the next owner commits; 3. it wakes up without a lease, and
    # the answer comes: what it is told of is no new owner's.
    for generation, expected in ((None, []), (2, ["C7"])):
        history, member = one_member(0)
        member.deliver(0, 10)
        member.commit(0)
        history.member("b").write(OffsetRead(Claim(tp(0), 1), 9, generation))
        assert rules(history) == expected


@pytest.mark.parametrize(
    ("sent_first", "offset", "expected"),
    [(True, 10, []), (False, 10, ["C7"]), (True, 9, ["C7"])],
)
def test_c7_a_read_is_owed_what_was_acknowledged_before_it_was_sent(
    sent_first: bool, offset: int, expected: list[str]
) -> None:
    """1. OffsetFetch is out, and stands at 10; 2. the owner commits 20, and is told that it is
    stored; 3. the answer of step 1 comes."""
    history, member = one_member(0)
    member.deliver(0, 10)
    member.commit(0)
    other = history.member("b")
    if sent_first:
        other.send(ApiKey.OFFSET_FETCH)
    member.deliver(0, 10)
    member.commit(0)
    if not sent_first:
        other.send(ApiKey.OFFSET_FETCH)
    other.hear(ApiKey.OFFSET_FETCH)
    other.write(OffsetRead(Claim(tp(0), 1), offset, 2))
    assert rules(history) == expected


def test_c7_one_answer_tells_of_a_partition_once() -> None:
    # What is read again without another OffsetFetch is owed what was acknowledged by then.
    history, member = one_member(0)
    other = history.member("b")
    other.send(ApiKey.OFFSET_FETCH)
    member.deliver(0, 10)
    member.commit(0)
    other.hear(ApiKey.OFFSET_FETCH)
    for serial in (1, 2):
        other.write(OffsetRead(Claim(tp(0), serial), 0, 2))
    assert rules(history) == ["C7"]


def test_c7_an_answer_on_a_closed_connection_excuses_nothing() -> None:
    history, member = one_member(0)
    other = history.member("b")
    other.send(ApiKey.OFFSET_FETCH)
    member.deliver(0, 10)
    member.commit(0)
    other.write(ConnectionClosed(connection=1, reason="reset"))
    other.hear(ApiKey.OFFSET_FETCH)
    other.write(OffsetRead(Claim(tp(0), 1), 0, 2))
    assert rules(history) == ["C7"]


def test_c7_reading_more_than_was_logged_is_fine():
    history, member = one_member(0)
    member.deliver(0, 10)
    member.commit(0, stage=None)
    history.member("b").write(OffsetRead(Claim(tp(0), 1), 10, 2))
    assert rules(history) == []


def test_c4_is_not_asked_where_offsets_hold_no_record():
    history, member = one_member(0)
    claim = member.claims[tp(0)]
    member.write(Delivered(claim, 0, 8, 8))
    member.positions[tp(0)] = 10
    member.commit(0)
    assert judge([CommitsOnlyDone(frozenset({"t"}))], history.entries[-2:]) == ()
