"""The commits of one member that wait: what is sent, what is sent again, and its outcomes."""

import copy

from kgroup.codes import ErrorCode
from kgroup.journal import CommitStage, CommitStep
from kgroup.machine.commit_queue import CommitVerdict
from kgroup.membership.events import EnforceRebalance, Tick
from kgroup.types import Claim, CommitStatus, MemberState, OffsetAndMetadata, TopicPartition
from kgroup.wire.messages import JoinGroupRequest, OffsetCommitResponse
from tests.membership.driver import NODE, partitions
from tests.membership.pending import TIMEOUT, PendingQueue, offsets, status

STALE, REBALANCING = ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS
LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
MOVED, NOT_THERE = ErrorCode.NOT_COORDINATOR, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
_OK, _ERROR, _UNKNOWN = CommitStage.OK, CommitStage.ERROR, CommitStage.UNKNOWN
_ASKED = CommitStage.REQUESTED


# -- what is sent -------------------------------------------------------------------------------


def test_nothing_is_sent_while_nothing_waits() -> None:
    assert PendingQueue().next() is None


def test_a_request_goes_to_the_coordinator_with_the_generation_of_its_moment() -> None:
    queue = PendingQueue()
    queue.submit(t_0=5)
    queue.driven.on(Tick(), after=1.0)
    flight = queue.send()
    assert (flight.node_id, flight.generation) == (NODE, queue.driven.member.identity.generation)
    assert flight.request.generation_id_or_member_epoch == 1
    assert (flight.request.member_id, flight.request.group_id) == ("m-1", "g")


def test_one_request_is_in_flight() -> None:
    queue = PendingQueue()
    queue.submit(t_0=5)
    first = queue.send()
    queue.submit(t_1=7)
    assert queue.next() is None
    assert queue.pending.in_flight is first
    queue.answer(first)
    assert offsets(queue.send()) == {"t-1": 7}


def test_the_newest_offset_of_a_partition_wins() -> None:
    queue = PendingQueue()
    first, second = queue.submit(t_0=5, t_1=1), queue.submit(t_0=4)
    flight = queue.send()
    assert offsets(flight) == {"t-0": 4, "t-1": 1}
    queue.answer(flight)
    assert [each.outcome.ok for each in (first, second)] == [True, True]
    assert first.outcome.partitions[TopicPartition("t", 0)].offset == OffsetAndMetadata(5)
    assert queue.next() is None


def test_what_is_tried_again_does_not_overtake_what_came_later() -> None:
    queue = PendingQueue()
    queue.submit(t_0=5)
    flight = queue.send()
    queue.submit(t_0=6)
    assert queue.answer(flight, t_0=MOVED).again
    assert queue.next() is None, "the coordinator is not known"
    queue.driven.on(Tick(), after=queue.driven.deadline - queue.driven.now)
    queue.driven.found()
    assert offsets(queue.send()) == {"t-0": 6}


def test_what_had_no_connection_waits_for_the_next_request() -> None:
    queue = PendingQueue()
    asked = queue.submit(t_0=5)
    queue.pending.not_connected(queue.send())
    assert not asked.done
    assert offsets(queue.send()) == {"t-0": 5}


def test_what_had_no_connection_until_its_deadline_says_that_no_coordinator_was_there() -> None:
    queue = PendingQueue()
    asked = queue.submit(t_0=5)
    queue.pending.not_connected(queue.send())
    queue.expire(after=TIMEOUT)
    (outcome,) = asked.outcome.partitions.values()
    assert (outcome.status, outcome.code) == (
        CommitStatus.REFUSED,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    )


def test_an_answer_decides_nothing_that_was_submitted_after_its_request() -> None:
    queue = PendingQueue()
    queue.submit(t_0=5)
    first = queue.send()
    later = queue.submit(t_0=6)
    queue.answer(first)
    assert not later.done
    flight = queue.send()
    latest = queue.submit(t_0=7)
    queue.fail(flight)
    assert (status(later), latest.done) == (CommitStatus.UNKNOWN, False)
    assert offsets(queue.send()) == {"t-0": 7}


