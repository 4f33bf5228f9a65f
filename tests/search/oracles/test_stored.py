import pytest

from kgroup.audit.oracles import CommitOrder
from kgroup.journal import (
    CommitStage,
    Done,
    FaultStep,
    MemberStopped,
    OffsetRead,
    Phase,
    PositionMove,
    PositionMoved,
)
from tests.audit.oracles.logs import C0, C1, T0, T1, Log, given
from tests.search.oracles.outcomes import TrueOutcomes
from tests.search.oracles.stored import StoredCommits
from tests.search.oracles.stored_done import StoredIsDone

ASKED, OK = CommitStage.REQUESTED, CommitStage.OK


def moved(offset: int) -> PositionMoved:
    return PositionMoved(C0, offset, PositionMove.SEEK)


# -- C1 ------------------------------------------------------------------------------------


def test_c1_a_commit_of_the_present_generation_is_fine():
    log = Log()
    log.round([given("id", T0)], generation=4)
    log.stored(5, generation=4)
    assert log.rules(StoredCommits()) == []


def test_c1_a_commit_of_a_former_generation_is_found():
    log = Log()
    log.round([given("id", T0)], generation=4)
    log.stored(5, generation=3)
    assert log.rules(StoredCommits()) == ["C1"]


def test_c1_a_commit_of_a_round_that_was_never_stored_is_fine():
    """The next round began before the SyncGroup of the leader of this one arrived."""
    log = Log()
    log.round([given("id", T0)], generation=3)
    log.stored(5, generation=4)
    log.round([given("id", T0)], generation=5)
    assert log.rules(StoredCommits()) == []


def test_c1_an_administrator_has_no_generation():
    log = Log()
    log.round([], generation=4)
    log.stored(5, generation=None, member_id=None)
    assert log.rules(StoredCommits()) == []


# -- C3 ------------------------------------------------------------------------------------


def test_c3_accepted_offsets_that_rise_are_fine():
    log = Log()
    for offset in (5, 5, 9):
        log.stored(offset)
    log.stored(0, T1)
    assert log.rules(StoredCommits()) == []


def test_c3_an_accepted_offset_that_goes_back_is_found():
    log = Log()
    log.stored(5)
    log.stored(4)
    assert log.rules(StoredCommits()) == ["C3"]


def test_c3_a_commit_that_is_kept_on_its_way_may_land_after_a_newer_one_and_once_only():
    log = Log()
    log.write(FaultStep(Phase.BEGIN, "HOLD", "m0"))
    log.stored(5)
    log.stored(4)
    log.stored(6)
    assert log.rules(StoredCommits()) == []
    log.stored(5)
    assert log.rules(StoredCommits()) == ["C3"]


def test_c3_a_move_allows_one_decrease_even_when_an_older_commit_lands_after_it():
    log = Log()
    log.stored(5)
    log.write(moved(2))
    log.stored(7)
    log.stored(3)
    assert log.rules(StoredCommits()) == []
    log.stored(2)
    assert log.rules(StoredCommits()) == ["C3"]


def test_c3_a_move_allows_no_decrease_below_its_target():
    log = Log()
    log.stored(5)
    log.write(moved(3))
    log.stored(2)
    assert log.rules(StoredCommits()) == ["C3"]


def test_c3_what_an_administrator_stores_begins_a_new_line():
    log = Log()
    log.stored(5)
    log.stored(2, member_id=None, generation=None)
    log.stored(3)
    assert log.rules(StoredCommits()) == []


def test_c3_by_what_members_heard_a_move_allows_a_decrease_that_comes_later():
    log = Log()
    for number, (offset, move) in enumerate(((5, None), (7, 2), (3, None))):
        log.commit(ASKED, offset, number=number)
        if move is not None:
            log.write(moved(move))
        log.commit(OK, offset, number=number)
    assert log.rules(CommitOrder()) == []


# -- C7 ------------------------------------------------------------------------------------


def test_c7_what_stands_is_read():
    log = Log()
    log.stored(5)
    log.own(C0)
    log.stored(6)
    log.write(OffsetRead(C0, 5))
    assert log.rules(StoredCommits()) == []


def test_c7_an_offset_below_what_was_stored_before_the_claim_is_found():
    for offset in (4, None):
        log = Log()
        log.stored(5)
        log.own(C0)
        log.write(OffsetRead(C0, offset))
        assert log.rules(StoredCommits()) == ["C7"]


def test_c7_an_offset_that_nobody_stored_is_found():
    log = Log()
    log.stored(5)
    log.own(C0)
    log.write(OffsetRead(C0, 6))
    assert log.rules(StoredCommits()) == ["C7"]


def test_c7_deleted_offsets_are_not_expected_to_be_read():
    log = Log()
    log.stored(5)
    log.own(C0)
    log.stored(None, member_id=None, generation=None)
    log.write(OffsetRead(C0, None))
    assert log.rules(StoredCommits()) == []
    log = Log()
    log.commit(ASKED, 5)
    log.commit(OK, 5)
    log.stored(None, member_id=None, generation=None)
    log.write(OffsetRead(C0, None))
    assert log.rules(CommitOrder()) == []


