from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.audit import ProblemKind, Truth, Verdict, audit_entries
from kgroup.audit.oracles import at_least_once
from kgroup.journal import (
    BadLine,
    CommitStage,
    Delivered,
    Entry,
    OffsetRead,
    PositionMove,
    PositionMoved,
    UnknownEvent,
)
from kgroup.types import TopicPartition
from tests.audit.histories import History, Writer, good_history, one_member, tp
from tests.audit.runs import (
    Mutation,
    RandomRun,
    deliver_after_the_end,
    double_one_delivery,
    own_at_once,
    remove_one_record,
    stamped,
    swap_two_deliveries,
    truth,
)

MUTATIONS: dict[Callable[[list[Entry], Random], list[Entry]], ProblemKind] = {
    remove_one_record: ProblemKind.LOST,
    double_one_delivery: ProblemKind.DUPLICATED,
    deliver_after_the_end: ProblemKind.NOT_OWNED,
    own_at_once: ProblemKind.TWO_OWNERS,
    swap_two_deliveries: ProblemKind.OUT_OF_ORDER,
}
BOUNDS = {tp(0): (0, 32), tp(1): (0, 15), tp(2): (0, 20)}


def kinds(verdict: Verdict) -> set[ProblemKind]:
    return {problem.kind for problem in verdict.problems}


def judged(history: History, *, ends: dict[int, int] | None = None) -> Verdict:
    found = Truth(bounds={tp(p): (0, end) for p, end in (ends or {}).items()})
    return audit_entries(history.entries, found)


def row(verdict: Verdict, partition: int):
    return next(row for row in verdict.partitions if row.tp == tp(partition))


def test_a_good_run_with_a_kill_is_clean_and_its_repetitions_are_counted():
    verdict = audit_entries(good_history().entries, Truth(bounds=BOUNDS))
    assert verdict.clean
    assert (verdict.total.duplicated, verdict.total.beyond_commit) == (7, 0)
    assert (verdict.total.records, verdict.total.end) == (74, 67)


def test_a_good_run_is_clean_by_every_other_oracle_too():
    assert audit_entries(good_history().entries, oracles=at_least_once()).clean


def test_a_killed_member_ends_by_its_last_entry_and_the_note_says_which():
    verdict = audit_entries(good_history().entries)
    (note,) = (note for note in verdict.notes if "SIGKILL" in note)
    assert "a@1 never ended t-0#1" in note
    assert "taken over at b-1.jsonl:" in note


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(0, 60))
def test_random_good_runs_are_clean(seed: int, steps: int):
    entries = RandomRun(Random(seed)).go(steps)
    assert audit_entries(entries, truth(entries)).problems == ()


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS)
@given(st.integers(0, 2**32), st.integers(0, 60))
def test_one_mutation_of_a_random_good_run_is_found(mutation: Mutation, seed: int, steps: int):
    random = Random(seed)
    entries = RandomRun(random).go(steps)
    verdict = audit_entries(mutation(entries, random), truth(entries))
    assert MUTATIONS[mutation] in kinds(verdict)
    assert all(problem.lines for problem in verdict.problems)


def test_one_lost_record_is_named_with_the_lines_around_it():
    history, member = one_member(0)
    before = member.deliver(0, 5)
    member.positions[tp(0)] = 6
    after = member.deliver(0, 4)
    (problem,) = judged(history, ends={0: 10}).problems
    assert (problem.kind, problem.tp, problem.count) == (ProblemKind.LOST, tp(0), 1)
    assert "5-5" in problem.text
    assert problem.lines == (before.where, after.where)


def test_a_record_missing_inside_a_delivery_is_found():
    history, member = one_member(0)
    member.write(Delivered(member.claims[tp(0)], 0, 9, 9))
    verdict = judged(history, ends={0: 10})
    assert (kinds(verdict), row(verdict, 0).lost) == ({ProblemKind.LOST}, 1)


def test_records_at_the_end_of_the_log_are_lost_when_the_broker_has_them():
    history, member = one_member(0)
    member.deliver(0, 5)
    assert judged(history).clean
    verdict = judged(history, ends={0: 7})
    assert (kinds(verdict), row(verdict, 0).lost) == ({ProblemKind.LOST}, 2)


def test_a_verdict_without_a_brokers_word_says_what_it_cannot_see():
    history, member = one_member(0)
    member.deliver(0, 5)
    assert not judged(history).broker_asked
    assert judged(history, ends={0: 5}).broker_asked


def test_a_partition_that_nobody_was_given_is_lost():
    history, member = one_member(0)
    member.deliver(0, 5)
    verdict = judged(history, ends={0: 5, 1: 3})
    assert (kinds(verdict), row(verdict, 1).lost) == ({ProblemKind.LOST}, 3)


def test_a_commit_beyond_what_was_delivered_is_a_loss_even_without_a_broker():
    history, member = one_member(0)
    member.deliver(0, 5)
    member.positions[tp(0)] = 8
    member.commit(0)
    assert row(judged(history), 0).lost == 3


