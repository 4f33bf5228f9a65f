"""One run of the demo: topic, stream, members, disturbances, drain, and the logs that are left.

Decides: the order of things, that whatever was started is stopped, and that the demo and the audit
of its logs count seconds from one moment: the first entry, which is the demo's own.
Never: judges the run; `kgroup.demo.runner` does, from the logs alone.
"""

import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import anyio

from kgroup.audit import Truth, Verdict, audit
from kgroup.audit.oracles import at_least_once
from kgroup.demo.board import Board, Condition, Happening
from kgroup.demo.crew import Crew
from kgroup.demo.member import MemberOrders
from kgroup.demo.scenario import Action, MemberPlan, Scenario, Stage, Step, Stream, Strike
from kgroup.demo.view import Screen
from kgroup.journal import FaultStep, Phase
from kgroup.net.admin import NewTopic, create_topics
from kgroup.net.cluster import Cluster
from kgroup.net.ports import system_clock, system_ports
from kgroup.net.producer import Producer
from kgroup.net.settings import NetSettings
from kgroup.observe.journal_file import JournalFile, local_source, open_journal
from kgroup.testing.kafka import read_bounds
from kgroup.testing.kafka.ready import parse_bootstrap
from kgroup.types import TopicPartition
from kgroup.values import dataclass

Bounds = Mapping[TopicPartition, tuple[int, int]]
"""Partition -> its first offset and the offset after its last record."""

PARTITIONS: Final = 12

_REDRAW: Final = 0.25
_BROKER: Final = 15.0
SETTLE: Final = 60.0
DRAIN: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where a run takes place.

    Args:
        bootstrap: `host:port` of the brokers, separated by commas.
        topic: name of a topic that does not exist yet.
        group: name of a group that does not exist yet.
        folder: where event logs and error output go; exists.
        claims: whether the members claim their partitions in a log (Marshal).
    """

    bootstrap: str
    topic: str
    group: str
    folder: Path
    claims: bool = False

    def command(self, plan: MemberPlan) -> tuple[str, ...]:
        """Return the command line of a member's process."""
        orders = MemberOrders(
            label=plan.label,
            instance=plan.instance,
            bootstrap=self.bootstrap,
            group=self.group,
            topic=self.topic,
            journal=str(self.folder / f"{plan.label}.jsonl"),
            claims=self.claims,
        )
        return sys.executable, "-m", "kgroup.demo.member", orders.argument()


class Ran(NamedTuple):
    """What a run leaves beside its logs.

    Args:
        bounds: of the topic, all of which has been consumed.
        happenings: what was done and seen, in order of time.
    """

    bounds: Bounds
    happenings: tuple[Happening, ...]


class Beside(Protocol):
    """What takes part in a run and is none of its members."""

    def taking_part(self, stage: Stage, /) -> AbstractAsyncContextManager[None]:
        """Take part for one block, which begins before the first member and ends after the last.

        Args:
            stage: of the run.
        """
        ...


async def perform(
    setting: Setting, scenario: Scenario, screen: Screen, beside: Sequence[Beside] = ()
) -> Ran:
    """Play a scenario, and return what it leaves.

    Args:
        setting: where.
        scenario: what is played.
        screen: shows it.
        beside: what takes part besides the members.

    Raises:
        NoBrokerError: the broker does not answer.
        MemberFailedError: a member ended by itself.
        TimeoutError: the group did not settle, or did not read everything, in time.
    """
    with _journal(setting) as journal:
        journal.emit(FaultStep(Phase.END, "none"))
        stage = Stage(Board(partitions=PARTITIONS), system_clock)
        async with connected(setting.bootstrap) as cluster, AsyncExitStack() as stack:
            await create_topics(cluster, [NewTopic(setting.topic, PARTITIONS)], timeout=_BROKER)
            for each in beside:
                await stack.enter_async_context(each.taking_part(stage))
            await _run(setting, scenario, _Scene(stage, screen, journal), cluster)
    ask = partial(read_bounds, setting.bootstrap, [setting.topic])
    return Ran(await anyio.to_thread.run_sync(ask), stage.board.happenings)


@dataclass(frozen=True, slots=True)
class _Scene:
    stage: Stage
    screen: Screen
    journal: JournalFile


async def _run(setting: Setting, scenario: Scenario, scene: _Scene, cluster: Cluster) -> None:
    stage, screen = scene.stage, scene.screen
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_show, stage, screen)
        crew = Crew(stage, tasks, setting.command, setting.folder)
        try:
            stream = Stream(Producer(cluster), stage, setting.topic, partitions=PARTITIONS)
            tasks.start_soon(stream.run)
            await _play(_Cast(stage, crew, scene.journal), scenario)
            await stream.stop()
            await stage.until(at_rest, DRAIN, "everything was read")
            for label in crew.working:
                await crew.close(label, f"{label} is closed: the run is over")
        finally:
            await crew.end()
        screen.show(stage.board)
        tasks.cancel_scope.cancel()


