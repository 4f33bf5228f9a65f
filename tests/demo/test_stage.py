import anyio
import pytest

from kgroup.demo.board import Board
from kgroup.demo.scenario import Stage

pytestmark = pytest.mark.anyio


async def test_a_wait_ends_when_the_board_is_as_asked():
    stage = Stage(Board(partitions=1), anyio.current_time)
    seen = []

    async def wait() -> None:
        await stage.until(lambda board: bool(board.happenings), 5.0, "something happened")
        seen.append(stage.board.happenings[-1].text)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.lowlevel.checkpoint()
        stage.change(lambda board: board.with_ends({0: 1}))
        stage.change(lambda board: board.with_happening("now"))
    assert seen == ["now"]


async def test_a_wait_in_vain_says_what_was_waited_for():
    stage = Stage(Board(partitions=1), anyio.current_time)
    with pytest.raises(TimeoutError, match=r"waited 0\.01 s in vain until pigs fly"):
        await stage.until(lambda _: False, 0.01, "pigs fly")


async def test_news_carry_the_time_since_the_beginning():
    now = iter([100.0, 103.5, 104.0])
    stage = Stage(Board(partitions=1), lambda: next(now))
    stage.change(lambda board: board.with_happening("x"))
    assert stage.board.happenings[0].at == 3.5
