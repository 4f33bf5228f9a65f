"""One run of a whole group, from its first member to its last sign of life.

Decides: the course: members start, are perturbed, come to rest, are judged, and close.
Never: draws chance for the plan, or knows what carries bytes.
"""

from dataclasses import dataclass, field
from typing import Final

import anyio
from anyio.abc import TaskGroup

from tests.search.simulation.choices import Choices
from tests.search.simulation.live.cluster import ClusterTrouble
from tests.search.simulation.live.crew import Crew
from tests.search.simulation.live.life import CLOSE_TIMEOUT
from tests.search.simulation.live.nemesis import Nemesis
from tests.search.simulation.live.reach import Network
from tests.search.simulation.live.rest import (
    Fault,
    faults_at_rest,
    judge_ends,
    judge_raised,
    must_be_read,
)
from tests.search.simulation.plan import Plan
from tests.search.simulation.recorder import Known, Recorder

_CANCELS: Final = 4
_GRID: Final = 512
_CLOSING: Final = CLOSE_TIMEOUT + 3.0
"""Seconds in which everything must have ended, once it was asked to."""
_TEARDOWN: Final = 60.0
_PATIENCE: Final = 12.0
"""Real seconds that a group at level C may need longer to come to rest."""
_LOOKS: Final = 60


@dataclass(slots=True, eq=False)
class Stage:
    """What one run is played on.

    Args:
        plan: the run.
        choices: its chance.
        cluster: theirs, and what may happen to it.
        network: connects members with it.
        crew: the members.
        nemesis: perturbs them.
        recorder: takes everything.
        known: what oracles know.
        pace: what the plan's seconds are multiplied by.
    """

    plan: Plan
    choices: Choices
    cluster: ClusterTrouble
    network: Network
    crew: Crew
    nemesis: Nemesis
    recorder: Recorder
    known: Known
    pace: float
    began: float = field(init=False, default=0.0)

    async def play(self) -> None:
        """Play it to its end."""
        self.began = anyio.current_time()
        with anyio.move_on_after(self.plan.ends_at * self.pace + _CLOSING + _TEARDOWN) as bound:
            async with anyio.create_task_group() as world:
                world.start_soon(self.network.run)
                async with anyio.create_task_group() as lives:
                    await self._course(world, lives)
                world.cancel_scope.cancel()
        if bound.cancelled_caught:
            self.recorder.add("L7", "not everything has ended")

    async def _course(self, world: TaskGroup, lives: TaskGroup) -> None:
        plan = self.plan
        world.start_soon(self._produce)
        world.start_soon(self.nemesis.run, self.began, world, lives)
        for number in range(self.choices.choose("cancels", _CANCELS)):
            world.start_soon(self._cancel, number)
        await anyio.sleep_until(self.began + plan.ends_at * self.pace)
        for text, tp in await self._come_to_rest():
            self.recorder.add("L1", text, tp)
        self.known.ends.update(must_be_read(self.crew, self.cluster.ends()))
        judge_raised(self.crew, self.recorder)
        for life in self.crew.alive:
            life.close()
        for life in await self.crew.all_ended(_CLOSING):
            self._hangs(life.name)
        judge_ends(self.crew, self.recorder)
        lives.cancel_scope.cancel()

    async def _come_to_rest(self) -> list[Fault]:
        """Return what is wrong; a real machine, which others use too, gets some more time."""
        faults = self._faults()
        for _ in range(0 if self.pace == 1.0 else _LOOKS):
            if not faults:
                break
            await anyio.sleep(_PATIENCE / _LOOKS)
            faults = self._faults()
        return faults

    def _faults(self) -> list[Fault]:
        cluster, delivered = self.cluster, self.recorder.delivered
        return [*faults_at_rest(self.crew, cluster.group, cluster.ends(), delivered)]

    def _hangs(self, name: str) -> None:
        waits = sorted({task.name or "?" for task in anyio.get_running_tasks()})
        text = f"{name} has not ended {_CLOSING:g} s after it was asked to; tasks: {waits}"
        self.recorder.add("L7", text)

    async def _produce(self) -> None:
        plan, instant = self.plan, 0.0
        while instant <= plan.quiet_at:
            await anyio.sleep_until(self.began + instant * self.pace)
            self.cluster.produce(1)
            instant += plan.produce_every

    async def _cancel(self, number: int) -> None:
        """Cancel what one application waits for; what it asked for goes on."""
        at = self.choices.choose(f"cancel{number}/at", _GRID) / _GRID * self.plan.quiet_at
        index = self.choices.choose(f"cancel{number}/member", len(self.plan.members))
        await anyio.sleep_until(self.began + at * self.pace)
        life = self.crew.of(index)
        if life is not None:
            life.cancel_call()
