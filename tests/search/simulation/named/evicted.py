"""Members that the group has given up without their knowing, and claims that are out of date."""

from dataclasses import replace

from kgroup.codes import ApiKey
from kgroup.journal import GenerationEntered, RoundStored
from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.types import ChangeKind
from tests.search.simulation.named.case import (
    COOPERATIVE,
    COOPERATIVES,
    EAGER,
    EVERY,
    Fault,
    Named,
    Setting,
    group,
    member,
)
from tests.search.simulation.named.tale import Tale
from tests.search.simulation.plan import CommitHabit, Kind, Perturbation, Plan

_DYNAMIC = tuple(each for each in EVERY if not each.static)
_SYNC, _JOIN = ApiKey.SYNC_GROUP, ApiKey.JOIN_GROUP


# -- standing still beyond the session ----------------------------------------------------------


def _frozen(setting: Setting) -> Plan:
    """m0 stands still with a batch in hand until m1 has everything."""
    members = (member(setting, 0, handling=0.5), member(setting, 1))
    return group(setting, members, Perturbation(8.7, Kind.FREEZE, 0, seconds=8.2))


def _another_had_it_meanwhile(tale: Tale) -> bool:
    """Partitions of m0 were assigned to m1 before m0 knew."""
    return any(
        mine.tp == theirs.tp and mine.since < theirs.since < mine.until
        for mine in tale.periods("m0")
        for theirs in tale.periods("m1")
    )


def _wakes_with_nothing(tale: Tale) -> bool:
    """Nothing is handed out under the old claims from the moment another could have them."""
    overtaken = min(
        theirs.since
        for mine in tale.periods("m0")
        for theirs in tale.periods("m1")
        if mine.tp == theirs.tp and mine.since < theirs.since < mine.until
    )
    old = {each.serial for each in tale.periods("m0") if each.since < overtaken}
    late = [m for m in tale.delivered("m0", after=overtaken) if m.event.claim.serial in old]
    lost = tale.changed(ChangeKind.LOST, "m0")
    return not late and len(lost) == 1


# -- cut off from the brokers --------------------------------------------------------------------


def _cut_off(setting: Setting) -> Plan:
    """m0 exchanges nothing with any broker; what it has fetched would last for long."""
    members = (member(setting, 0, handling=0.2), member(setting, 1))
    return group(
        setting,
        members,
        Perturbation(8.4, Kind.PRODUCE, number=60),
        Perturbation(8.9, Kind.BLACKHOLE, 0, seconds=20.0),
    )


def _others_took_over(tale: Tale) -> bool:
    """While m0 heard nothing, m1 was assigned what was m0's."""
    begins, ends = tale.struck(1), tale.struck(1) + 20.0
    owned = {each.tp for each in tale.periods("m0") if each.since < begins < each.until}
    taken = {each.tp for each in tale.periods("m1") if begins < each.since < ends}
    return bool(owned & taken)


def _stopped_before(tale: Tale) -> bool:
    """m0 had given up by itself before m1 was assigned anything of it."""
    begins = tale.struck(1)
    lost = [m.at for m in tale.changed(ChangeKind.LOST, "m0", after=begins)]
    taken = [each.since for each in tale.periods("m1") if each.since > begins]
    return bool(lost) and lost[0] < min(taken)


# -- claims of an older generation ---------------------------------------------------------------


def _stale_claims(setting: Setting) -> Plan:
    """1. A round is over, but m1 does not get the answer to its JoinGroup. 2. The next begins.

    3. m1 tries again, and claims what it owned in the generation before the last.
    """
    synced = 7.2 + 4.5 * setting.latency
    members = (*(member(setting, index) for index in range(2)), member(setting, 2, None))
    return group(
        setting,
        members,
        Perturbation(6.9, Kind.LOSE, 1, api=_JOIN, number=1),
        Perturbation(7.0, Kind.JOIN),
        Perturbation(7.2, Kind.ENFORCE, 0),
        Perturbation(7.2, Kind.ENFORCE, 1),
        Perturbation(synced, Kind.ENFORCE, 0),
        Perturbation(synced, Kind.ENFORCE, 2),
    )


