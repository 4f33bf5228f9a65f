import pytest

from kgroup.codes import ApiKey
from kgroup.journal import AnswerReceived
from kgroup.types import MemberState
from tests.audit.oracles.logs import STABLE, Log
from tests.search.oracles.answers import AnswersInTime
from tests.search.oracles.member_ids import MemberIds
from tests.search.oracles.static_leader import OnlyLeadersAssign

FINDING, JOINING = MemberState.FINDING, MemberState.JOINING
BEAT, JOIN, SYNC = ApiKey.HEARTBEAT, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP
COMMIT = ApiKey.OFFSET_COMMIT
NOT_COORDINATOR, UNKNOWN_MEMBER, ILLEGAL_GENERATION = 16, 25, 22


def joined(generation: int = 5) -> Log:
    log = Log()
    log.join(generation)
    log.enter(generation)
    return log


# -- S8 ------------------------------------------------------------------------------------


def test_s8_an_answer_in_time_moves_the_member():
    log = joined()
    log.beat(27, generation=5)
    log.state(STABLE, FINDING, "rebalance signalled")
    assert log.rules(AnswersInTime()) == []


def test_s8_an_answer_of_an_older_generation_that_moves_the_member_is_found():
    log = joined(5)
    late = log.sent(BEAT, generation=5)
    log.join(6)
    log.enter(6)
    log.answered(BEAT, late, 27)
    log.state(STABLE, FINDING, "rebalance signalled")
    assert log.rules(AnswersInTime()) == ["S8"]


def test_s8_an_answer_of_another_kind_at_that_instant_may_be_what_moves_it():
    log = joined(5)
    late = log.sent(BEAT, generation=5)
    log.join(6)
    leaving = log.sent(ApiKey.LEAVE_GROUP)
    log.answered(BEAT, late, 27)
    log.answered(ApiKey.LEAVE_GROUP, leaving)
    log.state(MemberState.LEAVING, MemberState.LEFT, "leave ended")
    assert log.rules(AnswersInTime()) == []


def test_s8_what_happens_later_is_not_by_the_late_answer():
    log = joined(5)
    late = log.sent(BEAT, generation=5)
    log.join(6)
    log.answered(BEAT, late, 27)
    log.wait(0.1)
    log.state(STABLE, FINDING, "rebalance signalled")
    assert log.rules(AnswersInTime()) == []


def test_s8_an_answer_in_time_after_a_late_one_may_move_the_member():
    log = joined(5)
    late = log.sent(BEAT, generation=5)
    log.join(6)
    log.enter(6)
    log.answered(BEAT, late, 27)
    log.beat(27, generation=6)
    log.state(STABLE, FINDING, "rebalance signalled")
    assert log.rules(AnswersInTime()) == []


def test_s8_an_answer_on_a_closed_connection_is_late():
    log = joined()
    late = log.sent(BEAT, generation=5)
    log.closed()
    log.answered(BEAT, late, 27)
    log.state(STABLE, FINDING, "rebalance signalled")
    assert log.rules(AnswersInTime()) == ["S8"]


def test_s8_an_answer_to_a_join_that_was_asked_anew_is_late():
    log = Log()
    first = log.sent(JOIN, generation=None)
    log.sent(JOIN, generation=None)
    log.answered(JOIN, first, generation=3, member_id="id")
    log.state(JOINING, MemberState.SYNCING, "joined as follower")
    assert log.rules(AnswersInTime()) == ["S8"]


def test_s8_an_answer_under_a_former_member_id_is_late():
    log = joined()
    late = log.sent(BEAT, generation=5, member_id="former")
    log.answered(BEAT, late, UNKNOWN_MEMBER)
    log.state(STABLE, FINDING, "expelled")
    assert log.rules(AnswersInTime()) == ["S8"]


def test_s8_a_group_that_begins_anew_with_lower_generations_is_no_older_one():
    log = joined(50)
    log.join(1)
    log.enter(1)
    log.beat(27, generation=1)
    log.state(STABLE, FINDING, "rebalance signalled")
    assert log.rules(AnswersInTime()) == []


def test_s8_a_refused_commit_moves_the_member_in_its_own_generation():
    log = joined(5)
    log.answered(COMMIT, log.sent(COMMIT, generation=5), ILLEGAL_GENERATION)
    log.state(STABLE, FINDING, "generation stale")
    assert log.rules(AnswersInTime()) == []


