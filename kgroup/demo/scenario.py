"""What happens in the demo, and when: data, decided before anything is started.

Decides: which members there are, and the timed steps that disturb them.
Never: starts or ends anything.
"""

from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Final

import anyio

from kgroup.demo.board import Board
from kgroup.net.producer import Producer
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.records import NewRecord


class Action(Enum):
    """What is done to a member."""

    ADD = "a member is added"
    KILL = "a member is killed (SIGKILL)"
    RESTART = "a static member is restarted"
    CLOSE = "a member is closed"


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """One member of the cast.

    Args:
        label: its name in views and logs; also its client id.
        instance: static identity (KIP-345), None for a dynamic member.
    """

    label: str
    instance: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One disturbance.

    Args:
        at: seconds after the group has settled.
        action: what is done.
        member: the member it is done to.
    """

    at: float
    action: Action
    member: MemberPlan


@dataclass(frozen=True, slots=True)
class Strike:
    """One disturbance of something else than a member.

    Args:
        at: seconds after the group has settled.
        text: what is done.
        fault: its name in the event log; None for what is no fault.
        carry_out: does it, and returns when it is over.
    """

    at: float
    text: str
    fault: str | None
    carry_out: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """The whole run.

    Args:
        members: those it starts with, the last one static.
        steps: in order of time.
        seconds: how long the group works after it has settled.
        strikes: what is done besides, in any order.
    """

    members: tuple[MemberPlan, ...]
    steps: tuple[Step, ...]
    seconds: float
    strikes: tuple[Strike, ...] = ()


# When each step comes, as a share of the whole. The kill comes early: the others learn of it only
# when its session has run out.
_ADD: Final = 0.12
_KILL: Final = 0.27
_RESTART: Final = 0.62
_CLOSE: Final = 0.82


def plan_scenario(seconds: float, members: int) -> Scenario:
    """Return a run of the given length for a group of the given size.

    Args:
        seconds: how long the group works; positive.
        members: how many it starts with, at least 2: one is killed, the static one restarted.
    """
    dynamic = tuple(MemberPlan(f"m{number}") for number in range(1, members))
    static = MemberPlan("static", instance="demo-static-1")
    added = MemberPlan(f"m{members}")
    steps = (
        Step(seconds * _ADD, Action.ADD, added),
        Step(seconds * _KILL, Action.KILL, dynamic[0]),
        Step(seconds * _RESTART, Action.RESTART, static),
        Step(seconds * _CLOSE, Action.CLOSE, added),
    )
    return Scenario((*dynamic, static), steps, seconds)


# -- stage -----------------------------------------------------------------------------------------
#
# The board that changes, and the tasks that wait for it.
#
# Decides: that there is one board, replaced whole, and that a wait for it has an end.
# Never: knows what the news are about.


class Stage:
    """Holds the present board.

    Args:
        board: the first one.
        clock: monotonic seconds.
    """

    def __init__(self, board: Board, clock: Callable[[], float]) -> None:
        self._board = board
        self._clock = clock
        self._began_at = clock()
        self._changed = anyio.Event()

    @property
    def board(self) -> Board:
        """The present board, at the present time."""
        return self._board.with_time(self._clock() - self._began_at)

    def change(self, news: Callable[[Board], Board]) -> None:
        """Replace the board by what the news make of it."""
        self._board = news(self.board)
        self._changed.set()
        self._changed = anyio.Event()

    async def until(self, is_so: Callable[[Board], bool], timeout: float, what: str) -> None:
        """Wait for a board.

        Raises:
            TimeoutError: it did not come in time; says what was waited for.
        """
        with anyio.move_on_after(timeout):
            while not is_so(self._board):
                await self._changed.wait()
            return
        raise TimeoutError(f"the demo waited {timeout:g} s in vain until {what}")


# -- stream ----------------------------------------------------------------------------------------
#
# The steady stream of records the demo's group reads.
#
# Decides: how much is produced, and how far each partition is.
# Never: goes on after an error: a stream with a hole would make the verdict meaningless.


_PAUSE: Final = 0.1


class Stream:
    """Produces to every partition of a topic, some records ten times a second.

    Args:
        producer: sends them.
        stage: hears how far each partition is.
        topic: name of the topic.
        partitions: how many it has.
        records: how many per partition and turn.
    """

    def __init__(
        self, producer: Producer, stage: Stage, topic: str, *, partitions: int, records: int = 3
    ) -> None:
        self._producer = producer
        self._stage = stage
        self._topic = topic
        self._partitions = partitions
        self._records = records
        self._ends: dict[int, int] = {}
        self._stopping = False
        self._stopped = anyio.Event()

    async def run(self) -> None:
        """Produce until `stop`."""
        turn = 0
        while not self._stopping:
            turn += 1
            async with anyio.create_task_group() as tasks:
                for partition in range(self._partitions):
                    tasks.start_soon(self._send, partition, turn)
            self._stage.change(lambda board: board.with_ends(self._ends))
            await anyio.sleep(_PAUSE)
        self._stopped.set()

    async def stop(self) -> None:
        """Stop after the present turn; everything produced is acknowledged then."""
        self._stopping = True
        await self._stopped.wait()

    async def _send(self, partition: int, turn: int) -> None:
        records = [
            NewRecord(key=b"%d" % partition, value=b"record %d of turn %d" % (number, turn))
            for number in range(self._records)
        ]
        first = await self._producer.send(TopicPartition(self._topic, partition), records)
        if first is not None:
            self._ends[partition] = first + len(records)
