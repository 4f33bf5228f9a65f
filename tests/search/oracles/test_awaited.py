"""Answers that nobody awaits any more: T2 and S9 ask for nothing that S8 forbids."""

from dataclasses import replace

import pytest

from kgroup.codes import ApiKey
from kgroup.journal import CommitStage, CommitStep, OwnershipStep, Phase
from kgroup.types import ChangeKind, MemberState
from tests.audit.oracles.logs import C0, Log
from tests.search.oracles.fenced import FencedSilent
from tests.search.oracles.member_ids import MemberIds

BEAT, JOIN = ApiKey.HEARTBEAT, ApiKey.JOIN_GROUP
STABLE, JOINING = MemberState.STABLE, MemberState.JOINING
STALE, UNKNOWN, FENCED = 22, 25, 82
TIMED_OUT, LOADING, NOT_AVAILABLE, NOT_COORDINATOR = 7, 14, 15, 16


def joined(generation: int = 5) -> Log:
    log = Log()
    log.start("i")
    log.join(generation)
    log.enter(generation)
    return log


def lost(generation: int) -> OwnershipStep:
    return OwnershipStep(
        kind=ChangeKind.LOST, phase=Phase.BEGIN, claims=(C0,), generation_id=generation
    )


def joins_under_its_id(log: Log) -> list[str]:
    """Judge a member that goes on under its id, first by the one promise, then by the other."""
    log.issue("id")
    ids = log.rules(MemberIds())
    log.sent(JOIN)
    return [*ids, *log.rules(FencedSilent())]


def refused(log: Log, beat: int, code: int) -> list[str]:
    log.answered(BEAT, beat, code)
    return joins_under_its_id(log)


@pytest.mark.parametrize(("code", "rule"), [(UNKNOWN, "S9"), (FENCED, "T2")])
def test_the_answer_to_a_heartbeat_of_the_generation_before_decides_nothing(
    code: int, rule: str
) -> None:
    # 1. A heartbeat is refused, slowly; 2. the coordinator dies, and its successor has the member
    # join the next generation; 3. the refusal comes.
    for asked_in, expected in ((5, []), (6, [rule])):
        log = joined(5)
        beat = log.sent(BEAT, generation=asked_in)
        log.join(6)
        assert refused(log, beat, code) == expected


@pytest.mark.parametrize(("code", "rule"), [(UNKNOWN, "S9"), (FENCED, "T2")])
def test_of_two_heartbeats_on_their_way_the_later_one_is_awaited(code: int, rule: str) -> None:
    # 1. SyncGroup is out, and a heartbeat; 2. synced, the member sends another one at once.
    for later, expected in ((True, []), (False, [rule])):
        log = joined()
        beat = log.sent(BEAT, generation=5)
        if later:
            log.sent(BEAT, generation=5)
        assert refused(log, beat, code) == expected


@pytest.mark.parametrize(("code", "rule"), [(UNKNOWN, "S9"), (FENCED, "T2")])
def test_the_answer_to_a_heartbeat_of_a_lost_generation_decides_nothing(
    code: int, rule: str
) -> None:
    # 1. A process stands still, JoinGroup and a heartbeat are out; 2. it wakes, and its lease is
    # over; 3. the heartbeat is answered: so will be the JoinGroup.
    for lost_in, expected in ((5, []), (4, [rule])):
        log = joined()
        log.state(STABLE, JOINING, "coordinator known")
        beat = log.sent(BEAT, generation=5)
        log.write(lost(lost_in))
        assert refused(log, beat, code) == expected


