"""S2, and what proves that no round went on without a member while its listener runs."""

import pytest

from kgroup.audit.oracles import OneOwnerInTime, judge
from kgroup.codes import ApiKey
from kgroup.journal import (
    CommitStage,
    CommitStep,
    FetchIssued,
    JoinIssued,
    Phase,
    Polled,
    StateChanged,
)
from kgroup.journal.faults import StateCause
from kgroup.types import ChangeKind, Claim, MemberState, TopicPartition
from tests.audit.histories import History, one_member, tp


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


@pytest.mark.parametrize(
    ("after", "cause", "leaves", "expected"),
    [
        (10, "poll interval over", "before", []),
        (10, "poll interval over", "later", ["S2"]),
        (10, "poll interval over", "never", ["S2"]),
        (10, "coordinator lost", "before", ["S2"]),
        (8, "poll interval over", "before", ["S2"]),
    ],
)
def test_s2_who_left_amid_a_revocation_since_nobody_read_is_forgiven_though_it_reads_again(
    after: int, cause: str, leaves: str, expected: list[str]
) -> None:
    """1. on_revoked runs, and the application stands still; 2. the member leaves, as its poll
    interval is over; 3. the application reads again; 4. the partition is given to another."""
    history, first = one_member(0)
    first.write(Polled())
    claims = (first.claims[tp(0)],)
    first.step(ChangeKind.REVOKED, Phase.BEGIN, claims)
    for _ in range(after):
        history.wait(1.0)
        first.heartbeat()
    first.write(StateChanged(MemberState.PREPARING, MemberState.DORMANT, cause))
    if leaves == "before":
        first.ask(ApiKey.LEAVE_GROUP)
    first.write(Polled())
    second = history.member("b")
    second.start()
    second.join(2, 0)
    second.assign(0, offset=0)
    if leaves == "later":
        first.ask(ApiKey.LEAVE_GROUP)
    first.step(ChangeKind.REVOKED, Phase.END, claims)
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == expected


@pytest.mark.parametrize(("joins", "expected"), [(False, []), (True, ["S2"])])
@pytest.mark.parametrize("told_after", [0.0, 0.4])
def test_s2_who_leaves_for_another_reason_once_it_is_back_has_not_left_for_want_of_reading(
    told_after: float, joins: bool, expected: list[str]
) -> None:
    """A member is not told of each poll, so its interval may be over a little before."""
    history, first = one_member(0)
    first.write(Polled())
    first.step(ChangeKind.REVOKED, Phase.BEGIN, (first.claims[tp(0)],))
    for _ in range(10):
        history.wait(1.0 - told_after / 10)
        first.heartbeat()
    first.write(StateChanged(MemberState.PREPARING, MemberState.DORMANT, "poll interval over"))
    first.write(Polled())
    if joins:
        first.ask(ApiKey.JOIN_GROUP)
    first.ask(ApiKey.LEAVE_GROUP)
    second = history.member("b")
    second.start()
    second.join(2, 0)
    second.assign(0, offset=0)
    first.step(ChangeKind.REVOKED, Phase.END, (first.claims[tp(0)],))
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == expected


@pytest.mark.parametrize(
    ("waited", "generation", "listed", "first_owner", "expected"),
    [
        (10.1, None, (), False, []),
        (9.9, None, (), False, ["S2"]),
        (10.1, 1, (), False, ["S2"]),
        (10.1, None, (0,), False, ["S2"]),
        (10.1, None, (), True, ["S2"]),
    ],
    ids=["joined anew", "too soon", "in its generation", "listed", "overtaken before"],
)
def test_s2_who_joins_anew_when_its_listener_takes_longer_than_a_round_is_forgiven(
    waited: float,
    generation: int | None,
    listed: tuple[int, ...],
    first_owner: bool,
    expected: list[str],
) -> None:
    """1. on_revoked runs, and the generation is lost; 2. it runs for longer than a round may last:
    the member joins as one who has nothing (S4), and is proved a member by that; 3. the round gives
    the partition to another; 4. on_revoked returns."""
    history, first = one_member(0)
    claims = (first.claims[tp(0)],)
    first.step(ChangeKind.REVOKED, Phase.BEGIN, claims)
    second = history.member("b")
    second.start()
    if first_owner:
        second.join(2, 0)
        second.assign(0, offset=0)
    history.wait(waited)
    owned = tuple(tp(partition) for partition in listed)
    first.write(JoinIssued(member_id="m", generation_id=generation, owned=owned))
    first.ask(ApiKey.JOIN_GROUP)
    first.ask(ApiKey.SYNC_GROUP)
    first.enter(3)
    if not first_owner:
        second.join(3, 0)
        second.assign(0, offset=0)
    first.step(ChangeKind.REVOKED, Phase.END, claims)
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == expected


