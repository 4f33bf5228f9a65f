"""Coordinators that die, move or load at the worst moment."""

from math import inf

from kgroup.codes import ApiKey
from kgroup.journal import AnswerReceived, GenerationEntered, OffsetRead
from tests.search.simulation.named.case import (
    Fault,
    Named,
    Setting,
    group,
    member,
)
from tests.search.simulation.named.tale import Exchange, Tale
from tests.search.simulation.plan import CommitHabit, Kind, Perturbation, Plan

_JOIN, _FETCH = ApiKey.JOIN_GROUP, ApiKey.OFFSET_FETCH


# -- an outage shorter than the session ---------------------------------------------------------


def _short_outage(setting: Setting) -> Plan:
    members = tuple(member(setting, index) for index in range(3))
    return group(
        setting,
        members,
        Perturbation(7.9, Kind.COORDINATOR_KILLED, seconds=2.0),
        brokers=1,
    )


def _nobody_answered(tale: Tale) -> bool:
    """No member heard anything for 2 s, although heartbeats were due."""
    begins = tale.struck()
    return not tale.all(AnswerReceived, "m", after=begins + 0.2, before=begins + 2.0)


def _same_generation(tale: Tale) -> bool:
    begins = tale.struck()
    return bool(tale.delivered("m", after=begins + 2.0)) and not tale.all(
        GenerationEntered, after=begins
    )


# -- all brokers gone for a minute ---------------------------------------------------------------


def _long_outage(setting: Setting) -> Plan:
    members = tuple(member(setting, index, poll_every=2.0) for index in range(2))
    return group(
        setting,
        members,
        Perturbation(7.9, Kind.COORDINATOR_KILLED, seconds=60.0),
        brokers=1,
        produce_every=5.0,
    )


def _everything_was_lost(tale: Tale) -> bool:
    begins = tale.struck()
    ends = [each.until for each in tale.periods() if each.since < begins]
    return bool(ends) and all(each < begins + 20.0 for each in ends)


def _reads_again_soon(tale: Tale) -> bool:
    """Every partition has an owner that reads again, at most a session and a backoff later."""
    back = tale.struck() + 60.0
    again = [each for each in tale.periods() if each.since > back and each.until == inf]
    wait = tale.plan.session_timeout + 5.0
    return len(again) == 4 and all(
        any(
            m.event.claim.serial == each.serial
            for m in tale.delivered(each.process, after=back, before=back + wait)
        )
        for each in again
    )


# -- it moves while a JoinGroup is parked ---------------------------------------------------------


def _moved_amid_a_join(setting: Setting) -> Plan:
    """m0 has joined the round and waits; m1 has not heard of it; the coordinator moves."""
    members = (member(setting, 0), member(setting, 1))
    return group(
        setting,
        members,
        Perturbation(7.0, Kind.ENFORCE, 0),
        Perturbation(7.6, Kind.COORDINATOR_MOVED),
    )


def _a_join_was_parked(tale: Tale) -> bool:
    moved = tale.when(Kind.COORDINATOR_MOVED)
    return any(
        each.sent_at < moved < each.heard_at and (each.answer is None or each.answer.error)
        for each in tale.exchanges(_JOIN, "m0")
    )


def _a_round_follows(tale: Tale) -> bool:
    moved = tale.when(Kind.COORDINATOR_MOVED)
    return all(
        tale.all(GenerationEntered, name, after=moved, before=moved + 5.0) for name in ("m0", "m1")
    )


# -- committed offsets are asked for while it loads ----------------------------------------------


def _loading(setting: Setting) -> Plan:
    """m1 is given partitions, and asks for their offsets while the coordinator reads its log."""
    members = (member(setting, 0, habit=CommitHabit.EACH_BATCH), member(setting, 1, None))
    # A cooperative group has handed over after two rounds.
    second = () if setting.eager else (Perturbation(7.6, Kind.ENFORCE, 1),)
    return group(
        setting,
        members,
        Perturbation(6.9, Kind.JOIN),
        Perturbation(7.05, Kind.HOLD, 1, seconds=1.5, api=_FETCH),
        Perturbation(7.2, Kind.ENFORCE, 0),
        *second,
        Perturbation(8.5, Kind.COORDINATOR_LOADS, seconds=2.5),
    )


def _moved_on(setting: Setting) -> Plan:
    """The same with a coordinator that has moved when the question arrives."""
    plan = _loading(setting)
    moved = Perturbation(8.5, Kind.COORDINATOR_MOVED)
    return group(setting, plan.members, *plan.perturbations[:-1], moved)


def _in_vain(tale: Tale) -> list[Exchange]:
    """Return OffsetFetch of m1 that brought no offset, although answered or cut off."""
    read = {m.at for m in tale.all(OffsetRead, "m1")}
    return [each for each in tale.exchanges(_FETCH, "m1") if each.heard_at not in read]


def _goes_on_where_it_was(tale: Tale) -> bool:
    """m1 starts each partition at what was committed last, not at an end of its log."""
    reads = tale.all(OffsetRead, "m1")
    committed = {
        m.event.claim.tp: m.event.offset
        for m in tale.committed("m0")
        if not reads or m.at < reads[0].at
    }
    return bool(reads) and all(
        m.event.offset is not None and m.event.offset == committed[m.event.claim.tp] for m in reads
    )


_RESET_ANYHOW = Fault(
    "tests.search.simulation.world.fetching",
    "            if row is None or row.code:\n",
    "            if row is None or row.code:\n"
    "                self._reading.place(claim, None, number)\n",
)
"""The application of level A is a stand-in; level B has the consumer's own, and its own mutants."""


NAMED = (
    Named(
        name="the coordinator is gone for less than a session, and the generation stays",
        of=("symptom 4",),
        promises=("L1",),
        plan=_short_outage,
        happened=_nobody_answered,
        kept=_same_generation,
        faults=(
            Fault(
                "kgroup.membership.translate",
                "    return _coordinator_lost(turn)\n\n\ndef hear_coordinator",
                "    return Trigger.GENERATION_LOST\n\n\ndef hear_coordinator",
            ),
        ),
    ),
    Named(
        name="all brokers are gone for a minute, and reading goes on when they are back",
        of=("symptom 8", "symptom 4"),
        promises=("L1",),
        plan=_long_outage,
        happened=_everything_was_lost,
        kept=_reads_again_soon,
        faults=("a lease outlives the membership it proved",),
    ),
    Named(
        name="the coordinator moves while a JoinGroup is parked there",
        of=("class: stuck after coordinator change",),
        promises=("L1",),
        plan=_moved_amid_a_join,
        happened=_a_join_was_parked,
        kept=_a_round_follows,
        faults=("a coordinator that has moved is asked again and again",),
    ),
    Named(
        name="committed offsets are asked for while the coordinator loads its log",
        of=("symptom 28", "class: stuck after coordinator change"),
        promises=("C7", "D6"),
        plan=_loading,
        happened=lambda tale: bool(_in_vain(tale)),
        kept=_goes_on_where_it_was,
        faults=(_RESET_ANYHOW,),
    ),
    Named(
        name="committed offsets are asked for where the coordinator is not any more",
        of=("symptom 28", "class: stuck after coordinator change"),
        promises=("C7", "D6"),
        plan=_moved_on,
        happened=lambda tale: bool(_in_vain(tale)),
        kept=_goes_on_where_it_was,
        faults=(_RESET_ANYHOW,),
    ),
)
"""Each of them tried in several kinds of groups."""
