"""The verbs of `kgroup marshal` as a person uses them, on a Kafka in the process."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kgroup.cli import main
from kgroup.codes import ErrorCode
from kgroup.testing import InProcessBroker
from kgroup.wire.messages import DescribeConfigsRequest, OffsetCommitRequest
from tests.consumer.marshal.stage import Writer

LOG = "__marshal"
WRONG_USE = 2

Shown = pytest.CaptureFixture[str]

# Each starts a Kafka on sockets, and several event loops.
pytestmark = [pytest.mark.kgroup_broker(topics={"t": 2}), pytest.mark.slow]


@pytest.fixture(autouse=True)
def brokers(kgroup_broker: InProcessBroker, monkeypatch: pytest.MonkeyPatch) -> InProcessBroker:
    """Have every verb find the cluster of the test; topic `t` has ten records a partition."""
    monkeypatch.setenv("KGROUP_BOOTSTRAP", kgroup_broker.bootstrap_servers)
    for number in range(2):
        kgroup_broker.partition("t", number).append(*"0123456789")
    return kgroup_broker


def did(words: str, shown: Shown, code: int = 0) -> Any:
    """Run a verb, and return its JSON."""
    shown.readouterr()
    assert main(["marshal", *words.split(), "--json"]) == code, shown.readouterr().err
    return json.loads(shown.readouterr().out)


def failed(words: str, shown: Shown, code: int = 1) -> str:
    """Run a verb that must fail, and return its error."""
    shown.readouterr()
    assert main(["marshal", *words.split()]) == code
    return shown.readouterr().err


def laid(broker: InProcessBroker, **who: Any) -> Writer:
    """Make the log of claims, and return a client that writes to it."""
    broker.create_topic(LOG, 1, configs={"message.timestamp.type": "LogAppendTime"})
    return Writer(broker.partition(LOG), now=time.time, **who)


def log_of(broker: InProcessBroker) -> list[str]:
    return [(each.value or b"").split(b"/")[0].decode() for each in broker.partition(LOG).records()]


# -- init ------------------------------------------------------------------------------------


def test_a_topic_is_made_with_what_claims_need(brokers: InProcessBroker, capsys: Shown) -> None:
    dry = did("init --partitions 3 --dry-run", capsys)
    assert (dry["created"], dry["partitions"], dry["replicas"]) == (False, 3, 1)
    assert "there is none" in failed("state", capsys), "nothing was made"
    made = did("init --partitions 3", capsys)
    assert (made["created"], made["partitions"]) == (True, 3)
    assert made["settings"]["message.timestamp.type"] == "LogAppendTime"
    assert made["settings"]["cleanup.policy"] == "delete"
    again = did("init --partitions 5", capsys)
    assert (again["created"], again["partitions"]) == (False, 3)
    assert {each["concern"] for each in again["warnings"]} == {"replicas", "in-sync replicas"}


def test_one_that_is_there_is_not_changed_and_what_is_amiss_is_said(
    brokers: InProcessBroker, capsys: Shown
) -> None:
    configs = {"retention.ms": "60000", "compression.type": "lz4"}
    brokers.create_topic(LOG, 2, configs=configs)
    assert main(["marshal", "init"]) == 0
    printed = capsys.readouterr()
    assert "__marshal is there, has 2 partitions" in printed.out
    assert "retention.ms is 60000" in printed.err
    assert "set it to uncompressed" in printed.err
    assert "set it to LogAppendTime" in printed.err


def test_a_compacted_topic_is_refused(brokers: InProcessBroker, capsys: Shown) -> None:
    brokers.create_topic(LOG, 1, configs={"cleanup.policy": "compact"})
    assert "cleanup.policy" in failed("init", capsys)


def test_settings_that_may_not_be_seen_are_a_warning(
    brokers: InProcessBroker, capsys: Shown
) -> None:
    laid(brokers)
    brokers.answers.error(DescribeConfigsRequest, ErrorCode.TOPIC_AUTHORIZATION_FAILED, times=None)
    assert did("init", capsys)["warnings"][0]["concern"] == "settings not seen"


# -- state -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "verb",
    ["state", "watch g", "pause g", "resume g", "release g"],
)
def test_the_error_without_a_log_of_claims_names_the_way_out(verb: str, capsys: Shown) -> None:
    assert "`kgroup marshal init` makes it" in failed(verb, capsys)


def test_the_state_names_owners_leases_positions_and_rejects(
    brokers: InProcessBroker, capsys: Shown
) -> None:
    writer = laid(brokers, client="A")
    writer.beat(4, writer.claim())
    released = Writer(brokers.partition(LOG), client="B", now=time.time)
    epoch = released.claim(topic="u", group="h")
    assert epoch == 2
    brokers.partition(LOG).append(b"garbage")
    found = did("state --digest", capsys)
    first, second = found["groups"]
    (key,) = first["keys"]
    assert (first["group"], key["topic"], key["partition"]) == ("g", "t", 0)
    assert (key["client_id"], key["instance_id"], key["state"]) == ("A", "i1", "owned")
    assert (key["epoch"], key["offset"], key["committed"]) == (0, 4, None)
    assert key["since_heartbeat"] <= 5
    assert 110 < key["lease_left"] <= 120
    assert second["keys"][0]["offset"] is None
    assert found["rejects"] == {"fewer than eight fields": 1}
    assert len(found["coordination_partitions"][0]["digest"]) == 64
    assert (
        did("state --digest --whole", capsys)["coordination_partitions"]
        == (found["coordination_partitions"])
    )


def test_the_state_can_be_of_one_group_and_topic(brokers: InProcessBroker, capsys: Shown) -> None:
    writer = laid(brokers)
    for group, topic in (("g", "t"), ("g", "u"), ("h", "t")):
        writer.claim(topic=topic, group=group)
    (group,) = did("state g --topic t", capsys)["groups"]
    assert (group["group"], [key["topic"] for key in group["keys"]]) == ("g", ["t"])
    assert did("state nobody", capsys)["groups"][0]["keys"] == []


def test_the_state_is_a_table_for_a_person_and_plays_no_tricks(
    brokers: InProcessBroker, capsys: Shown
) -> None:
    writer = laid(brokers, client="[red]\x1b[31mA", headerless=True)
    writer.claim()
    assert main(["marshal", "state"]) == 0
    printed = capsys.readouterr().out
    assert "g: 1 keys, 1 owned" in printed
    assert "[red]\\u001b[31mA/i1" in printed
    assert "original library" in printed


# -- pause, resume, release ------------------------------------------------------------------


def test_a_pause_is_seen_and_ends(brokers: InProcessBroker, capsys: Shown) -> None:
    laid(brokers)
    paused = did("pause g --for 60", capsys)
    assert paused["coordination_partitions"] == [0]
    (group,) = did("state g", capsys)["groups"]
    assert [pause["client_id"] for pause in group["pauses"]] == [paused["client_id"]]
    assert did("resume g", capsys)["resumed"] is True
    (group,) = did("state g", capsys)["groups"]
    assert group["pauses"] == []
    assert did("resume g", capsys)["resumed"] is False
    assert log_of(brokers) == ["ReleaseGroup"] * 2


@pytest.mark.parametrize("verb", ["pause --for 60", "release", "resume"])
def test_a_dry_run_shows_the_holders_and_writes_nothing(
    brokers: InProcessBroker, capsys: Shown, verb: str
) -> None:
    writer = laid(brokers, client="worker")
    writer.beat(3, writer.claim())
    end = brokers.partition(LOG).end
    found = did(f"{verb} g --dry-run", capsys)
    assert (found["dry_run"], found["paused_for"]) == (True, 0.0)
    assert [each["client_id"] for each in found["held"]] == ["worker"]
    assert brokers.partition(LOG).end == end


def test_a_dry_run_says_that_a_group_is_paused(brokers: InProcessBroker, capsys: Shown) -> None:
    laid(brokers)
    did("pause g --for 60", capsys)
    assert 50 < did("resume g --dry-run", capsys)["paused_for"] < 65


@pytest.mark.parametrize("verb", ["pause", "release"])
def test_nobody_is_paused_where_the_original_library_is(
    verb: str, brokers: InProcessBroker, capsys: Shown
) -> None:
    laid(brokers, client="go", headerless=True).claim(group="other")
    error = failed(f"{verb} g", capsys)
    assert "original library wrote about t-0 of group 'other'" in error
    assert log_of(brokers) == ["ClaimingPartition"]


def test_a_client_that_does_not_let_go_is_named_and_the_pause_ends_all_the_same(
    brokers: InProcessBroker, capsys: Shown
) -> None:
    writer = laid(brokers, client="stubborn")
    writer.beat(3, writer.claim())
    found = did("release g --patience 1", capsys, 1)
    assert (found["released"], found["left"][0]["client_id"]) == (False, "stubborn")
    assert did("state g", capsys)["groups"][0]["pauses"] == []


def test_a_group_that_has_nothing_is_released_at_once(
    brokers: InProcessBroker, capsys: Shown
) -> None:
    laid(brokers)
    assert did("release g", capsys)["released"] is True


def test_somebody_elses_pause_is_respected(brokers: InProcessBroker, capsys: Shown) -> None:
    laid(brokers)
    did("pause g --client-id ada --for 60", capsys)
    for verb in ("release", "set-positions --to t-0=1"):
        assert "paused by 'ada'" in failed(f"{verb} g", capsys)


def test_a_pause_that_was_there_before_goes_on(brokers: InProcessBroker, capsys: Shown) -> None:
    laid(brokers)
    who = did("pause g --for 600", capsys)["client_id"]
    did(f"set-positions g --to t-0=1 --client-id {who}", capsys)
    (pause,) = did("state g", capsys)["groups"][0]["pauses"]
    assert pause["until"] > (time.time() + 300) * 1000


# -- positions -------------------------------------------------------------------------------


def rows(found: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(each["partition"], each["former"], each["target"], each["result"]) for each in found]


def test_positions_are_set_by_partition_by_topic_and_by_file(
    brokers: InProcessBroker, tmp_path: Path, capsys: Shown
) -> None:
    laid(brokers)
    dry = did("set-positions g --topic t --to latest --dry-run", capsys)
    assert rows(dry) == [(0, None, 10, "planned"), (1, None, 10, "planned")]
    assert log_of(brokers) == []
    found = did("set-positions g --topic t --to -3 --to t-1=4", capsys)
    assert rows(found) == [(0, None, 7, "set"), (1, None, 4, "set")]
    file = tmp_path / "positions"
    file.write_text("# both\nt-0 = earliest\n\nt-1=2\n", encoding="utf-8")
    found = did(f"set-positions g --file {file}", capsys)
    assert rows(found) == [(0, 7, 0, "set"), (1, 4, 2, "set")]
    keys = did("state g", capsys)["groups"][0]["keys"]
    assert [(key["offset"], key["committed"], key["state"]) for key in keys] == [
        (0, 0, "released"),
        (2, 2, "released"),
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--to t-0=11", "position of t-0: got 11, expected 0 to 10"),
        ("--to t-2=0", "'t-2', expected one of the 2 of 't'"),
        ("--from-committed", "a group that has committed something"),
    ],
)
def test_what_no_log_has_is_refused_and_nothing_is_written(
    words: str, said: str, brokers: InProcessBroker, capsys: Shown
) -> None:
    laid(brokers)
    assert said in failed(f"set-positions g {words}", capsys, WRONG_USE)
    assert log_of(brokers) == []


def test_the_error_of_a_topic_that_is_not_there_has_the_nearest_name(
    brokers: InProcessBroker, capsys: Shown
) -> None:
    brokers.create_topic("payments", 1)
    laid(brokers)
    error = failed("set-positions g --to paymets-0=0", capsys)
    assert "did you mean 'payments'" in error


def test_a_position_that_was_not_set_makes_the_exit_code_1(
    brokers: InProcessBroker, capsys: Shown
) -> None:
    writer = laid(brokers)
    writer.beat(3, writer.claim())
    writer.release(3)
    code = ErrorCode.GROUP_AUTHORIZATION_FAILED
    brokers.answers.error(OffsetCommitRequest, code, times=None)
    (row,) = did("set-positions g --to t-0=5", capsys, 1)
    assert (row["result"], row["former"]) == ("kept", 3)
    assert "GROUP_AUTHORIZATION_FAILED" in row["reason"]
    assert did("state g", capsys)["groups"][0]["keys"][0]["offset"] == 3