@pytest.mark.parametrize(
    ("generation", "owned", "then", "expected"),
    [
        (None, (), "stops", []),
        (1, (), "stops", ["S2"]),
        (None, (tp(0),), "stops", ["S2"]),
        (None, (), "is given it again, and stops", ["S2"]),
        (None, (), "gives it up", ["S2"]),
        (None, (), "delivers", ["S2"]),
        (None, (), "fetches on, and stops", ["S2"]),
        (None, (), "commits, and stops", ["S2"]),
    ],
)
def test_s2_who_stops_need_not_have_told_of_what_it_said_to_have_lost_when_it_joined_anew(
    generation: int | None, owned: tuple[TopicPartition, ...], then: str, expected: list[str]
) -> None:
    """1. on_assigned is slow, and the member is removed; 2. it joins as one who has nothing, and
    another is given the partition; 3. on_assigned returns, and the next call takes its time;
    4. the member fails, before its listener has heard of the loss."""
    history = History()
    first, second = history.member("a"), history.member("b")
    first.start()
    first.join(1, 0)
    claims = (Claim(tp(0), 1),)
    first.claims[tp(0)] = claims[0]
    first.step(ChangeKind.ASSIGNED, Phase.BEGIN, claims)
    first.write(JoinIssued(member_id=None, generation_id=generation, owned=owned))
    if then.startswith("is given"):
        first.enter(1, 0)
    history.wait(1.0)
    second.start()
    second.join(2, 0)
    second.assign(0, offset=0)
    first.step(ChangeKind.ASSIGNED, Phase.END, claims)
    match then:
        case "delivers":
            first.positions[tp(0)] = 0
            first.deliver(0, 1)
        case "gives it up":
            first.step(ChangeKind.REVOKED, Phase.BEGIN, claims)
            first.step(ChangeKind.REVOKED, Phase.END, claims)
        case "fetches on, and stops":
            first.write(FetchIssued(claims[0], 0))
            first.stop(left=False)
        case "commits, and stops":
            first.positions[tp(0)] = 0
            first.commit(0)
            first.stop(left=False)
        case _:
            first.stop(left=False)
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == expected


@pytest.mark.parametrize(
    ("begins", "then", "expected"),
    [
        (1.0, "gives it up", []),
        (0.0, "gives it up", []),
        (7.0, "gives it up", ["S2"]),
        (1.0, "delivers", ["S2"]),
        (1.0, "was not removed", ["S2"]),
    ],
)
def test_s2_who_gives_up_before_it_can_know_that_it_was_removed_may_take_its_time(
    begins: float, then: str, expected: list[str]
) -> None:
    """1. An administrator removes a member, which hears nothing; 2. the partition is given to
    another; 3. within a session it unsubscribes, say, or has done so already: on_revoked is called;
    4. its lease ends; 5. on_revoked returns, more than a session after it was removed."""
    history, first = one_member(0)
    claims = (first.claims[tp(0)],)
    first.positions[tp(0)] = 0
    if then != "was not removed":
        history.fault("EVICT", "a")
    if not begins:
        first.step(ChangeKind.REVOKED, Phase.BEGIN, claims)
    second = history.member("b")
    second.start()
    second.join(2, 0)
    second.assign(0, offset=0)
    if begins:
        history.wait(begins)
        first.step(ChangeKind.REVOKED, Phase.BEGIN, claims)
    if then == "delivers":
        history.wait(6.0)
        first.deliver(0, 1)
    history.wait(8.0)
    first.step(ChangeKind.REVOKED, Phase.END, claims)
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == expected


def test_s2_who_was_removed_and_joined_again_knows_of_what_it_was_given_since() -> None:
    """1. An administrator removes a member; 2. it hears so, loses what it had, joins again and is
    given the partition once more; 3. another is given it too; 4. on_revoked is called within a
    session of step 1, and returns a session later."""
    history, first = one_member(0)
    history.fault("EVICT", "a")
    history.wait(0.5)
    first.heartbeat(error=25)
    first.lose(0)
    first.join(2, 0)
    first.assign(0, offset=0)
    claims = (first.claims[tp(0)],)
    second = history.member("b")
    second.start()
    second.join(3, 0)
    second.assign(0, offset=0)
    history.wait(1.0)
    first.step(ChangeKind.REVOKED, Phase.BEGIN, claims)
    for _ in range(9):
        history.wait(1.0)
        first.heartbeat()
    first.step(ChangeKind.REVOKED, Phase.END, claims)
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == ["S2"]


@pytest.mark.parametrize(
    ("code", "commit", "why", "instant", "expected"),
    [
        (0, None, None, 0, ["S2"]),
        (0, None, StateCause.REBALANCE_SIGNALLED, 3, ["S2"]),
        (0, None, StateCause.LEASE_EXPIRED, 3, []),
        (0, None, StateCause.LEASE_EXPIRED, 0, ["S2"]),
        (22, None, None, 3, []),
        (25, None, None, 3, []),
        (27, None, None, 3, ["S2"]),
        (0, 25, None, 3, []),
        (0, 27, None, 3, ["S2"]),
    ],
)
def test_s2_who_joins_anew_though_it_was_a_member_all_along_is_found(
    code: int,
    commit: int | None,
    why: StateCause | None,
    instant: int,
    expected: list[str],
) -> None:
    """1. on_revoked runs for longer than a round may last, and each heartbeat is answered; 2. the
    member joins as one who has nothing, and another is given the partition; 3. on_revoked goes on.
    Forgiven is who has lost its generation since step 1."""
    history, first = one_member(0)
    claims = (first.claims[tp(0)],)
    for second in range(12):
        if second == 1:
            first.step(ChangeKind.REVOKED, Phase.BEGIN, claims)
        history.wait(1.0)
        now = second == instant
        first.heartbeat(error=code if now else 0)
        if why is not None and now:
            first.write(StateChanged(MemberState.STABLE, MemberState.FINDING, why))
        if commit is not None and now:
            refused = CommitStep(
                stage=CommitStage.ERROR, commit_id=1, claim=claims[0], offset=0, code=commit
            )
            first.write(refused)
    first.write(JoinIssued(member_id=first.member_id, generation_id=None, owned=()))
    first.ask(ApiKey.JOIN_GROUP)
    first.ask(ApiKey.SYNC_GROUP, generation=2)
    first.enter(2)
    other = history.member("b")
    other.start()
    other.join(2, 0)
    other.assign(0, offset=0)
    history.wait(1.0)
    first.heartbeat()
    first.step(ChangeKind.REVOKED, Phase.END, claims)
    assert [v.rule for v in judge([OneOwnerInTime()], history.entries)] == expected
