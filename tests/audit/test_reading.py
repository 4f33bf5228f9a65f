import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from kgroup.audit import find_logs, merge_logs
from kgroup.journal import BadLine, Entry, Polled, Source, encode_entry


def write(path: Path, host: str, stamps: list[tuple[float, float]], tail: str = "") -> None:
    source = Source(host=host, process="1", member=path.stem, group="g")
    lines = [
        encode_entry(Entry(source=source, seq=n, at=at, wall=wall, event=Polled())) + "\n"
        for n, (at, wall) in enumerate(stamps, start=1)
    ]
    path.write_text("".join(lines) + tail, encoding="ascii")


def order(paths: list[Path]) -> list[tuple[str, int]]:
    return [(e.source.member, e.seq) for e in merge_logs(paths) if isinstance(e, Entry)]


def test_processes_of_one_machine_are_ordered_by_its_monotonic_clock(tmp_path: Path):
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write(a, "h", [(1.0, 5000.0), (3.0, 1000.0)])
    write(b, "h", [(2.0, 9000.0), (4.0, 0.0)])
    assert order([a, b]) == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]


def test_machines_are_tied_together_by_their_wall_clocks(tmp_path: Path):
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write(a, "h1", [(1.0, 1001.0), (3.0, 1003.0)])
    write(b, "h2", [(700.0, 1002.0), (702.0, 1004.0)])
    merged = [entry for entry in merge_logs([a, b]) if isinstance(entry, Entry)]
    assert [(e.source.member, e.at) for e in merged] == [
        ("a", 1.0),
        ("b", 2.0),
        ("a", 3.0),
        ("b", 4.0),
    ]


def test_each_entry_knows_its_line_and_a_cut_line_keeps_its_place(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    write(path, "h", [(1.0, 1.0), (2.0, 2.0)], tail='{"v":1,')
    first, second, cut = merge_logs([path])
    assert isinstance(first, Entry)
    assert isinstance(second, Entry)
    assert isinstance(cut, BadLine)
    assert [first.where, second.where, cut.where] == [f"{path}:{n}" for n in (1, 2, 3)]
    assert cut.cut


def test_paths_and_patterns_name_each_log_once(tmp_path: Path):
    for name in ("b.jsonl", "a.jsonl", "c.txt"):
        (tmp_path / name).touch()
    found = find_logs([tmp_path / "a.jsonl", str(tmp_path / "*.jsonl")])
    assert [path.name for path in found] == ["a.jsonl", "b.jsonl"]


def test_a_pattern_that_matches_nothing_is_an_error(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="no event log matches"):
        find_logs([str(tmp_path / "*.jsonl")])


def test_bytes_that_are_no_text_are_a_bad_line(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xff\xfe\n")
    (bad,) = merge_logs([path])
    assert isinstance(bad, BadLine)
    assert not bad.cut


def test_a_compressed_log_is_read_like_any_other(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    write(path, "h", [(1.0, 1.0), (2.0, 2.0)], tail='{"v":1,')
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    first, second, cut = merge_logs([packed])
    assert isinstance(first, Entry)
    assert isinstance(second, Entry)
    assert isinstance(cut, BadLine)
    assert [each.where for each in (first, second, cut)] == [f"{packed}:{n}" for n in (1, 2, 3)]
    assert cut.cut


@pytest.mark.parametrize("damage", [lambda data: data[:-20], lambda data: data[:40] + b"x" * 40])
def test_a_compressed_log_without_its_end_is_an_error_that_names_it(
    damage: Callable[[bytes], bytes], tmp_path: Path
):
    path = tmp_path / "a.jsonl"
    write(path, "h", [(float(n), float(n)) for n in range(1, 500)])
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(damage(gzip.compress(path.read_bytes())))
    with pytest.raises(OSError, match=r"a\.jsonl\.gz: what is compressed"):
        list(merge_logs([packed]))
