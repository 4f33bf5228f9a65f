"""`kgroup audit`: green and red, for people and for programs."""

import json
from pathlib import Path
from random import Random

import pytest

from kgroup.cli import main
from tests.audit.histories import good_history
from tests.audit.runs import remove_one_record, write_logs


def test_a_clean_run_ends_with_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(tmp_path, good_history().entries)
    assert main(["audit", str(tmp_path / "*.jsonl")]) == 0
    word = capsys.readouterr().out.splitlines()[-1]
    assert word.startswith("CLEAN as far as the logs say (no broker was asked")


def test_a_lost_record_ends_with_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(tmp_path, remove_one_record(good_history().entries, Random(7)))
    assert main(["audit", str(tmp_path / "*.jsonl")]) == 1
    assert "NOT CLEAN" in capsys.readouterr().out.splitlines()[-1]


def test_the_verdict_for_programs_is_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_logs(tmp_path, good_history().entries)
    assert main(["audit", "--json", str(tmp_path / "*.jsonl")]) == 0
    assert json.loads(capsys.readouterr().out)["problems"] == []


def test_a_log_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "nothing-here.jsonl"]) == 2
    assert "nothing-here.jsonl" in capsys.readouterr().err