def test_a_group_that_begins_late_has_lost_nothing_before():
    history, member = one_member()
    member.assign(0, offset=100)
    member.deliver(0, 5)
    verdict = judged(history, ends={0: 105})
    assert (verdict.clean, row(verdict, 0).start) == (True, 100)


def test_what_the_reset_policy_or_a_seek_went_over_is_not_lost():
    history, member = one_member()
    member.assign(0)
    claim = member.claims[tp(0)]
    member.write(OffsetRead(claim, None, 1))
    member.write(PositionMoved(claim, 10, PositionMove.RESET))
    member.positions[tp(0)] = 10
    member.deliver(0, 5)
    member.write(PositionMoved(claim, 20, PositionMove.SEEK))
    member.positions[tp(0)] = 20
    member.deliver(0, 5)
    assert judged(history, ends={0: 25}).clean


def test_a_seek_back_repeats_on_purpose():
    history, member = one_member(0)
    member.deliver(0, 5)
    member.write(PositionMoved(member.claims[tp(0)], 0, PositionMove.SEEK))
    member.positions[tp(0)] = 0
    member.deliver(0, 5)
    verdict = judged(history, ends={0: 5})
    assert (verdict.clean, row(verdict, 0).duplicated) == (True, 5)


def takeover(offset: int, *, killed: bool) -> tuple[History, Writer]:
    history, a = one_member(0)
    a.deliver(0, 10)
    a.commit(0)
    a.deliver(0, 5)
    if not killed:
        a.revoke(0)
    b = history.member("b")
    b.enter(2, 0)
    b.assign(0, offset=offset)
    b.deliver(0, 15 - offset)
    return history, b


def test_repetitions_after_a_kill_within_the_last_commit_are_reported_and_no_failure():
    verdict = judged(takeover(10, killed=True)[0], ends={0: 15})
    assert (verdict.clean, row(verdict, 0).duplicated, row(verdict, 0).beyond_commit) == (
        True,
        5,
        0,
    )


def test_repetitions_below_the_last_acknowledged_commit_are_a_failure():
    verdict = judged(takeover(7, killed=True)[0], ends={0: 15})
    assert (row(verdict, 0).duplicated, row(verdict, 0).beyond_commit) == (8, 3)
    (problem,) = verdict.problems
    assert (problem.kind, problem.count) == (ProblemKind.DUPLICATED, 3)


def test_a_commit_that_a_killed_member_never_saw_answered_does_not_count():
    history, a = one_member(0)
    a.deliver(0, 10)
    a.commit(0, stage=None)
    b = history.member("b")
    b.enter(2, 0)
    b.assign(0, offset=0)
    b.deliver(0, 10)
    assert judged(history, ends={0: 10}).clean


def test_repetitions_after_a_clean_handover_are_a_failure_unless_the_application_commits_by_hand():
    history, _ = takeover(10, killed=False)
    assert kinds(judged(history)) == {ProblemKind.DUPLICATED}
    assert audit_entries(history.entries, clean_handover=False).clean


def test_repetitions_after_a_failed_commit_are_no_failure():
    history, a = one_member(0)
    a.deliver(0, 10)
    a.commit(0, stage=CommitStage.ERROR)
    a.revoke(0)
    b = history.member("b")
    b.enter(2, 0)
    b.assign(0, offset=0)
    b.deliver(0, 10)
    assert judged(history).clean


def test_offsets_that_consumers_cannot_see_are_no_loss_where_the_caller_says_so():
    history, member = one_member(0)
    member.deliver(0, 5)
    member.positions[tp(0)] = 6
    member.write(Delivered(member.claims[tp(0)], 6, 9, 3))
    bounds = {tp(0): (0, 11)}
    sparse = Truth(bounds=bounds, sparse=frozenset({"t"}))
    assert audit_entries(history.entries, sparse).clean
    assert kinds(audit_entries(history.entries, Truth(bounds=bounds))) == {
        ProblemKind.LOST,
    }


def test_what_producers_had_acknowledged_is_judged_when_it_is_given():
    history, member = one_member(0)
    member.deliver(0, 5)
    member.positions[tp(0)] = 6
    member.deliver(0, 4)
    bounds = {tp(0): (0, 11)}
    fine = Truth(bounds=bounds, produced={tp(0): ((0, 5), (6, 10))})
    assert audit_entries(history.entries, fine).clean
    lost = Truth(bounds=bounds, produced={tp(0): ((0, 10),)})
    assert row(audit_entries(history.entries, lost), 0).lost == 1


def test_an_unreadable_line_is_a_problem_and_a_cut_one_is_not():
    history, member = one_member(0)
    member.deliver(0, 5)
    cut = audit_entries([*history.entries, BadLine("a:9", "not JSON", cut=True)])
    assert cut.clean
    assert any("a:9" in note for note in cut.notes)
    (problem,) = audit_entries([*history.entries, BadLine("a:9", "not JSON")]).problems
    assert (problem.kind, problem.lines) == (ProblemKind.UNREADABLE, ("a:9",))


