"""What Kafka's VerifiableConsumer printed is judged like an event log, as far as it tells.

`verifiable` holds what two consumers of the group `billing` printed on Kafka 4.3.1: the second came
while 6,000 records were produced to four partitions of `orders`, and left before they ended.
"""

import gzip
from collections.abc import Iterable
from pathlib import Path

from kgroup.audit import Truth, Verdict, audit
from kgroup.audit.oracles import at_least_once
from kgroup.types import TopicPartition

RECORDED = Path(__file__).parent / "verifiable"
ENDS = {TopicPartition("orders", n): end for n, end in enumerate((2704, 1004, 475, 1817))}
TRUTH = Truth(bounds={tp: (0, end) for tp, end in ENDS.items()})


def printed(number: int) -> list[str]:
    return gzip.decompress((RECORDED / f"c{number}.jsonl.gz").read_bytes()).decode().splitlines()


def judged(folder: Path, *logs: Iterable[str]) -> Verdict:
    for number, lines in enumerate(logs):
        (folder / f"c{number}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return audit([folder / "*.jsonl"], TRUTH)


def kinds(verdict: Verdict) -> list[tuple[str, str, int, tuple[str, ...]]]:
    return [
        (each.kind.value, str(each.tp), each.count, tuple(Path(line).name for line in each.lines))
        for each in verdict.problems
    ]


def test_a_real_run_is_clean_and_its_numbers_are_those_of_the_topic() -> None:
    found = audit([RECORDED / "*.gz"], TRUTH, oracles=at_least_once(ends=ENDS))
    assert found.problems == ()
    assert (found.members, found.total.records, found.total.periods) == (2, 6000, 12)
    assert {row.tp: row.committed for row in found.partitions} == ENDS


def test_what_it_does_not_tell_is_said_once_for_each_log() -> None:
    notes = [note for note in audit([RECORDED / "*.gz"]).notes if "VerifiableConsumer" in note]
    assert len(notes) == 2
    assert "names no group" in notes[0]


def test_records_that_are_missing_are_lost(tmp_path: Path) -> None:
    lines = printed(0)
    gone = next(n for n, line in enumerate(lines) if '"minOffset":500,"maxOffset":808' in line)
    found = judged(tmp_path, [*lines[:gone], *lines[gone + 1 :]], printed(1))
    ((kind, tp, count, proof),) = kinds(found)
    assert (kind, tp, count) == ("lost", "orders-3", 309)
    assert f"c0.jsonl:{gone}" not in proof
    assert proof[0] == f"c0.jsonl:{gone - 1}"


def test_records_that_come_after_a_revocation_are_not_owned(tmp_path: Path) -> None:
    lines = printed(1)
    revoked = next(n for n, line in enumerate(lines) if "partitions_revoked" in line)
    read = max(n for n, line in enumerate(lines) if '"records_consumed"' in line)
    moved = [*lines[:read], *lines[read + 1 : revoked + 1], lines[read], *lines[revoked + 1 :]]
    (found,) = (each for each in kinds(judged(tmp_path, printed(0), moved)) if "own" in each[0])
    assert found[0] == "delivered without owning"
    assert f"c1.jsonl:{revoked + 1}" in found[3]


def test_a_commit_that_failed_is_none(tmp_path: Path) -> None:
    refused = [line.replace('"success":true', '"success":false') for line in printed(0)]
    found = judged(tmp_path, refused)
    assert {row.committed for row in found.partitions} == {None}


def test_a_log_without_its_head_and_a_second_life_are_read(tmp_path: Path) -> None:
    lines = printed(1)
    later = [line.replace('"timestamp":17958664', '"timestamp":17958665') for line in lines]
    found = judged(tmp_path, lines[1:], [*lines, *later])
    assert found.members == 3


def test_a_line_that_is_cut_or_none_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    bad = '{"timestamp":1,"name":"records_consumed"}\n'
    path.write_text("\n".join(printed(1)) + f'\n{bad}{{"timestamp":17')
    found = audit([path])
    assert [(each.kind.value, each.lines) for each in found.problems] == [
        ("log unreadable", (f"{path}:1326",))
    ]
    assert any("1327: the line is cut off" in note for note in found.notes)


def test_an_event_of_a_later_version_is_noted(tmp_path: Path) -> None:
    found = judged(tmp_path, printed(0), [*printed(1), '{"timestamp":1795866417999,"name":"new"}'])
    assert any("'new' are not known here" in note for note in found.notes)
