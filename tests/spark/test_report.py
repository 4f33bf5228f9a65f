"""What happened to a group: from tables that are there, without a Spark."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from kgroup.cli import main
from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination.page import page
from kgroup.spark.coordination.report import cause, report, report_json
from kgroup.spark.coordination.schema import Layer, Row
from kgroup.spark.coordination.store import Progress, Store
from kgroup.spark.coordination.tables import arrow_of
from tests.spark.coordinator import Log, Rows, claims_of, groups_of, scenario, silver_of

T = "t"


def told() -> Rows:
    """Return what a group did: one member, two, one again; a commit goes back."""
    log = Log()
    log.generation(1, {"a": [(T, 0), (T, 1)]})
    log.commit(5)
    log.generation(2, {"a": [(T, 0)], "b": [(T, 1)]})
    log.commit(3)
    log.commit(9, partition=1, metadata='{"query":"q","batch":7}')
    log.generation(4, {"b": [(T, 1)]})
    silver = silver_of(log.records)
    ends = [
        {"topic": T, "partition": 0, "ts": log.now, "low": 0, "high": 20},
    ]
    return silver | groups_of(silver, ends)


def laid(folder: Path, tables: Rows, batch: int = 0) -> Path:
    """Write tables as `kgroup spark coordination` does."""
    store = Store(None, folder)
    for name, rows in tables.items():
        table = d.TABLES[name]
        if not rows:
            continue
        if table.layer is Layer.GOLD:
            store.replace(table, arrow_of(table, rows), "offsets")
        else:
            store.append(table, arrow_of(table, rows), batch)
    store.put(Progress(batch=0))
    return folder


def kinds(found: Iterable[tuple[object, ...]]) -> list[object]:
    return [each[0] for each in found]


def test_numbers_and_findings_of_a_group() -> None:
    found = report("g", told())
    said = report_json(found)
    assert (said["partitions"], said["rebalances"], said["skipped_generations"]) == (2, 3, 1)
    assert said["moved"] == 1
    (finding,) = found.findings
    assert (finding.kind, finding.where, finding.text) == (
        "commit went back",
        "t-0",
        "committed 3 after 5",
    )
    assert finding.proof[0].startswith("__consumer_offsets-0:")
    assert not said["clean"]


def test_a_partition_without_an_owner_counts_until_the_end_of_the_span() -> None:
    tables = told()
    (gap,) = (row for row in tables["unowned"] if row["to_ts"] is None)
    found = report("g", tables, first=gap["from_ts"] - 500, end=gap["from_ts"] + 2500)
    assert found.unowned_ms == 2500


def test_a_look_at_the_logs_after_the_last_owner_is_gone_makes_no_span_longer() -> None:
    tables = told()
    late = [{**row, "ts": row["ts"] + 10_000_000} for row in tables["lag"]]
    assert late
    lasting = report("g", tables | {"lag": late})
    assert lasting.span[1] == late[0]["ts"] + 1
    ended = [{**row, "to_ts": row["to_ts"] or row["from_ts"] + 5} for row in tables["ownership"]]
    assert report("g", tables | {"lag": late, "ownership": ended}).span[1] < late[0]["ts"]


def test_of_another_span_nothing_is_told() -> None:
    tables = told()
    last = max(row["ts"] for row in tables["rebalance"])
    found = report("g", tables, first=last + 1, end=last + 2)
    assert found.clean
    assert found.rows["rebalance"] == []
    assert {row["partition"] for row in found.rows["ownership"]} == {1}


def test_messages_of_those_that_are_not_the_owner_are_findings() -> None:
    tables = claims_of(scenario("s04_reclaim"))
    groups = {row["group"] for row in tables["zombie"]}
    if not groups:
        pytest.skip("the recorded log has none")
    name = min(groups)
    own = {key: [row for row in rows if row.get("group") == name] for key, rows in tables.items()}
    found = report(name, own)
    assert "zombie" in kinds(found.findings)
    assert name in page(found)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"joined": 2, "left": 1}, "2 joined, 1 left"),
        ({"joined": 0, "left": 0, "leader_changed": True}, "another leader"),
        ({"joined": 1, "left": 0, "skipped_generations": 3}, "1 joined, 3 generations were"),
        ({"joined": 0, "left": 0}, "the members are the same"),
    ],
)
def test_a_rebalance_has_a_cause(row: Row, words: str) -> None:
    assert cause(row).startswith(words)


def test_spark_queries_are_named(tmp_path: Path) -> None:
    tables = told()
    for row in tables["commit_log"]:
        if row["partition"] == 1:
            row["md_query"], row["md_batch"] = "q-1", 7
    found = report("g", tables)
    ((name, first, last, commits, *_),) = found.queries
    assert (name, first, last, commits) == ("q-1", 7, 7, 1)
    assert "q-1" in page(found)


def test_a_page_and_a_verdict_are_made_of_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = laid(tmp_path / "tables", told()), tmp_path / "g.html"
    words = ["spark", "report", str(folder), "--group", "g", "--out", str(out)]
    assert main([*words, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["rebalances"] == 3
    text = out.read_text(encoding="utf-8")
    assert "What happened to g" in text
    assert "commit went back" in text
    assert main(words) == 1
    assert "FINDINGS: 1" in capsys.readouterr().out


def test_a_batch_that_is_not_done_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = told()
    folder = laid(tmp_path / "tables", tables)
    extra = [{**row, "md_query": "half"} for row in tables["commit_log"]]
    table = d.COMMIT_LOG
    Store(None, folder).append(table, arrow_of(table, extra), 1)
    main(["spark", "report", str(folder), "--group", "g", "--json"])
    assert json.loads(capsys.readouterr().out)["queries"] == []


def test_what_an_audit_found_is_shown_with_its_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from kgroup.spark.audit.tables import PROBLEMS  # noqa: PLC0415
    from kgroup.spark.coordination.store import write_file  # noqa: PLC0415

    problem = {
        "run": "", "group": "g", "kind": "lost", "rule": "", "partition": "t-0", "count": 2,
        "text": "gone", "lines": ["a.jsonl:3"],
    }  # fmt: skip
    other = {**problem, "group": "h"}
    write_file(arrow_of(PROBLEMS, [problem, other]), tmp_path / "verdict" / "problems")
    folder = laid(tmp_path / "tables", told())
    words = ["spark", "report", str(folder), "--group", "g"]
    main([*words, "--verdict", str(tmp_path / "verdict"), "--json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [(each["kind"], each["proof"]) for each in found if each["kind"] == "lost"] == [
        ("lost", ["a.jsonl:3"])
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["{}", "--group", "nobody"], "a group of the tables: g"),
        (["{}/none", "--group", "g"], "a folder that `kgroup spark coordination --out` has made"),
        (["{}", "--group", "g", "--from", "noon"], "a time such as"),
        (["{}", "--group", "g", "--verdict", "{}"], "a folder that `kgroup spark audit` has made"),
    ],
)
def test_what_cannot_be_used_is_named(
    words: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = laid(tmp_path / "tables", told())
    assert main(["spark", "report", *(word.format(folder) for word in words)]) == 2
    assert expected in " ".join(capsys.readouterr().err.split())
