"""The verbs of the `kgroup` command as a person uses them, on a real broker."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup.cli import main
from kgroup.testing.kafka import RealKafka
from kgroup.types import TopicPartition
from tests.real.ground import Ground, committed, eventually, fresh, lay_ground, value_at

pytestmark = pytest.mark.real

PATIENCE = 30.0
INTERRUPTED = 130
Shown = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def broker(kafka: RealKafka, monkeypatch: pytest.MonkeyPatch) -> RealKafka:
    """Have every verb find the broker of this run."""
    monkeypatch.setenv("KGROUP_BOOTSTRAP", kafka.bootstrap)
    return kafka


def ground_with(kafka: RealKafka, partitions: int, records: int) -> Ground:
    async def lay() -> Ground:
        ground = await lay_ground(kafka, partitions)
        await ground.fill(records)
        return ground

    return anyio.run(lay)


def answer(words: list[str], shown: Shown) -> Any:
    """Run a verb that must work, and return its JSON."""
    shown.readouterr()
    assert main([*words, "--json"]) == 0, shown.readouterr().err
    return json.loads(shown.readouterr().out)


class Running:
    """A verb in a process of its own, its output in files.

    Args:
        process: the process.
        out: where its output goes.
        err: where its error output goes.
    """

    def __init__(self, process: subprocess.Popen[bytes], out: Path, err: Path) -> None:
        self.process = process
        self.out = out
        self.err = err

    @property
    def lines(self) -> list[str]:
        return self.out.read_text().splitlines()

    def prints(self, count: int) -> None:
        """Wait until it has printed so many lines."""
        enough = partial(eventually, timeout=PATIENCE)
        try:
            anyio.run(enough, lambda: len(self.lines) >= count, f"{count} lines are printed")
        except TimeoutError as error:
            raise AssertionError(f"{len(self.lines)} lines; {self.err.read_text()}") from error

    def interrupt(self) -> int:
        """Press Ctrl-C, and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@contextmanager
def running(words: list[str], folder: Path) -> Iterator[Running]:
    """Have a verb running for one block; it does not outlive it."""
    out, err = folder / fresh("out"), folder / fresh("err")
    command = [sys.executable, "-m", "kgroup.cli", *words]
    with out.open("wb") as output, err.open("wb") as errors:
        process = subprocess.Popen(command, stdout=output, stderr=errors)
    try:
        yield Running(process, out, err)
    finally:
        process.kill()
        process.wait()


# -- topics --------------------------------------------------------------------------------


def test_a_topic_is_made_listed_described_and_deleted(capsys: Shown) -> None:
    name = fresh("cli")
    words = ["topics", "create", name, "--partitions", "3", "--set", "retention.ms=60000"]
    assert main(words) == 0
    assert f"created topic {name}" in capsys.readouterr().out
    assert main(words) == 1
    assert "is there already" in capsys.readouterr().err
    assert main(["topics"]) == 0
    (line,) = [each for each in capsys.readouterr().out.splitlines() if name in each]
    assert line.split() == [name, "3", "1", "1"]
    (described,) = answer(["topics", name, "--offsets"], capsys)
    assert [(p["partition"], p["begin"], p["end"]) for p in described["partitions"]] == [
        (0, 0, 0),
        (1, 0, 0),
        (2, 0, 0),
    ]
    assert main(["topics", "delete", name, "--yes"]) == 0
    assert main(["topics", name]) == 1
    assert f"there is no topic {name!r}" in capsys.readouterr().err


def test_topics_of_the_broker_are_listed_when_asked_for(kafka: RealKafka, capsys: Shown) -> None:
    ground = ground_with(kafka, 1, 1)
    assert main(["consume", ground.topic, "--group", fresh("cli"), "--no-follow"]) == 0
    internal = "__consumer_offsets"
    assert internal not in [topic["name"] for topic in answer(["topics"], capsys)]
    found = {topic["name"]: topic for topic in answer(["topics", "--internal"], capsys)}
    assert found[internal]["internal"]


# -- consume -------------------------------------------------------------------------------


