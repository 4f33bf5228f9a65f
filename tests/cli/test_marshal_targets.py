"""What is typed to say where a Marshal group is to go on."""

from pathlib import Path

import pytest

from kgroup.cli import main
from kgroup.cli.marshal import Scope
from kgroup.cli.marshal_targets import Targets, read_targets
from kgroup.errors import ArgumentError
from kgroup.net.log_offsets import OffsetSpec
from kgroup.net.log_places import FromEnd, Offset, Time
from kgroup.types import TopicPartition

WRONG_USE = 2
NOW = 1_700_000_000.0

Shown = pytest.CaptureFixture[str]


def test_one_place_for_all_and_others_for_some() -> None:
    scope = Scope(group="g", topics=["t"])
    wanted = read_targets(Targets(to=["latest", "a-b-0=7", "t-1=-3", "t-2=15m"]), scope, now=NOW)
    assert wanted.everywhere is OffsetSpec.LATEST
    assert wanted.exact == {
        TopicPartition("a-b", 0): Offset(7),
        TopicPartition("t", 1): FromEnd(3),
        TopicPartition("t", 2): Time(1_699_999_100_000),
    }


def test_a_file_has_one_place_a_line(tmp_path: Path) -> None:
    file = tmp_path / "positions"
    file.write_text("# a remark\n\n t-0 = 7 \nt-1=earliest\n", encoding="utf-8")
    wanted = read_targets(Targets(file=file), Scope(group="g"), now=NOW)
    assert dict(wanted.exact) == {
        TopicPartition("t", 0): Offset(7),
        TopicPartition("t", 1): OffsetSpec.EARLIEST,
    }
    file.write_text("7\n", encoding="utf-8")
    with pytest.raises(ArgumentError, match="lines of TOPIC-PARTITION=PLACE"):
        read_targets(Targets(file=file), Scope(group="g"), now=NOW)


@pytest.mark.parametrize(
    "words",
    [
        "pause",
        "pause g --for 700000",
        "pause g/h",
        "set-positions g",
        "set-positions g --to earliest",
        "set-positions g --to t=1",
        "set-positions g --to t-0=soon",
        "set-positions g --to t-0=1 --to t-0=2",
        "set-positions g --to t-0=1 --from-committed",
        "set-positions g --file no-such-file",
        "set-positions g --to t-0=1 --pause 0",
        "init --partitions 0",
        "watch",
        "release g --client-id a/b",
    ],
)
def test_a_wrong_use_is_refused_before_any_broker_is_asked(words: str, capsys: Shown) -> None:
    command = [*words.split(), "--bootstrap", "127.0.0.1:1", "--timeout", "0.1"]
    assert main(["marshal", *command]) == WRONG_USE
    assert capsys.readouterr().err