def test_a_missing_entry_makes_the_log_incomplete():
    history, member = one_member(0)
    member.deliver(0, 5)
    verdict = audit_entries([e for e in history.entries if e.event.KIND != "poll"])
    assert kinds(verdict) == {ProblemKind.INCOMPLETE}


def test_logs_without_a_delivery_prove_nothing():
    history, _ = one_member(0)
    assert kinds(audit_entries(history.entries)) == {ProblemKind.EMPTY}
    assert kinds(audit_entries([])) == {ProblemKind.EMPTY}


def test_logs_of_several_groups_are_refused_unless_one_is_named():
    history, member = one_member(0)
    member.deliver(0, 5)
    other = [
        Entry(
            source=type(e.source)(host="h", process="9", member="z", group="other"),
            seq=e.seq,
            at=e.at,
            wall=e.wall,
            event=e.event,
        )
        for e in history.entries
    ]
    assert ProblemKind.INCOMPLETE in kinds(audit_entries([*history.entries, *other]))
    assert audit_entries([*history.entries, *other], group="g").clean


def test_events_of_a_later_vocabulary_are_noted():
    history, member = one_member(0)
    member.deliver(0, 5)
    member.write(UnknownEvent("teleported"))
    verdict = audit_entries(history.entries)
    assert verdict.clean
    assert any("teleported" in note for note in verdict.notes)


def test_a_run_that_is_broken_ten_thousand_times_has_one_problem_with_a_count():
    history, member = one_member(0)
    member.revoke(0)
    member.assign(0, offset=0)
    claim = member.claims[tp(0)]
    member.revoke(0)
    for offset in range(1000):
        member.write(Delivered(claim, offset, offset, 1))
    (problem,) = judged(history).problems
    assert (problem.kind, problem.count) == (ProblemKind.NOT_OWNED, 1000)
    assert len(problem.lines) <= 6


def test_a_violation_of_a_further_oracle_is_a_problem_with_its_rule():
    history, member = one_member(0)
    member.deliver(0, 5)
    for member.positions[tp(0)] in (5, 2):
        member.commit(0)
    (found,) = audit_entries(history.entries, oracles=at_least_once()).problems
    assert (found.kind, found.rule) == (ProblemKind.BROKEN_PROMISE, "C3")


def test_the_longest_silence_is_split_into_partitions_that_moved_and_that_stayed():
    history, a = one_member(0, 1)
    for partition in (0, 1):
        a.deliver(partition, 5)
    history.wait(3.0)
    b = history.member("b")
    b.start()
    a.commit(1)
    a.revoke(1)
    history.wait(1.0)
    a.deliver(0, 5)
    b.enter(2, 1)
    b.assign(1, offset=5)
    history.wait(1.0)
    b.deliver(1, 5)
    a.deliver(0, 5)
    verdict = judged(history)
    assert verdict.clean
    assert verdict.total.silence_moved == pytest.approx(5.0, abs=0.1)
    assert verdict.total.silence_stayed == pytest.approx(4.0, abs=0.1)
    assert row(verdict, 1).silence_stayed is None
    start, rebalance = verdict.rebalances
    assert (rebalance.moved, rebalance.stayed) == ((tp(1),), (tp(0),))
    assert rebalance.silence_moved == pytest.approx(5.0, abs=0.1)
    assert rebalance.silence_stayed == pytest.approx(4.0, abs=0.1)
    assert start.generations == (1,)
    assert rebalance.causes == ("b started",)


def test_a_killed_members_silence_belongs_to_the_rebalance_that_follows_and_to_no_other():
    history, a = one_member(0)
    a.deliver(0, 5)
    history.wait(5.0)
    a.deliver(0, 5)
    b = history.member("b")
    b.start()
    b.enter(2)
    history.wait(3.0)
    a.deliver(0, 5)
    history.fault("SIGKILL", "a")
    history.wait(6.0)
    b.enter(3, 0)
    b.assign(0, offset=0)
    b.deliver(0, 15)
    _, joined, killed = judged(history).rebalances
    assert joined.silence_stayed == pytest.approx(3.0, abs=0.1)
    assert killed.silence_moved == pytest.approx(6.0, abs=0.1)
    assert killed.causes == ("SIGKILL of a",)


def test_memory_does_not_grow_with_records():
    history, member = one_member(0)
    entries = list(history.entries)
    claim = member.claims[tp(0)]
    entries.extend(
        Entry(
            source=member.source,
            seq=member.seq + 1 + n,
            at=200.0 + n,
            wall=0.0,
            event=Delivered(claim, 10 * n, 10 * n + 9, 10),
        )
        for n in range(20_000)
    )
    verdict = audit_entries(iter(entries), Truth(bounds={TopicPartition("t", 0): (0, 200_000)}))
    assert verdict.clean
    assert verdict.total.records == 200_000


def test_stamping_anew_keeps_a_good_history_good():
    assert audit_entries(stamped(good_history().entries)).clean
