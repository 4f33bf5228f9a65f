"""The part of the page that scenarios fill says what was found, losses included."""

import json
from pathlib import Path

import jsonschema
import pytest

import kgroup.bench
from benchmarks.consume.runs import FOLDER, blocks, documents, draw, keep
from kgroup.bench.result import refigured, written
from kgroup.errors import ArgumentError
from tests.bench.stage import PLAN, document, entry, join_sample, two

SCHEMA = json.loads(
    (Path(kgroup.bench.__file__).parent / "result.schema.json").read_text(encoding="utf-8")
)
QUICK, LATE = (0.10, 0.11, 0.12, 0.105, 0.115), (0.50, 0.51, 0.52, 0.505, 0.515)


def joined(ours, theirs):
    """The part about joins after which records of a partition that moved waited so long."""
    cells = (
        entry(client, "range", [join_sample(wait, 0.01) for wait in waits], job="join")
        for client, waits in (("kgroup", ours), ("aiokafka", theirs))
    )
    return "\n".join(blocks([document(*cells)]))


def test_a_loss_stands_in_a_table_of_its_own():
    text = joined(LATE, QUICK)
    assert "Where the runs show that kgroup takes more" in text
    assert (
        "| join: kgroup range | aiokafka range | moved: silence | 510 ms | 110 ms | 4.64 |" in text
    )


def test_where_there_is_no_loss_none_is_told():
    assert "takes more" not in joined(QUICK, LATE)
    assert "takes more" not in joined(QUICK, QUICK)


def test_how_a_group_was_watched_is_told_of_groups_alone():
    assert "3 members, 12 partitions, 1,200 records/s" in joined(QUICK, LATE)
    assert "12 partitions" not in "\n".join(blocks([two()]))


def test_nothing_is_said_where_nothing_was_measured(tmp_path):
    assert documents(tmp_path) == []
    assert [*blocks([])] == []


def test_the_rebalances_come_before_what_grows(tmp_path):
    for name in ("scale", "failover", "latency"):
        text = json.dumps({**document(), "scenario": name})
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    assert [each["scenario"] for each in documents(tmp_path)] == ["latency", "failover", "scale"]


@pytest.mark.slow
def test_what_was_drawn_is_shown(tmp_path):
    text = json.dumps({**two(), "scenario": "mine"})
    (tmp_path / "mine.json").write_text(text, encoding="utf-8")
    draw(tmp_path)
    assert "![read" in "\n".join(blocks(documents(tmp_path), tmp_path))


def test_what_is_committed_fits_the_schema_and_its_own_samples():
    for kept in documents(FOLDER):
        jsonschema.validate(kept, SCHEMA)
        assert kept["plan"]["runs"] >= PLAN.runs
        for cell in kept["cells"]:
            assert cell["figures"] == refigured(cell, kept["plan"]["members"])


def run(folder, **more):
    """A folder as `kgroup bench run --out` leaves it."""
    path = folder / "run" / "mine" / "result.json"
    path.parent.mkdir(parents=True)
    path.write_text(written({**two(), **more}), encoding="utf-8")
    return folder / "run"


def test_results_of_a_whole_run_are_kept_by_the_name_of_their_scenario(tmp_path):
    kept = tmp_path / "kept"
    assert keep(run(tmp_path), kept) == [kept / "mine.json"]
    assert "### mine" in "\n".join(blocks(documents(kept), kept))


@pytest.mark.parametrize("more", [{"complete": False}, {"rough": True}], ids=["cut", "rough"])
def test_results_that_prove_little_are_not_kept(tmp_path, more):
    with pytest.raises(ArgumentError, match="--resume"):
        keep(run(tmp_path, **more), tmp_path / "kept")


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="bench run"):
        keep(tmp_path, tmp_path / "kept")
