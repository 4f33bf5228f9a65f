"""One measurement after another, the clients in turns.

Decides: how often each client runs, what is kept, and what is skipped after one was stopped.
Never: keeps the time of a result that was not judged.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from benchmarks.assignors.judging import Event, Figures, Result, WrongAssignmentError, judge
from benchmarks.assignors.scenarios import Scenario
from benchmarks.assignors.workers import FailedError, StoppedError

Sample = tuple[float, float, float]
EVENTS = ("fresh", "one leaves")
WARMING = 20
"""Runs to warm up a client that compiles as it runs, at most."""
PATIENCE = 1.0
"""Seconds; the run that is to warm up is kept when it takes longer."""
PATIENCE_COMPILING = 4.0
"""The same for a client that compiles as it runs."""
TIRING = 20.0
"""Seconds; a client in Python that takes longer is not asked about groups as large again."""
TIRING_TWICE = 5.0
"""The same for another group with as many partitions times members."""
STOPPED = float("inf")


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured.

    Args:
        limit: seconds after which a client is stopped.
        rounds: repetitions that are kept, at most.
        budget: seconds for all repetitions of one measurement of one client.
        warm: seconds for which a client that compiles as it runs (Java) is warmed up before each
            measurement, at least once and at most 20 times; others are warmed up once.
        traced: seconds that an assignment may take for its memory to be measured; kgroup's is
            in any case.
    """

    limit: float = 60.0
    rounds: int = 5
    budget: float = 2.0
    warm: float = 1.0
    traced: float = 0.5


@dataclass(slots=True)
class Cell:
    """One measurement of one client.

    Args:
        status: measured, stopped, skipped, failed, wrong or absent.
        note: why, when it is not measured.
        samples: seconds of (read, assign, encode), one row per repetition.
        cpu: the same in CPU seconds of the whole process, its other threads included.
        figures: of the result.
        sent: bytes of all members' assignments.
        memory: peak bytes of assigning beyond the input, None when not measured.
    """

    scenario: str
    event: str
    assignor: str
    client: str
    status: str = "measured"
    note: str = ""
    samples: list[Sample] = field(default_factory=list)
    cpu: list[Sample] = field(default_factory=list)
    figures: Figures | None = None
    sent: int | None = None
    memory: int | None = None

    def document(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)


class Contestant(Protocol):
    """What of a `Worker` is needed here."""

    client: str
    compiles: bool
    life: int

    def ask(self, do: str, limit: float = ..., **more: object) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        ...


