import pytest

from kgroup.journal import (
    CommitStage,
    Delivered,
    Done,
    FetchAnswered,
    FetchIssued,
    MemberStopped,
    OffsetRead,
    OwnershipStep,
    PauseCause,
    Paused,
    Phase,
    Polled,
    PositionMove,
    PositionMoved,
    Resumed,
)
from kgroup.types import ChangeKind, TopicPartition
from tests.audit.oracles.logs import C0, C1, C2, T0, T1, T2, Log
from tests.search.oracles.commit_timing import AutoCommitBehindPoll, CommitsBeforeJoin
from tests.search.oracles.fairness import ServedInTurn
from tests.search.oracles.jumps import NoSilentJump

ASKED, OK = CommitStage.REQUESTED, CommitStage.OK

# -- L10 -----------------------------------------------------------------------------------


def backlog() -> Log:
    """Return the log of a member with records of three partitions."""
    log = Log()
    log.own(C0, C1, C2)
    log.write(*(FetchAnswered(claim, 0, 100) for claim in (C0, C1, C2)))
    return log


def turns(log: Log, number: int) -> None:
    """Serve two of the three partitions in turn."""
    for turn in range(number):
        claim, first = (C0, C1)[turn % 2], 10 * (turn // 2)
        log.write(Delivered(claim, first, first + 9, 10))


def test_l10_partitions_served_in_turn_are_fine():
    log = backlog()
    for first in range(0, 100, 10):
        log.write(*(Delivered(claim, first, first + 9, 10) for claim in (C0, C1, C2)))
    assert log.rules(ServedInTurn()) == []


def test_l10_polls_that_begin_one_further_each_time_are_fine():
    log = backlog()
    for first in range(0, 60, 20):
        for offset, order in ((first, (C0, C1, C2)), (first + 10, (C1, C2, C0))):
            log.write(*(Delivered(claim, offset, offset + 9, 10) for claim in order))
    assert log.rules(ServedInTurn(spare=0)) == []


def test_l10_a_partition_that_waits_for_more_than_two_turns_of_each_is_found():
    for number, expected in ((7, []), (8, ["L10"])):
        log = backlog()
        turns(log, number)
        assert log.rules(ServedInTurn()) == expected


def test_l10_one_partition_that_takes_every_poll_is_found():
    log = backlog()
    for first in range(0, 80, 10):
        log.write(Delivered(C0, first, first + 9, 10))
    assert log.rules(ServedInTurn(max_records=10)) == ["L10", "L10"]
    assert log.rules(ServedInTurn(max_records=500)) == []


@pytest.mark.parametrize(
    "why",
    ["paused", "held", "paused before", "resumed", "moved", "lost", "taken away", "empty", "read"],
)
def test_l10_a_partition_without_records_to_deliver_is_not_starved(why):
    log = backlog()
    match why:
        case "paused":
            log.write(Paused((C2,)))
        case "held":
            log.write(Paused((C2,)), Paused((C2,), PauseCause.UNCOMMITTED), Resumed((C2,)))
            log.write(FetchAnswered(C2, 100, 200))
        case "paused before":
            log = Log()
            log.own(C0, C1, C2)
            log.write(Paused((C2,)), *(FetchAnswered(claim, 0, 100) for claim in (C0, C1, C2)))
        case "resumed":
            log.write(Paused((C2,)), Resumed((C2,)))
        case "moved":
            log.write(PositionMoved(C2, 7, PositionMove.SEEK))
        case "lost":
            log.lose(C2)
        case "taken away":
            log.enter(2, T0, T1)
        case "empty":
            log = Log()
            log.own(C0, C1, C2)
            log.write(FetchAnswered(C2, 0, 0))
        case _:
            log.write(Delivered(C2, 0, 99, 100))
    turns(log, 11)
    assert log.rules(ServedInTurn()) == []


def test_l10_what_is_fetched_after_a_partition_was_resumed_waits_again():
    log = Log()
    log.own(C0, C1, C2)
    log.write(Paused((C2,)), Resumed((C2,)))
    log.write(*(FetchAnswered(claim, 0, 100) for claim in (C0, C1, C2)))
    turns(log, 8)
    assert log.rules(ServedInTurn()) == ["L10"]


@pytest.mark.parametrize(
    ("reported", "given", "expected"),
    [(1, (T0, T1), []), (1, (T0, T1, T2), ["L10"]), (None, (T0, T1), ["L10"])],
    ids=["taken away", "kept", "assigned by hand since"],
)
def test_l10_what_a_round_takes_away_before_on_assigned_has_returned_is_not_starved(
    reported: int | None, given: tuple[TopicPartition, ...], expected: list[str]
) -> None:
    # 1. The listener is slow to hear of a generation; 2. a later one takes a partition away: it is
    # handed out no more; 3. on_assigned returns, and the revocation waits behind further calls.
    log = Log()
    log.enter(2, *given)
    log.write(
        OwnershipStep(
            kind=ChangeKind.ASSIGNED, phase=Phase.END, claims=(C0, C1, C2), generation_id=reported
        )
    )
    log.write(*(FetchAnswered(claim, 0, 100) for claim in (C0, C1, C2)))
    turns(log, 8)
    assert log.rules(ServedInTurn()) == expected


# -- C8 ------------------------------------------------------------------------------------


def test_c8_a_commit_that_is_settled_before_the_join_is_fine():
    log = Log()
    log.commit(ASKED, 5)
    log.commit(OK, 5)
    log.revoke(C0)
    log.issue()
    assert log.rules(CommitsBeforeJoin()) == []


def test_c8_a_join_before_the_commit_of_a_revoked_claim_has_an_outcome_is_found():
    log = Log()
    log.commit(ASKED, 5)
    log.revoke(C0)
    log.issue()
    assert log.rules(CommitsBeforeJoin()) == ["C8"]


@pytest.mark.parametrize("why", ["kept", "lost", "revocation lasts", "another life"])
def test_c8_commits_of_other_claims_may_be_open(why):
    log = Log()
    log.commit(ASKED, 5)
    match why:
        case "lost":
            log.lose(C0)
        case "revocation lasts":
            log.begin(ChangeKind.REVOKED, C0)
        case "another life":
            log.revoke(C0)
            log.write(MemberStopped("closed"))
        case _:
            log.revoke(C1)
    log.issue()
    assert log.rules(CommitsBeforeJoin()) == []


# -- C9 ------------------------------------------------------------------------------------

FIRST, SECOND = Delivered(C0, 0, 4, 5), Delivered(C0, 5, 9, 5)


def test_c9_an_automatic_commit_stays_behind_the_newest_poll():
    for offset, expected in ((5, []), (6, ["C9"]), (10, ["C9"])):
        log = Log()
        log.write(Polled(), FIRST, Polled(), SECOND)
        log.commit(ASKED, offset)
        assert log.rules(AutoCommitBehindPoll()) == expected


def test_c9_what_the_poll_before_handed_out_may_be_committed():
    log = Log()
    log.write(Polled(), FIRST, Polled())
    log.commit(ASKED, 5)
    log.write(Delivered(C1, 0, 4, 5))
    log.commit(ASKED, 5, number=2)
    assert log.rules(AutoCommitBehindPoll()) == []


def test_c9_what_the_application_said_to_be_done_with_may_be_committed_where_it_may_say_so():
    log = Log()
    log.write(Polled(), FIRST, Done(C0, 5))
    log.commit(ASKED, 5)
    assert log.rules(AutoCommitBehindPoll(explicit=True)) == []
    assert log.rules(AutoCommitBehindPoll()) == ["C9"]
    log.commit(ASKED, 6, number=2)
    assert log.rules(AutoCommitBehindPoll(explicit=True)) == ["C9"]


def test_c9_a_position_that_the_application_moved_may_be_committed():
    log = Log()
    log.write(Polled(), FIRST, PositionMoved(C0, 3, PositionMove.SEEK))
    log.commit(ASKED, 3)
    assert log.rules(AutoCommitBehindPoll()) == []


# -- D8 ------------------------------------------------------------------------------------


def test_d8_fetches_go_on_from_where_the_claim_stands():
    log = Log()
    log.write(OffsetRead(C0, 3), FetchIssued(C0, 3), FetchAnswered(C0, 3, 9), FetchIssued(C0, 9))
    log.write(Delivered(C0, 3, 5, 3), FetchIssued(C0, 6), FetchAnswered(C0, 6, 9))
    log.write(FetchIssued(C0, 9))
    assert log.rules(NoSilentJump()) == []


def test_d8_a_jump_after_an_offset_out_of_range_is_found():
    log = Log()
    log.write(OffsetRead(C0, 3), FetchIssued(C0, 3), FetchAnswered(C0, 3, 3, 1), FetchIssued(C0, 8))
    assert log.rules(NoSilentJump()) == ["D8"]


@pytest.mark.parametrize("move", PositionMove)
def test_d8_a_jump_that_is_reported_is_no_breach(move):
    log = Log()
    log.write(OffsetRead(C0, 3), FetchIssued(C0, 3), FetchAnswered(C0, 3, 3, 1))
    log.write(PositionMoved(C0, 8, move), FetchIssued(C0, 8))
    assert log.rules(NoSilentJump()) == []


def test_d8_an_answer_to_a_fetch_before_a_move_moves_nothing():
    log = Log()
    log.write(OffsetRead(C0, 3), FetchIssued(C0, 3), PositionMoved(C0, 8, PositionMove.SEEK))
    log.write(FetchAnswered(C0, 3, 9), FetchIssued(C0, 8))
    assert log.rules(NoSilentJump()) == []


def test_d8_the_first_fetch_of_a_claim_whose_beginning_was_not_reported_is_believed():
    log = Log()
    log.write(OffsetRead(C0, None), FetchIssued(C0, 4), FetchIssued(C0, 4))
    assert log.rules(NoSilentJump()) == []
