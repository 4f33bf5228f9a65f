import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kgroup.journal import BadLine, Delivered, Entry, Polled, Source, read_entries
from kgroup.observe.journal_file import local_source, open_journal
from kgroup.types import Claim, TopicPartition

SOURCE = Source(host="h", process="p", member="m", group="g")


def read(path: Path) -> list[Entry | BadLine]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(read_entries(lines, path.name))


def test_events_are_stamped_and_numbered(tmp_path: Path):
    path = tmp_path / "m.jsonl"
    ticks = iter([1.0, 2.0])
    with open_journal(path, SOURCE, clock=lambda: next(ticks), wall=lambda: 1e9) as sink:
        sink.emit(Polled())
        sink.emit(Polled())
    assert [(e.seq, e.at, e.wall, e.where) for e in read(path) if isinstance(e, Entry)] == [
        (1, 1.0, 1e9, "m.jsonl:1"),
        (2, 2.0, 1e9, "m.jsonl:2"),
    ]


def test_a_line_is_in_the_file_when_emit_returns(tmp_path: Path):
    path = tmp_path / "m.jsonl"
    with open_journal(path, SOURCE, clock=lambda: 0.0, wall=lambda: 0.0) as sink:
        sink.emit(Delivered(Claim(TopicPartition("t", 0), 1), 0, 4, 5))
        assert len(read(path)) == 1


def test_a_process_that_kills_itself_right_after_emit_loses_nothing(tmp_path: Path):
    path = tmp_path / "m.jsonl"
    code = (
        "import os, signal, sys, time; from pathlib import Path\n"
        "from kgroup.journal import Polled\n"
        "from kgroup.observe.journal_file import local_source, open_journal\n"
        "sink = open_journal(Path(sys.argv[1]), local_source('m'), clock=time.monotonic,"
        " wall=time.time)\n"
        "for _ in range(100): sink.emit(Polled())\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [entry.seq for entry in read(path) if isinstance(entry, Entry)] == list(range(1, 101))


def test_a_restart_does_not_glue_its_first_line_to_one_that_was_cut(tmp_path: Path):
    path = tmp_path / "m.jsonl"
    path.write_text('{"v":1,"hos', encoding="utf-8")
    with open_journal(path, SOURCE, clock=lambda: 0.0, wall=lambda: 0.0) as sink:
        sink.emit(Polled())
    cut, entry = read(path)
    assert isinstance(cut, BadLine)
    assert cut.cut
    assert isinstance(entry, Entry)


def test_lines_of_many_threads_stay_whole_and_in_order(tmp_path: Path):
    path = tmp_path / "m.jsonl"
    with open_journal(path, SOURCE, clock=lambda: 0.0, wall=lambda: 0.0) as sink:

        def emit_many() -> None:
            for _ in range(200):
                sink.emit(Polled())

        threads = [threading.Thread(target=emit_many) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [entry.seq for entry in read(path) if isinstance(entry, Entry)] == list(range(1, 801))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_remembered_and_does_not_reach_the_consumer():
    with open_journal(Path("/dev/full"), SOURCE, clock=lambda: 0.0, wall=lambda: 0.0) as sink:
        sink.emit(Polled())
        assert sink.failure is not None
        sink.emit(Polled())


def test_emitting_after_close_is_dropped(tmp_path: Path):
    path = tmp_path / "m.jsonl"
    sink = open_journal(path, SOURCE, clock=lambda: 0.0, wall=lambda: 0.0)
    sink.close()
    sink.close()
    sink.emit(Polled())
    assert path.read_bytes() == b""


def test_two_lives_of_one_member_are_two_sources():
    assert local_source("m", "g").member == "m"
    assert local_source("m").process != local_source("m").process
    assert local_source("m").process.startswith(f"{os.getpid()}-")
