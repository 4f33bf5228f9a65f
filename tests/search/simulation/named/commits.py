"""Commits whose outcome is not known, and positions that are out of date."""

from kgroup.codes import ApiKey
from kgroup.journal import CommitStored, OffsetRead
from kgroup.types import ChangeKind
from tests.search.simulation.named.case import EVERY, Fault, Named, Setting, group, member
from tests.search.simulation.named.tale import Period, Tale
from tests.search.simulation.plan import CommitHabit, Kind, Perturbation, Plan

_COMMIT = ApiKey.OFFSET_COMMIT
_EACH = CommitHabit.EACH_BATCH


# -- an answer that is lost after its effect ------------------------------------------------------


def _lost_answer(setting: Setting) -> Plan:
    """The answer to a commit is lost with its connection; later ones follow."""
    members = (member(setting, 0, habit=_EACH), member(setting, 1))
    return group(
        setting,
        members,
        Perturbation(6.5, Kind.LOSE, 0, api=_COMMIT, number=2),
        Perturbation(8.5, Kind.PRODUCE, number=1),
    )


def _applied_but_unknown(tale: Tale) -> bool:
    """A commit was stored, and its outcome for the application was UNKNOWN."""
    stored = {(m.event.tp, m.event.offset) for m in tale.all(CommitStored)}
    return any((m.event.claim.tp, m.event.offset) in stored for m in tale.unknown("m0"))


def _goes_on_upwards(tale: Tale) -> bool:
    """What is unknown is not sent again, and what is committed later is accepted, and higher."""
    unknown = tale.unknown("m0")
    last = {m.event.claim.tp: m.event.offset for m in unknown}
    later = tale.committed("m0", after=unknown[-1].at)
    return bool(later) and all(
        m.event.offset > last[m.event.claim.tp] for m in later if m.event.claim.tp in last
    )


# -- a revocation that waits for a commit without an answer ----------------------------------------


def _unanswered(setting: Setting) -> Plan:
    """m0 gives partitions up, and the answer to its last commit does not come."""
    members = (member(setting, 0), member(setting, 1, None))
    return group(
        setting,
        members,
        Perturbation(6.9, Kind.JOIN),
        Perturbation(7.0, Kind.LOSE, 0, api=_COMMIT, number=1),
        Perturbation(7.2, Kind.ENFORCE, 0),
    )


def _revoked_without_knowing(tale: Tale) -> bool:
    unknown = {m.event.claim.tp for m in tale.unknown("m0")}
    changed = tale.changed(ChangeKind.REVOKED, "m0")
    return bool(unknown & {claim.tp for m in changed for claim in m.event.claims})


def _hands_over_all_the_same(tale: Tale) -> bool:
    """m1 reads what it was given, within one time-out of a request and two heartbeats."""
    limit = tale.when(Kind.JOIN) + 5.0 + 2 * tale.plan.heartbeat_interval + 1.0
    return bool(tale.delivered("m1", before=limit))


# -- a partition that comes back -------------------------------------------------------------------


def _there_and_back(setting: Setting) -> Plan:
    """m1 takes partitions over, reads on, and leaves again."""
    members = (member(setting, 0, habit=_EACH), member(setting, 1, None, habit=_EACH))
    return group(
        setting,
        members,
        Perturbation(6.9, Kind.JOIN),
        Perturbation(7.2, Kind.ENFORCE, 0),
        Perturbation(14.0, Kind.LEAVE, 1),
    )


def _returned(tale: Tale) -> list[tuple[Period, Period, Period]]:
    """Return what m0 had, m1 had then, and m0 had again."""
    return [
        (before, between, after)
        for before in tale.periods("m0")
        for between in tale.periods("m1")
        for after in tale.periods("m0")
        if before.tp == between.tp == after.tp
        and before.until <= between.since
        and between.until <= after.since
    ]


def _read_meanwhile(tale: Tale) -> bool:
    return any(
        m.event.claim.serial == between.serial
        for _, between, _ in _returned(tale)
        for m in tale.delivered("m1")
    )


def _begins_where_the_other_ended(tale: Tale) -> bool:
    """m0 begins at what m1 committed, reads on without a gap, and repeats nothing."""
    for _, between, after in _returned(tale):
        committed = [
            m.event.offset
            for m in tale.committed("m1")
            if m.event.claim.serial == between.serial and m.event.claim.tp == between.tp
        ]
        read = [
            m.event.offset
            for m in tale.all(OffsetRead, "m0")
            if m.event.claim.serial == after.serial
        ]
        handed = [
            m.event.first for m in tale.delivered("m0") if m.event.claim.serial == after.serial
        ]
        if not committed or read != [committed[-1]] or handed[:1] != [committed[-1]]:
            return False
    return True


NAMED = (
    Named(
        name="the answer to a commit is lost after its effect",
        of=("class: committed or start offset goes back, stale position reused",),
        promises=("C6",),
        plan=_lost_answer,
        happened=_applied_but_unknown,
        kept=_goes_on_upwards,
        faults=("a commit without an answer is sent again",),
    ),
    Named(
        name="partitions are given up while the last commit has no answer",
        of=("class: commit or revoke deadlock, fetchers never start",),
        promises=("D1", "L1"),
        plan=_unanswered,
        happened=_revoked_without_knowing,
        kept=_hands_over_all_the_same,
        faults=(
            Fault(
                "kgroup.machine.commit_queue",
                "        self._end(flight, CommitStatus.UNKNOWN, reason, member)\n",
                "        assert flight\n",
            ),
        ),
    ),
    Named(
        name="a partition goes to another and comes back",
        of=("symptom 15", "class: committed or start offset goes back, stale position reused"),
        promises=("C7", "D6"),
        plan=_there_and_back,
        happened=_read_meanwhile,
        kept=_begins_where_the_other_ended,
        settings=EVERY[:-1],
        faults=(
            Fault(
                "kgroup.net.coordinator",
                "OffsetAndMetadata(row.committed_offset, row",
                "OffsetAndMetadata(row.committed_offset - 1, row",
            ),
        ),
    ),
)
"""Each of them tried in several kinds of groups."""
