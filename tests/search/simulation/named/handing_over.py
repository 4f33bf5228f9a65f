"""Batches in hand, slow handlers and slow listeners, while partitions move."""

import itertools

from kgroup.codes import ApiKey, ErrorCode
from kgroup.frozen import replace
from kgroup.journal import CallbackStage, CallbackStep, Done, FetchAnswered, JoinIssued
from kgroup.types import ChangeKind
from tests.search.simulation.named.case import (
    COOPERATIVES,
    EAGER,
    STATIC,
    Fault,
    Named,
    Setting,
    group,
    member,
)
from tests.search.simulation.named.tale import Tale
from tests.search.simulation.plan import CommitHabit, Kind, Perturbation, Plan
from tests.search.simulation.schedule import Level

_REVOKED, _LOST = ChangeKind.REVOKED, ChangeKind.LOST


# -- a batch in hand while somebody joins -----------------------------------------------------


def _in_hand(setting: Setting) -> Plan:
    first = member(setting, 0, handling=3.0, habit=CommitHabit.EACH_BATCH)
    return group(setting, (first, member(setting, 1, None)), Perturbation(8.3, Kind.JOIN, 1))


def _round_begins_in_hand(tale: Tale) -> bool:
    signals = tale.heard(ApiKey.HEARTBEAT, ErrorCode.REBALANCE_IN_PROGRESS, "m0")
    done = [m.at for m in tale.all(Done, "m0")]
    handed = [m.at for m in tale.delivered("m0")]
    return any(
        max(at for at in handed if at < each.heard_at) + 0.1 < each.heard_at
        and min(at for at in done if at > each.heard_at) > each.heard_at + 0.1
        for each in signals
    )


def _everything_in_hand_is_committed(tale: Tale) -> bool:
    """Every commit of the old owner was accepted, and what it had handed out is in them."""
    if tale.not_committed("m0"):
        return False
    for period in (each for each in tale.periods("m0") if each.ended is not None):
        handed = [
            m.event.last
            for m in tale.delivered("m0", before=period.until)
            if m.event.claim.serial == period.serial
        ]
        committed = [
            m.event.offset
            for m in tale.committed("m0")
            if m.event.claim.serial == period.serial and m.at <= period.until
        ]
        if handed and (not committed or max(committed) != max(handed) + 1):
            return False
    return bool([each for each in tale.periods("m0") if each.ended is _REVOKED])


# -- a handler that takes longer than the session ---------------------------------------------


def _slow_handler(setting: Setting) -> Plan:
    slow = member(setting, 0, handling=8.0, habit=CommitHabit.EACH_BATCH)
    return group(
        setting, (slow, member(setting, 1)), quiet_at=30.0, ends_at=60.0, produce_every=5.0
    )


def _longer_than_a_session_in_hand(tale: Tale) -> bool:
    polls = sorted({m.at for m in tale.delivered("m0")})
    gaps = [later - earlier for earlier, later in itertools.pairwise(polls)]
    return max(gaps) > tale.plan.session_timeout


def _nobody_is_removed(tale: Tale) -> bool:
    joins = tale.exchanges(ApiKey.JOIN_GROUP, after=4.0, before=tale.plan.quiet_at)
    ended = [each for each in tale.periods() if each.ended is not None]
    return not joins and not ended and not tale.not_committed()


# -- no member reads, amid a round ---------------------------------------------------------------


def _stalled(setting: Setting) -> Plan:
    """1. m0 stops reading. 2. m1 joins just before m0's time to read is over."""
    members = (member(setting, 0), member(setting, 1), member(setting, 2, None))
    stall = Perturbation(6.0, Kind.STALL, 0, seconds=14.0)
    return group(setting, members, stall, Perturbation(14.0, Kind.JOIN, 2))


def _over_amid_a_round(tale: Tale) -> bool:
    """The round begins before the time to read is over, and goes on beyond it."""
    lost = tale.changed(_LOST, "m0")
    joined = tale.when(Kind.JOIN)
    return bool(lost) and joined < lost[0].at < joined + tale.plan.rebalance_timeout