@pytest.mark.parametrize("first", [JOIN, None])
@pytest.mark.parametrize(
    ("after", "refused_in", "found"),
    [
        (MemberState.RELEASING, 5, []),
        (MemberState.LEAVING, 5, []),
        (MemberState.RELEASING, 4, ["S8"]),
        (MemberState.SYNCING, 5, ["S8"]),
    ],
)
def test_s8_a_member_that_closes_while_joining_stays_in_its_generation(
    after: MemberState, refused_in: int, found: list[str], first: ApiKey | None
):
    """The answer to its JoinGroup is not for it any more; that to its commit is."""
    log = joined(5)
    joining, committing = log.sent(JOIN, generation=None), log.sent(COMMIT, generation=refused_in)
    if first is JOIN:
        log.answered(JOIN, joining, generation=6, member_id="id")
    log.state(JOINING, after, "it is told to")
    if first is None:
        log.answered(JOIN, joining, generation=6, member_id="another")
    log.answered(COMMIT, committing, ILLEGAL_GENERATION)
    log.state(after, FINDING, "generation stale")
    assert log.rules(AnswersInTime()) == found


def test_s8_a_commit_refused_in_an_older_generation_that_moves_the_member_is_found():
    log = joined(5)
    late = log.sent(COMMIT, generation=5)
    log.join(6)
    log.enter(6)
    log.answered(COMMIT, late, ILLEGAL_GENERATION)
    log.state(STABLE, FINDING, "generation stale")
    assert log.rules(AnswersInTime()) == ["S8"]


def test_s8_a_round_is_joined_at_the_instant_of_a_late_commit():
    log = joined(5)
    late = log.sent(COMMIT, generation=5)
    log.join(6)
    log.answered(COMMIT, late, ILLEGAL_GENERATION)
    log.state(JOINING, MemberState.SYNCING, "joined as follower")
    assert log.rules(AnswersInTime()) == []


@pytest.mark.parametrize(
    ("before", "late", "cause", "expected"),
    [
        (MemberState.ASSIGNING, BEAT, "retry later", []),
        (MemberState.ASSIGNING, BEAT, "generation stale", ["S8"]),
        (MemberState.ASSIGNING, JOIN, "retry later", ["S8"]),
        (MemberState.SYNCING, BEAT, "retry later", ["S8"]),
    ],
)
def test_s8_a_leader_has_no_metadata_at_the_instant_of_a_late_heartbeat(
    before: MemberState, late: ApiKey, cause: str, expected: list[str]
) -> None:
    """1. A heartbeat is out, and the next round is joined; 2. the assignor finds no metadata, so
    the leader is to try again; 3. the heartbeat is answered at that instant."""
    log = joined(5)
    number = log.sent(late, generation=5)
    log.join(6)
    log.answered(late, number, NOT_COORDINATOR)
    log.state(before, MemberState.BACKING_OFF, cause)
    assert log.rules(AnswersInTime()) == expected


# -- S9 ------------------------------------------------------------------------------------


def test_s9_the_id_is_kept_after_illegal_generation():
    for member_id, expected in (("id", []), (None, ["S9"])):
        log = joined()
        log.beat(ILLEGAL_GENERATION, generation=5)
        log.issue(member_id)
        assert log.rules(MemberIds()) == expected


def test_s9_the_id_is_dropped_after_unknown_member():
    for member_id, expected in ((None, []), ("id", ["S9"])):
        log = joined()
        log.beat(UNKNOWN_MEMBER, generation=5)
        log.issue(member_id)
        assert log.rules(MemberIds()) == expected


def test_s9_a_refusal_of_a_former_id_says_nothing_about_the_present_one():
    log = joined()
    late = log.sent(BEAT, member_id="former")
    log.answered(BEAT, late, UNKNOWN_MEMBER)
    log.issue("id")
    assert log.rules(MemberIds()) == []


def test_s9_a_join_that_gives_an_id_settles_what_was_refused_before():
    log = joined()
    pending = log.sent(JOIN, generation=None)
    log.beat(UNKNOWN_MEMBER, generation=5)
    log.answered(JOIN, pending, generation=6, member_id="id")
    log.issue("id")
    assert log.rules(MemberIds()) == []


