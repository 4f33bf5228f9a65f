import pytest

from kgroup.audit.oracles import StaticUnnoticed, judge
from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal import (
    AnswerReceived,
    CommitStage,
    MemberStopped,
    OwnershipStep,
    Phase,
    Polled,
    RequestSent,
    StateChanged,
)
from kgroup.types import Cause, ChangeKind, Leave, MemberState
from tests.audit.histories import History, Writer, one_member
from tests.audit.oracles.logs import Log
from tests.search.oracles.fenced import FencedSilent


def settled() -> tuple[History, Writer, Writer]:
    """One dynamic and one static member, at rest."""
    history = History()
    a, s = history.member("a"), history.member("s", instance="i")
    for member in (a, s):
        member.start()
    a.join(1, 0)
    s.join(1, 1)
    a.assign(0, offset=0)
    s.assign(1, offset=0)
    history.wait(10.0)
    return history, a, s


def restart(history: History, s: Writer, *, generation: int, partition: int) -> None:
    s.heartbeat()
    history.wait(2.0)
    again = history.member("s", "2", instance="i")
    again.start()
    again.join(generation, partition)


def rules(history: History) -> list[str]:
    return [found.rule for found in judge([StaticUnnoticed()], history.entries)]


def test_t1_a_static_close_that_leaves_is_found():
    history, _, s = settled()
    s.write(MemberStopped("closed", left=True))
    assert rules(history) == ["T1"]


@pytest.mark.parametrize(("mode", "expected"), [(Leave.DEFAULT, ["T1"]), (Leave.LEAVE, [])])
def test_t1_a_static_close_that_sends_a_goodbye_is_found_whatever_it_says(
    mode: Leave, expected: list[str]
):
    history, _, s = settled()
    s.ask(ApiKey.LEAVE_GROUP)
    s.write(MemberStopped("closed", left=False, mode=mode))
    assert rules(history) == expected


def test_t1_a_static_member_that_was_asked_to_leave_may():
    history, _, s = settled()
    s.write(MemberStopped("closed", left=True, mode=Leave.LEAVE))
    assert rules(history) == []


def test_t1_a_restart_that_finds_everything_as_it_was_is_fine():
    history, _, s = settled()
    restart(history, s, generation=1, partition=1)
    assert rules(history) == []


def test_t1_a_restart_that_changes_the_generation_or_the_partitions_is_found():
    for generation, partition in ((2, 1), (1, 0)):
        history, _, s = settled()
        restart(history, s, generation=generation, partition=partition)
        assert rules(history) == ["T1"]


def test_t1_a_survivor_that_is_disturbed_is_found():
    history, a, s = settled()
    s.heartbeat()
    history.member("s", "2", instance="i").start()
    a.revoke(0)
    assert set(rules(history)) == {"T1"}


def test_t1_a_restart_after_the_session_or_beside_another_fault_is_not_judged():
    history, _, s = settled()
    history.wait(7.0)
    restart(history, s, generation=2, partition=1)
    assert rules(history) == ["T1"]  # its last heartbeat is recent
    history, a, s = settled()
    s.heartbeat()
    history.wait(7.0)
    again = history.member("s", "2", instance="i")
    again.start()
    again.join(2, 1)
    assert rules(history) == []
    history, a, s = settled()
    a.write(MemberStopped("closed", left=True))
    restart(history, s, generation=2, partition=1)
    assert rules(history) == []


def fence(member: Writer, how: str) -> None:
    if how == "state":
        member.write(StateChanged(MemberState.STABLE, MemberState.FENCED, "fenced"))
    elif how == "heartbeat":
        member.write(
            AnswerReceived(
                connection=1, correlation_id=1, api=ApiKey.HEARTBEAT, version=4, error=82
            )
        )
    else:
        member.commit(0, stage=CommitStage.ERROR)


@pytest.mark.parametrize("how", ["state", "heartbeat"])
def test_t2_a_fenced_member_that_delivers_is_found(how: str):
    history, member = one_member(0)
    fence(member, how)
    member.deliver(0, 5)
    assert [found.rule for found in judge([FencedSilent()], history.entries)] == ["T2"]


@pytest.mark.parametrize("api", [ApiKey.HEARTBEAT, ApiKey.JOIN_GROUP, ApiKey.LEAVE_GROUP])
def test_t2_a_fenced_member_that_speaks_to_the_group_is_found(api: ApiKey):
    history, member = one_member(0)
    fence(member, "state")
    member.ask(api)
    assert [found.rule for found in judge([FencedSilent()], history.entries)] == ["T2"]


def test_t2_a_fenced_member_may_close():
    history, member = one_member(0)
    fence(member, "state")
    member.write(MemberStopped("fenced"))
    member.ask(ApiKey.METADATA)
    assert judge([FencedSilent()], history.entries) == ()