def test_c7_after_a_decrease_on_purpose_the_lower_offset_is_read():
    log = Log()
    log.stored(5)
    log.own(C0)
    log.write(moved(2))
    log.stored(2)
    log.write(OffsetRead(C0, 2))
    assert log.rules(StoredCommits()) == []


def test_c7_a_claim_that_is_over_expects_nothing():
    log = Log()
    log.stored(5)
    log.own(C0)
    log.revoke(C0)
    log.write(OffsetRead(C0, None))
    assert log.rules(StoredCommits()) == []


# -- D1 ------------------------------------------------------------------------------------


def test_d1_an_accepted_commit_of_what_is_done_is_fine():
    log = Log()
    log.write(OffsetRead(C0, 0), Done(C0, 4), Done(C0, 9))
    log.stored(9)
    assert log.rules(StoredIsDone()) == []


def test_d1_an_accepted_commit_of_what_nobody_is_done_with_is_found_once():
    log = Log()
    log.write(OffsetRead(C0, 0), Done(C0, 4))
    log.stored(9)
    log.stored(9)
    assert log.rules(StoredIsDone()) == ["D1"]


def test_d1_what_one_member_did_counts_for_the_commit_of_the_next():
    log = Log()
    log.write(OffsetRead(C0, 0), Done(C0, 4))
    log.write(OffsetRead(C0, 4), Done(C0, 6), member="b")
    log.stored(6, member_id="b")
    assert log.rules(StoredIsDone()) == []


def test_d1_what_was_skipped_on_purpose_counts_as_done():
    log = Log()
    log.write(OffsetRead(C0, 0), moved(7), Done(C0, 9))
    log.stored(9)
    assert log.rules(StoredIsDone()) == []


def test_d1_what_an_administrator_commits_need_not_be_done():
    log = Log()
    log.write(OffsetRead(C0, 0))
    log.stored(9, member_id=None, generation=None)
    log.stored(9)
    log.stored(None, member_id=None, generation=None)
    assert log.rules(StoredIsDone()) == []


# -- C10 and L8 ----------------------------------------------------------------------------


def test_c10_a_commit_that_was_stored_is_reported():
    log = Log()
    log.commit(ASKED, 5)
    log.stored(5)
    log.commit(OK, 5)
    assert log.rules(TrueOutcomes()) == []


def test_c10_a_partition_reported_accepted_although_another_one_was_is_found():
    log = Log()
    log.commit(ASKED, 5)
    log.commit(ASKED, 5, C1)
    log.stored(5)
    log.commit(OK, 5)
    log.commit(OK, 5, C1)
    assert log.rules(TrueOutcomes()) == ["C10"]


def test_c10_what_was_stored_before_it_was_asked_proves_nothing():
    log = Log()
    log.stored(5)
    log.commit(ASKED, 5)
    log.commit(OK, 5)
    assert log.rules(TrueOutcomes()) == ["C10"]


def test_c10_a_later_commit_covers_one_that_waited_in_the_queue():
    log = Log()
    log.commit(ASKED, 5, number=1)
    log.commit(ASKED, 8, number=2)
    log.stored(8)
    log.commit(OK, 5, number=1)
    log.commit(OK, 8, number=2)
    assert log.rules(TrueOutcomes()) == []


@pytest.mark.parametrize(("stored", "broken"), [(4, []), (3, ["C10"])])
def test_c10_so_does_one_after_a_seek_back_but_nothing_else(stored: int, broken: list[str]):
    log = Log()
    log.commit(ASKED, 6, number=1)
    log.commit(ASKED, 4, number=2)
    log.stored(stored)
    log.commit(OK, 6, number=1)
    assert log.rules(TrueOutcomes()) == broken


def test_c10_without_the_coordinators_entries_nothing_is_judged():
    log = Log()
    log.commit(ASKED, 5)
    log.commit(OK, 5)
    assert log.rules(TrueOutcomes()) == []


def test_c10_a_partition_refused_although_it_stands_is_the_queues_business():
    log = Log()
    log.commit(ASKED, 5)
    log.stored(5)
    log.commit(CommitStage.ERROR, 5)
    assert log.rules(TrueOutcomes()) == []


def test_c10_the_leader_epoch_that_was_stored_is_read():
    for read, expected in ((7, []), (6, ["C10"]), (None, ["C10"])):
        log = Log()
        log.stored(5, epoch=7)
        log.write(OffsetRead(C0, 5, 1, read))
        assert log.rules(TrueOutcomes()) == expected


def test_c10_an_offset_stored_without_an_epoch_is_read_with_any():
    log = Log()
    log.stored(5)
    log.write(OffsetRead(C0, 5, 1, 3))
    assert log.rules(TrueOutcomes()) == []


def test_l8_a_commit_without_an_outcome_at_the_end_of_its_member_is_found():
    log = Log()
    log.commit(ASKED, 5)
    log.write(MemberStopped("closed"))
    assert log.rules(TrueOutcomes()) == ["L8"]


def test_l8_an_unknown_outcome_is_an_outcome_and_a_kill_excuses():
    log = Log()
    log.commit(ASKED, 5)
    log.commit(CommitStage.UNKNOWN, 5)
    log.write(MemberStopped("closed"))
    log.commit(ASKED, 6, number=2)
    assert log.rules(TrueOutcomes()) == []
