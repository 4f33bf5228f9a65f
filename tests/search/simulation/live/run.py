"""Plays one schedule at level B or C: whole consumers on the whole in-process broker.

Decides: the order of a run, and which rows of the membership table fired, as members log them.
Never: looks into a consumer.
"""

import logging
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio

from kgroup.audit.oracles import Oracle, Watch
from kgroup.journal import Source
from kgroup.machine.rows import Row
from kgroup.membership.step import MemberRow
from kgroup.membership.triggers import Trigger
from kgroup.net.ports import Clock, system_clock
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.testing.virtual_time import virtual_wall
from kgroup.types import MemberState
from tests.search.oracles import members_oracles, simulation_oracles
from tests.search.simulation.choices import Choices
from tests.search.simulation.drawing import draw_plan
from tests.search.simulation.live.backends import run_real, run_virtual
from tests.search.simulation.live.cluster import ClusterTrouble, Truth
from tests.search.simulation.live.crew import GROUP, Crew
from tests.search.simulation.live.life import MemberTrouble
from tests.search.simulation.live.memory import MemoryNetwork
from tests.search.simulation.live.nemesis import Nemesis
from tests.search.simulation.live.reach import Network
from tests.search.simulation.live.sockets import SocketNetwork
from tests.search.simulation.live.stage import Stage
from tests.search.simulation.live.standstill import standstill
from tests.search.simulation.plan import Kind, Plan
from tests.search.simulation.recorder import Known, MemberSink, Recorder, promises
from tests.search.simulation.schedule import Level, Outcome, Schedule

_LOG: Final = logging.getLogger("kgroup.membership")


class Rows(logging.Handler):
    """Counts rows while it is `listening`.

    `fired` has how often each fired; `ignored` has the cells in which a trigger found no row.
    """

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.fired: Counter[MemberRow] = Counter()
        self.ignored: Counter[tuple[MemberState, Trigger]] = Counter()

    def handle(self, record: logging.LogRecord) -> bool:
        """Count one row, or one cell; one thread runs all members, so nothing is locked."""
        match record.args:
            case (_, Row() as row, *_):
                self.fired[row] += 1
            case (_, MemberState() as state, Trigger() as trigger):
                self.ignored[state, trigger] += 1
            case _:
                pass
        return True

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen to all members of this Python process; no other handler gets their rows."""
        before = _LOG.level, _LOG.propagate
        _LOG.setLevel(logging.DEBUG)
        _LOG.propagate = False
        _LOG.addHandler(self)
        try:
            yield
        finally:
            _LOG.removeHandler(self)
            _LOG.setLevel(before[0])
            _LOG.propagate = before[1]


# -- run -------------------------------------------------------------------------------------------


_NEMESIS: Final = Source(host="simulated", process="nemesis", member="nemesis", group=GROUP)

_REAL_SECONDS: Final = 8.0
"""That a run of level C takes, besides its end."""
_SLACK: Final = 0.25
"""Seconds that are forgiven to a lease in real time."""


def play_live(
    schedule: Schedule,
    *,
    oracles: Callable[[], Mapping[str, Oracle]] | None = None,
    without: Collection[str] = (),
    keep: bool = False,
    plan: Plan | None = None,
) -> Outcome:
    """Play one schedule of whole consumers.

    Args:
        schedule: what to play; level B or C.
        oracles: None = those that fit the plan.
        without: names of oracles to leave out of those.
        keep: whether the outcome holds the whole journal.
        plan: None = drawn; a written one for named schedules.
    """
    choices = schedule.choices()
    drawn = draw_plan(choices, schedule.mode) if plan is None else plan
    known = Known()
    judges = _oracles(schedule, drawn, known, without) if oracles is None else oracles()
    recorder = Recorder(Watch(judges), system_clock, keep=keep, ordered=False)
    run, rows = _Run(schedule, drawn, choices, recorder, known), Rows()
    with _quiet(recorder), rows.listening():
        seconds = run.play()
    recorder.finish()
    return Outcome(
        schedule=schedule,
        plan=drawn,
        picks=choices.picks,
        violations=tuple(recorder.violations),
        digest=recorder.digest,
        events=recorder.count,
        seconds=seconds,
        rows=rows.fired,
        cells=rows.ignored,
        entries=tuple(recorder.entries),
        skipped=run.skipped,
    )


def _oracles(
    schedule: Schedule, plan: Plan, known: Known, without: Collection[str]
) -> Mapping[str, Oracle]:
    if schedule.level is Level.B:
        return promises(plan, known, without)
    chosen = members_oracles(clean_handover=False, few_rounds=False, slack=_SLACK)
    judged = simulation_oracles(without=without)  # refuses names that it does not know
    return {name: oracle for name, oracle in chosen.items() if name in judged}


@dataclass(slots=True, eq=False)
class _Run:
    """One run, to be set up inside its event loop."""

    schedule: Schedule
    plan: Plan
    choices: Choices
    recorder: Recorder
    known: Known
    skipped: Counter[Kind] = field(init=False, default_factory=Counter)
    _broker: InProcessBroker = field(init=False)

    def play(self) -> float:
        """Play it; return the seconds it took."""
        if self.schedule.level is Level.B:
            self._broker = _broker(self.plan, 1.0)
            return run_virtual(self.schedule.backend, self._in_memory)
        pace = _REAL_SECONDS / self.plan.ends_at
        self._broker = _broker(self.plan, pace)
        began = time.monotonic()
        with self._broker.serve():
            run_real(self.schedule.backend, self._on_sockets)
        return time.monotonic() - began

    async def _in_memory(self) -> float:
        backend = self.schedule.backend
        board, plan = self._broker.board, self.plan
        network = MemoryNetwork(board, self.choices, plan.latency, backend, plan.order)
        truth = Truth(self._broker, self.recorder)
        self.recorder.clock = network.clock
        await self._play(network, (network.clock, virtual_wall), truth, 1.0)
        return anyio.current_time()

    async def _on_sockets(self) -> None:
        pace = _REAL_SECONDS / self.plan.ends_at
        await self._play(SocketNetwork(), (system_clock, time.time), None, pace)

    async def _play(
        self, network: Network, clocks: tuple[Clock, Clock], truth: Truth | None, pace: float
    ) -> None:
        plan, broker, recorder = self.plan, self._broker, self.recorder
        crew = Crew(plan, lambda: broker.bootstrap_servers, network, recorder, clocks, pace=pace)
        members = MemberTrouble(plan, broker, standstill(self.schedule.backend))
        cluster = ClusterTrouble(broker, truth, self.known)
        sink = MemberSink(recorder, _NEMESIS)
        nemesis = Nemesis(plan, crew, members, cluster, sink, pace=pace)
        stage = Stage(
            plan, self.choices, cluster, network, crew, nemesis, recorder, self.known, pace
        )
        self.skipped = nemesis.skipped
        await stage.play()


def _broker(plan: Plan, pace: float) -> InProcessBroker:
    settings = BrokerSettings(
        min_session_timeout=0.05,
        auto_create_topics=False,
        new_member_join_timeout=300.0 * pace,
    )
    return InProcessBroker(
        nodes=plan.brokers, topics=plan.topics, coordinator=plan.coordinator, settings=settings
    )


@contextmanager
def _quiet(recorder: Recorder) -> Iterator[None]:
    """Log nothing on the way; a warning of Python's is a broken promise."""
    log = logging.getLogger("kgroup")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        log.setLevel(before)
    for each in caught:
        recorder.add("warning", f"{each.category.__name__}: {each.message}")
