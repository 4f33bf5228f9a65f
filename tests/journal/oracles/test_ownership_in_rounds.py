"""S2, and what proves that no round went on without a member while its listener runs."""

import pytest

from kgroup.codes import ApiKey
from kgroup.journal import Phase, Polled
from kgroup.journal.oracles import OneOwnerInTime, judge
from kgroup.types import ChangeKind
from tests.journal.histories import one_member, tp


@pytest.mark.parametrize(
    ("api", "polls", "seconds", "expected"),
    [
        (None, True, 12.0, []),
        (None, True, 8.0, ["S2"]),
        (ApiKey.SYNC_GROUP, True, 12.0, ["S2"]),
        (ApiKey.SYNC_GROUP, False, 12.0, []),
        (ApiKey.SYNC_GROUP, False, 8.0, ["S2"]),
    ],
)
def test_s2_a_listener_that_outlasts_the_round_or_reading_is_forgiven(
    api: ApiKey | None, polls: bool, seconds: float, expected: list[str]
):
    """The coordinator waits for nobody longer than a round, nor for who does not read."""
    history, first = one_member(0)
    first.write(Polled())
    first.heartbeat()
    claims = (first.claims[tp(0)],)
    first.step(ChangeKind.REVOKED, Phase.BEGIN, claims)
    for passed in range(int(seconds)):
        history.wait(1.0)
        first.heartbeat(error=27)
        if api is not None and passed % 5 == 0:
            first.ask(api)
        if polls:
            first.write(Polled())
    second = history.member("b")
    second.start()
    second.join(2, 0)
    second.assign(0, offset=0)
    first.step(ChangeKind.REVOKED, Phase.END, claims)
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == expected


@pytest.mark.parametrize(("synced", "expected"), [(False, []), (True, ["S2"])])
def test_s2_a_heartbeat_answered_before_the_sync_proves_no_place_in_the_round(
    synced: bool, expected: list[str]
) -> None:
    """1. m1 is answered JoinGroup, and unsubscribes before its SyncGroup; 2. on_revoked runs, and
    its heartbeats are answered without an error; 3. the round ends without m1."""
    history, first = one_member(0)
    first.ask(ApiKey.JOIN_GROUP)
    if synced:
        first.ask(ApiKey.SYNC_GROUP)
    claims = (first.claims[tp(0)],)
    first.step(ChangeKind.REVOKED, Phase.BEGIN, claims)
    for _ in range(12):
        history.wait(1.0)
        first.heartbeat()
        first.write(Polled())
    second = history.member("b")
    second.start()
    second.join(2, 0)
    second.assign(0, offset=0)
    first.step(ChangeKind.REVOKED, Phase.END, claims)
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == expected


@pytest.mark.parametrize(("proved", "expected"), [(False, []), (True, ["S2"])])
def test_s2_a_refusal_says_nothing_of_the_time_in_which_a_membership_was_proved(
    proved: bool, expected: list[str]
) -> None:
    """1. on_revoked runs; 2. somebody else is given the partition; 3. a heartbeat is in order, so
    both were members; 4. one is refused, and on_revoked returns."""
    history, first = one_member(0)
    first.step(ChangeKind.REVOKED, Phase.BEGIN, (first.claims[tp(0)],))
    second = history.member("b")
    second.start()
    second.join(2, 0)
    second.assign(0, offset=0)
    if proved:
        first.heartbeat()
    first.heartbeat(error=22)
    first.step(ChangeKind.REVOKED, Phase.END, (first.claims[tp(0)],))
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == expected