def test_records_are_printed_as_lines_of_json(kafka: RealKafka, capsys: Shown) -> None:
    ground = ground_with(kafka, 3, 20)
    assert main(["consume", ground.topic, "--no-follow", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = {(TopicPartition(line["topic"], line["partition"]), line["offset"]) for line in lines}
    assert (found, len(lines)) == (ground.expected(), 60)
    for line in lines:
        tp = TopicPartition(line["topic"], line["partition"])
        assert line["value"] == value_at(tp, line["offset"]).decode()
        assert (line["key"], line["headers"], line["timestamp"] > 0) == (None, [], True)


@pytest.mark.parametrize(
    ("options", "offsets"),
    [
        (["--from", "-3"], range(17, 20)),
        (["--from", "5", "--until", "8"], range(5, 8)),
        (["--from", "1h", "--max-records", "4"], range(4)),
        (["--from", "latest"], range(0)),
        (["--until", "2000-01-01T00:00Z"], range(0)),
    ],
)
def test_a_part_of_a_log_is_printed(
    kafka: RealKafka, capsys: Shown, options: list[str], offsets: range
) -> None:
    ground = ground_with(kafka, 1, 20)
    follow = [] if "--until" in options else ["--no-follow"]
    assert main(["consume", ground.topic, "--values-only", *options, *follow]) == 0
    expected = [value_at(ground.tp(0), offset).decode() for offset in offsets]
    assert capsys.readouterr().out.splitlines() == expected


def test_what_a_group_printed_is_no_lag_any_more(kafka: RealKafka, capsys: Shown) -> None:
    ground, group = ground_with(kafka, 3, 20), fresh("cli")
    words = ["consume", ground.topic, "--group", group, "--from", "earliest"]
    assert main([*words, "--until", "15"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 45
    behind = answer(["lag", group], capsys)
    assert (behind["lag"], [row["lag"] for row in behind["partitions"]]) == (15, [5, 5, 5])
    assert main([*words, "--no-follow"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 15
    assert main(["lag", group]) == 0
    shown = capsys.readouterr().out
    assert "total lag 0 in 3 partitions" in shown
    assert f"{ground.topic}-2         20   20    0" in shown


def test_ctrl_c_ends_cleanly_and_commits_what_was_printed(
    kafka: RealKafka, capsys: Shown, tmp_path: Path
) -> None:
    ground, group = ground_with(kafka, 2, 50), fresh("cli")
    words = ["consume", ground.topic, "--group", group, "--from", "earliest"]
    with running(words, tmp_path) as verb:
        verb.prints(100)
        assert verb.interrupt() == INTERRUPTED
        assert (verb.err.read_text(), len(verb.lines)) == ("", 100)
    assert committed(kafka, group) == {0: 50, 1: 50}
    assert answer(["groups", "show", group], capsys)["members"] == []


def test_a_reader_that_goes_away_ends_it_silently(kafka: RealKafka) -> None:
    ground = ground_with(kafka, 1, 20_000)
    command = f"{sys.executable} -m kgroup.cli consume {ground.topic} --from earliest | head -n 3"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        env=dict(os.environ),
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.splitlines()) == 3


# -- groups and lag ------------------------------------------------------------------------


def test_a_group_is_listed_and_shown_with_its_member(
    kafka: RealKafka, capsys: Shown, tmp_path: Path
) -> None:
    ground, group = ground_with(kafka, 3, 1), fresh("cli")
    words = ["consume", ground.topic, "--group", group, "--from", "earliest"]
    with running(words, tmp_path) as verb:
        verb.prints(3)
        (listed,) = [one for one in answer(["groups"], capsys) if one["group"] == group]
        assert (listed["state"], listed["members"], listed["type"]) == ("Stable", 1, "classic")
        (member,) = answer(["groups", "show", group], capsys)["members"]
        assert (member["client_id"], member["topics"]) == ("kgroup-cli", [ground.topic])
        assert [each["partition"] for each in member["assigned"]] == [0, 1, 2]
        assert main(["groups", "show", group]) == 0
        assert f"{ground.topic} 0-2" in capsys.readouterr().out
        owners = {row["client_id"] for row in answer(["lag", group], capsys)["partitions"]}
        assert owners == {"kgroup-cli"}
        assert verb.interrupt() == INTERRUPTED


def test_a_static_member_that_died_is_evicted(
    kafka: RealKafka, capsys: Shown, tmp_path: Path
) -> None:
    ground, group = ground_with(kafka, 2, 1), fresh("cli")
    options = tmp_path / "till.properties"
    options.write_text("group.instance.id = till-7\nsession.timeout = 300\n")
    words = ["consume", ground.topic, "--group", group, "--from", "earliest"]
    with running([*words, "--config", str(options)], tmp_path) as verb:
        verb.prints(2)
        verb.process.kill()
        verb.process.wait(PATIENCE)
    (member,) = answer(["groups", "show", group], capsys)["members"]
    assert member["group_instance_id"] == "till-7"
    evict = ["groups", "evict", group, "--instance", "till-7", "--reason", "it died"]
    assert main(evict) == 0
    assert capsys.readouterr().out == "instance 'till-7': removed\n"
    shown = answer(["groups", "show", group], capsys)
    assert (shown["state"], shown["members"]) == ("Empty", [])
    assert main(evict) == 1
    assert capsys.readouterr().out == f"instance 'till-7': no member of {group}\n"


def test_a_group_without_members_is_deleted(kafka: RealKafka, capsys: Shown) -> None:
    ground, group = ground_with(kafka, 1, 1), fresh("cli")
    assert main(["consume", ground.topic, "--group", group, "--no-follow"]) == 0
    assert main(["groups", "delete", group, "--yes"]) == 0
    assert main(["groups", "show", group]) == 1
    assert f"there is no group {group!r}" in capsys.readouterr().err


def test_lag_is_watched_while_a_group_reads(
    kafka: RealKafka, capsys: Shown, tmp_path: Path
) -> None:
    ground, group = ground_with(kafka, 2, 10), fresh("cli")
    assert main(["consume", ground.topic, "--group", group, "--no-follow"]) == 0
    words = ["lag", group, "--watch", "--interval", "0.2", "--json"]
    with running(words, tmp_path) as verb:
        verb.prints(2)
        anyio.run(ground.fill, 10)
        verb.prints(len(verb.lines) + 2)
        assert verb.interrupt() == INTERRUPTED
        looks = [json.loads(line) for line in verb.lines]
    assert (looks[0]["lag"], looks[-1]["lag"]) == (0, 20)
    written = [row["written_per_second"] or 0 for look in looks for row in look["partitions"]]
    assert max(written) > 0
    assert verb.err.read_text() == ""