def test_s9_a_member_that_left_may_come_back_as_anybody():
    log = joined()
    log.beat(ILLEGAL_GENERATION, generation=5)
    log.sent(ApiKey.LEAVE_GROUP)
    log.issue(None)
    assert log.rules(MemberIds()) == []


def test_s9_a_refused_commit_decides_about_the_id_as_well():
    for member_id, expected in ((None, []), ("id", ["S9"])):
        log = joined()
        log.beat(ILLEGAL_GENERATION, generation=5)
        log.refused_commit(UNKNOWN_MEMBER, generation=5)
        log.issue(member_id)
        assert log.rules(MemberIds()) == expected


def test_s9_a_refused_commit_of_the_round_before_decides_nothing():
    log = joined()
    log.refused_commit(UNKNOWN_MEMBER, generation=4)
    log.issue("id")
    assert log.rules(MemberIds()) == []


def test_s9_a_generation_refused_after_the_next_was_joined_decides_nothing():
    # 1. a heartbeat is out; 2. the next round is joined; 3. the heartbeat is refused; 4. the
    # member is removed, and a commit hears of it.
    for generation, expected in ((5, []), (6, ["S9"])):
        log = joined(5)
        late = log.sent(BEAT, generation=generation)
        log.join(6)
        log.answered(BEAT, late, ILLEGAL_GENERATION)
        log.answered(COMMIT, log.sent(COMMIT, generation=6))
        log.issue(None)
        assert log.rules(MemberIds()) == expected


@pytest.mark.parametrize(
    "out",
    [MemberState.UNSUBSCRIBED, MemberState.LEAVING, MemberState.LEFT, MemberState.DORMANT],
)
def test_s9_a_member_out_of_the_group_may_come_back_as_anybody(out):
    log = joined()
    log.beat(ILLEGAL_GENERATION, generation=5)
    log.state(MemberState.LEAVING, out, "leave ended")
    log.issue(None)
    assert log.rules(MemberIds()) == []


def test_s9_the_late_answer_to_a_join_given_up_gives_nobody_an_id():
    log = joined()
    late = log.sent(JOIN)
    log.state(JOINING, MemberState.DORMANT, "poll interval over")
    beat = log.sent(BEAT, generation=5)
    log.answered(JOIN, late, generation=6, member_id="id")
    log.answered(BEAT, beat, UNKNOWN_MEMBER)
    log.issue("id")
    assert log.rules(MemberIds()) == []


# -- T3 ------------------------------------------------------------------------------------


def leader_named(log: Log, *, leader: str, skip: bool | None = None) -> None:
    number = log.sent(JOIN, generation=None)
    log.write(
        AnswerReceived(
            connection=1,
            correlation_id=number,
            api=JOIN,
            version=9,
            error=0,
            generation_id=5,
            member_id="id",
            leader=leader,
            skip_assignment=skip,
        )
    )


def test_t3_a_leader_assigns_and_a_follower_sends_an_empty_sync():
    for leader, assignments in (("id", 3), ("other", 0)):
        log = Log()
        leader_named(log, leader=leader, skip=False)
        log.sent(SYNC, generation=5, assignments=assignments)
        log.enter(5, leader=leader == "id")
        assert log.rules(OnlyLeadersAssign()) == []


def test_t3_a_leader_that_is_to_skip_the_assignment_leads_but_sends_none():
    for assignments, expected in ((0, []), (3, ["T3"])):
        log = Log()
        leader_named(log, leader="id", skip=True)
        log.sent(SYNC, generation=5, assignments=assignments)
        log.enter(5, leader=True)
        assert log.rules(OnlyLeadersAssign()) == expected


def test_t3_a_restarted_leader_that_hears_its_former_id_and_assigns_is_found():
    log = Log()
    leader_named(log, leader="former id")
    log.sent(SYNC, generation=5, assignments=3)
    assert log.rules(OnlyLeadersAssign()) == ["T3"]


def test_t3_a_follower_that_counts_as_leader_is_found():
    log = Log()
    leader_named(log, leader="former id")
    log.enter(5, leader=True)
    assert log.rules(OnlyLeadersAssign()) == ["T3"]


def test_t3_without_the_leaders_id_nothing_is_judged():
    log = joined()
    log.sent(SYNC, generation=5, assignments=3)
    log.enter(5, leader=True)
    assert log.rules(OnlyLeadersAssign()) == []
