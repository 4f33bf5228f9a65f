"""A live group is simulated, and does not notice."""

import json
from pathlib import Path
from typing import Any

import pytest

from kgroup.cli import main
from kgroup.testing.kafka import RealKafka
from tests.real.ground import fresh
from tests.real.test_cli import INTERRUPTED, Shown, ground_with, running

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def broker(kafka: RealKafka, monkeypatch: pytest.MonkeyPatch) -> RealKafka:
    """Have every verb find the broker of this run."""
    monkeypatch.setenv("KGROUP_BOOTSTRAP", kafka.bootstrap)
    return kafka


def answer(words: list[str], shown: Shown) -> tuple[Any, str]:
    """Run a verb that must work; return its JSON, and what it says beside."""
    shown.readouterr()
    code = main([*words, "--json"])
    found = shown.readouterr()
    assert code == 0, found.err
    return json.loads(found.out), found.err


def test_a_live_group_is_simulated_with_other_assignors_and_does_not_notice(
    kafka: RealKafka, capsys: Shown, tmp_path: Path
) -> None:
    ground, group = ground_with(kafka, 6, 1), fresh("sim")
    options = tmp_path / "till.properties"
    options.write_text("group.instance.id = till-7\nclient.rack = r1\n")
    words = ["consume", ground.topic, "--group", group, "--from", "earliest"]
    with running([*words, "--config", str(options)], tmp_path) as verb:
        verb.prints(6)
        before, _ = answer(["groups", "show", group], capsys)
        ask = ["assignors", "simulate", "--live", group, "--join", "1", "--show-assignment"]
        found, said = answer(ask, capsys)
        after, _ = answer(["groups", "show", group], capsys)
        assert verb.interrupt() == INTERRUPTED
    assert before == after
    assert "nothing was changed" in said
    (member,) = found["members"]
    assert (member["group_instance_id"], member["rack"]) == ("till-7", "r1")
    assert member["owned"] == {ground.topic: [0, 1, 2, 3, 4, 5]}
    assert found["topics"] == {ground.topic: 6}
    for run in found["runs"]:
        start, joined = run["outcomes"]
        assert (start["moves"], start["placed"]) == (0, 0)
        assert (joined["moves"], joined["fewest"], joined["most"]) == (3, 3, 3)
        assert len(joined["owned"]["new-001"][ground.topic]) == 3
    again = tmp_path / "again.json"
    again.write_text(json.dumps(found))
    assert answer(["assignors", "simulate", "--group", str(again)], capsys)[0]["runs"]


def test_a_live_group_without_members_says_why_it_cannot_be_simulated(
    kafka: RealKafka, capsys: Shown
) -> None:
    ground, group = ground_with(kafka, 1, 1), fresh("sim")
    assert main(["consume", ground.topic, "--group", group, "--no-follow"]) == 0
    assert main(["assignors", "simulate", "--live", group]) == 1
    assert f"group {group!r} is Empty and has no members" in capsys.readouterr().err
    assert main(["assignors", "simulate", "--live", f"{group}x"]) == 1
    assert f"did you mean {group!r}?" in capsys.readouterr().err