@pytest.mark.parametrize(("code", "rule"), [(UNKNOWN, "S9"), (FENCED, "T2")])
@pytest.mark.parametrize("cause", ["lease expired", "generation stale", "coordinator lost"])
def test_the_answer_to_a_commit_of_a_generation_lost_amid_a_revocation_decides_nothing(
    cause: str, code: int, rule: str
) -> None:
    """1. on_revoked runs, and a commit is out; 2. the process stands still, and wakes beyond its
    lease; 3. the commit is refused; 4. on_revoked returns. on_lost is called for nothing."""
    log = joined()
    log.begin(ChangeKind.REVOKED, C0)
    commit = log.sent(ApiKey.OFFSET_COMMIT, generation=5)
    log.state(MemberState.PREPARING, MemberState.FINDING, cause)
    log.answered(ApiKey.OFFSET_COMMIT, commit)
    log.write(replace(fenced_commit(5), code=code))
    log.end(ChangeKind.REVOKED, C0)
    assert joins_under_its_id(log) == ([rule] if cause == "coordinator lost" else [])


@pytest.mark.parametrize(("code", "rule"), [(UNKNOWN, "S9"), (FENCED, "T2")])
@pytest.mark.parametrize(
    ("answered", "lost"),
    [(NOT_AVAILABLE, True), (NOT_COORDINATOR, True), (TIMED_OUT, True), (LOADING, False)],
)
def test_what_a_coordinator_says_of_the_member_after_it_was_lost_decides_nothing(
    answered: int, lost: bool, code: int, rule: str
) -> None:
    """1. JoinGroup and a heartbeat are out, on a connection each; 2. the coordinator moves, and the
    process stands still; 3. it wakes, and hears that the coordinator of JoinGroup is none: it gives
    up both connections; 4. the heartbeat was answered before that. The next one knows the id."""
    log = joined()
    log.state(STABLE, JOINING, "coordinator known")
    beat, join = log.sent(BEAT, generation=5), log.sent(JOIN, generation=None)
    log.answered(JOIN, join, answered, generation=-1, member_id="id")
    assert refused(log, beat, code) == ([] if lost else [rule])


@pytest.mark.parametrize(("code", "rule"), [(UNKNOWN, "S9"), (FENCED, "T2")])
@pytest.mark.parametrize("cause", ["coordinator lost", "rebalance signalled"])
def test_a_member_that_loses_its_coordinator_with_a_connection_awaits_nothing_of_it(
    cause: str, code: int, rule: str
) -> None:
    # 1. JoinGroup and a heartbeat are out; 2. the connection of JoinGroup ends; 3. the heartbeat
    # was answered before that, and is given up with its own.
    log = joined()
    log.state(STABLE, JOINING, "coordinator known")
    beat = log.sent(BEAT, generation=5)
    log.state(JOINING, MemberState.FINDING, cause)
    assert refused(log, beat, code) == ([] if cause == "coordinator lost" else [rule])


@pytest.mark.parametrize(("code", "rule"), [(UNKNOWN, "S9"), (FENCED, "T2")])
def test_an_answer_that_nobody_awaited_loses_no_coordinator(code: int, rule: str) -> None:
    # 1. SyncGroup is out, and a heartbeat; 2. synced, the member sends another one at once; 3. the
    # former says that the coordinator has moved; 4. the latter what it says of the member.
    log = joined()
    former, latter = log.sent(BEAT, generation=5), log.sent(BEAT, generation=5)
    log.answered(BEAT, former, NOT_COORDINATOR)
    assert refused(log, latter, code) == [rule]


@pytest.mark.parametrize("code", [UNKNOWN, FENCED])
def test_an_answer_to_the_join_is_awaited_also_when_the_generation_is_lost(code: int) -> None:
    log = joined()
    log.state(STABLE, JOINING, "coordinator known")
    join = log.sent(JOIN, generation=None)
    log.write(lost(5))
    log.answered(JOIN, join, code)
    assert joins_under_its_id(log) == ["S9" if code == UNKNOWN else "T2"]


@pytest.mark.parametrize("out", [MemberState.UNSUBSCRIBED, MemberState.DORMANT])
@pytest.mark.parametrize("what", ["heartbeat", "commit"])
def test_t2_a_member_out_of_the_group_has_no_id_that_could_be_fenced(
    what: str, out: MemberState
) -> None:
    for goes, expected in ((True, []), (False, ["T2"])):
        log = joined()
        beat = log.sent(BEAT, generation=5)
        if goes:
            log.state(STABLE, out, "leave ended")
        if what == "heartbeat":
            log.answered(BEAT, beat, FENCED)
        else:
            log.write(fenced_commit(5))
        log.sent(JOIN)
        assert log.rules(FencedSilent()) == expected


