"""B5: heartbeats while the listener runs, and when nobody asks for them any more."""

import pytest

from kgroup.codes import ApiKey
from kgroup.journal import CallbackStage, CallbackStep, MemberStarted
from kgroup.types import ChangeKind, MemberState
from tests.audit.oracles.beating import SYNCING, rules, stable
from tests.audit.oracles.logs import STABLE, Log


def callback(stage: CallbackStage, kind: ChangeKind = ChangeKind.ASSIGNED) -> CallbackStep:
    return CallbackStep(kind=kind, stage=stage, serial=1)


def test_b5_heartbeats_go_on_while_the_listener_runs():
    log = stable()
    log.write(callback(CallbackStage.ENTER))
    log.state(STABLE, MemberState.PREPARING, "rebalance enforced")
    for _ in range(3):
        log.wait(1.0)
        log.beat()
    log.write(callback(CallbackStage.EXIT))
    assert rules(log) == []


def test_b5_a_listener_that_stops_the_heartbeats_is_found():
    log = stable()
    log.write(callback(CallbackStage.ENTER))
    log.state(STABLE, MemberState.PREPARING, "rebalance enforced")
    log.wait(3.0)
    log.write(callback(CallbackStage.EXIT))
    assert rules(log) == ["B5"]


def test_b5_after_the_rebalance_timeout_and_after_a_loss_nothing_is_expected():
    log = stable()
    log.state(STABLE, MemberState.PREPARING, "rebalance enforced")
    log.write(callback(CallbackStage.ENTER))
    for _ in range(10):
        log.wait(1.0)
        log.beat()
    log.wait(5.0)
    log.write(callback(CallbackStage.EXIT))
    assert rules(log) == []
    log = stable()
    log.state(STABLE, MemberState.PREPARING, "rebalance enforced")
    log.write(callback(CallbackStage.ENTER, ChangeKind.LOST))
    log.wait(5.0)
    log.write(callback(CallbackStage.EXIT, ChangeKind.LOST))
    assert rules(log) == []


@pytest.mark.parametrize(
    ("beats", "margin", "expected"),
    [(8, 0.0, ["B5"]), (9, 0.0, []), (8, 1.0, []), (7, 1.0, ["B5"])],
)
def test_b5_a_member_that_gives_everything_up_in_a_long_round_owes_none_after_its_lease(
    beats: int, margin: float, expected: list[str]
) -> None:
    # 1. The member joins, and waits for the leader; 2. four seconds later it is to leave, and gives
    # up what it has; 3. ten seconds after its JoinGroup, less the margin, its lease ends: what is
    # lost by that is given up already, and no entry says so; 4. the listener returns.
    log = Log()
    started = MemberStarted(
        session_timeout=6.0, rebalance_timeout=10.0, heartbeat_interval=1.0, lease_margin=margin
    )
    log.write(started)
    log.join()
    log.state(MemberState.JOINING, SYNCING, "joined as follower")
    for beat in range(beats):
        if beat == 4:
            log.state(SYNCING, MemberState.RELEASING, "unsubscribed")
            log.write(callback(CallbackStage.ENTER, ChangeKind.REVOKED))
        log.wait(1.0)
        log.beat()
    log.wait(3.0)
    log.write(callback(CallbackStage.EXIT, ChangeKind.REVOKED))
    assert rules(log) == expected


def test_b5_a_member_that_gives_everything_up_in_a_stable_generation_owes_them_all_the_time():
    log = stable()
    for _ in range(9):
        log.wait(1.0)
        log.beat()
    log.state(STABLE, MemberState.RELEASING, "unsubscribed")
    log.write(callback(CallbackStage.ENTER, ChangeKind.REVOKED))
    log.wait(3.0)
    log.write(callback(CallbackStage.EXIT, ChangeKind.REVOKED))
    assert rules(log) == ["B5"]


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        ("lease expired", []),
        ("generation stale", []),
        ("expelled", []),
        ("coordinator lost", ["B5"]),
    ],
)
def test_b5_a_member_that_loses_its_generation_while_giving_everything_up_owes_none(
    cause: str, expected: list[str]
) -> None:
    # 1. The member is to give everything up, and a commit of that is slow; a heartbeat is out;
    # 2. the lease ends, and with it the generation: what is given up is lost by that, and only the
    # state says so; 3. on_revoked begins, and the heartbeat is answered; 4. it takes its time.
    log = stable()
    log.state(STABLE, MemberState.PREPARING, "rebalance enforced")
    beat = log.sent(ApiKey.HEARTBEAT)
    log.state(MemberState.PREPARING, MemberState.FINDING, cause)
    log.state(MemberState.FINDING, MemberState.PREPARING, "coordinator known")
    log.write(callback(CallbackStage.ENTER, ChangeKind.REVOKED))
    log.answered(ApiKey.HEARTBEAT, beat)
    log.wait(3.0)
    log.write(callback(CallbackStage.EXIT, ChangeKind.REVOKED))
    assert rules(log) == expected


def test_b5_a_member_that_joins_anew_after_a_loss_owes_them_again():
    log = stable()
    log.state(STABLE, MemberState.PREPARING, "rebalance enforced")
    log.state(MemberState.PREPARING, MemberState.FINDING, "lease expired")
    log.issue()
    log.join(2)
    log.state(MemberState.JOINING, SYNCING, "joined as follower")
    log.write(callback(CallbackStage.ENTER))
    log.wait(3.0)
    log.write(callback(CallbackStage.EXIT))
    assert rules(log) == ["B5"]


@pytest.mark.parametrize(
    ("code", "generation", "expected"),
    [(22, None, []), (25, None, []), (82, None, []), (22, 1, ["B5"]), (27, None, ["B5"])],
)
def test_b5_a_member_whose_commit_is_refused_for_its_generation_owes_none_for_it(
    code: int, generation: int | None, expected: list[str]
) -> None:
    # 1. The member has unsubscribed, and commits what was in hand; 2. the commit is refused: it has
    # no generation any more, and what it gives up is lost by that; 3. on_revoked takes its time.
    # A refused commit of the generation before leaves it the one it has.
    log = stable()
    log.state(STABLE, MemberState.RELEASING, "unsubscribed")
    log.refused_commit(code, generation=generation)
    log.write(callback(CallbackStage.ENTER, ChangeKind.REVOKED))
    log.wait(3.0)
    log.write(callback(CallbackStage.EXIT, ChangeKind.REVOKED))
    assert rules(log) == expected