class Contest:
    """Takes all clients through a scenario.

    Args:
        workers: the clients.
        plan: how much is measured.
        say: is told how far it is.
    """

    def __init__(
        self, workers: Sequence[Contestant], plan: Plan, say: Callable[[str], None]
    ) -> None:
        self._workers = workers
        self._plan = plan
        self._say = say
        self._slow: list[tuple[str, str, Scenario, float]] = []
        self._loaded: dict[str, tuple[str, int]] = {}
        self._last: dict[tuple[str, str], Result] = {}

    def run(self, scenario: Scenario, assignors: Sequence[str]) -> Iterator[Cell]:
        """Measure all assignors after both events."""
        self._last.clear()
        for assignor in assignors:
            for name in EVENTS:
                self._say(f"{scenario.name}, {name}, {assignor}")
                turns = [self._turn(scenario, name, assignor, worker) for worker in self._workers]
                self._measure([turn for turn in turns if turn.cell.status == "measured"])
                yield from (turn.cell for turn in turns)

    def _turn(self, scenario: Scenario, name: str, assignor: str, worker: Contestant) -> "_Turn":
        """Return a client's part; its status says when it has none."""
        cell = Cell(scenario.name, name, assignor, worker.client)
        known = self._last.get((worker.client, assignor))
        event = Event()
        if assignor not in worker.ask("hello")["assignors"]:
            cell.status, cell.note = "absent", "has no such assignor"
        elif slow := self._slowness(scenario, assignor, worker.client):
            cell.status, cell.note = "skipped", slow
        elif name == "one leaves" and known is None:
            cell.status, cell.note = "skipped", "has no result to go on from"
        elif name == "one leaves" and known is not None:
            event = Event(known.given, scenario.leaver)
        return _Turn(scenario, event, worker, cell)

    def _slowness(self, scenario: Scenario, assignor: str, client: str) -> str | None:
        """Return what a client was slow at in a group that is no larger, None when at nothing.

        In both peers the cooperative assignor does what the eager one does, and more.
        """
        for other, of, group, spent in self._slow:
            alike = client == other and assignor.endswith(of)
            harder = group.is_equal or not scenario.is_equal  # unequal says nothing of equal
            twin = group.work == scenario.work and group.name != scenario.name
            tiring = spent > (TIRING_TWICE if twin else TIRING)
            if alike and harder and tiring and group.work <= scenario.work:
                what = "was stopped" if spent == STOPPED else f"took {spent:.0f} s"
                return f"{what} with {group.name}"
        return None

    def _measure(self, turns: Sequence["_Turn"]) -> None:
        for turn in turns:
            self._attempt(turn, self._begin)
        for _ in range(self._plan.rounds):
            for turn in turns:
                if turn.may_go_on(self._plan):
                    self._attempt(turn, self._repeat)
        for turn in turns:
            if turn.cell.status == "measured":
                self._trace(turn)

    def _attempt(self, turn: "_Turn", step: Callable[["_Turn"], None]) -> None:
        cell = turn.cell
        try:
            step(turn)
            return
        except StoppedError as error:
            cell.status, cell.note = "stopped", str(error)
            self._note_slow(turn, STOPPED)
        except FailedError as error:
            cell.status, cell.note = "failed", str(error)
        except WrongAssignmentError as error:
            cell.status, cell.note = "wrong", str(error)
        cell.samples, cell.cpu = [], []  # what failed once was no measurement
        self._say(f"  {cell.client} {cell.status}: {cell.note}")

    def _begin(self, turn: "_Turn") -> None:
        worker, cell = turn.worker, turn.cell
        worker.ask("hello")  # a process that was ended begins anew, and knows nothing
        if self._loaded.get(worker.client) != (cell.scenario, worker.life):
            worker.ask("load", scenario=turn.scenario.document())
            self._loaded[worker.client] = (cell.scenario, worker.life)
        event = turn.event
        worker.ask("begin", assignor=cell.assignor, previous=event.previous, leaver=event.leaver)
        self._warm_up(turn)
        if turn.cell.samples and not worker.compiles:
            self._note_slow(turn, sum(turn.cell.samples[0]))
        assert turn.result is not None
        if event.previous is None:
            self._last[worker.client, cell.assignor] = turn.result

    def _note_slow(self, turn: "_Turn", spent: float) -> None:
        self._slow.append((turn.cell.client, turn.cell.assignor, turn.scenario, spent))

    def _warm_up(self, turn: "_Turn") -> None:
        began, compiles = time.perf_counter(), turn.worker.compiles
        for _ in range(WARMING if compiles else 1):
            if sum(turn.run(self._plan.limit)) > (PATIENCE_COMPILING if compiles else PATIENCE):
                turn.keep()
                break
            if time.perf_counter() - began > self._plan.warm:
                break

    def _repeat(self, turn: "_Turn") -> None:
        turn.run(self._plan.limit)
        turn.keep()

    def _trace(self, turn: "_Turn") -> None:
        fast = min(assign for _, assign, _ in turn.cell.samples) <= self._plan.traced
        if turn.worker.client == "kgroup" or (turn.worker.client != "Java" and fast):
            try:
                turn.cell.memory = turn.worker.ask("memory")["peak"]
            except (StoppedError, FailedError) as error:
                self._say(f"  memory is not known: {error}")


class _Turn:
    """One client's part of a measurement."""

    def __init__(self, scenario: Scenario, event: Event, worker: Contestant, cell: Cell) -> None:
        self.scenario = scenario
        self.event = event
        self.worker = worker
        self.cell = cell
        self.result: Result | None = None
        self._digest: int | None = None
        self._spent = 0.0
        self._wall: Sample = (0.0, 0.0, 0.0)
        self._cpu: Sample = (0.0, 0.0, 0.0)

    def may_go_on(self, plan: Plan) -> bool:
        """Whether another repetition is worth its time."""
        if self.cell.status != "measured" or len(self.cell.samples) >= plan.rounds:
            return False
        return not self.cell.samples or self._spent < plan.budget

    def keep(self) -> None:
        """Take the last repetition into the result."""
        self._spent += sum(self._wall)
        self.cell.samples.append(self._wall)
        self.cell.cpu.append(self._cpu)

    def run(self, limit: float) -> Sample:
        """Run once; judge the result unless its bytes are those of one already judged."""
        read = self.worker.ask("read")
        assign = self.worker.ask("assign", limit)
        encode = self.worker.ask("encode")
        if encode["digest"] != self._digest:
            self._judge()
            self._digest, self.cell.sent = encode["digest"], encode["bytes"]
        self._wall = read["seconds"], assign["seconds"], encode["seconds"]
        self._cpu = read["cpu"], assign["cpu"], encode["cpu"]
        return self._wall

    def _judge(self) -> None:
        answer = self.worker.ask("result")
        held = answer["withheld"]
        result = Result(answer["given"], None if held is None else dict(map(tuple, held)))
        cooperative = self.cell.assignor == "cooperative-sticky"
        figures = judge(self.scenario, self.event, result, cooperative=cooperative)
        self.result, self.cell.figures = result, figures