def test_nothing_is_sent_while_the_coordinator_would_take_nothing() -> None:
    queue = PendingQueue()
    queue.submit(t_0=5)
    queue.driven.lead_again(2)
    queue.driven.expect(MemberState.ASSIGNING)
    assert queue.next() is None


def test_a_commit_under_an_ended_claim_is_refused_and_nothing_is_sent() -> None:
    queue = PendingQueue()
    over = Claim(queue.claims["t-0"].tp, 99)
    submission = queue.submit_claims({over: 5})
    assert submission.done
    assert status(submission) is CommitStatus.REFUSED
    assert queue.reported() == [1]
    assert queue.steps() == [(1, _ERROR, 5, 1)], "it was never asked for"
    assert queue.next() is None


def test_a_claim_that_ends_while_its_commit_waits_is_not_committed() -> None:
    queue = PendingQueue()
    queue.submit(t_0=5)
    flight = queue.send()
    later = queue.submit(t_0=6)
    queue.lose_everything()
    assert queue.next() is None
    assert status(later) is CommitStatus.REFUSED
    queue.answer(flight)
    assert queue.reported() == [1, 2]


# -- what is sent again -------------------------------------------------------------------------


def test_what_is_refused_while_rebalancing_is_sent_again_in_the_new_generation() -> None:
    queue = PendingQueue()
    submission = queue.submit(t_0=5)
    joins = len(queue.driven.sent(JoinGroupRequest))
    verdict = queue.answer(queue.send(), t_0=REBALANCING)
    assert verdict.again
    assert len(queue.driven.sent(JoinGroupRequest)) == joins + 1, "the membership has heard of it"
    queue.driven.round("t-0", "t-1", generation=2)
    flight = queue.send()
    assert (offsets(flight), flight.request.generation_id_or_member_epoch) == ({"t-0": 5}, 2)
    queue.answer(flight)
    assert submission.outcome.ok
    assert queue.steps() == [(1, _ASKED, 5, 1), (1, _OK, 5, 2)]


def test_a_commit_that_a_round_overtook_is_sent_again_while_its_claim_holds() -> None:
    queue = PendingQueue()
    kept, taken = queue.submit(t_0=5), queue.submit(t_1=7)
    overtaken = queue.send()
    queue.driven.on(EnforceRebalance("x"))
    queue.driven.round("t-0", generation=2)
    queue.answer(overtaken, t_0=STALE, t_1=STALE)
    assert status(taken, "t-1") is CommitStatus.REFUSED
    again = queue.send()
    assert (offsets(again), again.generation.generation_id) == ({"t-0": 5}, 2)
    queue.answer(again)
    assert kept.outcome.ok


def test_a_refused_commit_whose_claim_ends_tells_what_the_coordinator_said() -> None:
    queue = PendingQueue()
    submission = queue.submit(t_0=5)
    queue.answer(queue.send(), t_0=REBALANCING)
    queue.lose_everything()
    queue.expire()
    (outcome,) = submission.outcome.partitions.values()
    assert (outcome.status, outcome.code) == (CommitStatus.REFUSED, REBALANCING)


def test_a_generation_that_is_lost_takes_its_commits_with_it() -> None:
    queue = PendingQueue()
    submission = queue.submit(t_0=5)
    queue.answer(queue.send(), t_0=ErrorCode.UNKNOWN_MEMBER_ID)
    assert status(submission) is CommitStatus.REFUSED
    assert queue.next() is None


def test_an_unknown_outcome_is_never_tried_again() -> None:
    queue = PendingQueue()
    submission = queue.submit(t_0=5)
    queue.fail(queue.send())
    assert status(submission) is CommitStatus.UNKNOWN
    assert queue.next() is None
    assert queue.steps() == [(1, _ASKED, 5, 1), (1, _UNKNOWN, 5, 1)]


