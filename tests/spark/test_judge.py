"""The judge of one group: it says what the audit says, and of the files only what concerns it."""

from collections.abc import Iterable
from pathlib import Path
from random import Random

from kgroup.audit import Truth, audit, merge_logs
from kgroup.audit.oracles import at_least_once
from kgroup.journal import FaultStep, Phase, UnknownEvent, encode_entry
from kgroup.spark.audit.judge import Law, Reading, judged
from kgroup.spark.audit.sieve import TellKind, told
from kgroup.types import TopicPartition
from tests.audit.histories import History, good_history, tp
from tests.spark.fleet import PlainRun, write_group


def laid(folder: Path) -> list[str]:
    """Write a run with a kill and a group beside it, one member in the same file."""
    write_group(folder, "g", good_history().entries)
    write_group(folder, "other", PlainRun(Random(1)).go())
    first, *_ = folder.glob("g-a-*.jsonl")
    second = folder / "other-m0-1.jsonl"
    with first.open("a") as log:
        log.write(second.read_text())
    return sorted(str(path) for path in folder.glob("g-*.jsonl"))


def reading(paths: Iterable[str]) -> Reading:
    return lambda: merge_logs(map(Path, paths))


def test_a_group_is_judged_as_the_audit_judges_it(tmp_path: Path) -> None:
    paths = laid(tmp_path)
    assert judged("g", reading(paths), Law()) == audit(paths, group="g")
    law = Law(at_least_once=True)
    assert judged("g", reading(paths), law) == audit(paths, group="g", oracles=at_least_once())


def test_of_the_ends_of_logs_those_of_its_own_topics_count(tmp_path: Path) -> None:
    paths = laid(tmp_path)
    own = {tp(0): (0, 33)}
    found = judged("g", reading(paths), Law(bounds={**own, TopicPartition("u", 0): (0, 7)}))
    assert found == audit(paths, Truth(bounds=own), group="g")
    assert not found.clean


def test_a_line_says_whose_it_is_or_is_none() -> None:
    history = History()
    history.fault("SIGKILL", "a")
    history.round(1, {})
    assert isinstance(history.entries[0].event, FaultStep)
    assert history.entries[0].event.phase is Phase.BEGIN
    later = history.member("a").write(UnknownEvent("later"))
    said = [told(encode_entry(entry).encode()) for entry in (*history.entries[:2], later)]
    assert said == [(TellKind.FAULT, "g"), (TellKind.STORED, "g"), (TellKind.OWN, "g")]
    assert told(b'{"timestamp":1,"name":"startup_complete"}') == (TellKind.OWN, None)
    assert told(b"\xff") == (None, None)