@pytest.mark.parametrize(("generation", "expected"), [(5, ["T2"]), (4, [])])
def test_t2_a_commit_of_the_generation_before_fences_nobody(
    generation: int, expected: list[str]
) -> None:
    log = joined(5)
    log.write(fenced_commit(generation))
    log.sent(JOIN)
    assert log.rules(FencedSilent()) == expected


def fenced_commit(generation: int) -> CommitStep:
    return CommitStep(
        stage=CommitStage.ERROR,
        commit_id=1,
        claim=C0,
        offset=0,
        member_id="id",
        generation_id=generation,
        code=FENCED,
    )


def heard_late(code: int) -> Log:
    """Have a heartbeat refused whose generation is lost: it moves nothing."""
    log = joined()
    beat = log.sent(BEAT, generation=5)
    log.write(lost(5))
    log.answered(BEAT, beat, code)
    return log


@pytest.mark.parametrize("code", [STALE, FENCED])
@pytest.mark.parametrize(("member_id", "expected"), [("id", []), (None, ["S9"])])
def test_s9_a_member_that_hears_late_of_another_generation_joins_under_its_id(
    code: int, member_id: str | None, expected: list[str]
) -> None:
    """Else an instance that another process has would be taken back (KIP-345)."""
    log = heard_late(code)
    log.issue(member_id)
    assert log.rules(MemberIds()) == expected


@pytest.mark.parametrize("why", ["unknown", "out", "commit", "state", "joined"])
def test_s9_a_member_with_a_reason_of_its_own_may_drop_its_id(why: str) -> None:
    log = heard_late(FENCED)
    if why == "unknown":
        log.answered(JOIN, log.sent(JOIN, generation=None), UNKNOWN)
    elif why == "out":
        log.state(STABLE, MemberState.UNSUBSCRIBED, "leave ended")
    elif why == "commit":
        log.answered(ApiKey.OFFSET_COMMIT, log.sent(ApiKey.OFFSET_COMMIT, generation=5))
    elif why == "state":
        log.state(STABLE, MemberState.FINDING, "expelled")
    else:
        log.join(6)
    log.issue(None)
    assert log.rules(MemberIds()) == []


@pytest.mark.parametrize("asked_as", ["former", "id"])
@pytest.mark.parametrize("code", [UNKNOWN, FENCED])
def test_a_refused_commit_is_of_the_generation_that_it_was_asked_in(
    asked_as: str, code: int
) -> None:
    """1. A commit is out; 2. the member is removed, and has another id and generation; 3. the
    commit is refused: its step tells of what the member is by now."""
    log = Log()
    log.start("i")
    for generation, member_id in ((5, "former"), (6, "id")):
        log.join(generation, member_id)
        if member_id == asked_as:
            commit = log.sent(ApiKey.OFFSET_COMMIT, generation=generation, member_id=member_id)
    log.answered(ApiKey.OFFSET_COMMIT, commit)
    log.write(replace(fenced_commit(6), code=code))
    rule = "S9" if code == UNKNOWN else "T2"
    assert joins_under_its_id(log) == ([] if asked_as == "former" else [rule])


@pytest.mark.parametrize(("removed", "expected"), [(True, []), (False, ["S9"])])
def test_s9_a_refused_join_gives_no_id(removed: bool, expected: list[str]) -> None:
    """1. JoinGroup is parked; 2. a heartbeat hears that the member is unknown; 3. the JoinGroup is
    refused, and names the id that it was sent with."""
    log = joined()
    beat = log.sent(BEAT, generation=5)
    join = log.sent(JOIN, generation=None)
    if removed:
        log.answered(BEAT, beat, UNKNOWN)
    log.answered(JOIN, join, STALE, generation=-1, member_id="id")
    log.issue(None)
    assert log.rules(MemberIds()) == expected
