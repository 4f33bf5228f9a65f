"""Answers that come in the middle of a round, or after it."""

from itertools import pairwise
from math import ceil

from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal import GenerationEntered, JoinIssued
from kgroup.types import ChangeKind, TopicPartition
from tests.search.simulation.named.case import (
    COOPERATIVES,
    STATIC,
    Fault,
    Named,
    Setting,
    group,
    member,
)
from tests.search.simulation.named.tale import Exchange, Tale
from tests.search.simulation.plan import CommitHabit, Kind, Perturbation, Plan

_COMMIT, _SYNC, _HEARTBEAT = ApiKey.OFFSET_COMMIT, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT
_REBALANCE, _UNKNOWN = ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.UNKNOWN_MEMBER_ID
_SELDOM = 100.0


def _generation(tale: Tale, process: str, at: float) -> int:
    """Return the generation a life was in at an instant."""
    entered = tale.all(GenerationEntered, process, before=at)
    return entered[-1].event.generation_id


def _at_once(tale: Tale, answers: list[Exchange]) -> bool:
    """Tell whether a JoinGroup followed each answer within 100 ms."""
    return bool(answers) and all(
        tale.exchanges(ApiKey.JOIN_GROUP, each.process, after=each.heard_at, before=limit)
        for each in answers
        for limit in (each.heard_at + 0.1,)
    )


# -- a late answer to a commit of the membership before -----------------------------------------


def _late_unknown(setting: Setting) -> Plan:
    """1. m0 is removed. 2. It commits: refused, but the answer takes its time. 3. It joins anew.

    4. The answer comes.
    """
    m0 = member(setting, 0, commit_interval=_SELDOM)
    return group(
        setting,
        (m0, member(setting, 1)),
        Perturbation(7.0, Kind.DELAY, 0, seconds=1.5, api=_COMMIT),
        Perturbation(7.0, Kind.EVICT, 0),
        Perturbation(7.01, Kind.COMMIT, 0),
        Perturbation(7.2, Kind.ENFORCE, 0),
        Perturbation(7.6, Kind.ENFORCE, 1),
    )


def _refused_after_the_next_began(tale: Tale) -> bool:
    return any(
        _generation(tale, each.process, each.heard_at) > (each.request.generation_id or 0)
        for each in tale.turned_down("m0")
    )


def _is_not_touched(tale: Tale) -> bool:
    late = max(each.heard_at for each in tale.turned_down("m0"))
    return not tale.exchanges(ApiKey.JOIN_GROUP, "m0", after=late) and not [
        m for m in tale.changed(ChangeKind.LOST, "m0") if m.at >= late
    ]


# -- REBALANCE_IN_PROGRESS on everything --------------------------------------------------------


def _signals(setting: Setting) -> Plan:
    """m2's join is heard of by heartbeat; m3's while m0's SyncGroup is on its way."""
    members = (
        member(setting, 0, starts_at=0.0, habit=CommitHabit.EACH_BATCH),
        member(setting, 1, starts_at=0.2),
        member(setting, 2, None),
        member(setting, 3, None),
    )
    return group(
        setting,
        members,
        Perturbation(7.9, Kind.HOLD, 0, seconds=3.0, api=_SYNC),
        Perturbation(8.0, Kind.JOIN),
        Perturbation(10.9, Kind.JOIN),
    )


def _heartbeat_and_sync_are_answered(tale: Tale) -> bool:
    return bool(tale.heard(_HEARTBEAT, _REBALANCE, "m0") and tale.heard(_SYNC, _REBALANCE, "m0"))


def _ids_are_kept(tale: Tale) -> bool:
    """One member id per life, generations that rise by one and are named in every JoinGroup."""
    for name in ("m0.0", "m1.0"):
        joins = [m.event for m in tale.all(JoinIssued, name)][2 if not _static(tale) else 1 :]
        if len({each.member_id for each in joins}) != 1:
            return False
        named = [each.generation_id for each in joins]
        if None in named or named != sorted(n for n in named if n is not None):
            return False
    return not tale.changed(ChangeKind.LOST)


def _static(tale: Tale) -> bool:
    return tale.plan.members[0].instance is not None


# -- a commit that arrives in the next generation ------------------------------------------------


def _late_commit(setting: Setting) -> Plan:
    """1. m0 commits; the request is slow. 2. A round goes by. 3. It arrives: ILLEGAL_GENERATION."""
    m0 = member(setting, 0, commit_interval=_SELDOM)
    return group(
        setting,
        (m0, member(setting, 1, None)),
        Perturbation(7.9, Kind.HOLD, 0, seconds=2.0, api=_COMMIT),
        Perturbation(8.0, Kind.COMMIT, 0),
        Perturbation(8.1, Kind.JOIN),
        Perturbation(8.4, Kind.ENFORCE, 0),
    )


def _is_committed_in_the_next(tale: Tale) -> bool:
    """What m0 kept is not lost, and its commit is accepted in the new generation."""
    if tale.changed(ChangeKind.LOST) or tale.not_committed("m0"):
        return False
    late = max(each.heard_at for each in tale.turned_down("m0"))
    return bool(tale.committed("m0", after=late))


# -- partitions that move -----------------------------------------------------------------------


def _one_more_one_less(setting: Setting) -> Plan:
    members = (*(member(setting, index) for index in range(3)), member(setting, 3, None))
    return group(
        setting,
        members,
        Perturbation(8.0, Kind.JOIN),
        Perturbation(20.0, Kind.LEAVE, 1),
        topics={"t0": 10},
    )


