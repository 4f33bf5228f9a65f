"""The members' processes: started, heard, killed, closed, and none left behind.

Decides: how each is ended, and when an end is unexpected.
Never: ends a process that it did not start.
"""

import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import Process, TaskGroup
from anyio.streams.buffered import BufferedByteReceiveStream

from kgroup.demo.board import Board, Condition, parse_status
from kgroup.demo.scenario import MemberPlan, Stage
from kgroup.errors import KGroupError
from kgroup.values import dataclass

_PATIENCE: Final = 12.0
_LONGEST_LINE: Final = 1 << 20
_LAST_WORDS: Final = 2000
_STOPPED: Final = (Condition.CLOSED, Condition.KILLED, Condition.FAILED)


class MemberFailedError(KGroupError):
    """A member's process ended although nobody had asked it to, or failed to close.

    Args:
        label: the member.
        code: exit code of its process.
        said: the end of what it wrote to its error output.
    """

    def __init__(self, label: str, code: int, said: str) -> None:
        super().__init__(f"member {label} failed with exit code {code}\n{said}".rstrip())
        self.label = label
        self.code = code


@dataclass(slots=True)
class _Hand:
    """One process."""

    plan: MemberPlan
    process: Process
    errors: Path
    ending: bool = False


class Crew:
    """All members of one run.

    Args:
        stage: hears what becomes of them.
        tasks: owns the tasks that listen to them.
        command: the command line of a member's process.
        folder: where their error output goes.
    """

    def __init__(
        self,
        stage: Stage,
        tasks: TaskGroup,
        command: Callable[[MemberPlan], Sequence[str]],
        folder: Path,
    ) -> None:
        self._stage = stage
        self._tasks = tasks
        self._command = command
        self._folder = folder
        self._hands: dict[str, _Hand] = {}
        self._lives = 0

    async def start(self, plan: MemberPlan, text: str) -> None:
        """Start a member's process; a member that was closed comes back by this too."""
        self._lives += 1
        errors = self._folder / f"{plan.label}.{self._lives}.stderr"
        with errors.open("wb") as sink:
            process = await anyio.open_process(
                self._command(plan),
                stderr=sink,
                start_new_session=True,
            )
        hand = _Hand(plan, process, errors)
        self._hands[plan.label] = hand
        self._stage.change(
            partial(Board.with_member, label=plan.label, instance=plan.instance, text=text)
        )
        self._tasks.start_soon(self._listen, hand)

    def kill(self, label: str, text: str) -> None:
        """End a member at once; it cannot say a word."""
        hand = self._hands[label]
        hand.ending = True
        hand.process.send_signal(signal.SIGKILL)
        self._note(label, Condition.KILLED, text)

    async def close(self, label: str, text: str) -> None:
        """Have a member close, and wait until it has.

        Raises:
            TimeoutError: it does not end in time.
        """
        hand = self._hands[label]
        hand.ending = True
        self._note(label, Condition.CLOSING, text)
        assert hand.process.stdin is not None
        await hand.process.stdin.aclose()
        await self._stage.until(
            lambda board: _has_stopped(board, label),
            _PATIENCE,
            f"member {label} had closed",
        )

    @property
    def alive(self) -> tuple[str, ...]:
        """Members whose process has not ended."""
        hands = self._hands.items()
        return tuple(label for label, hand in hands if hand.process.returncode is None)

    @property
    def working(self) -> tuple[str, ...]:
        """Members that run and have not been asked to end."""
        return tuple(label for label in self.alive if not self._hands[label].ending)

    async def end(self) -> None:
        """Leave no process behind, however the run ended; not to be cancelled."""
        with anyio.CancelScope(shield=True):
            for hand in self._hands.values():
                hand.ending = True
                await _end(hand.process)

    async def _listen(self, hand: _Hand) -> None:
        label = hand.plan.label
        await self._hear(hand)
        code = await hand.process.wait()
        row = self._stage.board.row(label)
        closing = row is not None and row.condition is Condition.CLOSING
        # A member that was asked to close may still fail at it, or at its log.
        if not hand.ending or (closing and code > 0):
            said = hand.errors.read_text(encoding="utf-8", errors="replace")[-_LAST_WORDS:]
            self._note(label, Condition.FAILED)
            raise MemberFailedError(label, code, said)
        if closing:
            self._note(label, Condition.CLOSED)

    async def _hear(self, hand: _Hand) -> None:
        """Take in what a member says, until its output ends."""
        assert hand.process.stdout is not None
        lines = BufferedByteReceiveStream(hand.process.stdout)
        with suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.ClosedResourceError):
            while True:
                line = await lines.receive_until(b"\n", _LONGEST_LINE)
                with suppress(ValueError):
                    status = parse_status(line.decode())
                    change = partial(Board.with_status, label=hand.plan.label, status=status)
                    self._stage.change(change)

    def _note(self, label: str, condition: Condition, text: str = "") -> None:
        self._stage.change(
            partial(Board.with_condition, label=label, condition=condition, text=text)
        )


def _has_stopped(board: Board, label: str) -> bool:
    row = board.row(label)
    return row is None or row.condition in _STOPPED


async def _end(process: Process) -> None:
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.kill()
    with anyio.move_on_after(_PATIENCE):
        await process.wait()
