"""`kgroup assignors check`: what it takes, what it prints, and how it ends."""

import json
import subprocess
import sys

import pytest

from kgroup.cli import main

FORGETFUL = "tests.assignors.conformance.wrong:ForgetsTheLast"

AUTHORS = """
from kgroup.assignors import GroupAssignment, RebalanceProtocol


class FirstTakesAll:
    name = "first-takes-all"
    supported_protocols = (RebalanceProtocol.EAGER,)

    def __init__(self, *zones):
        self.zones = zones

    def assign(self, group):
        draft = group.draft()
        for partition in group.partitions:
            draft.give(partition, to=group.subscribers(partition.topic)[0])
        return draft.freeze()


class Zoned(FirstTakesAll):
    def __init__(self, zones):
        self.zones = zones


class Talkative(FirstTakesAll):
    def assign(self, group):
        print("asked")
        return super().assign(group)


class Impatient(FirstTakesAll):
    def assign(self, group):
        raise KeyboardInterrupt


class Shapeless:
    name = "shapeless"


MADE = Zoned(("east", "west"))
NUMBER = 42
"""


@pytest.fixture
def authors(tmp_path, monkeypatch):
    """Put an author's module into the folder in which the command is run."""
    (tmp_path / "authors_own.py").write_text(AUTHORS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    sys.modules.pop("authors_own", None)


def check(*words, examples=1):
    return main(["assignors", "check", *words, "--examples", str(examples)])


@pytest.mark.slow
def test_an_assignor_in_the_folder_of_the_caller_that_keeps_its_promises_ends_with_zero(
    authors, capsys
):
    assert check("authors_own:FirstTakesAll") == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1].startswith("first-takes-all keeps all 17 promises (")
    assert any(line.split()[:2] == ["anywhere", "kept"] for line in printed)


@pytest.mark.slow
def test_on_a_terminal_a_bar_shows_how_far_it_is_and_goes_away(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert check("roundrobin") == 0
    printed = capsys.readouterr()
    assert "newcomer" in printed.err
    assert printed.err.endswith("\x1b[2K")  # the line is erased
    assert "no partition is given twice" in printed.out  # 80 columns are enough
    assert "roundrobin keeps all" in printed.out


@pytest.mark.slow
def test_an_instance_can_be_checked(authors, capsys):
    assert check("authors_own:MADE") == 0
    assert "not judged" not in capsys.readouterr().out


@pytest.mark.slow
def test_a_broken_promise_ends_with_one_and_its_counterexample(capsys):
    assert check(FORGETFUL, examples=100) == 1
    printed = capsys.readouterr().out
    assert "group = GroupSubscription(" in printed
    assert "decent breaks 1 of 17 promises" in printed.splitlines()[-1]


@pytest.mark.slow
def test_claims_are_judged(capsys):
    assert check("range", "--balance", "1", "--optimal", examples=200) == 1
    printed = capsys.readouterr().out
    assert "is to have" in printed
    assert "range breaks 2 of 19 promises" in printed


@pytest.mark.slow
def test_what_an_assignor_prints_is_no_part_of_the_answer(authors, capsys):
    check("authors_own:Talkative", "--json")
    shown = capsys.readouterr()
    assert json.loads(shown.out)["assignor"] == "first-takes-all"
    assert "asked" in shown.err


@pytest.mark.slow
def test_a_program_reads_every_promise(capsys):
    assert check(FORGETFUL, "--json", "--sticky", "--seed", "3", examples=25) == 1
    printed = json.loads(capsys.readouterr().out)
    assert (printed["assignor"], printed["passed"], printed["seed"]) == ("decent", False, 3)
    assert printed["claims"] == {"balance": None, "optimal": False, "sticky": True, "rounds": 4}
    promises = {each["name"]: each for each in printed["promises"]}
    assert promises["complete"]["status"] == "broken"
    assert "GroupSubscription(" in promises["complete"]["counterexample"]
    assert promises["handover"]["status"] == "not bound"
    assert promises["handover"]["counterexample"] is None


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("authors_own:Nothing", "has no attribute 'Nothing'"),
        ("nobodys_own:Zoned", "No module named 'nobodys_own'"),
        ("authors_own:", "pkg.module:Class"),
        ("authors_own:NUMBER", "an assignor, its class, or a function making one"),
        ("authors_own:Shapeless", "ASSIGNOR: got 'authors_own:Shapeless', expected an instance"),
        ("authors_own:Zoned", "give an instance, or `lambda: Zoned(...)`"),
        ("stiky", "did you mean 'sticky'?"),
    ],
)
def test_the_error_of_what_cannot_be_checked_names_the_way_out(authors, capsys, word, message):
    assert check(word) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--examples", "0"], ["--balance", "0"], ["--rounds", "1"]])
def test_bounds_of_options_are_kept(capsys, words):
    assert main(["assignors", "check", "range", *words]) == 2
    assert f"'{words[0]}'" in capsys.readouterr().err


@pytest.mark.slow
def test_nothing_is_left_in_the_folder_in_which_it_is_run(tmp_path):
    words = ["assignors", "check", "roundrobin", "--examples", "300"]
    run = [sys.executable, "-m", "kgroup.cli", *words]
    assert subprocess.run(run, cwd=tmp_path, check=False, timeout=60).returncode == 0
    assert not list(tmp_path.iterdir())


def test_an_interrupt_ends_it(authors):
    assert check("authors_own:Impatient") == 130


def test_without_hypothesis_the_extra_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    assert check("range") == 1
    assert "pip install 'kgroup[testing]'" in capsys.readouterr().err
