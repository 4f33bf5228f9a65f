"""The verdict on a fleet: for each group the same as the audit's own, and few are judged."""

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kgroup.audit import Truth, audit
from kgroup.cli import main
from kgroup.spark.audit.fleet import Fleet, FleetVerdict
from kgroup.spark.audit.judge import Law
from kgroup.spark.table import TableError
from kgroup.types import TopicPartition
from tests.audit.histories import tp
from tests.spark.fleet import PlainRun, recorded, write_group, write_whole
from tests.spark.sieving.against import differences, local, said
from tests.spark.sieving.bugs import FOLDER
from tests.spark.sieving.planted import FAULTS, LongRun

pytestmark = pytest.mark.spark

GROUPS = 200
LINES = 1_000
"""Of each long group."""
Paths = dict[str, Path]


def plain(folder: Path, name: str, seed: int = 1) -> Paths:
    """Write a group that is plain; return its files by member."""
    write_group(folder, name, PlainRun(Random(seed)).go())
    return {path.stem.split("-")[-2]: path for path in sorted(folder.glob(f"{name}-*.jsonl"))}


def edited(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    lines = path.read_text(encoding="ascii").splitlines(keepends=True)
    path.write_text("".join(change(lines)), encoding="utf-8")


def on_machine(line: str, host: str, seconds: float) -> str:
    """Return a line as another machine would have written it, whose clock began earlier."""
    row = json.loads(line)
    row.update(host=host, at=round(row["at"] + seconds, 6))
    return json.dumps(row, separators=(",", ":")) + "\n"


def moment(line: str) -> float:
    return float(json.loads(line)["at"])


def shuffled(lines: list[str]) -> list[str]:
    return [*lines[:3], lines[4], lines[3], *lines[5:]]


ODD: Mapping[str, Callable[[list[str]], list[str]]] = {
    "spaced": lambda lines: [line.replace(":", ": ") for line in lines],
    "cut": lambda lines: [*lines, '{"v":1,"ho'],
    "bad": lambda lines: [*lines[:4], "no line\n", *lines[4:]],
    "blank": lambda lines: [*lines[:4], "\n", *lines[4:]],
    "hole": lambda lines: [*lines[:4], *lines[5:]],
    "headless": lambda lines: lines[1:],
    "twice": lambda lines: [*lines, lines[-1]],
    "shuffled": shuffled,
    "later": lambda lines: [*lines[:4], lines[4].replace('"event":"', '"event":"x'), *lines[5:]],
    "silent": lambda lines: lines[:-1],
    "accent": lambda lines: [line.replace('"host":"h"', '"host":"hé"') for line in lines],
    "moved": lambda lines: [on_machine(line, "k", 5000.25) for line in lines],
    "back": lambda lines: [*lines[:-1], on_machine(lines[-1], "h", -50.0)],
}
PASSED = {"moved"}
"""Odd ones that are plain all the same."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recorded groups, and groups of which one file is odd."""
    folder = tmp_path_factory.mktemp("fleet [1]")
    for seed in range(GROUPS):
        kind, entries = recorded(Random(seed))
        # Each file takes Spark a moment: most groups have all in one.
        write = write_whole if seed % 10 else write_group
        write(folder, f"{kind}{seed}", entries)
    for name, change in ODD.items():
        edited(plain(folder, f"odd_{name}")["m1"], change)
    for name, order in {"mixed": moment, "joined": lambda _: 0}.items():
        files = [plain(folder, f"{name}{number}", number)["m0"] for number in (0, 1)]
        lines = [line for path in files for line in path.read_text().splitlines(keepends=True)]
        files[0].write_text("".join(sorted(lines, key=order)))
        files[1].unlink()
    (folder / "empty.jsonl").touch()
    (folder / "garbage.jsonl").write_bytes(b"\xff\xfe nothing\n")
    return folder


@pytest.fixture(scope="module")
def found(spark: Any, folder: Path) -> FleetVerdict:
    logs = [str(folder).replace("[", "[[]") + "/*.jsonl"]
    return Fleet(spark, [*logs, *logs]).verdict(Law())


def test_each_group_has_the_verdict_of_the_audit(found: FleetVerdict) -> None:
    assert len(found.groups) == GROUPS + len(ODD) + 4 + 1
    assert list(differences(found)) == []


def test_a_file_of_which_no_line_is_plain_belongs_to_its_group(found: FleetVerdict) -> None:
    files = {group.group: group.files for group in found.groups}
    for name in ("odd_accent", "odd_spaced"):
        assert [Path(path).name for path in files[name]] == [
            f"{name}-m{number}-1.jsonl" for number in range(3)
        ]


def test_what_is_plain_passes_the_sieve_and_nothing_else(found: FleetVerdict) -> None:
    passed = {group.group for group in found.groups if group.why is None}
    plain = {group.group for group in found.groups if str(group.group).startswith("plain")}
    assert len(plain) > GROUPS / 6
    odd = {f"odd_{name}" for name in PASSED}
    assert passed == plain | odd | {"mixed0", "mixed1", "joined0"}


def test_problems_carry_file_and_line(found: FleetVerdict) -> None:
    (bad,) = (group for group in found.groups if group.group == "odd_bad")
    (problem,) = bad.verdict["problems"]
    assert (problem["kind"], problem["lines"]) == (
        "log unreadable",
        [f"{bad.files[1]}:5"],
    )


def test_files_that_nobody_is_in_are_nobodys(found: FleetVerdict) -> None:
    (nobody,) = (group for group in found.groups if group.group is None)
    assert [Path(path).name for path in nobody.files] == ["garbage.jsonl"]
    assert not nobody.clean
    assert [Path(path).name for path in found.empty] == ["empty.jsonl"]


def test_ends_of_logs_show_what_was_lost_behind_the_last_delivery(
    spark: Any, tmp_path: Path
) -> None:
    ends = []
    for seed in range(4):
        path = write_whole(tmp_path, f"g{seed}", PlainRun(Random(seed)).go())
        ends += [row.end for row in audit([path]).partitions if row.tp == tp(0)]
    bounds = {tp(0): (0, max(ends)), TopicPartition("u", 0): (0, 7)}
    told = Fleet(spark, [tmp_path / "*.jsonl"]).verdict(Law(bounds=bounds))
    for group in told.groups:
        assert said(group, group.verdict) == local(group, Truth(bounds={tp(0): bounds[tp(0)]}))
    assert {group.clean for group in told.groups} == {True, False}


def test_each_planted_fault_is_found_in_its_group_and_nowhere_else(
    spark: Any, tmp_path: Path
) -> None:
    planted = {name: plant(Random(7), LINES) for name, plant in FAULTS.items()}
    for name, each in planted.items():
        write_whole(tmp_path, name, each.entries)
        write_whole(tmp_path, f"well_{name}", LongRun(Random(len(name)), LINES).go())
    found = Fleet(spark, [tmp_path / "*.jsonl"]).verdict(Law())
    broken = {str(group.group): group for group in found.groups if not group.clean}
    assert broken.keys() == planted.keys()
    assert all(group.why is None for group in found.groups if group.clean)
    for name, each in planted.items():
        (problem,) = broken[name].verdict["problems"]
        assert (problem["kind"], problem["count"]) == (each.kind, each.count)
        assert f"{tmp_path / name}.jsonl:{each.line}" in problem["lines"]


def test_each_planted_bug_that_members_logged_is_found_also_in_compressed_logs(
    spark: Any, tmp_path: Path
) -> None:
    bugs = {path.name.partition(".")[0] for path in FOLDER.glob("*.gz")}
    path = write_whole(tmp_path, "well", LongRun(Random(1), 100).go())
    (tmp_path / "well.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    (tmp_path / "empty.jsonl.gz").write_bytes(gzip.compress(b""))
    found = Fleet(spark, [FOLDER / "*.gz", tmp_path / "*.gz"]).verdict(Law())
    assert list(differences(found)) == []
    assert len(bugs) > 10
    assert {group.group for group in found.groups if not group.clean} == bugs
    assert {group.group for group in found.groups if group.why is None} == {"well"}
    assert [Path(path).name for path in found.empty] == ["empty.jsonl.gz"]


def test_a_log_that_cannot_be_read_is_named(spark: Any, tmp_path: Path) -> None:
    log = write_whole(tmp_path, "cut", PlainRun(Random(1)).go())
    packed = log.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(log.read_bytes())[:-20])
    with pytest.raises(TableError, match=r"cut\.jsonl\.gz: what is compressed ends too early"):
        Fleet(spark, [log, packed]).verdict(Law())


def test_logs_are_found_wherever_a_program_goes_later(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(tmp_path, "plain", PlainRun(Random(1)).go())
    write_whole(tmp_path, "lost", FAULTS["lost"](Random(7), 200).entries)
    monkeypatch.chdir(tmp_path)
    fleet = Fleet(spark, ["*.jsonl"])
    monkeypatch.chdir("/")
    lost, plain = fleet.verdict(Law()).groups
    assert (lost.clean, lost.files) == (False, ("lost.jsonl",))
    assert (plain.clean, plain.files) == (True, ("plain.jsonl",))


def test_a_person_is_told_which_groups_are_broken(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain(tmp_path, "good")
    broken = plain(tmp_path, "broken", 2)["m1"]
    edited(broken, lambda lines: [line for line in lines if '"seq":9,' not in line])
    words = ["spark", "audit", f"{tmp_path}/*.jsonl", "--out", str(tmp_path / "out")]
    assert main(words) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("PROBLEM broken log incomplete, 1x") for line in lines)
    assert lines[-1] == "NOT CLEAN: 1 of 2 groups; 1 passed the sieve, 1 were judged"
    groups = spark.read.parquet(str(tmp_path / "out" / "groups"))
    assert {(row["group"], row["clean"]) for row in groups.collect()} == {
        ("good", True),
        ("broken", False),
    }
    problems = spark.read.parquet(str(tmp_path / "out" / "problems")).collect()
    assert {row["group"] for row in problems} == {"broken"}