def test_t1_a_survivor_that_closes_or_unsubscribes_is_not_disturbed():
    for cause, expected in ((Cause.CLOSING, []), (Cause.GROUP_REBALANCED, ["T1"])):
        history, a, s = settled()
        s.heartbeat()
        s.revoke(1)
        s.stop()
        history.member("s", "2", instance="i").start()
        step = OwnershipStep(
            kind=ChangeKind.REVOKED,
            phase=Phase.BEGIN,
            claims=tuple(a.claims.values()),
            cause=cause.value,
        )
        a.write(step)
        assert rules(history) == expected


def test_t2_a_fence_for_the_former_id_of_a_member_whose_join_is_under_way_is_none():
    for joined, expected in ((True, []), (False, ["T2"])):
        _, member = one_member(0)
        fence(member, "heartbeat")
        if joined:
            join = AnswerReceived(
                connection=1, correlation_id=77, api=ApiKey.JOIN_GROUP, version=9, error=0
            )
            member.write(join)
        member.heartbeat()
        found = judge([FencedSilent()], member.history.entries)
        assert [violation.rule for violation in found] == expected


@pytest.mark.parametrize("former", [True, False])
def test_t2_a_heartbeat_that_arrives_after_its_member_joined_anew_is_fenced_for_the_former_id(
    former: bool,
):
    history, member = one_member(0)
    beat = RequestSent(
        connection=1,
        correlation_id=88,
        api=ApiKey.HEARTBEAT,
        version=4,
        member_id="former" if former else "new",
    )
    member.write(beat)
    joined = AnswerReceived(
        connection=1,
        correlation_id=77,
        api=ApiKey.JOIN_GROUP,
        version=9,
        error=0,
        member_id="new",
    )
    member.write(joined)
    member.write(
        AnswerReceived(connection=1, correlation_id=88, api=ApiKey.HEARTBEAT, version=4, error=82)
    )
    member.heartbeat()
    found = [violation.rule for violation in judge([FencedSilent()], history.entries)]
    assert found == ([] if former else ["T2"])


@pytest.mark.parametrize(("named", "expected"), [("", []), ("former", ["T2"])])
def test_t2_a_fence_of_the_former_id_by_the_members_own_join_is_no_reason_to_end(
    named: str, expected: list[str]
):
    """1. A heartbeat is on its way; 2. SyncGroup is answered UNKNOWN_MEMBER_ID; 3. it joins
    without an id; 4. the heartbeat arrives after that JoinGroup, and is fenced by it; 5. the answer
    to JoinGroup is late: the application unsubscribes, and subscribes again."""
    log = Log()
    log.start("i")
    log.join(5, "former")
    log.enter(5)
    beat = log.sent(ApiKey.HEARTBEAT, generation=5, member_id="former")
    log.sent(ApiKey.JOIN_GROUP, generation=None, member_id=named)
    log.answered(ApiKey.HEARTBEAT, beat, ErrorCode.FENCED_INSTANCE_ID)
    log.sent(ApiKey.JOIN_GROUP, generation=None, member_id=named)
    assert log.rules(FencedSilent()) == expected


def test_t2_a_fenced_member_that_asks_for_another_id_is_found():
    log = Log()
    log.start("i")
    log.join(5, "former")
    log.enter(5)
    beat = log.sent(ApiKey.HEARTBEAT, generation=5, member_id="former")
    log.answered(ApiKey.HEARTBEAT, beat, ErrorCode.FENCED_INSTANCE_ID)
    log.sent(ApiKey.JOIN_GROUP, generation=None, member_id="")
    assert log.rules(FencedSilent()) == ["T2"]


def test_t2_a_join_that_is_fenced_itself_is_for_the_id_that_it_names():
    log = Log()
    log.start("i")
    for named in ("", "given"):  # of a first join the second request names the id
        join = log.sent(ApiKey.JOIN_GROUP, generation=None, member_id=named)
    log.answered(ApiKey.JOIN_GROUP, join, ErrorCode.FENCED_INSTANCE_ID)
    log.sent(ApiKey.JOIN_GROUP, generation=None, member_id="")
    assert log.rules(FencedSilent()) == ["T2"]


def test_t1_a_restart_whose_join_comes_when_the_session_may_be_over_is_not_judged():
    # 1. the last heartbeat that is answered; 2. the process goes on for a while, and dies; 3. the
    # next one starts within a session of that, and joins after the session of step 1.
    for pause, expected in ((4.0, ["T1"]), (5.95, [])):
        history, _, s = settled()
        s.heartbeat()
        history.wait(2.0)
        s.write(Polled())
        history.wait(pause - 2.0)
        again = history.member("s", "2", instance="i")
        again.start()
        again.join(2, 1)
        assert rules(history) == expected