def test_a_partition_the_answer_leaves_out_is_unknown() -> None:
    queue = PendingQueue()
    submission = queue.submit(t_0=5)
    verdict = queue.pending.answered(
        queue.send(), OffsetCommitResponse(topics=()), queue.driven.member
    )
    assert (verdict.again, status(submission)) == (False, CommitStatus.UNKNOWN)
    assert queue.reported() == [1]


def test_what_could_not_be_written_is_refused() -> None:
    queue = PendingQueue()
    submission = queue.submit(t_0=5)
    queue.pending.not_sent(queue.send(), "no version has it", queue.driven.member)
    (outcome,) = submission.outcome.partitions.values()
    assert (outcome.status, outcome.reason) == (CommitStatus.REFUSED, "no version has it")
    assert queue.reported() == [1]


def test_an_answer_after_the_failure_changes_nothing() -> None:
    queue = PendingQueue()
    submission = queue.submit(t_0=5)
    late = queue.send()
    queue.fail(late)
    queue.submit(t_0=6)
    flight = queue.send()
    assert queue.answer(late, t_0=REBALANCING) == CommitVerdict()
    queue.fail(late)
    assert status(submission) is CommitStatus.UNKNOWN
    assert queue.pending.in_flight is flight


def test_what_the_coordinator_does_not_know_waits_until_it_is_known_to_be_deleted() -> None:
    queue = PendingQueue()
    submission = queue.submit(t_0=5)
    verdict = queue.answer(queue.send(), t_0=NOT_THERE)
    assert (verdict.again, verdict.not_there, submission.done) == (True, True, False)
    queue.gone = partitions("t-0")
    assert queue.next() is None
    (outcome,) = submission.outcome.partitions.values()
    assert (outcome.status, outcome.code) == (CommitStatus.REFUSED, NOT_THERE)


def test_a_deleted_partition_nobody_has_answered_about_is_asked_for() -> None:
    queue = PendingQueue()
    queue.submit(t_0=5)
    queue.gone = partitions("t-0")
    assert offsets(queue.send()) == {"t-0": 5}


# -- what ends waiting --------------------------------------------------------------------------


def test_what_cannot_be_sent_is_refused_at_its_deadline() -> None:
    queue = PendingQueue()
    early = queue.submit(t_0=5)
    queue.answer(queue.send(), t_0=MOVED)
    queue.expire(after=TIMEOUT - 1.0)
    late = queue.submit(t_1=7)
    assert not early.done
    queue.expire(after=1.0)
    (outcome,) = early.outcome.partitions.values()
    assert (outcome.status, outcome.code) == (CommitStatus.REFUSED, MOVED)
    assert not late.done


def test_what_is_in_flight_is_left_to_its_answer_past_the_deadline() -> None:
    queue = PendingQueue()
    submission = queue.submit(t_0=5)
    flight = queue.send()
    queue.expire(after=TIMEOUT)
    assert not submission.done
    queue.answer(flight)
    assert submission.outcome.ok


def test_what_waits_for_another_try_is_answered_when_its_partition_is_given_up() -> None:
    queue = PendingQueue()
    queue.submit(t_0=5, t_1=1)
    queue.answer(queue.send(), t_0=LOADING, t_1=LOADING)
    queue.pending.end((queue.claims["t-0"],), queue.driven.member)
    steps = queue.pending.take_steps()[2:]
    assert [(each.stage, str(each.claim.tp), each.code) for each in steps] == [
        (_ERROR, "t-0", LOADING)
    ]
    assert offsets(queue.send()) == {"t-1": 1}


def test_what_is_in_flight_when_its_partition_is_given_up_is_unknown_and_stays_so() -> None:
    queue = PendingQueue()
    given_up, kept = queue.submit(t_0=5), queue.submit(t_1=7)
    flight = queue.send()
    later = queue.submit(t_0=6)
    queue.pending.end((queue.claims["t-0"],), queue.driven.member)
    assert (status(given_up), status(later)) == (CommitStatus.UNKNOWN, CommitStatus.REFUSED)
    assert queue.pending.in_flight is flight, "its answer tells of the others"
    queue.answer(flight)
    assert status(given_up) is CommitStatus.UNKNOWN
    assert kept.outcome.ok


