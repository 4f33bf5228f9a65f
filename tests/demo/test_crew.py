import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from kgroup.demo.board import Board, Condition, Status
from kgroup.demo.crew import Crew, MemberFailedError
from kgroup.demo.scenario import MemberPlan, Stage

pytestmark = pytest.mark.anyio

PATIENCE = 20.0
SAYS = f"print({Status(state='stable', generation=1).line()!r}, flush=True)"
LISTENS = f"import sys; print('chatter'); {SAYS}; sys.stdin.read()"
DEAF = f"import time; {SAYS}; time.sleep(600)"
FAILS_TO_CLOSE = f"{LISTENS}; sys.exit('no space')"
FAILS = "import sys; print('it hurts', file=sys.stderr); sys.exit(3)"


@asynccontextmanager
async def crew_of(script: str, folder: Path) -> AsyncIterator[tuple[Crew, Stage]]:
    def command(plan: MemberPlan) -> Sequence[str]:
        return sys.executable, "-I", "-S", "-c", script, plan.label

    stage = Stage(Board(partitions=1), anyio.current_time)
    async with anyio.create_task_group() as tasks:
        crew = Crew(stage, tasks, command, folder)
        try:
            yield crew, stage
        finally:
            await crew.end()


def condition(board: Board) -> Condition:
    return board.rows[0].condition


async def start(crew: Crew, stage: Stage) -> None:
    await crew.start(MemberPlan("m1"), "m1 is started")
    await stage.until(
        lambda board: condition(board) is Condition.RUNNING, PATIENCE, "the member ran"
    )


async def test_a_member_is_heard_and_closes_when_its_input_ends(tmp_path: Path):
    async with crew_of(LISTENS, tmp_path) as (crew, stage):
        await start(crew, stage)
        assert (crew.working, stage.board.generation) == (("m1",), 1)
        await crew.close("m1", "m1 is closed")
        assert (crew.working, condition(stage.board)) == ((), Condition.CLOSED)


async def test_a_member_comes_back_after_it_was_closed(tmp_path: Path):
    async with crew_of(LISTENS, tmp_path) as (crew, stage):
        await start(crew, stage)
        await crew.close("m1", "m1 is closed")
        await start(crew, stage)
        assert crew.working == ("m1",)


async def test_a_killed_member_is_gone_and_that_is_no_failure(tmp_path: Path):
    async with crew_of(DEAF, tmp_path) as (crew, stage):
        await start(crew, stage)
        crew.kill("m1", "m1 is killed")
        assert condition(stage.board) is Condition.KILLED


async def test_a_member_that_ends_by_itself_ends_the_run_and_says_why(tmp_path: Path):
    with pytest.raises(BaseExceptionGroup) as caught:
        async with crew_of(FAILS, tmp_path) as (crew, stage):
            await start(crew, stage)
    failed = caught.value.exceptions[0]
    assert isinstance(failed, MemberFailedError)
    assert (failed.label, failed.code) == ("m1", 3)
    assert "it hurts" in str(failed)


async def test_a_member_that_fails_to_close_ends_the_run_too(tmp_path: Path):
    async def run() -> None:
        async with crew_of(FAILS_TO_CLOSE, tmp_path) as (crew, stage):
            await start(crew, stage)
            await crew.close("m1", "m1 is closed")

    with pytest.raises(BaseExceptionGroup) as caught:
        await run()
    assert "no space" in str(caught.value.exceptions[0])


async def test_no_process_is_left_however_deaf(tmp_path: Path):
    async with crew_of(DEAF, tmp_path) as (crew, stage):
        await start(crew, stage)
        assert crew.alive == ("m1",)
        await crew.end()
        assert not crew.alive


async def test_cancelling_the_run_leaves_no_process(tmp_path: Path):
    marks = []
    with anyio.move_on_after(PATIENCE) as scope:
        async with crew_of(DEAF, tmp_path) as (crew, stage):
            await start(crew, stage)
            marks.append(crew)
            scope.cancel()
            await anyio.lowlevel.checkpoint()
    assert not marks[0].alive
