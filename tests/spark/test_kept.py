"""Events kept as Parquet are judged as the logs they came from; what is not whole is an error."""

import gzip
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kgroup.errors import ConfigError
from kgroup.spark.audit.fleet import Fleet
from kgroup.spark.audit.judge import Law
from kgroup.spark.audit.logs import EVENTS, SIFTED, VERSION, Kept, list_kept, open_logs
from tests.audit.test_verifiable import RECORDED
from tests.spark.fleet import PlainRun, write_group, write_whole
from tests.spark.sieving.against import differences
from tests.spark.sieving.planted import FAULTS

pytestmark = pytest.mark.spark


def logs_of_all_kinds(folder: Path) -> None:
    """Write a plain group, broken ones, one of Java's, lines that are none, and what is cut."""
    write_group(folder, "plain", PlainRun(Random(1)).go())
    for name in ("lost", "overlap"):
        write_whole(folder, name, FAULTS[name](Random(7), 200).entries)
    strange = write_whole(folder, "strange", PlainRun(Random(2)).go())
    lines = strange.read_bytes().splitlines(keepends=True)
    strange.write_bytes(b"".join([*lines[:4], b"\n", b"\xff no line\n", *lines[4:], b'{"v":1,"h']))
    packed = write_whole(folder, "packed", PlainRun(Random(3)).go())
    packed.with_suffix(".jsonl.gz").write_bytes(gzip.compress(packed.read_bytes()))
    packed.unlink()
    for path in RECORDED.glob("*.gz"):
        shutil.copy(path, folder)
    (folder / "empty.jsonl").touch()


def test_the_events_that_were_kept_have_the_verdict_of_the_logs(spark: Any, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    logs_of_all_kinds(logs)
    Fleet(spark, [logs / "*.jsonl*"]).keep(tmp_path / "kept")
    logs.rename(tmp_path / "away")
    found = Fleet(spark, [tmp_path / "kept"]).verdict(Law())
    (tmp_path / "away").rename(logs)
    assert list(differences(found)) == []
    assert [Path(path).name for path in found.empty] == ["empty.jsonl"]
    assert {group.why is None for group in found.groups} == {True, False}
    assert sum(len(group.verdict["problems"]) for group in found.groups) == 3
    (printed,) = (group for group in found.groups if group.group is None)
    assert (printed.clean, printed.verdict["total"]["records"]) == (True, 6000)
    assert any("cut off" in note for group in found.groups for note in group.verdict["notes"])


def kept(folder: Path) -> Path:
    """Write a folder of events with one part of three rows, of one log; return the part."""
    from pyarrow import parquet, table  # noqa: PLC0415 - an extra

    for name, rows in ((SIFTED, 1), (EVENTS, 3)):
        (folder / name).mkdir(parents=True)
        part = folder / name / "part-0.parquet"
        parquet.write_table(table({"name": ["a"] * rows, "part": [part.name] * rows}), part)
    list_kept(folder)
    return part


def test_a_log_is_not_written_over_by_what_is_kept_of_it(spark: Any, tmp_path: Path) -> None:
    for name in (EVENTS, SIFTED):
        (tmp_path / name).mkdir()
        log = write_whole(tmp_path / name, "plain", PlainRun(Random(1)).go())
        before = log.read_bytes()
        with pytest.raises(ConfigError, match=r"plain\.jsonl does not lie in"):
            Fleet(spark, [log]).keep(tmp_path)
        assert log.read_bytes() == before


def test_what_a_killed_task_left_is_removed(tmp_path: Path) -> None:
    part = kept(tmp_path)
    for name, data in (("part-9.parquet", b"half"), ("part-8.parquet", part.read_bytes())):
        (tmp_path / EVENTS / name).write_bytes(data)
    list_kept(tmp_path)
    assert [each.name for each in (tmp_path / EVENTS).iterdir()] == [part.name]
    assert isinstance(open_logs([tmp_path]), Kept)


def versioned(version: int, part: Path) -> None:
    path = part.parent.parent / "_kgroup" / "events.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": version}))


def unlisted(part: Path) -> None:
    (part.parent.parent / "_kgroup" / "events.json").unlink()


def shortened(part: Path) -> None:
    part.write_bytes(part.read_bytes()[:-9])


def forgotten(part: Path) -> None:
    (part.parent.parent / SIFTED / part.name).unlink()


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "newer": (partial(versioned, VERSION + 1), "events of version 2, not of 3: a newer kgroup"),
    "older": (partial(versioned, VERSION - 1), "version 2, not of 1: --keep writes them anew"),
    "half written": (unlisted, "written to its end"),
    "a part is missing": (Path.unlink, "3 events, not 0"),
    "what was found is missing": (forgotten, "1 logs, not 0"),
    "a part is cut": (shortened, "part-0"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_folder_that_is_not_whole_or_of_another_version_is_named(
    damage: str, tmp_path: Path
) -> None:
    part = kept(tmp_path / "kept")
    assert open_logs([tmp_path / "kept"]) == Kept(tmp_path / "kept")
    change, told = DAMAGES[damage]
    change(part)
    with pytest.raises(ConfigError, match=told) as caught:
        open_logs([tmp_path / "kept"])
    assert str(tmp_path / "kept") in str(caught.value)


def test_a_folder_without_events_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a folder that --keep wrote"):
        open_logs([tmp_path])
    kept(tmp_path / "kept")
    (tmp_path / "a.jsonl").touch()
    with pytest.raises(ConfigError, match="not both"):
        open_logs([tmp_path / "kept", tmp_path / "a.jsonl"])