def _owners(tale: Tale, at: float) -> dict[TopicPartition, str]:
    return {each.tp: each.process for each in tale.periods() if each.since <= at < each.until}


def _owners_changed(tale: Tale) -> bool:
    before, between, after = (_owners(tale, at) for at in (7.9, 19.9, tale.plan.ends_at - 1.0))
    whole = all(len(each) == 10 for each in (before, between, after))
    return whole and before != between != after


def _few_move(tale: Tale) -> bool:
    moments = [_owners(tale, at) for at in (7.9, 19.9, tale.plan.ends_at - 1.0)]
    moved = [sum(a[tp] != b[tp] for tp in a) for a, b in pairwise(moments)]
    return all(each <= ceil(10 / 3) for each in moved)


# -- the end of a membership, heard of by commit or SyncGroup -----------------------------------


def _evicted_before_a_commit(setting: Setting) -> Plan:
    m0 = member(setting, 0, commit_interval=_SELDOM)
    evicted = Perturbation(7.0, Kind.EVICT, 0)
    return group(setting, (m0, member(setting, 1)), evicted, Perturbation(7.01, Kind.COMMIT, 0))


def _commit_was_first_to_hear(tale: Tale) -> bool:
    refused = tale.turned_down("m0")
    by_heartbeat = tale.heard(_HEARTBEAT, _UNKNOWN, "m0")
    return bool(refused) and not [e for e in by_heartbeat if e.heard_at < refused[0].heard_at]


def _evicted_before_a_sync(setting: Setting) -> Plan:
    """m1's SyncGroup is slow; it is removed meanwhile."""
    return group(
        setting,
        (member(setting, 0), member(setting, 1, starts_at=0.2)),
        Perturbation(6.9, Kind.HOLD, 1, seconds=0.6, api=_SYNC),
        Perturbation(7.0, Kind.ENFORCE, 1),
        Perturbation(7.0, Kind.ENFORCE, 0),
        Perturbation(7.4, Kind.EVICT, 1),
    )


NAMED = (
    Named(
        name="a commit of the membership before is refused after the next has begun",
        of=("symptom 6",),
        plan=_late_unknown,
        happened=_refused_after_the_next_began,
        kept=_is_not_touched,
        settings=(*COOPERATIVES, STATIC),
        faults=("a commit refused in an older generation ends the present one",),
    ),
    Named(
        name="a round is heard of by heartbeat and SyncGroup, and member id and generation stay",
        of=("symptom 13",),
        promises=("K2",),
        plan=_signals,
        happened=_heartbeat_and_sync_are_answered,
        kept=_ids_are_kept,
        faults=("the member id is dropped when a round begins",),
        others=("a heartbeat that is in order begins another round, in the first generations",),
    ),
    Named(
        name="a commit arrives in the next generation of a cooperative group",
        of=("symptom 17",),
        plan=_late_commit,
        happened=_refused_after_the_next_began,
        kept=_is_committed_in_the_next,
        settings=COOPERATIVES,
        faults=("a commit refused in an older generation ends the present one",),
    ),
    Named(
        name="a member that joins or leaves moves few partitions",
        of=("symptom 20",),
        promises=("K1",),
        plan=_one_more_one_less,
        happened=_owners_changed,
        kept=_few_move,
        settings=COOPERATIVES,
        faults=("a leader does not read what members hold",),
        others=("a round takes away and gives again what a member keeps",),
    ),
    Named(
        name="a commit hears first that the membership is over, and the member joins at once",
        of=("symptom 27",),
        promises=("S9",),
        plan=_evicted_before_a_commit,
        happened=_commit_was_first_to_hear,
        kept=lambda tale: _at_once(tale, tale.turned_down("m0")[:1]),
        faults=(
            Fault(
                "kgroup.membership.translate",
                "    if event.generation != turn.member.identity.generation:\n",
                "    if turn.now > 0:\n",
            ),
        ),
        others=("a member id that the coordinator does not know is kept",),
    ),
    Named(
        name="a SyncGroup hears first that the membership is over, and the member joins at once",
        of=("symptom 27",),
        promises=("S9",),
        plan=_evicted_before_a_sync,
        happened=lambda tale: bool(tale.heard(_SYNC, _UNKNOWN, "m1")),
        kept=lambda tale: _at_once(tale, tale.heard(_SYNC, _UNKNOWN, "m1")),
        faults=(
            Fault(
                "kgroup.machine.reactions",
                "        _E.COORDINATOR_LOAD_IN_PROGRESS: _R.REJOIN_LATER,\n"
                "        _E.REBALANCE_IN_PROGRESS: _R.REJOIN,\n"
                "        _E.ILLEGAL_GENERATION: _R.LOSE_GENERATION,\n"
                "        _E.UNKNOWN_MEMBER_ID: _R.LOSE_MEMBER,\n",
                "        _E.COORDINATOR_LOAD_IN_PROGRESS: _R.REJOIN_LATER,\n"
                "        _E.REBALANCE_IN_PROGRESS: _R.REJOIN,\n"
                "        _E.ILLEGAL_GENERATION: _R.LOSE_GENERATION,\n"
                "        _E.UNKNOWN_MEMBER_ID: _R.REJOIN_LATER,\n",
            ),
        ),
    ),
)
"""Each of them tried in several kinds of groups."""