def _claims_of_two_generations(tale: Tale) -> bool:
    """One round saw claims of two generations."""
    for moment in tale.all(RoundStored):
        named = {each.generation_id for each in moment.event.members if each.owned}
        if len(named - {None}) > 1:
            return True
    return False


def _never_two_owners(tale: Tale) -> bool:
    """No partition has two owners at any time."""
    periods = tale.periods()
    return not any(
        one.tp == other.tp and one.since < other.since < one.until
        for one in periods
        for other in periods
        if one is not other
    )


# -- an answer that is lost after its effect ------------------------------------------------------


def _lost_sync(setting: Setting) -> Plan:
    """m1's SyncGroup is answered, and the answer lost: it has an assignment and does not know."""
    members = (member(setting, 0), member(setting, 1, habit=CommitHabit.EACH_BATCH))
    return group(
        setting,
        (*members, member(setting, 2, None)),
        Perturbation(7.9, Kind.LOSE, 1, api=_SYNC, number=1),
        Perturbation(8.0, Kind.JOIN),
    )


def _assigned_without_knowing(tale: Tale) -> bool:
    lost = [each for each in tale.exchanges(_SYNC, "m1", after=8.0) if each.answer is None]
    stored = [m.event for m in tale.all(RoundStored)]
    return bool(lost) and any(
        round_.generation_id == lost[0].request.generation_id for round_ in stored
    )


def _gets_it_back(tale: Tale) -> bool:
    """It enters a later generation, and every partition ends up with one owner."""
    lost = next(each for each in tale.exchanges(_SYNC, "m1", after=8.0) if each.answer is None)
    return bool(tale.all(GenerationEntered, "m1", after=lost.sent_at)) and _never_two_owners(tale)


NAMED = (
    Named(
        name="a member that stood still beyond its session hands out nothing of another member",
        of=("class: evicted but keeps consuming", "symptom 9"),
        promises=("S2", "S3"),
        plan=_frozen,
        happened=_another_had_it_meanwhile,
        kept=_wakes_with_nothing,
        settings=(*_DYNAMIC,),
        faults=(
            Fault(
                "kgroup.machine.lease",
                "        return min(session_end, round_end) - self.margin\n",
                "        return min(session_end, round_end) + 1000.0\n",
            ),
        ),
    ),
    Named(
        name="a member that is cut off stops before another can have its partitions",
        of=("class: evicted but keeps consuming",),
        promises=("B2", "L1"),
        plan=_cut_off,
        happened=_others_took_over,
        kept=_stopped_before,
        settings=(*_DYNAMIC,),
        faults=(
            Fault(
                "kgroup.machine.lease",
                "        return unproved - self.margin if until is None else until\n",
                "        return None\n",
            ),
        ),
        others=("a loss is not reported",),
    ),
    Named(
        name="a member misses a round and joins the next with claims of an older generation",
        of=("symptom 29", "class: one partition to two members from stale claims"),
        promises=("S2", "S5"),
        plan=_stale_claims,
        happened=_claims_of_two_generations,
        kept=_never_two_owners,
        settings=(COOPERATIVE, replace(COOPERATIVE, coordinator=CoordinatorKind.OLD)),
        faults=("a leader does not read what members hold",),
    ),
    Named(
        name="the answer to a SyncGroup is lost after its effect",
        of=("class: one partition to two members from stale claims",),
        promises=("S2", "S5"),
        plan=_lost_sync,
        happened=_assigned_without_knowing,
        kept=_gets_it_back,
        settings=(COOPERATIVE, *COOPERATIVES[1:], EAGER),
        faults=("a leader does not read what members hold",),
    ),
)
"""Each of them tried in several kinds of groups."""
