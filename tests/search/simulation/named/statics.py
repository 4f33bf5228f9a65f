"""Static members: restarted, doubled, closed."""

from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal import GenerationEntered, MemberStopped
from tests.search.simulation.named.case import STATICS, Fault, Named, Setting, group, member
from tests.search.simulation.named.tale import Tale
from tests.search.simulation.plan import Kind, Perturbation, Plan

_FENCED = ErrorCode.FENCED_INSTANCE_ID


def _restarted(setting: Setting) -> Plan:
    members = tuple(member(setting, index) for index in range(3))
    return group(setting, members, Perturbation(8.5, Kind.RESTART, 1, seconds=2.0))


def _has_come_back(tale: Tale) -> bool:
    return bool(tale.all(GenerationEntered, "m1.1", before=tale.struck() + 3.0))


def _the_others_hear_nothing(tale: Tale) -> bool:
    """m1 has the same partitions as before, in the same generation; no member joined for it."""
    at = tale.struck()
    before = {each.tp for each in tale.periods("m1.0")}
    after = {each.tp for each in tale.periods("m1.1")}
    generations = {m.event.generation_id for m in tale.all(GenerationEntered, after=at)}
    others = [each for name in ("m0", "m2") for each in tale.periods(name)]
    return (
        before == after != set()
        and len(generations) == 1
        and not [m for m in tale.all(GenerationEntered, after=at) if m.process != "m1.1"]
        and all(each.ended is None for each in others)
    )


def _doubled(setting: Setting) -> Plan:
    members = tuple(member(setting, index, commit_interval=100.0) for index in range(2))
    return group(setting, members, Perturbation(8.5, Kind.TWIN, 1))


def _is_fenced(tale: Tale) -> bool:
    return any(
        tale.heard(api, _FENCED, "m1.0")
        for api in (ApiKey.HEARTBEAT, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP)
    ) or bool(tale.turned_down("m1.0"))


def _the_older_stops(tale: Tale) -> bool:
    """The older one ends within a heartbeat, asks nothing more, and the newer one reads."""
    limit = tale.struck() + tale.plan.heartbeat_interval + 1.0
    stopped = tale.all(MemberStopped, "m1.0", before=limit)
    if not stopped:
        return False
    later = [
        each for api in ApiKey for each in tale.exchanges(api, "m1.0", after=stopped[0].at + 0.001)
    ]
    return not later and bool(tale.delivered("m1.1"))


def _closed(setting: Setting) -> Plan:
    """m1 is closed, and started again in time: somebody deploys."""
    members = (*(member(setting, index) for index in range(2)),)
    return group(
        setting,
        members,
        Perturbation(8.5, Kind.LEAVE, 1),
        Perturbation(10.5, Kind.RESTART, 0, seconds=1.5),
    )


def _both_came_and_went(tale: Tale) -> bool:
    return bool(tale.all(MemberStopped, "m1.0")) and bool(tale.all(GenerationEntered, "m0.1"))


def _nobody_leaves(tale: Tale) -> bool:
    """No LeaveGroup; the partitions of the closed one are given away when its session is over."""
    if tale.exchanges(ApiKey.LEAVE_GROUP):
        return False
    taken = [each.since for each in tale.periods("m0.1")]
    return max(taken) > tale.struck() + tale.plan.session_timeout - tale.plan.heartbeat_interval


NAMED = (
    Named(
        name="a static member restarts within its session, and nobody hears of it",
        of=("symptom 26",),
        promises=("K2",),
        plan=_restarted,
        happened=_has_come_back,
        kept=_the_others_hear_nothing,
        settings=STATICS,
        faults=(
            Fault(
                "kgroup.membership.requests",
                "        group_instance_id=settings.group_instance_id,\n",
                "        group_instance_id=None,\n",
            ),
        ),
        others=("a heartbeat that is in order begins another round, in the first generations",),
    ),
    Named(
        name="of two processes with one instance id the older one is fenced and stops",
        of=("symptom 26",),
        promises=("T2",),
        plan=_doubled,
        happened=_is_fenced,
        kept=_the_older_stops,
        settings=STATICS,
        faults=(
            Fault(
                "kgroup.machine.reactions",
                "        _E.ILLEGAL_GENERATION: _R.LOSE_GENERATION,\n"
                "        _E.UNKNOWN_MEMBER_ID: _R.LOSE_MEMBER,\n"
                "        _E.FENCED_INSTANCE_ID: _R.FENCE,\n"
                "        _E.UNKNOWN_SERVER_ERROR: _R.RETRY,\n"
                "    },\n"
                "    ApiKey.CONSUMER_GROUP_HEARTBEAT: {\n",
                "        _E.ILLEGAL_GENERATION: _R.LOSE_GENERATION,\n"
                "        _E.UNKNOWN_MEMBER_ID: _R.LOSE_MEMBER,\n"
                "        _E.FENCED_INSTANCE_ID: _R.LOSE_MEMBER,\n"
                "        _E.UNKNOWN_SERVER_ERROR: _R.RETRY,\n"
                "    },\n"
                "    ApiKey.CONSUMER_GROUP_HEARTBEAT: {\n",
            ),
        ),
    ),
    Named(
        name="a static member is closed, and keeps its place until its session is over",
        of=("symptom 26",),
        promises=("T1",),
        plan=_closed,
        happened=_both_came_and_went,
        kept=_nobody_leaves,
        settings=STATICS,
        faults=("a static member leaves the group when it is closed",),
    ),
)
"""Each of them tried in several kinds of groups."""
