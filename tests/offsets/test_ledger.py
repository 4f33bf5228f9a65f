"""What may be committed: never more than is done."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.offsets.ledger import Handout, Ledger
from kgroup.types import Claim, OffsetAndMetadata, TopicPartition

CLAIM = Claim(TopicPartition("t", 0), 1)


def begun(offset: int = 0, *, committed: bool = False) -> Ledger:
    ledger = Ledger()
    ledger.begin(CLAIM, offset, committed=committed)
    return ledger


def committable(ledger: Ledger) -> int | None:
    found = ledger.committable(CLAIM)
    return None if found is None else found.offset


def test_nothing_is_committable_before_a_position_is_known() -> None:
    assert Ledger().committable(CLAIM) is None


def test_records_handed_out_are_not_committable_before_they_are_done() -> None:
    ledger = begun(5)
    handout = ledger.hand_out(CLAIM, 9, None)
    assert committable(ledger) == 5
    ledger.finish(handout)
    assert committable(ledger) == 9


def test_part_of_a_handout_can_be_done() -> None:
    ledger = begun()
    handout = ledger.hand_out(CLAIM, 10, 3)
    ledger.finish(handout, 4)
    assert committable(ledger) == 4
    assert ledger.in_hand(CLAIM)


def test_a_later_handout_done_first_is_not_committable() -> None:
    ledger = begun()
    ledger.hand_out(CLAIM, 10, None)
    second = ledger.hand_out(CLAIM, 20, None)
    ledger.finish(second)
    assert committable(ledger) == 0


def test_a_handout_dropped_undone_holds_commits_up() -> None:
    ledger = begun()
    first = ledger.hand_out(CLAIM, 10, None)
    ledger.drop(first)
    ledger.finish(ledger.hand_out(CLAIM, 20, None))
    assert committable(ledger) == 0
    assert not ledger.in_hand(CLAIM)


def test_finish_all_counts_a_dropped_handout_as_done() -> None:
    ledger = begun()
    ledger.drop(ledger.hand_out(CLAIM, 10, None))
    ledger.finish_all(CLAIM)
    assert committable(ledger) == 10


def test_a_handout_from_before_a_seek_does_not_count_for_commits() -> None:
    ledger = begun()
    old = ledger.hand_out(CLAIM, 10, None)
    ledger.begin(CLAIM, 3)
    ledger.finish(old)
    assert committable(ledger) == 3


def test_a_handout_from_before_a_seek_stays_in_hand() -> None:
    ledger = begun()
    old = ledger.hand_out(CLAIM, 10, None)
    ledger.begin(CLAIM, 3)
    assert ledger.in_hand(CLAIM)
    ledger.finish(old)
    assert not ledger.in_hand(CLAIM)


def test_a_committed_position_is_not_committed_again() -> None:
    assert not list(begun(7, committed=True).uncommitted())


def test_a_position_found_by_a_reset_is_committed() -> None:
    assert [offset.offset for _, offset in begun(7).uncommitted()] == [7]


def test_an_acknowledged_offset_is_not_committed_again() -> None:
    ledger = begun()
    ledger.finish(ledger.hand_out(CLAIM, 4, None))
    ledger.acknowledged(CLAIM, 4, ledger.moment())
    assert not list(ledger.uncommitted())


def test_a_commit_ahead_of_reading_is_not_taken_back() -> None:
    ledger = begun()
    ledger.acknowledged(CLAIM, 9, ledger.moment())
    ledger.finish(ledger.hand_out(CLAIM, 4, None))
    assert not list(ledger.uncommitted())
    ledger.finish(ledger.hand_out(CLAIM, 12, None))
    assert [offset.offset for _, offset in ledger.uncommitted()] == [12]


def test_a_position_set_back_is_committed() -> None:
    ledger = begun()
    ledger.acknowledged(CLAIM, 9, ledger.moment())
    ledger.begin(CLAIM, 3)
    assert [offset.offset for _, offset in ledger.uncommitted()] == [3]


def test_a_position_set_back_while_a_commit_is_in_flight_is_committed() -> None:
    ledger = begun()
    asked = ledger.moment()
    ledger.begin(CLAIM, 3)
    ledger.acknowledged(CLAIM, 9, asked)
    assert [offset.offset for _, offset in ledger.uncommitted()] == [3]


def test_a_first_position_does_not_take_back_a_commit_asked_for_before_it() -> None:
    ledger = Ledger()
    asked = ledger.moment()
    ledger.begin(CLAIM, 0)
    ledger.acknowledged(CLAIM, 9, asked)
    assert not list(ledger.uncommitted())


def test_a_late_answer_to_an_older_commit_is_ignored() -> None:
    ledger = begun()
    older, newer = ledger.moment(), ledger.moment()
    ledger.acknowledged(CLAIM, 9, newer)
    ledger.acknowledged(CLAIM, 2, older)
    ledger.finish(ledger.hand_out(CLAIM, 4, None))
    assert not list(ledger.uncommitted())


def test_a_commit_from_before_a_topic_was_recreated_is_ignored() -> None:
    ledger = begun()
    asked = ledger.moment()
    ledger.renew(CLAIM)
    ledger.acknowledged(CLAIM, 9, asked)
    assert not ledger.has_committed(CLAIM)
    assert [offset.offset for _, offset in ledger.uncommitted()] == [0]


def test_offsets_without_records_move_the_position() -> None:
    ledger = begun()
    ledger.skip(CLAIM, 6)
    assert ledger.handed(CLAIM) == 6
    assert committable(ledger) == 6


def test_offsets_without_records_wait_for_the_records_before_them() -> None:
    ledger = begun()
    handout = ledger.hand_out(CLAIM, 4, None)
    ledger.skip(CLAIM, 6)
    assert committable(ledger) == 0
    ledger.finish(handout)
    assert committable(ledger) == 6


def test_the_epoch_committed_is_the_one_of_the_last_record_done() -> None:
    ledger = begun()
    first = ledger.hand_out(CLAIM, 4, 1)
    second = ledger.hand_out(CLAIM, 8, 2)
    ledger.finish(first)
    assert ledger.committable(CLAIM) == (4, "", 1)
    ledger.finish(second, 6)
    assert ledger.committable(CLAIM) == (6, "", 2)


def test_a_run_of_single_records_is_one_handout() -> None:
    ledger = begun()
    handout = ledger.hand_out(CLAIM, 1, None)
    assert ledger.extend(handout, 2)
    assert committable(ledger) == 1
    assert ledger.extend(handout, 3)
    assert committable(ledger) == 2


def test_a_handout_done_at_delivery_is_not_in_hand_and_can_be_extended() -> None:
    ledger = begun()
    handout = ledger.hand_out(CLAIM, 1, 3)
    ledger.deliver(handout)
    assert (committable(ledger), ledger.in_hand(CLAIM)) == (1, False)
    assert ledger.extend(handout, 2)
    ledger.deliver(handout)
    assert ledger.committable(CLAIM) == OffsetAndMetadata(2, leader_epoch=3)
    another = ledger.hand_out(CLAIM, 5, 3)
    assert committable(ledger) == 2
    ledger.deliver(another)
    assert committable(ledger) == 5


def test_a_handout_with_another_behind_it_cannot_be_extended() -> None:
    ledger = begun()
    handout = ledger.hand_out(CLAIM, 1, None)
    ledger.hand_out(CLAIM, 2, None)
    assert not ledger.extend(handout, 3)
    assert ledger.handed(CLAIM) == 2


@pytest.mark.parametrize("end", ["sought", "over", "done", "taken back"])
def test_a_handout_that_is_behind_its_claim_cannot_be_extended(end: str) -> None:
    ledger = begun()
    handout = ledger.hand_out(CLAIM, 4, None)
    match end:
        case "sought":
            ledger.begin(CLAIM, 7)
        case "over":
            ledger.end(CLAIM)
        case "done":
            ledger.finish_all(CLAIM)
        case "taken back":
            before, handout = handout, ledger.hand_out(CLAIM, 8, None)
            assert ledger.cut(before, 2)
            assert ledger.rewind(before)
    handed = ledger.handed(CLAIM)
    assert not ledger.extend(handout, 9)
    assert ledger.handed(CLAIM) == handed


def test_a_claim_that_is_over_has_no_account() -> None:
    ledger = begun()
    handout = ledger.hand_out(CLAIM, 4, None)
    ledger.end(CLAIM)
    ledger.finish(handout)
    assert ledger.committable(CLAIM) is None
    assert not ledger.held()


def test_a_cut_handout_is_done_up_to_the_cut_and_the_rest_is_handed_out_again() -> None:
    ledger = begun()
    handout = ledger.hand_out(CLAIM, 10, None)
    assert ledger.cut(handout, 4)
    assert ledger.rewind(handout)
    assert ledger.handed(CLAIM) == 4
    ledger.finish(handout)
    assert committable(ledger) == 4
    assert not ledger.in_hand(CLAIM)


def test_a_handout_cut_at_its_beginning_is_out_of_hand() -> None:
    ledger = begun()
    handout = ledger.hand_out(CLAIM, 10, None)
    assert ledger.cut(handout, 0)
    assert ledger.rewind(handout)
    assert not ledger.in_hand(CLAIM)
    assert committable(ledger) == 0


def test_records_handed_out_behind_a_cut_do_not_count_for_commits() -> None:
    ledger = begun()
    handout = ledger.hand_out(CLAIM, 10, None)
    later = ledger.hand_out(CLAIM, 20, None)
    ledger.cut(handout, 4)
    ledger.rewind(handout)
    ledger.finish(later)
    ledger.finish(handout)
    assert committable(ledger) == 4


def test_a_second_cut_at_the_same_place_changes_nothing() -> None:
    ledger = begun()
    handout = ledger.hand_out(CLAIM, 10, None)
    assert ledger.cut(handout, 4)
    assert not ledger.cut(handout, 4)


def test_records_that_are_done_cannot_be_cut_off() -> None:
    ledger = begun()
    handout = ledger.hand_out(CLAIM, 10, None)
    ledger.finish(handout, 6)
    ledger.cut(handout, 4)
    assert handout.next_offset == 6
    ledger.finish(handout)
    assert not ledger.cut(handout, 2)


def test_a_seek_after_a_cut_keeps_its_position() -> None:
    ledger = begun()
    handout = ledger.hand_out(CLAIM, 10, None)
    ledger.cut(handout, 4)
    ledger.begin(CLAIM, 7)
    assert not ledger.rewind(handout)
    assert ledger.handed(CLAIM) == 7


STEPS = ["out", "done", "part", "drop", "skip", "cut"]


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 9))))
def test_below_the_committable_offset_everything_handed_out_is_done(
    steps: list[tuple[str, int]],
) -> None:
    """A naive model: the set of offsets handed out and not done."""
    ledger = begun()
    handouts: list[tuple[Handout, int]] = []
    undone: set[int] = set()
    at = 0
    for step, number in steps:
        if step == "out":
            end = at + number + 1
            handouts.append((ledger.hand_out(CLAIM, end, None), at))
            undone |= set(range(at, end))
            at = end
        elif step == "skip":
            at += number
            ledger.skip(CLAIM, at)
        elif step == "cut" and handouts:
            handout, first = handouts[number % len(handouts)]
            if ledger.cut(handout, first + number) and ledger.rewind(handout):
                at = handout.next_offset
                undone = {offset for offset in undone if offset < at}
                handouts = [each for each in handouts if not each[0].void]
        elif handouts:
            handout, first = handouts[number % len(handouts)]
            upto = first + number if step == "part" else handout.next_offset
            if step == "drop":
                ledger.drop(handout)
            else:
                ledger.finish(handout, upto)
                undone -= set(range(first, min(upto, handout.next_offset)))
        offset = committable(ledger)
        assert offset is not None
        assert not undone or offset <= min(undone)
        assert undone or offset == at
