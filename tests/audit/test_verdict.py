import json
from pathlib import Path
from random import Random

import pytest

from kgroup.audit import Truth, audit, audit_entries, render_verdict, verdict_json
from tests.audit.histories import good_history, one_member, tp
from tests.audit.runs import (
    deliver_after_the_end,
    double_one_delivery,
    own_at_once,
    remove_one_record,
    swap_two_deliveries,
    truth,
    write_logs,
)

BOUNDS = {tp(0): (0, 32), tp(1): (0, 15), tp(2): (0, 20)}


def test_a_verdict_over_files_says_the_same_as_one_over_entries(tmp_path: Path):
    entries = good_history().entries
    write_logs(tmp_path, entries)
    from_files = audit([tmp_path / "*.jsonl"], Truth(bounds=BOUNDS))
    assert from_files.clean
    from_entries = audit_entries(entries, Truth(bounds=BOUNDS))
    assert (
        render_verdict(from_files).splitlines()[:6] == render_verdict(from_entries).splitlines()[:6]
    )


@pytest.mark.parametrize(
    "mutation",
    [
        remove_one_record,
        double_one_delivery,
        deliver_after_the_end,
        own_at_once,
        swap_two_deliveries,
    ],
)
def test_a_broken_log_on_disk_turns_the_verdict_red_and_names_lines(tmp_path: Path, mutation):
    entries = good_history().entries
    write_logs(tmp_path, mutation(entries, Random(7)))
    verdict = audit([tmp_path / "*.jsonl"], truth(entries))
    assert not verdict.clean
    for problem in verdict.problems:
        for line in problem.lines:
            file, number = line.rsplit(":", 1)
            assert len(Path(file).read_text().splitlines()) >= int(number)


def test_a_log_that_a_kill_cut_in_mid_line_is_still_clean(tmp_path: Path):
    write_logs(tmp_path, good_history().entries)
    with (tmp_path / "a-1.jsonl").open("a") as log:
        log.write('{"v":1,"host":"h"')
    assert audit([tmp_path / "*.jsonl"], Truth(bounds=BOUNDS)).clean


def test_the_json_form_holds_everything_and_survives_json():
    verdict = audit_entries(good_history().entries, Truth(bounds=BOUNDS))
    form = json.loads(json.dumps(verdict_json(verdict)))
    assert form["clean"] is True
    assert [row["lost"] for row in form["partitions"]] == [0, 0, 0]
    assert form["total"]["duplicated"] == 7
    assert form["rebalances"][-1]["generations"] == [4]


def test_the_table_of_a_clean_run_ends_with_the_word():
    verdict = audit_entries(good_history().entries, Truth(bounds=BOUNDS))
    *_, word = render_verdict(verdict).splitlines()
    assert word == (
        "CLEAN: 67 records of 3 partitions delivered, 0 lost, "
        "7 delivered again within the last commit"
    )


def test_a_verdict_says_beside_the_word_that_no_broker_was_asked():
    verdict = audit_entries(good_history().entries)
    *_, word = render_verdict(verdict).splitlines()
    assert word.startswith("CLEAN as far as the logs say (no broker was asked where partitions end")
    assert verdict_json(verdict)["broker_asked"] is False


def test_the_table_of_a_broken_run_names_partition_problem_and_lines():
    history, member = one_member(0)
    member.deliver(0, 5)
    text = render_verdict(audit_entries(history.entries, Truth(bounds={tp(0): (0, 9)})))
    assert "PROBLEM lost t-0, 4x: 4 of the offsets 0-8 were never delivered: 5-8" in text
    assert "\n    a-1.jsonl:" in text
    assert text.splitlines()[-1] == "NOT CLEAN: 1 problems (lost)"
