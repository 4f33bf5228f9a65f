"""`play_live`: one schedule of level B or C, played and judged.

Decides: how a cluster and its members are set up for a plan, and what counts as a broken promise
besides what oracles see: what hangs, crashes or warns.
Never: draws other than by the schedule's choices.
"""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import anyio

from kgroup.journal import Source
from kgroup.journal.oracles import Watch
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.testing.simulation.choices import Choices
from kgroup.testing.simulation.drawing import draw_plan
from kgroup.testing.simulation.live.backends import run_virtual
from kgroup.testing.simulation.live.crew import GROUP, Crew
from kgroup.testing.simulation.live.memory import MemoryNetwork
from kgroup.testing.simulation.live.nemesis import Nemesis
from kgroup.testing.simulation.live.recorder import MemberSink, Recorder
from kgroup.testing.simulation.live.stage import Stage
from kgroup.testing.simulation.live.standstill import standstill
from kgroup.testing.simulation.live.promises import promises
from kgroup.testing.simulation.outcome import Outcome
from kgroup.testing.simulation.plan import Plan
from kgroup.testing.simulation.play import MakeOracles
from kgroup.testing.simulation.schedule import Level, Schedule
from kgroup.testing.virtual_time import virtual_wall

__all__ = ["play_live"]

_NEMESIS: Final = Source(host="simulated", process="nemesis", member="nemesis", group=GROUP)


def play_live(
    schedule: Schedule, *, oracles: MakeOracles | None = None, keep: bool = False
) -> Outcome:
    """Play one schedule of whole consumers.

    Args:
        schedule: what to play; level B or C.
        oracles: None = all there are.
        keep: whether the outcome holds the whole journal.
    """
    choices = schedule.choices()
    plan = draw_plan(choices, schedule.mode)
    return play_plan(schedule, plan, choices, oracles=oracles, keep=keep)


def play_plan(
    schedule: Schedule,
    plan: Plan,
    choices: Choices,
    *,
    oracles: MakeOracles | None = None,
    keep: bool = False,
) -> Outcome:
    """Play one plan; `play_live` draws it from the schedule.

    Args:
        schedule: names level and backend.
        plan: what to play.
        choices: the rest of its chance.
        oracles: None = all there are.
        keep: whether the outcome holds the whole journal.
    """
    watch = Watch(promises(plan) if oracles is None else oracles())
    recorder = Recorder(watch, anyio.current_time, keep=keep)
    with _quiet(recorder):
        seconds = run_virtual(
            schedule.backend, lambda: _in_memory(schedule, plan, choices, recorder)
        )
    recorder.finish()
    return Outcome(
        schedule=schedule,
        plan=plan,
        picks=choices.picks,
        violations=tuple(recorder.violations),
        digest=recorder.digest,
        events=recorder.count,
        seconds=seconds,
        entries=tuple(recorder.entries),
    )


async def _in_memory(schedule: Schedule, plan: Plan, choices: Choices, recorder: Recorder) -> float:
    broker = _broker(plan, 1.0)
    network = MemoryNetwork(broker.board, choices, plan.latency)
    clocks = anyio.current_time, virtual_wall
    crew = Crew(plan, lambda: broker.bootstrap_servers, network, recorder, clocks, pace=1.0)
    still = standstill(schedule.backend)
    sink = MemberSink(recorder, _NEMESIS)
    nemesis = Nemesis(plan, crew, broker, still, sink, pace=1.0)
    stage = Stage(plan, choices, broker, network, crew, nemesis, recorder, 1.0)
    await stage.play()
    return anyio.current_time()


def _broker(plan: Plan, pace: float) -> InProcessBroker:
    settings = BrokerSettings(
        min_session_timeout=min(1.0, plan.session_timeout * pace),
        auto_create_topics=False,
        new_member_join_timeout=300.0 * pace,
    )
    return InProcessBroker(
        nodes=plan.brokers, topics=plan.topics, coordinator=plan.coordinator, settings=settings
    )


@contextmanager
def _quiet(recorder: Recorder) -> Iterator[None]:
    """Say nothing on the way; a warning is a broken promise."""
    log = logging.getLogger("kgroup")
    before, log.disabled = log.level, False
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        log.setLevel(before)
    for each in caught:
        recorder.add("warning", f"{each.category.__name__}: {each.message}")
