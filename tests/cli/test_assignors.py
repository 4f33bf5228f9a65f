"""`kgroup assignors list` and `simulate`, without a cluster."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kgroup.assignors import FoundAssignor
from kgroup.assignors.simulator import read_scenario
from kgroup.cli import assignors, main

DOCS = Path(__file__).parents[2] / "docs"
Shown = pytest.CaptureFixture[str]

PLUG_IN = """
from kgroup.assignors import GroupAssignment, RebalanceProtocol, BUILT_IN

class Hoarder:
    name = {name!r}
    supported_protocols = (RebalanceProtocol.EAGER,)

    def assign(self, group):
        if len(group.members) > 2:
            raise LookupError("three are a [crowd]")
        first, *others = [member.member_id for member in group.members]
        return GroupAssignment({{first: tuple(group.partitions), **dict.fromkeys(others, ())}})

hoarder = Hoarder()
broken = 1 / 0 if {broken!r} else None
"""


@pytest.fixture(autouse=True)
def beside_plug_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    for module, name, broken in (
        ("hoarders", "hoarder", False),
        ("rangers", "range", False),
        ("wrecks", "wreck", True),
    ):
        Path(f"{module}.py").write_text(PLUG_IN.format(name=name, broken=broken))
        monkeypatch.delitem(sys.modules, module, raising=False)


def simulated(words: list[str], shown: Shown, code: int = 0) -> Any:
    """Run `simulate`, and return its JSON."""
    assert main(["assignors", "simulate", *words, "--json"]) == code
    return json.loads(shown.readouterr().out)


def refused(words: list[str], shown: Shown) -> str:
    """Run `simulate`, which must be a wrong use, and return its error."""
    assert main(["assignors", "simulate", *words]) == 2
    found = shown.readouterr()
    assert found.out == ""
    return found.err


def lines(words: list[str], shown: Shown) -> list[list[str]]:
    """Run `simulate`, and return the words of each line."""
    assert main(["assignors", "simulate", *words]) == 0
    return [line.split() for line in shown.readouterr().out.splitlines()]


# -- list --------------------------------------------------------------------------------------


def test_assignors_are_listed_with_their_protocols_and_where_they_come_from(
    capsys: Shown,
) -> None:
    assert main(["assignors"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["assignor", "protocols", "from"]
    assert ["cooperative-sticky", "cooperative,", "eager", "built", "in"] in rows
    assert ["range", "eager", "built", "in"] in rows


def test_a_broken_plug_in_is_listed_with_its_problem_and_the_exit_code_is_one(
    capsys: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = FoundAssignor("zone", "kgroup-zone 1.2", problem="cannot be loaded: [no] such module")
    monkeypatch.setattr(assignors, "found_assignors", lambda: (bad,))
    assert main(["assignors", "list"]) == 1
    shown = capsys.readouterr().out
    assert "kgroup-zone 1.2" in shown
    assert "cannot be loaded: [no] such module" in shown
    assert not re.search(" $", shown, re.MULTILINE)  # a narrow terminal would wrap the blanks
    assert main(["assignors", "list", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == [
        {
            "name": "zone",
            "protocols": [],
            "from": "kgroup-zone 1.2",
            "problem": "cannot be loaded: [no] such module",
        }
    ]


# -- what is shown -----------------------------------------------------------------------------


def test_assignors_stand_beside_each_other_at_each_event(capsys: Shown) -> None:
    rows = lines(["--example", "swaps", "--no-time"], capsys)
    assert rows[0] == ["1", "member,", "1", "topic,", "8", "partitions,", "3", "events"]
    assert rows[1] == ["event", "assignor", "spread", "deviation", "moves", "stopped", "rounds"]
    at = rows.index(["join", "m3", "range", "2-3", "0.47", "3", "8", "1"])
    assert rows[at + 1 : at + 5] == [
        ["roundrobin", "2-3", "0.47", "4", "8", "1"],
        ["sticky", "2-3", "0.47", "2", "8", "1"],
        ["cooperative-sticky", "2-3", "0.47", "2", "2", "2"],
        ["optimum", "2-3", "0.47", "2", "-", "-"],
    ]


def test_time_and_racks_are_shown_where_there_are_any(capsys: Shown) -> None:
    rows = lines(["--example", "racks", "--assignor", "range"], capsys)
    assert rows[1][-3:] == ["racks", "rounds", "time"]
    assert (rows[2][-1], rows[2][-4].endswith("/60")) == ("ms", True)


def test_owners_are_shown_when_asked_for(capsys: Shown) -> None:
    words = ["--example", "swaps", "--assignor", "range", "--show-assignment"]
    rows = lines(words, capsys)
    at = rows.index(["join", "m3", "range", "m1", "orders", "0-2"])
    assert rows[at + 1 : at + 3] == [["m2", "orders", "3-5"], ["m3", "orders", "6-7"]]
    found = simulated(words, capsys)
    (run, _) = found["runs"]
    assert run["outcomes"][2]["owned"]["m2"] == {"orders": [3, 4, 5]}
    assert "owned" not in simulated(words[:-1], capsys)["runs"][0]["outcomes"][2]


def test_the_json_of_a_simulation_can_be_simulated_again(capsys: Shown, tmp_path: Path) -> None:
    first = simulated(["--example", "unequal", "--no-time"], capsys)
    path = tmp_path / "again.json"
    path.write_text(json.dumps(first))
    assert simulated(["--group", str(path), "--no-time"], capsys) == first
    assert [run["assignor"] for run in first["runs"]][-2:] == ["cooperative-sticky", "optimum"]
    assert "rounds" not in first["runs"][-1]["outcomes"][0]


def test_on_a_narrow_terminal_an_event_has_a_line_of_its_own_and_nothing_is_cut_off(
    capsys: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    words = ["assignors", "simulate", "--example", "racks", "--assignor", "cooperative-sticky"]
    for columns in ("80", "40"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(words) == 0
        rows = re.sub(r"\x1b\[[0-9;?]*\w", "", capsys.readouterr().out).splitlines()
        assert rows[2].split() == ["start"]
        assert rows[3].split()[:7] == ["cooperative-sticky", "10-10", *"000", "60/60", "1"]
        assert not any("…" in row for row in rows)
    monkeypatch.setenv("COLUMNS", "120")
    assert main(words) == 0
    rows = re.sub(r"\x1b\[[0-9;?]*\w", "", capsys.readouterr().out).splitlines()
    assert rows[2].split()[:2] == ["start", "cooperative-sticky"]


def test_a_name_cannot_play_with_the_terminal(capsys: Shown, tmp_path: Path) -> None:
    path = tmp_path / "group.json"
    member = {"member_id": "a\x1b[31m\nb", "topics": ["t"]}
    path.write_text(json.dumps({"topics": {"t": 1}, "members": [member]}))
    words = ["assignors", "simulate", "--group", str(path), "--show-assignment"]
    assert main([*words, "--leave", "a\x1b[31m\nb"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "leave a\\u001b[31m\\nb" in shown


# -- groups and events -------------------------------------------------------------------------


def test_a_group_is_read_from_standard_input(
    capsys: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b'{"topics": {"t": 4}, "members": [{"member_id": "a", "topics": ["t"]}]}'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    found = simulated(["--group", "-", "--join", "1"], capsys)
    assert read_scenario(json.dumps(found)).members[0].member_id == "a"


def test_events_come_in_the_order_that_is_documented(capsys: Shown, tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    path.write_text('[{"wait": 5}]')
    options = ["--grow", "orders=9", "--leave", "m1", "--leave", "new-001", "--join", "2"]
    words = ["--example", "swaps", "--assignor", "range", *options, "--events", str(path)]
    found = simulated(words, capsys)["runs"][0]["outcomes"]
    kinds = [next(iter(outcome["event"] or {"start": 0})) for outcome in found]
    assert kinds == ["start", *["join"] * 3, "wait", "join", "join", "leave", "leave", "grow"]
    assert found[-1]["event"] == {"grow": "orders", "to": 9}


def test_new_members_subscribe_to_the_topics_that_are_named(capsys: Shown) -> None:
    words = ["--example", "unequal", "--join", "1", "--topic", "audit", "--show-assignment"]
    (end, *_) = (run["outcomes"][-1] for run in simulated(words, capsys)["runs"])
    assert set(end["owned"]["new-001"]) <= {"audit"}


def test_the_protocol_can_be_chosen(capsys: Shown) -> None:
    words = ["--example", "swaps", "--assignor", "cooperative-sticky"]
    cooperative, eager = (
        simulated(words, capsys)["runs"][0],
        simulated([*words, "--protocol", "eager"], capsys)["runs"][0],
    )
    assert (cooperative["protocol"], eager["protocol"]) == ("cooperative", "eager")
    assert (cooperative["outcomes"][1]["stopped"], eager["outcomes"][1]["stopped"]) == (4, 8)


@pytest.mark.parametrize(
    ("words", "way_out"),
    [
        ([], "group: got None, expected one of --group, --live, --example"),
        (["--example", "swaps", "--group", "x"], "got '--group and --example', expected one of"),
        (["--example", "swap"], "--example: got 'swap', expected one of swaps, equal"),
        (["--group", "nowhere.json"], "--group: got 'nowhere.json', expected a file that can be"),
        (["--group", "."], "expected a file that can be read (Is a directory)"),
        (["--group", "bad.json"], "bad.json: topics.t: got -1, expected a whole number"),
        (["--group", "-", "--events", "-"], "a file, since stdin is read for --group"),
        (["--example", "swaps", "--grow", "orders"], "--grow: got 'orders', expected TOPIC=N"),
        (["--example", "swaps", "--grow", "orders=-1"], "--grow: got 'orders=-1'"),
        (["--example", "swaps", "--grow", "orders=8"], "--grow: got 8, expected more than 8"),
        (["--example", "swaps", "--grow", f"orders={'9' * 5000}"], "--grow: got 'orders=99"),
        (["--example", "swaps", "--leave", "m9"], "--leave: got 'm9', expected a member that is"),
        (["--example", "swaps", "--events", "late.json"], "late.json: [1].leave: got 'm9'"),
        (["--group", "late-too.json"], "late-too.json: events[0].leave: got 'm9', expected"),
        (["--example", "swaps", "--topic", "orders"], "--topic: got ['orders'], expected --join"),
        (["--example", "unequal", "--join", "1"], "--topic: got None, expected"),
        (["--example", "swaps", "--assignor", "rnage"], "did you mean 'range'?"),
        (["--example", "swaps", "--assignor", "hoarders:"], "expected the name of an assignor, or"),
        (["--example", "swaps", "--assignor", "none.such:A"], "No module named 'none'"),
        (["--example", "swaps", "--assignor", "hoarders:X"], "has no attribute 'X'"),
        (["--example", "swaps", "--assignor", "wrecks:X"], "ZeroDivisionError"),
        (["--example", "swaps", "--assignor", "hoarders:PLUG"], "hoarders:PLUG"),
        (["--example", "swaps", "--assignor", "os:path"], "expected an assignor, but it has no"),
        (["--example", "swaps", *["--assignor", "range"] * 2], "each assignor only once"),
        (["--example", "swaps", "--protocol", "sticky"], "'sticky' is none of eager, cooperative"),
        (["--example", "swaps", "--protocol", "cooperative"], "protocol: got 'cooperative'"),
        (["--live", ""], "--live: got '', expected the name of a group"),
    ],
)
def test_a_wrong_use_names_the_option_the_value_and_the_way_out(
    words: list[str], way_out: str, capsys: Shown
) -> None:
    Path("bad.json").write_text('{"topics": {"t": -1}}')
    Path("late.json").write_text('[{"leave": "m4"}, {"leave": "m9"}]')
    Path("late-too.json").write_text('{"topics": {}, "events": [{"leave": "m9"}]}')
    shown = " ".join(refused(words, capsys).replace("│", " ").split())
    assert way_out in shown


def test_the_description_of_the_page_can_be_played(capsys: Shown, tmp_path: Path) -> None:
    page = (DOCS / "simulated-group.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    path = tmp_path / "group.json"
    path.write_text(text)
    outcomes = simulated(["--group", str(path)], capsys)["runs"][0]["outcomes"]
    assert len(outcomes) == 1 + len(json.loads(text)["events"])


# -- assignors of one's own --------------------------------------------------------------------


@pytest.mark.parametrize("word", ["hoarders:Hoarder", "hoarders:hoarder"])
def test_a_module_beside_which_the_command_runs_can_be_named(word: str, capsys: Shown) -> None:
    words = ["--example", "swaps", "--assignor", word, "--assignor", "sticky"]
    found = simulated(words, capsys, code=1)["runs"]
    assert [run["assignor"] for run in found] == ["hoarder", "sticky", "optimum"]
    assert [each["most"] for each in found[0]["outcomes"]] == [8, 8]
    assert [len(run["outcomes"]) for run in found] == [2, 4, 4]


def test_what_an_assignor_prints_is_no_part_of_the_answer(capsys: Shown) -> None:
    Path("talkers.py").write_text(
        "from kgroup.assignors import BUILT_IN\nprint('loaded')\n"
        "class Talker(type(BUILT_IN['range'])):\n    name = 'talker'\n"
        "    def assign(self, group):\n        print('asked')\n        return super().assign(group)"
    )
    assert (
        main(["assignors", "simulate", "--example", "swaps", "--assignor", "talkers:Talker"]) == 0
    )
    shown = capsys.readouterr()
    assert "asked" not in shown.out
    assert shown.err.split()[:2] == ["loaded", "asked"]
    assert [
        run["assignor"]
        for run in simulated(["--example", "swaps", "--assignor", "talkers:Talker"], capsys)["runs"]
    ] == ["talker", "optimum"]


def test_assignors_of_one_name_are_distinguished(capsys: Shown) -> None:
    words = ["--example", "static", "--assignor", "rangers:Hoarder", "--assignor", "range"]
    found = simulated(words, capsys, code=1)["runs"]
    assert [run["assignor"] for run in found] == ["rangers:Hoarder", "range", "optimum"]


def test_an_assignor_that_fails_says_why_beside_the_others(capsys: Shown) -> None:
    words = ["--example", "swaps", "--no-time", "--assignor", "hoarders:Hoarder"]
    assert main(["assignors", "simulate", *words, "--assignor", "range"]) == 1
    shown = capsys.readouterr().out
    assert "assignor 'hoarder' raised" in shown
    assert "three are a [crowd]" in shown
    assert "range     2-2" in shown
    assert re.search(r"join m3 +hoarder +assignor 'hoarder' raised", shown)
    (run, *_) = simulated(words, capsys, code=1)["runs"]
    assert "three are a [crowd]" in run["error"]


# -- as a program ------------------------------------------------------------------------------


@pytest.mark.slow
def test_ctrl_c_ends_a_long_simulation_without_a_word_of_python(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    members = [{"member_id": f"m{n:04}", "topics": ["t"]} for n in range(1000)]
    events = [{"restart": [member["member_id"] for member in members]}]
    path.write_text(json.dumps({"topics": {"t": 20_000}, "members": members, "events": events}))
    words = [sys.executable, "-m", "kgroup.cli", "assignors", "simulate", "--group", str(path)]
    environ = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(words, stderr=subprocess.PIPE, env=environ) as process:
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(3)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130
    assert b"Traceback" not in errors