def _lost_and_not_revoked(tale: Tale) -> bool:
    stalled = tale.struck(0)
    revoked = tale.changed(
        _REVOKED, "m0", after=tale.changed(_LOST, "m0")[0].at, before=stalled + 14.0
    )
    handed = tale.delivered("m0", after=tale.changed(_LOST, "m0")[0].at, before=stalled + 14.0)
    return not revoked and not handed


# -- what is buffered when a partition is taken away --------------------------------------------


def _buffered(setting: Setting) -> Plan:
    """m0's application rests on what was fetched while half of it goes to m1."""
    members = (member(setting, 0, handling=4.0), member(setting, 1, None))
    return group(
        setting,
        members,
        Perturbation(8.2, Kind.PRODUCE, number=8),
        Perturbation(8.4, Kind.JOIN, 1),
    )


def _something_was_buffered(tale: Tale) -> bool:
    """Something of a claim that was given up had been fetched and was never handed out."""
    for period in (each for each in tale.periods("m0") if each.ended is not None):
        fetched = [
            m.event.next_offset
            for m in tale.all(FetchAnswered, "m0")
            if m.event.claim.serial == period.serial
        ]
        handed = [
            m.event.last + 1 for m in tale.delivered("m0") if m.event.claim.serial == period.serial
        ]
        if fetched and max(fetched) > max(handed, default=0):
            return True
    return False


def _nothing_after_its_end(tale: Tale) -> bool:
    ends = {(each.process, each.serial): each.asked_at for each in tale.periods()}
    return all(m.at <= ends[m.process, m.event.claim.serial] for m in tale.delivered())


# -- a listener that takes longer than the session ---------------------------------------------


def _slow_listener(setting: Setting) -> Plan:
    """m0's listener takes nearly the rebalance timeout when half is asked of it."""
    members = (member(setting, 0), member(setting, 1, None))
    return group(
        setting,
        members,
        Perturbation(7.0, Kind.SLOW_LISTENER, 0, seconds=8.0),
        Perturbation(7.0, Kind.JOIN),
        Perturbation(7.4, Kind.ENFORCE, 0),
    )


def _listener_outlasts_the_session(tale: Tale) -> bool:
    steps = tale.all(CallbackStep, "m0", after=tale.struck(0))
    entered = next(m.at for m in steps if m.event.stage is CallbackStage.ENTER)
    left = next(m.at for m in steps if m.event.stage is not CallbackStage.ENTER and m.at > entered)
    return left - entered > tale.plan.session_timeout


def _is_called_once(tale: Tale) -> bool:
    """m0 stays in the group, hands over, and its listener is called once."""
    lost = tale.changed(ChangeKind.LOST, "m0")
    given = [each.tp for each in tale.periods("m0") if each.ended is _REVOKED]
    taken = {each.tp for each in tale.periods("m1")}
    return not lost and bool(taken) and taken <= set(given)


# -- a listener that takes longer than the coordinator waits --------------------------------------


def _endless_listener(setting: Setting) -> Plan:
    """m0's listener takes longer than the rebalance timeout when all is asked of it."""
    members = (member(setting, 0), member(setting, 1, None))
    return group(
        setting,
        members,
        Perturbation(7.0, Kind.SLOW_LISTENER, 0, seconds=14.0),
        Perturbation(7.0, Kind.JOIN, 1),
    )


def _giving_back(tale: Tale) -> tuple[float, float]:
    """When m0's listener is asked to give back what it has, and when it has done so."""
    steps = [
        each
        for each in tale.all(CallbackStep, "m0", after=tale.struck(0))
        if each.event.kind is _REVOKED
    ]
    entered = next(m.at for m in steps if m.event.stage is CallbackStage.ENTER)
    return entered, next(m.at for m in steps if m.event.stage is not CallbackStage.ENTER)