def test_t1_a_static_member_may_be_killed_and_not_else_disturbed():
    for fault, expected in (("SIGKILL", ["T1"]), ("HOLD", [])):
        history, _, s = settled()
        s.heartbeat()
        history.fault(fault, "s")
        history.wait(2.0)
        again = history.member("s", "2", instance="i")
        again.start()
        again.join(2, 1)
        assert rules(history) == expected


def test_t1_a_round_for_want_of_a_silent_static_member_is_not_blamed_on_another_restart():
    for dead, expected in ((True, []), (False, ["T1"])):
        history, _, s = settled()
        other = history.member("o", instance="j")
        other.start()
        other.join(1)
        for beating in ((s, other),) * 3 + ((s,) if dead else (s, other),) * 2:
            history.wait(4.0)
            for member in beating:
                member.heartbeat()
        history.wait(2.0)
        again = history.member("s", "2", instance="i")
        again.start()
        again.join(2, 1)
        assert rules(history) == expected


@pytest.mark.parametrize(("away", "expected"), [(2.0, ["T1"]), (5.8, [])])
def test_t1_a_round_once_the_session_of_an_absent_member_may_be_over_is_not_judged(
    away: float, expected: list[str]
):
    """1. The last heartbeat that is answered; 2. the process is killed some time later; 3. the
    next one starts within a session of that; 4. the others are revoked partitions; 5. its
    JoinGroup is sent."""
    history, a, s = settled()
    s.heartbeat()
    history.wait(0.5)
    s.write(Polled())
    history.fault("RESTART", "s")
    history.wait(away - 0.5)
    again = history.member("s", "2", instance="i")
    again.start()
    history.wait(0.2)
    a.end(ChangeKind.REVOKED, 0)
    assert sorted(set(rules(history))) == expected


def test_t1_a_survivor_that_is_disturbed_although_the_one_that_restarts_joined_in_time_is_found():
    history, a, s = settled()
    s.heartbeat()
    history.wait(5.5)
    again = history.member("s", "2", instance="i")
    again.start()
    again.ask(ApiKey.JOIN_GROUP)
    history.wait(1.0)
    a.end(ChangeKind.REVOKED, 0)
    assert set(rules(history)) == {"T1"}


@pytest.mark.parametrize(("away", "expected"), [(5.5, []), (0.5, ["T1"])])
def test_t1_a_round_begun_by_one_that_comes_back_too_late_is_not_blamed_on_another_restart(
    away: float, expected: list[str]
):
    """1. The group is not at rest yet, so that the restart of the first is not judged; 2. it joins
    when what proved its session is over, as a newcomer; 3. another one is away meanwhile, and back
    in time, in the round of step 2."""
    history = History()
    first, s = history.member("o", instance="j"), history.member("s", instance="i")
    for member in (first, s):
        member.start()
    first.join(1, 0)
    s.join(1, 1)
    history.wait(1.0)
    first.write(Polled())
    history.wait(away)
    first = history.member("o", "2", instance="j")
    first.start()
    first.ask(ApiKey.JOIN_GROUP)
    history.wait(6.0 - away)
    first.heartbeat()
    s.heartbeat()
    history.wait(1.0)
    s = history.member("s", "2", instance="i")
    s.start()
    s.join(2)
    assert rules(history) == expected


@pytest.mark.parametrize(("synced", "expected"), [(False, []), (True, ["T1"])])
def test_t1_a_round_for_want_of_a_process_that_died_amid_one_is_not_blamed_on_a_restart(
    synced: bool, expected: list[str]
):
    """1. A process dies after its JoinGroup, before its SyncGroup; 2. the next one is given its
    place; 3. a rebalance timeout later the coordinator misses the SyncGroup of the former id, and
    begins a round; 4. another one is away just then."""
    history = History()
    s, other = history.member("s", instance="i"), history.member("o", instance="j")
    for member in (s, other):
        member.start()
        member.join(1, 0 if member is s else 1)
    s.ask(ApiKey.JOIN_GROUP)
    if synced:
        s.join(1, 0)
    again = history.member("s", "2", instance="i")
    again.start()
    again.join(1, 0)
    history.wait(7.0)
    for member in (again, other):
        member.heartbeat()
    history.wait(1.0)
    back = history.member("o", "2", instance="j")
    back.start()
    back.join(2, 1)
    assert rules(history) == expected


@pytest.mark.parametrize(("generation", "expected"), [(1, []), (2, ["T1"])])
def test_t1_a_member_that_comes_back_may_be_given_what_its_process_had_while_another_is_away(
    generation: int, expected: list[str]
):
    history, _, s = settled()
    other = history.member("o", instance="j")
    other.start()
    other.join(1, 2)
    for _ in range(2):
        history.wait(4.0)
        for member in (s, other):
            member.heartbeat()
    history.wait(0.5)
    back, away = history.member("o", "2", instance="j"), history.member("s", "2", instance="i")
    for member in (away, back):
        member.start()
    back.join(generation, 2)
    back.assign(2, offset=0)
    assert sorted(set(rules(history))) == expected
