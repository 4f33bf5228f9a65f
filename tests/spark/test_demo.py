"""The demo as somebody runs it who has installed kgroup: from any folder, and with damage."""

import subprocess
import sys
from pathlib import Path

import pytest

from kgroup.demo.query import executors

pytestmark = [pytest.mark.spark, pytest.mark.real, pytest.mark.long]

SECONDS = 420.0
CHECKS = ("records", "event logs", "tables of what groups did", "report on demo-")


def demo(folder: Path, *words: str) -> tuple[int, str]:
    """Run the demo in a folder; return its exit code and what it printed."""
    command = [sys.executable, "-m", "kgroup.cli", "spark", "demo", "--seconds", "14", *words]
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return done.returncode, done.stdout


def test_a_run_is_clean_and_everything_was_disturbed(tmp_path: Path) -> None:
    code, shown = demo(tmp_path)
    assert (code, shown.splitlines()[-1]) == (0, "CLEAN: records, event logs, tables and reports")
    for what in ("a member is killed", "an executor of the query is killed", "positions of"):
        assert what in shown
    assert "done: the coordinator is bounced" in shown


def test_damage_makes_each_check_red(tmp_path: Path) -> None:
    code, shown = demo(tmp_path, "--damage", "--out", "kept")
    last = shown.splitlines()[-1]
    assert code == 1
    assert last.startswith("NOT CLEAN: ")
    assert all(check in last for check in CHECKS)
    assert last.count("report on") == 2
    assert (tmp_path / "kept" / "logs" / "query.jsonl").exists()


def test_an_executor_is_known_by_its_application() -> None:
    backend = "java org.apache.spark.executor.CoarseGrainedExecutorBackend --app-id"
    commands = [(3, f"{backend} app-1"), (2, f"{backend} app-1"), (4, f"{backend} app-2")]
    assert executors("app-1", [*commands, (5, "python app-1")]) == [2, 3]
