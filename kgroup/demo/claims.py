"""A Marshal group beside the demo's group: two members, and positions that are set while they run.

Decides: that the group is paused while its positions are looked at, so that what is set is what
stands, or for a look at the checks in red, some records less.
Never: is drawn: its partitions are those of the other group.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import anyio

from kgroup.admin.marshal.verbs import MarshalAdmin
from kgroup.demo.board import Board
from kgroup.demo.crew import Crew
from kgroup.demo.runner import DRAIN, PARTITIONS, SETTLE, Setting, all_in, at_rest
from kgroup.demo.scenario import MemberPlan, Stage
from kgroup.errors import GroupError
from kgroup.net.ports import system_clock
from kgroup.types import TopicPartition

_MEMBERS: Final = (MemberPlan("c1"), MemberPlan("c2"))
_MOVED: Final = 3
"""Partitions whose positions are set."""


class ClaimsGroup:
    """The group.

    Args:
        setting: of this group; its topic is made by the run.
        back: how many records positions are set back.
    """

    def __init__(self, setting: Setting, *, back: int = 0) -> None:
        self._setting = setting
        self._back = back
        self._admin = MarshalAdmin(
            name="kgroup-demo", bootstrap_servers=setting.bootstrap, group_id=setting.group
        )

    @asynccontextmanager
    async def taking_part(self, stage: Stage) -> AsyncIterator[None]:
        """Have the members read from the beginning to the end of a run."""
        await self._admin.init(1)
        own = Stage(Board(partitions=PARTITIONS), system_clock)
        async with anyio.create_task_group() as tasks:
            crew = Crew(own, tasks, self._setting.command, self._setting.folder)
            try:
                for plan in _MEMBERS:
                    await crew.start(plan, f"{plan.label} is started")
                await own.until(all_in, SETTLE, "the members that claim had settled")
                yield
                own.change(partial(Board.with_ends, ends=stage.board.ends))
                await own.until(at_rest, DRAIN, "the members that claim had read everything")
                for label in crew.working:
                    await crew.close(label, f"{label} is closed")
            finally:
                await crew.end()
            tasks.cancel_scope.cancel()

    async def set_positions(self) -> None:
        """Set the positions of some partitions, while the members run.

        Raises:
            GroupError: one is not set; it says why.
        """
        tps = [TopicPartition(self._setting.topic, number) for number in range(_MOVED)]
        await self._admin.pause(60)
        standing = await self._admin.positions(tps)
        wanted = {tp: max(at - self._back, 0) for tp, at in standing.items() if at is not None}
        left = await self._admin.set_positions(wanted)
        await self._admin.resume()
        if left:
            raise GroupError("; ".join(f"{tp} is not set: {why}" for tp, why in left.items()))