def test_giving_up_refuses_what_waits_and_does_not_know_of_what_is_in_flight() -> None:
    queue = PendingQueue()
    first = queue.submit(t_0=5)
    flight = queue.send()
    second = queue.submit(t_1=7)
    queue.pending.give_up("the member has left", queue.driven.member)
    assert status(first) is CommitStatus.UNKNOWN
    assert status(second, "t-1") is CommitStatus.REFUSED
    assert queue.reported() == [1, 2]
    assert queue.answer(flight) == CommitVerdict()


def test_what_is_submitted_after_giving_up_is_refused_with_the_reason() -> None:
    queue = PendingQueue()
    queue.pending.give_up("the member has left", queue.driven.member)
    submission = queue.submit(t_0=5)
    (outcome,) = submission.outcome.partitions.values()
    assert (outcome.status, outcome.reason) == (CommitStatus.REFUSED, "the member has left")
    assert queue.reported() == [1]
    assert queue.next() is None


# -- outcomes -----------------------------------------------------------------------------------


def test_outcomes_are_reported_in_order_of_submission() -> None:
    queue = PendingQueue()
    queue.submit(t_0=1, t_1=1)
    queue.submit(t_0=2)
    queue.submit_claims({Claim(TopicPartition("t", 3), 99): 3})
    queue.answer(queue.send(), t_1=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert queue.reported() == [], "the first of them is not done"
    queue.answer(queue.send())
    assert queue.reported() == [1, 2, 3]
    assert queue.pending.waiting == ()


def test_nothing_submitted_is_done_at_once_in_its_turn() -> None:
    queue = PendingQueue()
    queue.submit(t_0=1)
    assert queue.submit().done
    assert queue.reported() == []
    queue.answer(queue.send())
    assert queue.reported() == [1, 2]


def test_one_refused_partition_does_not_hide_the_others() -> None:
    queue = PendingQueue()
    submission = queue.submit(t_0=5, t_1=7)
    verdict = queue.answer(queue.send(), t_1=ErrorCode.OFFSET_METADATA_TOO_LARGE)
    assert verdict == CommitVerdict()
    assert status(submission, "t-0") is CommitStatus.COMMITTED
    assert status(submission, "t-1") is CommitStatus.REFUSED


def test_each_step_is_reported_once_and_names_what_was_submitted() -> None:
    queue = PendingQueue()
    queue.submit(t_0=5, t_1=1)
    queue.submit(t_0=6)
    queue.answer(queue.send(), t_1=ErrorCode.OFFSET_METADATA_TOO_LARGE)
    steps = queue.pending.take_steps()
    assert queue.pending.take_steps() == ()
    assert [(each.commit_id, each.stage, each.offset) for each in steps] == [
        (1, _ASKED, 5),
        (1, _ASKED, 1),
        (2, _ASKED, 6),
        (1, _OK, 5),
        (1, _ERROR, 1),
        (2, _OK, 6),
    ]
    assert steps[4] == CommitStep(
        stage=_ERROR,
        commit_id=1,
        claim=queue.claims["t-1"],
        offset=1,
        member_id="m-1",
        generation_id=1,
        code=ErrorCode.OFFSET_METADATA_TOO_LARGE,
    )


def test_a_copy_goes_its_own_way() -> None:
    queue = PendingQueue()
    submission = queue.submit(t_0=5)
    flight = queue.send()
    other = copy.deepcopy(queue.pending)
    other.failed(flight, "the connection broke", queue.driven.member)
    assert [status(each) for each in other.take_done()] == [CommitStatus.UNKNOWN]
    queue.answer(flight)
    assert (status(submission), queue.reported()) == (CommitStatus.COMMITTED, [1])
