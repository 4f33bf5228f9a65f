"""Level B: what happens to members and their applications does happen."""

from dataclasses import replace

import pytest

from kgroup.codes import ApiKey
from kgroup.journal import (
    CallbackStage,
    CallbackStep,
    CommitStage,
    CommitStep,
    CommitStored,
    Delivered,
    GenerationEntered,
    JoinIssued,
    MemberStarted,
    MemberStopped,
    OwnershipStep,
    Paused,
    PositionMove,
    PositionMoved,
    Resumed,
)
from kgroup.types import Cause, ChangeKind
from tests.search.simulation.live.run import play_live
from tests.search.simulation.live_plans import (
    AT,
    HEARTBEAT,
    REBALANCE,
    SESSION,
    Played,
    member,
    plan,
    played,
)
from tests.search.simulation.plan import CommitHabit, Kind, Perturbation
from tests.search.simulation.schedule import Level, Schedule

pytestmark = pytest.mark.slow

STATIC = (member(0, instance="i0"), member(1, instance="i1"))


def good(run: Played) -> None:
    assert run.outcome.violations == ()


# -- members -------------------------------------------------------------------------------------


def test_a_join_starts_a_member_that_waits() -> None:
    run = played(Kind.JOIN, members=(member(0), member(1), member(2, starts_at=None)))
    good(run)
    assert [at for at, _ in run.of(MemberStarted, "m2")] == pytest.approx([AT])
    assert len(run.last_round.members) == 3


def test_leave_says_goodbye() -> None:
    run = played(Kind.LEAVE)
    good(run)
    assert len(run.sent(ApiKey.LEAVE_GROUP, "m1", AT)) == 1
    assert [event.left for _, event in run.of(MemberStopped, "m1")] == [True]
    assert len(run.last_round.members) == 1


def test_kill_says_nothing_and_the_session_ends() -> None:
    run = played(Kind.KILL)
    good(run)
    assert list(run.entries("m1", AT + 0.001)) == []
    assert run.sent(ApiKey.LEAVE_GROUP, "m1") == []
    (at, count), *_ = run.rounds(AT)
    assert count == 1
    assert AT + SESSION - HEARTBEAT < at < AT + SESSION + 2 * HEARTBEAT


def test_restart_comes_back_as_the_same_instance_unnoticed() -> None:
    run = played(Kind.RESTART, seconds=1.0, members=STATIC)
    good(run)
    assert [at for at, _ in run.of(MemberStarted, "m1.1")] == pytest.approx([AT + 1.0])
    before = [event.generation_id for _, event in run.of(GenerationEntered, "m1.0")]
    after = [event.generation_id for _, event in run.of(GenerationEntered, "m1.1")]
    assert after == before[-1:]


def test_twin_fences_the_first() -> None:
    run = played(Kind.TWIN, members=STATIC)
    good(run)
    (stopped,) = [event for _, event in run.of(MemberStopped, "m1.0")]
    assert "FENCED_INSTANCE_ID" in stopped.reason
    assert len(run.last_round.members) == 2


def test_twin_fences_the_first_amid_a_commit() -> None:
    """1. A heartbeat is sent, and a commit after it; 2. the answer to the heartbeat is the fence;
    3. the commit says that its outcome is unknown. What has ended the consumer is the fence."""
    busy = tuple(replace(each, habit=CommitHabit.EACH_BATCH) for each in STATIC)
    twin = Perturbation(6.4, Kind.TWIN, 1)
    rare = plan(twin, members=busy, latency=0.05, produce_every=0.05)
    run = Played(play_live(Schedule(Level.B, picks=()), plan=rare, keep=True))
    good(run)
    commits = [event for _, event in run.of(CommitStep, "m1.0")]
    assert commits[-1].stage is CommitStage.UNKNOWN
    (stopped,) = [event for _, event in run.of(MemberStopped, "m1.0")]
    assert "FENCED_INSTANCE_ID" in stopped.reason


def test_subscribe_asks_for_other_topics() -> None:
    run = played(Kind.SUBSCRIBE, topics={"t0": 2, "t1": 2})
    topics = [each.topics for each in run.last_round.members]
    assert sorted(topics) == [("t0",), ("t0", "t1")]


