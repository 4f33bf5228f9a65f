from pathlib import Path
from random import Random

import pytest

from kgroup.audit import ProblemKind
from kgroup.demo.runner import exit_code, judge_run
from tests.audit.histories import good_history
from tests.audit.runs import (
    Mutation,
    deliver_after_the_end,
    double_one_delivery,
    remove_one_record,
    stamped,
    truth,
    write_logs,
)


def test_a_good_run_is_green_and_exits_with_0(tmp_path: Path):
    entries = good_history().entries
    write_logs(tmp_path, entries)
    verdict = judge_run(tmp_path, truth(entries).bounds)
    assert verdict.problems == ()
    assert exit_code(verdict) == 0


@pytest.mark.parametrize(
    ("mutation", "kind"),
    [
        (remove_one_record, ProblemKind.LOST),
        (double_one_delivery, ProblemKind.DUPLICATED),
        (deliver_after_the_end, ProblemKind.NOT_OWNED),
    ],
)
def test_a_broken_run_is_red_and_exits_with_1(
    tmp_path: Path, mutation: Mutation, kind: ProblemKind
):
    entries = stamped(good_history().entries)
    write_logs(tmp_path, mutation(entries, Random(3)))
    verdict = judge_run(tmp_path, truth(entries).bounds)
    assert kind in {problem.kind for problem in verdict.problems}
    assert exit_code(verdict) == 1


def test_records_the_broker_has_and_nobody_read_are_red(tmp_path: Path):
    entries = good_history().entries
    write_logs(tmp_path, entries)
    bounds = {tp: (start, end + 1) for tp, (start, end) in truth(entries).bounds.items()}
    assert exit_code(judge_run(tmp_path, bounds)) == 1


def test_a_run_without_logs_is_an_error(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        judge_run(tmp_path, {})
