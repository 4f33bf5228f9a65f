import io

from rich.console import Console

from kgroup.demo.board import Board, Condition
from kgroup.demo.view import LineScreen, LiveScreen, draw_board, summary
from tests.demo.boards import status, two_members


def drawn(board: Board) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(draw_board(board))
    out = console.file
    assert isinstance(out, io.StringIO)
    return out.getvalue()


def console() -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, width=200), out


def test_the_picture_shows_owners_lag_and_generation():
    text = drawn(two_members().with_time(12.0))
    assert "12.0 s" in text
    assert "generation 1" in text
    assert "lag 20" in text
    assert text.count("m1 lag 5") == 2
    assert text.count("static lag 5") == 2


def test_the_picture_shows_each_rebalance_with_its_cause():
    board = two_members().with_status("m1", status(0, generation=2, cause="m3 joined"))
    assert "generation 2: static joined; m3 joined" in drawn(board)


def test_the_picture_shows_a_killed_member_and_a_partition_without_an_owner():
    text = drawn(two_members().with_condition("m1", Condition.KILLED, "m1 is killed"))
    assert "killed" in text
    assert "nobody" in text


def test_the_picture_shows_two_owners_of_one_partition():
    text = drawn(two_members().with_status("static", status(0, 2, 3)))
    assert "0 m1 static lag" in text


def test_an_empty_board_can_be_drawn():
    assert "generation -" in drawn(Board(partitions=2))


def test_labels_that_look_like_markup_are_shown_as_they_are():
    board = Board(partitions=1).with_member("[bold]", None, "[red]started")
    assert "[bold]" in drawn(board)
    assert "[red]started" in drawn(board)


def test_the_summary_shows_owners_in_one_line():
    assert summary(two_members()) == "generation 1  lag 20  m1[0 1]  static[2 3]"


def test_lines_are_printed_once_and_summaries_now_and_then():
    target, out = console()
    board = two_members()
    with LineScreen(target, pause=5.0) as screen:
        screen.show(board.with_time(1.0))
        screen.show(board.with_time(2.0))
        screen.show(board.with_time(6.5).with_happening("something"))
    lines = out.getvalue().splitlines()
    assert sum("m1 is started" in line for line in lines) == 1
    assert sum("m1[0 1]" in line for line in lines) == 2
    assert sum("something" in line for line in lines) == 1


def test_the_live_view_ends_with_the_last_board():
    out = io.StringIO()
    with LiveScreen(Console(file=out, width=100, force_terminal=True)) as screen:
        screen.show(two_members().with_time(3.0))
    assert "3.0 s" in out.getvalue()