def _listener_outlasts_the_round(tale: Tale) -> bool:
    entered, left = _giving_back(tale)
    taken = [each.since for each in tale.periods("m1") if entered < each.since]
    return left - entered > tale.plan.rebalance_timeout and bool(taken) and min(taken) < left


def _joins_when_it_has_returned(tale: Tale) -> bool:
    """Nothing that m0 says has the round ended sooner than the coordinator would end it."""
    entered, left = _giving_back(tale)
    joined = [each.at for each in tale.all(JoinIssued, "m0", after=entered)]
    return bool(joined) and min(joined) >= left and not tale.changed(ChangeKind.LOST, "m0")


NAMED = (
    Named(
        name="a round begins while a batch is in hand, and the commit after it is accepted",
        of=("symptom 1",),
        promises=("C8",),
        plan=_in_hand,
        happened=_round_begins_in_hand,
        kept=_everything_in_hand_is_committed,
        settings=(*COOPERATIVES, EAGER),
        faults=(
            Fault(
                "kgroup.membership.actions",
                "        limit = turn.now + member.settings.rebalance_timeout / 2\n",
                "        limit = turn.now\n",
            ),
        ),
        others=("a commit that is on its way is not waited for",),
    ),
    Named(
        name="a handler that takes longer than the session does not cost its membership",
        of=("symptom 9",),
        promises=("L3",),
        plan=_slow_handler,
        happened=_longer_than_a_session_in_hand,
        kept=_nobody_is_removed,
        faults=(
            Fault(
                "kgroup.membership.timers",
                "            member.wishes.polled_at + member.settings.poll_interval\n",
                "            member.wishes.polled_at + member.settings.session_timeout\n",
            ),
        ),
        others=("heartbeats are further apart than they may be",),
    ),
    Named(
        name="a member that stops reading amid a round loses what it had, and is not asked for it",
        of=("symptom 23",),
        promises=("B2", "L1"),
        plan=_stalled,
        happened=_over_amid_a_round,
        kept=_lost_and_not_revoked,
        faults=("a loss is not reported",),
    ),
    Named(
        name="what was fetched of a partition that went away is not handed out",
        of=("class: buffered records of a lost partition delivered",),
        promises=("S6",),
        plan=_buffered,
        happened=_something_was_buffered,
        kept=_nothing_after_its_end,
        faults=(
            Fault(
                "tests.search.simulation.world.application",
                "                self.reading.shut(change.removed)\n",
                "                assert self.reading\n",
            ),
            Fault(
                "kgroup.membership.value",
                "        return until if held and until is not None",
                "        return math.inf if True or until is not None",
            ),
        ),
    ),
    Named(
        name="a listener slower than the session keeps its member, and is called once",
        of=("symptom 25",),
        promises=("S2",),
        plan=_slow_listener,
        happened=_listener_outlasts_the_session,
        kept=_is_called_once,
        settings=(*COOPERATIVES, EAGER, STATIC),
        faults=(
            Fault(
                "kgroup.membership.timers",
                "    idle = member.heartbeat is None and member.coordinator.node_id is not None\n",
                "    idle = member.heartbeat is None and not member.changes\n",
            ),
        ),
        others=("a leader does not read what members hold",),
    ),
    Named(
        name="a member that is lost while its listener gives back joins when it has returned",
        of=("symptom 25",),
        plan=_endless_listener,
        happened=_listener_outlasts_the_round,
        kept=_joins_when_it_has_returned,
        settings=(EAGER, replace(EAGER, latency=0.05), replace(EAGER, level=Level.A_BYTES)),
        faults=(
            Fault(
                "kgroup.membership.value",
                "            if change.kind is ChangeKind.REVOKED\n"
                "            for claim in change.removed",
                "            if change.kind is ChangeKind.LOST\n"
                "            for claim in change.removed",
            ),
        ),
    ),
)
"""Each of them tried in several kinds of groups."""
