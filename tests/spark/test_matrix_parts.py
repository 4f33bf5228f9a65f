"""The parts of the matrix of faults that judge: they notice what they are there to notice."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.spark.matrix import ledger
from tests.spark.matrix.cells import cells, chosen
from tests.spark.matrix.sunk import Checkpoint, Seen, Sink
from tests.spark.matrix.watch import Watch


def test_leader_and_coordinator_are_one_victim_on_one_broker() -> None:
    names = [cell.name for cell in cells()]
    assert len(names) == len(set(names)) == 7 * 4 + 6 * 4
    assert "broker/idle/one" in names
    assert not {"leader/idle/one", "coordinator/idle/one", "broker/idle/three"}.intersection(names)


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("reader/mid-batch/three", 1),
        ("reader", 8),
        ("reader/three", 4),
        ("*/between/one", 6),
        ("mid-*/one", 12),
    ],
)
def test_cells_are_named_by_names_by_parts_and_by_patterns(pattern: str, count: int) -> None:
    assert len(chosen([pattern])) == count


def test_a_word_that_names_no_cell_is_an_error() -> None:
    with pytest.raises(ValueError, match="'raeder'"):
        chosen(["reader", "raeder"])


def seen(*offsets: int) -> Seen:
    made = Seen()
    for offset in offsets:
        made.add(0, offset)
    return made


def test_a_place_that_was_seen_again_is_doubled() -> None:
    assert seen(3, 0, 3).doubled() == [(0, 3)]
    assert seen(3, 0, 3).columns() == ([0, 0], [0, 3])


def test_a_commit_ahead_of_what_was_sunk_or_handled_is_noticed() -> None:
    sink, handled = seen(0, 1, 4), seen(2)
    watch = Watch(dict, lambda: (sink, handled))
    watch.compare({0: 3})
    assert watch.ahead == []
    watch.compare({0: 4})
    assert len(watch.ahead) == 1
    assert "partition 0: 4 is committed, and offset 3" in watch.ahead[0]
    handled.add(0, 3)
    watch.compare({0: 5})
    assert len(watch.ahead) == 1


def written(folder: Path, name: str, *offsets: int) -> str:
    columns = {
        "partition": pa.array([0] * len(offsets), pa.int32()),
        "offset": pa.array(offsets, pa.int64()),
    }
    parquet.write_table(pa.table(columns), folder / name)
    return json.dumps({"path": (folder / name).as_uri(), "action": "add"})


def test_rows_of_a_sink_count_when_its_log_has_their_file_and_once(tmp_path: Path) -> None:
    log = tmp_path / "_spark_metadata"
    log.mkdir()
    sink = Sink(tmp_path)
    assert sink.last() == -1
    first = written(tmp_path, "first file.parquet", 0, 1)
    written(tmp_path, "left behind.parquet", 2)
    (log / "0").write_text(f"v1\n{first}\n")
    assert sink.seen().columns() == ([0, 0], [0, 1])
    second = written(tmp_path, "second.parquet", 2)
    (log / "1.compact").write_text(f"v1\n{first}\n{second}\n")
    (log / ".2.tmp").write_text("")
    assert sink.last() == 1
    assert sink.seen().columns() == ([0, 0, 0], [0, 1, 2])
    assert sink.seen().doubled() == []


def test_a_checkpoint_says_what_was_planned(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, "t")
    assert (checkpoint.planned(), checkpoint.finished()) == (-1, -1)
    for folder in ("offsets", "commits"):
        (tmp_path / folder).mkdir()
    offset = {"v": 1, "q": "a", "b": 1, "t": {"t": {"id": None, "p": {"3": [5, 9]}}}}
    (tmp_path / "offsets" / "0").write_text("v1\n{}\n" + json.dumps(offset))
    assert (checkpoint.planned(), checkpoint.finished()) == (0, -1)
    assert checkpoint.spans(0) == {3: (5, 9)}


def test_a_cell_has_passed_when_its_last_run_with_this_code_was_clean(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    for cell, code, clean in [
        ("a", "1", True),
        ("b", "1", False),
        ("b", "1", True),
        ("c", "1", True),
        ("c", "1", False),
        ("d", "0", True),
    ]:
        ledger.note(path, {"cell": cell, "code": code, "clean": clean})
    assert ledger.passed(path, "1") == {"a", "b"}
