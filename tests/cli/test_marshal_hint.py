"""A Marshal group is not taken for an empty one by the verbs that ask its coordinator."""

import json
import time
from typing import Any

import pytest

from kgroup.cli import main
from kgroup.codes import ErrorCode
from kgroup.testing import InProcessBroker
from kgroup.wire.messages import FetchRequest
from tests.consumer.marshal.stage import Writer

LOG = "__marshal"
POINTER = "Marshal group, see `kgroup marshal state g`"

Shown = pytest.CaptureFixture[str]

# Each starts a Kafka on sockets, and several event loops.
pytestmark = [pytest.mark.kgroup_broker(topics={"t": 2}), pytest.mark.slow]


@pytest.fixture(autouse=True)
def brokers(kgroup_broker: InProcessBroker, monkeypatch: pytest.MonkeyPatch) -> InProcessBroker:
    """Have a group `g` that has committed and claims in the log, and an empty one, `idle`."""
    monkeypatch.setenv("KGROUP_BOOTSTRAP", kgroup_broker.bootstrap_servers)
    kgroup_broker.create_topic(LOG, 1, configs={"message.timestamp.type": "LogAppendTime"})
    kgroup_broker.partition("t").append(*"0123456789")
    Writer(kgroup_broker.partition(LOG), now=time.time).claim(group="g")
    for name in ("g", "idle"):
        kgroup_broker.group(name).commit({("t", 0): 4})
    return kgroup_broker


def ran(words: str, shown: Shown, code: int = 0) -> str:
    """Run a verb, and return what it prints."""
    shown.readouterr()
    assert main(words.split()) == code
    return shown.readouterr().out


def said(words: str, shown: Shown) -> Any:
    """Run a verb, and return its JSON."""
    return json.loads(ran(f"{words} --json", shown))


def test_the_list_of_groups_points_to_the_claims_of_a_marshal_group(capsys: Shown) -> None:
    _, claiming, idle = ran("groups", capsys).splitlines()
    assert POINTER in claiming
    assert "Empty" not in claiming
    assert ("Empty" in idle, "Marshal" in idle) == (True, False)
    assert [each["marshal"] for each in said("groups", capsys)] == [True, False]


def test_a_marshal_group_that_is_shown_points_to_its_claims(capsys: Shown) -> None:
    assert ran("groups show g", capsys).startswith(f"g: {POINTER}, coordinator is node")
    assert said("groups show g", capsys)["marshal"] is True


def test_the_lag_of_a_marshal_group_is_shown_with_where_its_claims_are(capsys: Shown) -> None:
    title, _, row, _ = ran("lag g", capsys).splitlines()
    assert title == f"g: {POINTER}"
    assert row.split()[:4] == ["t-0", "4", "10", "6"]
    assert said("lag g", capsys)["marshal"] is True
    assert said("lag idle", capsys)["marshal"] is False


@pytest.mark.parametrize("verb", ["lag", "groups show"])
def test_a_marshal_group_without_commits_is_not_unknown(
    verb: str, brokers: InProcessBroker, capsys: Shown
) -> None:
    Writer(brokers.partition(LOG), now=time.time).claim(group="new")
    assert main([*verb.split(), "new"]) == 1
    printed = capsys.readouterr().err
    assert "'new' has committed nothing yet" in printed
    assert "`kgroup marshal state new`" in printed


def test_a_group_that_is_not_there_is_unknown_as_ever(capsys: Shown) -> None:
    assert main(["lag", "nobody"]) == 1
    assert "there is no group 'nobody'" in capsys.readouterr().err


def test_a_log_that_cannot_be_read_is_said_and_the_groups_are_listed(
    brokers: InProcessBroker, capsys: Shown
) -> None:
    brokers.answers.error(FetchRequest, ErrorCode.TOPIC_AUTHORIZATION_FAILED, times=None)
    found = said("groups", capsys)
    assert [each["marshal"] for each in found] == [None, None]
    assert main(["groups"]) == 0
    assert "whether a group without members is a Marshal group" in capsys.readouterr().err
