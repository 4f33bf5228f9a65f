import pytest

from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal import (
    CommitStage,
    ConnectionClosed,
    ConnectionOpened,
    Delivered,
    FetchAnswered,
    MemberStarted,
    Polled,
)
from tests.audit.oracles.logs import C0, C1, Log
from tests.search.oracles.pace import NoStorm
from tests.search.oracles.poll_gap import PollGap

# -- L4 ------------------------------------------------------------------------------------


def storm(log: Log, api: ApiKey, *, gap: float) -> None:
    for _ in range(150):
        log.wait(gap)
        log.sent(api)


def test_l4_twenty_requests_a_second_are_fine_and_more_are_found():
    for gap, expected in ((0.051, []), (0.04, ["L4"])):
        log = Log()
        storm(log, ApiKey.METADATA, gap=gap)
        assert log.rules(NoStorm()) == expected


def test_l4_a_burst_shorter_than_the_window_allows_is_fine():
    log = Log()
    for _ in range(100):
        log.sent(ApiKey.JOIN_GROUP)
    assert log.rules(NoStorm()) == []


def test_l4_tries_that_come_too_early_again_and_again_are_found_when_pauses_do_not_grow():
    for pause, expected in ((0.3, ["L4"]), (0.4, [])):
        log = Log()
        for _ in range(8):
            log.wait(pause)
            asked = log.sent(ApiKey.JOIN_GROUP)
            log.answered(ApiKey.JOIN_GROUP, asked, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        assert log.rules(NoStorm()) == expected


def test_l4_tries_between_which_one_succeeds_are_fine():
    log = Log()
    for error in (*[ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 7, 0) * 2:
        log.wait(0.1)
        log.answered(ApiKey.JOIN_GROUP, log.sent(ApiKey.JOIN_GROUP), error)
    assert log.rules(NoStorm()) == []


def test_l4_fetches_count_only_when_they_are_refused():
    log = Log()
    storm(log, ApiKey.FETCH, gap=0.01)
    assert log.rules(NoStorm()) == []
    for _ in range(150):
        log.wait(0.01)
        log.write(FetchAnswered(C0, 5, 5, 3))
    assert log.rules(NoStorm()) == ["L4"]


def test_l4_connections_that_nobody_could_use_count_as_requests():
    log = Log()
    for number in range(150):
        log.wait(0.01)
        opened = ConnectionOpened(connection=number, address="broker-1:9092")
        log.write(opened, ConnectionClosed(connection=number, reason="idle"))
    assert log.rules(NoStorm()) == []
    for number in range(150, 300):
        log.wait(0.01)
        log.write(ConnectionClosed(connection=number, reason="refused"))
    assert log.rules(NoStorm()) == ["L4"]


def test_l4_commits_count_only_when_nothing_new_was_asked():
    log = Log()
    for number in range(150):
        log.wait(0.01)
        log.commit(CommitStage.REQUESTED, number, number=number)
        log.sent(ApiKey.OFFSET_COMMIT)
    assert log.rules(NoStorm()) == []
    storm(log, ApiKey.OFFSET_COMMIT, gap=0.01)
    assert log.rules(NoStorm()) == ["L4"]


# -- L5 ------------------------------------------------------------------------------------


def away(seconds: float, *, interval: float | None = None) -> Log:
    """Return the log of a member that stays away from poll; without a number ten seconds are
    allowed."""
    log = Log()
    log.start(interval=interval)
    log.own(C0)
    log.write(Polled(), Delivered(C0, 0, 4, 5))
    log.wait(seconds)
    return log


def test_l5_a_short_absence_costs_nothing():
    log = away(9.0)
    log.beat()
    log.write(Polled(), Delivered(C0, 5, 9, 5))
    assert log.rules(PollGap()) == []


def test_l5_a_heartbeat_in_a_long_absence_is_found():
    log = away(11.0)
    log.beat()
    assert log.rules(PollGap()) == ["L5"]


def test_l5_a_poll_interval_that_is_not_the_rebalance_timeout_counts_instead_of_it():
    log = away(11.0, interval=12.0)
    log.beat()
    assert log.rules(PollGap()) == []
    log = away(9.0, interval=8.0)
    log.beat()
    assert log.rules(PollGap()) == ["L5"]


def test_l5_a_record_of_an_old_claim_after_a_long_absence_is_found():
    log = away(11.0)
    log.write(Polled(), Delivered(C0, 5, 9, 5))
    assert log.rules(PollGap()) == ["L5"]


def test_l5_records_of_a_new_claim_after_a_long_absence_are_fine():
    log = away(11.0)
    log.lose(C0)
    log.write(Polled())
    log.own(C1)
    log.beat()
    log.write(Polled(), Delivered(C1, 5, 9, 5))
    assert log.rules(PollGap()) == []


def test_l5_a_poll_that_waits_for_records_is_no_absence():
    log = away(1.0)
    log.write(Polled())
    log.wait(30.0)
    log.beat()
    log.write(Delivered(C0, 5, 9, 5))
    assert log.rules(PollGap()) == []


@pytest.mark.parametrize("target", ["a", ""])
def test_l5_heartbeats_of_a_process_that_stood_still_are_excused(target):
    log = away(1.0)
    log.fault("SIGSTOP", target)
    log.wait(20.0)
    log.fault("SIGSTOP", target, end=True)
    log.beat()
    assert log.rules(PollGap()) == []


def test_l5_a_member_without_a_group_may_stay_away():
    log = Log()
    log.write(MemberStarted())
    log.own(C0)
    log.write(Polled(), Delivered(C0, 0, 4, 5))
    log.wait(99.0)
    log.write(Polled(), Delivered(C0, 5, 9, 5))
    assert log.rules(PollGap()) == []