@dataclass(frozen=True, slots=True)
class _Cast:
    """The members that the steps of a scenario are done to."""

    stage: Stage
    crew: Crew
    journal: JournalFile


async def _play(cast: _Cast, scenario: Scenario) -> None:
    for plan in scenario.members:
        static = f", static as {plan.instance!r}" if plan.instance else ""
        await cast.crew.start(plan, f"{plan.label} is started{static}")
    await cast.stage.until(all_in, SETTLE, "the group had settled")
    begun = anyio.current_time()
    turns: list[Step | Strike] = [*scenario.steps, *scenario.strikes]
    for step in sorted(turns, key=lambda each: each.at):
        await anyio.sleep_until(begun + step.at)
        match step:
            case Step():
                await _take(cast, step)
            case Strike():
                await _strike(cast, step)
    await anyio.sleep_until(begun + scenario.seconds)


async def _take(cast: _Cast, step: Step) -> None:
    """Carry out one step; the fault is logged first, so that the audit can name it."""
    plan, text = step.member, f"{step.action.value}: {step.member.label}"
    match step.action:
        case Action.ADD:
            await cast.crew.start(plan, text)
        case Action.KILL:
            cast.journal.emit(FaultStep(Phase.BEGIN, "SIGKILL", plan.label))
            cast.crew.kill(plan.label, text)
        case Action.RESTART:
            await cast.crew.close(plan.label, text)
            await cast.crew.start(plan, f"{plan.label} is back")
        case Action.CLOSE:
            await cast.crew.close(plan.label, text)


async def _strike(cast: _Cast, strike: Strike) -> None:
    """Carry out a disturbance of something else; it concerns everybody while it lasts.

    1. A member starts; 2. the broker is away; 3. the member gives up: it waits for members first.
    """
    await cast.stage.until(_all_started, SETTLE, "each member had started")
    cast.stage.change(partial(Board.with_happening, text=strike.text))
    if strike.fault is not None:
        cast.journal.emit(FaultStep(Phase.BEGIN, strike.fault))
    await strike.carry_out()
    if strike.fault is not None:
        cast.journal.emit(FaultStep(Phase.END, strike.fault))
    cast.stage.change(partial(Board.with_happening, text=f"done: {strike.text}"))


def all_in(board: Board) -> bool:
    """Tell whether every member that was started runs, and the group is settled."""
    return board.settled and _all_started(board)


def _all_started(board: Board) -> bool:
    return all(row.condition is not Condition.STARTING for row in board.rows)


def at_rest(board: Board) -> bool:
    """Tell whether the group is settled and has handled all there is."""
    return all_in(board) and board.drained


async def _show(stage: Stage, screen: Screen) -> None:
    while True:
        screen.show(stage.board)
        await anyio.sleep(_REDRAW)


def _journal(setting: Setting) -> JournalFile:
    """Open the log in which the demo itself writes what it does to its members."""
    source = local_source("demo", setting.group)
    path = setting.folder / "demo.jsonl"
    return open_journal(path, source, clock=system_clock, wall=time.time)


@asynccontextmanager
async def connected(bootstrap: str) -> AsyncIterator[Cluster]:
    """Have a running cluster for one block."""
    settings = NetSettings(bootstrap=tuple(parse_bootstrap(bootstrap)), client_id="kgroup-demo")
    cluster = Cluster(settings, system_ports())
    async with anyio.create_task_group() as tasks:
        await tasks.start(cluster.run)
        await cluster.bootstrap(_BROKER)
        yield cluster
        tasks.cancel_scope.cancel()


# -- judging ---------------------------------------------------------------------------------------
#
# The verdict on a run of the demo, from the logs it left and what the broker holds.
#
# Decides: which promises the demo is held to, and the exit code: 0 only for a clean verdict.
# Never: looks at anything but logs and offsets.


# K2 counts rounds. It is left out: when one member releases and rejoins before another has had its
# SyncGroup answered, the other releases only in the next round, and an addition costs one round
# more for each member that gives something up. The rounds of each rebalance are in the table.


def judge_run(folder: Path, bounds: Mapping[TopicPartition, tuple[int, int]]) -> Verdict:
    """Judge the event logs in a folder.

    Args:
        folder: holds the members' logs, `*.jsonl`.
        bounds: partition -> first offset and the offset after the last record.

    Raises:
        FileNotFoundError: there are no logs.
    """
    return audit(
        [folder / "*.jsonl"],
        Truth(bounds=bounds),
        oracles=at_least_once(),
    )


def exit_code(verdict: Verdict) -> int:
    """Return 0 for a clean verdict, 1 otherwise."""
    return 0 if verdict.clean else 1