def test_resubscribe_leaves_and_comes_back() -> None:
    run = played(Kind.RESUBSCRIBE, seconds=3.0)
    good(run)
    counts = [count for _, count in run.rounds(AT)]
    assert counts[0] == 1
    assert counts[-1] == 2
    assert next(at for at, _ in run.of(JoinIssued, "m1", AT)) >= AT + 3.0


def test_enforce_makes_a_round() -> None:
    run = played(Kind.ENFORCE)
    good(run)
    (cause, *_) = [event.cause for _, event in run.of(JoinIssued, "m1", AT)]
    assert cause == Cause.ENFORCED.value


def test_evict_removes_a_member_that_comes_back() -> None:
    run = played(Kind.EVICT)
    assert 25 in [error for _, error in run.answered(ApiKey.HEARTBEAT, "m1", AT)]
    lost = [event.kind for _, event in run.of(OwnershipStep, "m1", AT)]
    assert lost[0] is ChangeKind.LOST
    assert len(run.last_round.members) == 2


# -- the application -----------------------------------------------------------------------------


def test_freeze_stops_everything_and_what_ended_meanwhile_is_noticed_at_once() -> None:
    seconds = SESSION * 1.6
    run = played(Kind.FREEZE, seconds=seconds)
    good(run)
    assert list(run.entries("m1", AT + 0.001, AT + seconds - 0.001)) == []
    at, step = next(run.of(OwnershipStep, "m1", AT + seconds))
    assert step.kind is ChangeKind.LOST
    assert at < AT + seconds + 0.001
    assert 1 in [count for _, count in run.rounds(AT)]


def test_stall_ends_the_membership_until_the_next_poll() -> None:
    run = played(Kind.STALL, seconds=REBALANCE * 1.6, quiet_at=14.0, ends_at=25.0)
    good(run)
    assert list(run.of(Delivered, "m1", AT + 0.6, AT + REBALANCE * 1.6)) == []
    (at, *_) = run.sent(ApiKey.LEAVE_GROUP, "m1")
    assert AT + REBALANCE - 1.0 < at < AT + REBALANCE + 0.6
    assert len(run.last_round.members) == 2


def test_a_slow_listener_takes_its_time_once() -> None:
    run = played(Kind.SLOW_LISTENER, index=0, seconds=1.5, members=_WITH_A_LATECOMER)
    good(run)
    calls = [(at, event.stage) for at, event in run.of(CallbackStep, "m0", AT)]
    (begun, first), (ended, second), *_ = calls
    assert (first, second) == (CallbackStage.ENTER, CallbackStage.EXIT)
    assert ended - begun == pytest.approx(1.5, abs=0.01)


def test_a_raising_listener_raises_once() -> None:
    run = played(Kind.RAISING_LISTENER, index=0, members=_WITH_A_LATECOMER)
    good(run)
    stages = [event.stage for _, event in run.of(CallbackStep, "m0", AT)]
    assert stages.count(CallbackStage.RAISE) == 1


_WITH_A_LATECOMER = (member(0), member(1, starts_at=AT + 0.5))


def test_commit_commits_at_that_moment() -> None:
    rare = (member(0), member(1, commit_interval=100.0))
    run = played(Kind.COMMIT, members=rare)
    good(run)
    mine = {event.member_id for _, event in run.of(GenerationEntered, "m1")}
    stored = [at for at, event in run.of(CommitStored) if event.member_id in mine]
    assert min(stored) == pytest.approx(AT, abs=0.02)


def test_seek_goes_back() -> None:
    run = played(Kind.SEEK, number=2)
    good(run)
    (at, moved), *_ = [
        each for each in run.of(PositionMoved, "m1") if each[1].move is PositionMove.SEEK
    ]
    assert at == pytest.approx(AT)
    again = [event for _, event in run.of(Delivered, "m1", AT) if event.claim == moved.claim]
    assert again[0].first == moved.offset


def test_pause_hands_out_nothing_until_it_ends() -> None:
    run = played(Kind.PAUSE, seconds=2.0)
    good(run)
    assert next(run.of(Paused, "m1"))[0] == pytest.approx(AT)
    assert next(run.of(Resumed, "m1"))[0] == pytest.approx(AT + 2.0)
    assert list(run.of(Delivered, "m1", AT + 0.001, AT + 1.999)) == []
