"""A world of a few lines: draws plans like the real ones, and breaks when it is told to.

Decides: what breaks it: a member that dies while the coordinator is away, unless nothing jitters.
Never: simulates anything; the tools around simulations are tested with it.
"""

import hashlib
import os
from collections import Counter
from dataclasses import replace
from itertools import pairwise

from kgroup.audit.oracles import Violation
from kgroup.codes import ApiKey
from kgroup.journal import (
    BROKER,
    AnswerReceived,
    CommitStage,
    CommitStep,
    CommitStored,
    Delivered,
    Entry,
    Event,
    FaultStep,
    GenerationEntered,
    MemberStarted,
    MemberStopped,
    OffsetRead,
    OwnershipStep,
    Phase,
    Polled,
    RequestSent,
    Source,
    StateChanged,
)
from kgroup.membership.ending_rows import ROWS
from kgroup.types import ChangeKind, Claim, MemberState, TopicPartition
from tests.search.simulation.choices import Choices, Pick
from tests.search.simulation.drawing import draw_plan
from tests.search.simulation.outcome import Outcome
from tests.search.simulation.perturbation import Kind, Perturbation
from tests.search.simulation.plan import Plan
from tests.search.simulation.play import MakeOracles
from tests.search.simulation.schedule import Level, Mode, Schedule

T0 = TopicPartition("t0", 0)
AWAY = frozenset({Kind.COORDINATOR_KILLED, Kind.COORDINATOR_MOVED, Kind.COORDINATOR_LOADS})
GONE = frozenset({Kind.KILL, Kind.LEAVE})
PLANTED = Pick("planted", 0, 999)
STRIKES = (
    Perturbation(3.0, Kind.LEAVE),
    Perturbation(3.0, Kind.COORDINATOR_KILLED, seconds=1.0),
)


def play(schedule: Schedule, *, oracles: MakeOracles | None = None, keep: bool = False) -> Outcome:
    """Play nothing much, and say what it came to."""
    del oracles
    choices = schedule.choices()
    plan = draw_plan(choices, schedule.mode)
    planted = choices.choose("planted", 1000) == PLANTED.value
    if planted:
        plan = replace(plan, members=plan.members[:2], perturbations=STRIKES)
    jitter = [choices.choose(f"jitter/{number % 7}", 10) for number in range(300)]
    kinds = {each.kind for each in plan.perturbations}
    entries = tuple(story(plan))
    violations: tuple[Violation, ...] = ()
    if planted or (kinds & AWAY and kinds & GONE and jitter[5]):
        proofs = tuple(each for each in entries if isinstance(each.event, Delivered))
        violations = (Violation("S2", "t0-0 has two owners", proofs, T0),)
    rows = [ROWS.rows[sum(jitter[:n]) % len(ROWS.rows)] for n in range(3)]
    seen = f"{plan} {jitter} {[each.rule for each in violations]}"
    return Outcome(
        schedule,
        plan,
        choices.picks,
        violations,
        hashlib.sha256(seen.encode()).hexdigest()[:16],
        events=800,
        seconds=plan.ends_at,
        rows=Counter(rows),
        cells=Counter((row.at, row.on) for row in rows),
        pairs=Counter(pairwise(rows)),
        entries=entries if keep else (),
    )


def play_well(
    schedule: Schedule, *, oracles: MakeOracles | None = None, keep: bool = False
) -> Outcome:
    """Play without ever breaking anything."""
    tame = schedule.with_picks(())
    return replace(play(tame, oracles=oracles, keep=keep), schedule=schedule)


def play_badly(
    schedule: Schedule, *, oracles: MakeOracles | None = None, keep: bool = False
) -> Outcome:
    """Play with a digest that depends on the order of a hash, and raise for some seeds."""
    if schedule.picks is None and schedule.seed % 10 == 3:
        raise LookupError(f"seed {schedule.seed} is too much")
    outcome = play_well(schedule, oracles=oracles, keep=keep)
    return replace(outcome, digest=str(hash("of this process")))


# -- a story -----------------------------------------------------------------------------------


def story(plan: Plan) -> list[Entry]:
    """Return a journal in which two members deliver the same record."""
    entries: list[Entry] = []

    def say(at: float, member: str, event: Event) -> None:
        process = BROKER if member == "g" else f"{member}.1"
        source = Source(host="h", process=process, member=member, group="g")
        number = sum(each.source == source for each in entries) + 1
        entries.append(Entry(source=source, seq=number, at=at, wall=at, event=event))

    for number, label in enumerate(("m0", "m1")):
        at, claim = number * 3.0, Claim(T0, 1)
        say(at, label, MemberStarted(group_instance_id=f"i{number}"))
        say(at, label, StateChanged(MemberState.FINDING, MemberState.JOINING, "coordinator known"))
        say(at, label, request(ApiKey.JOIN_GROUP))
        say(at + 0.1, label, answer(ApiKey.JOIN_GROUP, generation_id=number + 1))
        say(at + 0.2, label, StateChanged(MemberState.SYNCING, MemberState.STABLE, "synced"))
        say(at + 0.2, label, generation(number + 1))
        say(at + 0.2, label, owning(claim))
        say(at + 0.2, label, OffsetRead(claim, None))
        for beat in range(4):
            say(at + 0.4 + beat / 2, label, request(ApiKey.HEARTBEAT))
            say(at + 0.5 + beat / 2, label, answer(ApiKey.HEARTBEAT))
            say(at + 0.5 + beat / 2, label, Polled())
        say(at + 2.5, label, Delivered(claim, 0, 2, 3))
        say(at + 2.6, label, commit(claim, CommitStage.REQUESTED))
        say(at + 2.7, "g", CommitStored(tp=T0, offset=3, member_id=label, generation_id=1))
        say(at + 2.8, label, commit(claim, CommitStage.OK))
    for each in plan.perturbations:
        say(5.9, "world", FaultStep(Phase.BEGIN, each.kind.value, f"m{each.member}"))
    say(6.0, "m0", MemberStopped("closed", left=True))
    return entries


def request(api: ApiKey) -> RequestSent:
    return RequestSent(connection=1, correlation_id=1, api=api, version=4)


def answer(api: ApiKey, generation_id: int | None = None) -> AnswerReceived:
    return AnswerReceived(
        connection=1, correlation_id=1, api=api, version=4, error=0, generation_id=generation_id
    )


def generation(number: int) -> GenerationEntered:
    return GenerationEntered(generation_id=number, member_id="id", assignment=(T0,))


def owning(claim: Claim) -> OwnershipStep:
    return OwnershipStep(kind=ChangeKind.ASSIGNED, phase=Phase.END, claims=(claim,), serial=1)


def commit(claim: Claim, stage: CommitStage) -> CommitStep:
    return CommitStep(stage=stage, commit_id=1, claim=claim, offset=3)


def drawn(schedule: Schedule) -> Plan:
    """Return the plan of a schedule."""
    choices: Choices = schedule.choices()
    return draw_plan(choices, schedule.mode)


def breaking() -> Schedule:
    """Return a schedule that breaks S2, whatever else is drawn how."""
    return Schedule(Level.A, Mode.EAGER, 11, (PLANTED, Pick("jitter/5", 0, 1)))


def play_dead(schedule: Schedule) -> Outcome:
    """End the process."""
    del schedule
    os._exit(7)
