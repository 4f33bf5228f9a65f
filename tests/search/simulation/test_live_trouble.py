"""Level B: what happens to connections, the coordinator and topics does happen."""

import pytest

from kgroup.codes import ApiKey
from kgroup.journal import (
    CommitStage,
    CommitStep,
    CommitStored,
    ConnectionClosed,
    Delivered,
    GenerationEntered,
)
from tests.search.simulation.live_plans import AT, SESSION, Played, member, played
from tests.search.simulation.perturbation import Kind

pytestmark = pytest.mark.slow

BUSY = (member(0), member(1, commit_interval=0.7))


def good(run: Played) -> None:
    assert run.outcome.violations == ()


def stored(run: Played, since: float = AT, until: float = 1e9) -> list[float]:
    """Return when commits of `m1` were stored."""
    mine = {event.member_id for _, event in run.of(GenerationEntered, "m1")}
    found = run.of(CommitStored, "", since, until)
    return [at for at, event in found if event.member_id in mine]


# -- the network ---------------------------------------------------------------------------------


def test_cut_resets_the_connections() -> None:
    run = played(Kind.CUT)
    good(run)
    closed = [at for at, _ in run.of(ConnectionClosed, "m1", AT, AT + 0.01)]
    assert len(closed) >= 2
    assert [count for _, count in run.rounds(AT)] == []


def test_lose_stores_a_commit_whose_outcome_the_member_does_not_know() -> None:
    run = played(Kind.LOSE, api=ApiKey.OFFSET_COMMIT, members=BUSY)
    good(run)
    closed = [at for at, _ in run.of(ConnectionClosed, "m1", AT, AT + 3.0)]
    first = stored(run)[0]
    assert closed[0] == pytest.approx(first, abs=0.01)
    answers = [at for at, _ in run.answered(ApiKey.OFFSET_COMMIT, "m1", AT)]
    assert answers[0] > closed[0]
    stages = [event.stage for _, event in run.of(CommitStep, "m1", closed[0])]
    assert stages[0] is CommitStage.UNKNOWN


def test_delay_brings_the_answer_late_and_the_effect_in_time() -> None:
    run = played(Kind.DELAY, seconds=0.5, api=ApiKey.OFFSET_COMMIT, members=BUSY)
    good(run)
    asked = run.sent(ApiKey.OFFSET_COMMIT, "m1", AT)[0]
    assert stored(run)[0] == pytest.approx(asked, abs=0.02)
    answered = run.answered(ApiKey.OFFSET_COMMIT, "m1", asked)[0][0]
    assert answered - asked == pytest.approx(0.5, abs=0.02)


def test_hold_brings_the_request_late() -> None:
    run = played(Kind.HOLD, seconds=1.5, api=ApiKey.OFFSET_COMMIT, members=BUSY)
    good(run)
    assert run.sent(ApiKey.OFFSET_COMMIT, "m1", AT)[0] < AT + 1.0
    assert stored(run)[0] == pytest.approx(AT + 1.5, abs=0.02)


def test_blackhole_lets_nothing_through() -> None:
    seconds = SESSION * 1.6
    run = played(Kind.BLACKHOLE, seconds=seconds, quiet_at=12.0, members=BUSY)
    good(run)
    assert stored(run, AT + 0.02, AT + seconds) == []
    assert list(run.of(Delivered, "m1", AT + SESSION, AT + seconds)) == []
    assert 1 in [count for _, count in run.rounds(AT)]
    assert len(run.last_round.members) == 2


def test_deaf_is_heard_but_hears_nothing() -> None:
    seconds = SESSION / 2
    run = played(Kind.DEAF, seconds=seconds, members=BUSY)
    good(run)
    assert stored(run, AT + 0.02, AT + seconds) != []
    apis = (ApiKey.OFFSET_COMMIT, ApiKey.HEARTBEAT, ApiKey.FETCH)
    heard = [at for api in apis for at, _ in run.answered(api, "m1", AT + 0.02)]
    assert min(heard) >= AT + seconds


# -- the coordinator -----------------------------------------------------------------------------


def test_a_killed_coordinator_is_looked_for_again() -> None:
    run = played(Kind.COORDINATOR_KILLED, seconds=2.0, brokers=2)
    good(run)
    assert [at for at, _ in run.of(ConnectionClosed, "m1", AT, AT + 0.1)] != []
    assert run.sent(ApiKey.FIND_COORDINATOR, "m1", AT) != []
    assert len(run.last_round.members) == 2


def test_a_single_broker_that_dies_comes_back() -> None:
    run = played(Kind.COORDINATOR_KILLED, seconds=2.0)
    good(run)
    assert list(run.of(Delivered, "", AT + 0.1, AT + 1.9)) == []
    assert list(run.of(Delivered, "", AT + 2.0)) != []


def test_a_coordinator_that_hands_over_is_looked_for_again() -> None:
    run = played(Kind.COORDINATOR_MOVED, brokers=2)
    good(run)
    assert 16 in [error for _, error in run.answered(ApiKey.HEARTBEAT, "m1", AT)]
    assert run.sent(ApiKey.FIND_COORDINATOR, "m1", AT) != []


def test_a_loading_coordinator_takes_no_commits() -> None:
    run = played(Kind.COORDINATOR_LOADS, seconds=1.0, members=BUSY)
    good(run)
    asked = [at for at in run.sent(ApiKey.OFFSET_COMMIT, "m1", AT) if at < AT + 1.0]
    assert asked != []
    assert stored(run)[0] >= AT + 1.0


# -- topics --------------------------------------------------------------------------------------


def test_added_partitions_are_read() -> None:
    run = played(Kind.ADD_PARTITIONS, number=2)
    good(run)
    given = {tp.partition for each in run.last_round.members for tp in each.partitions}
    assert given == set(range(6))


def test_a_deleted_topic_is_given_to_nobody() -> None:
    both = ("t0", "t1")
    members = (member(0, topics=both), member(1, topics=both))
    run = played(Kind.DELETE_TOPIC, topics={"t0": 2, "t1": 2}, members=members)
    good(run)
    given = {tp.topic for each in run.last_round.members for tp in each.partitions}
    assert given == {"t0"}


def test_deleted_offsets_are_gone() -> None:
    run = played(Kind.DELETE_OFFSETS)
    good(run)
    gone = [at for at, event in run.of(CommitStored, "broker") if event.offset is None]
    assert gone == pytest.approx([AT] * 4)


def test_produce_writes_to_every_partition() -> None:
    run = played(Kind.PRODUCE, number=2)
    good(run)
    counts = [event.count for _, event in run.of(Delivered, "", AT, AT + 0.5)]
    assert sorted(counts)[-4:] >= [6] * 4
