import pytest

from kgroup.demo.board import Board, Condition, parse_status
from tests.demo.boards import status, two_members


def test_a_status_survives_the_way_to_a_line_and_back():
    said = status(1, 2, positions={1: 7}, cause="why")
    assert parse_status(said.line()) == said


@pytest.mark.parametrize("line", ["", "[]", "{}", "Traceback", '{"state": null}'])
def test_a_line_that_is_no_status_is_refused(line: str):
    with pytest.raises(ValueError, match=r".*"):
        parse_status(line)


def test_a_member_runs_from_its_first_word_on():
    board = Board(partitions=1).with_member("m1", None, "m1 is started")
    assert board.rows[0].condition is Condition.STARTING
    assert board.with_status("m1", status(0)).rows[0].condition is Condition.RUNNING


def test_a_settled_group_has_one_owner_for_each_partition_in_one_generation():
    board = two_members()
    assert board.settled
    assert not board.with_status("m1", status(0)).settled
    assert not board.with_status("m1", status(0, 1, 2)).settled
    assert not board.with_status("m1", status(0, 1, generation=2)).settled
    assert not board.with_status("m1", status(0, 1, state="joining")).settled


def test_a_killed_member_owns_nothing_any_more():
    board = two_members().with_condition("m1", Condition.KILLED, "m1 is killed")
    assert board.owners(0) == ()
    assert not board.settled


def test_lag_is_that_of_the_owner_or_of_the_highest_position_before_it_has_one():
    board = two_members()
    assert (board.lag(0), board.drained) == (5, False)
    board = board.with_status("m1", status(0, 1, positions={0: 15, 1: 15}))
    board = board.with_status("static", status(2, 3, positions={2: 15, 3: 15}))
    assert board.drained
    board = board.with_condition("m1", Condition.KILLED)
    board = board.with_status("static", status(0, 1, 2, 3, positions={2: 15, 3: 15}))
    assert (board.lag(0), board.drained) == (0, True)


def test_a_new_owner_behind_the_highest_position_counts():
    board = two_members().with_status("m1", status(0, 1, positions={0: 15, 1: 15}))
    board = board.with_condition("m1", Condition.CLOSED)
    board = board.with_status("static", status(0, 1, 2, 3, positions={0: 3}))
    assert board.lag(0) == 12


def test_a_partition_without_records_needs_no_reader():
    assert Board(partitions=4).drained
    assert Board(partitions=4).lag(0) is None


def test_each_generation_is_shown_once_with_its_cause():
    board = two_members()
    board = board.with_status("m1", status(0, generation=2, cause="somebody joined"))
    board = board.with_status("static", status(2, 3, generation=2, cause="somebody joined"))
    shown = [happening.text for happening in board.happenings if "generation" in happening.text]
    assert shown == ["generation 1: m1 joined", "generation 2: static joined; somebody joined"]


def test_a_generation_is_shown_with_what_was_done_to_members_before_it():
    board = two_members().with_status("m1", status(0, generation=2))
    board = board.with_condition("m1", Condition.KILLED, "m1 is killed")
    board = board.with_status("static", status(2, 3, generation=3, cause="a round"))
    board = board.with_status("static", status(2, 3, generation=4, cause="another round"))
    shown = [each.text for each in board.happenings if "generation" in each.text]
    assert shown[-2:] == ["generation 3: m1 was killed; a round", "generation 4: another round"]


def test_a_static_member_that_restarts_is_no_cause_of_a_generation():
    board = two_members().with_status("m1", status(0, generation=2))
    board = board.with_condition("static", Condition.CLOSING, "static is restarted")
    board = board.with_member("static", "i", "static is back")
    board = board.with_condition("m1", Condition.CLOSING, "m1 is closed")
    board = board.with_status("static", status(2, 3, generation=3))
    assert board.happenings[-1].text == "generation 3: m1 left"


def test_happenings_carry_the_time_of_the_board():
    board = two_members().with_time(7.5).with_condition("m1", Condition.KILLED, "m1 is killed")
    assert (board.happenings[-1].at, board.happenings[-1].text) == (7.5, "m1 is killed")


def test_a_member_that_comes_back_keeps_its_row():
    board = two_members().with_condition("static", Condition.CLOSED)
    board = board.with_member("static", "i", "static is back")
    assert [row.label for row in board.rows] == ["m1", "static"]
    assert board.rows[1].condition is Condition.STARTING
    assert board.rows[1].owned == ()


def test_news_of_an_unknown_member_change_nothing():
    board = two_members()
    assert board.with_status("nobody", status(0)) == board
    assert board.with_condition("nobody", Condition.KILLED, "x") == board
