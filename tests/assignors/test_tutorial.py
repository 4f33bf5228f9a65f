"""The pages for authors: every block of them is run."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgroup.assignors import BUILT_IN, UserDataAssignor, conformance, resolve
from kgroup.assignors.conformance import Claims
from kgroup.cli import main
from kgroup.config import ConsumerConfig
from tests.typing.checkers import ROOT, mypy

ASSIGNORS = ("ZoneAssignor", "KeepingAssignor", "LoadedAssignor", "PatientAssignor")
DOCS = ROOT / "docs"
PAGE = (DOCS / "write-an-assignor.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def tutorial() -> dict[str, Any]:
    """Return the names of the tutorial, all of whose Python has run from top to bottom."""
    names: dict[str, Any] = {"__name__": "tutorial"}
    for block in blocks(PAGE, "python"):
        exec(block, names)
    return names


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the tutorial's project: its first block, with its entry points."""
    (tmp_path / "kgroup_zone.py").write_text(blocks(PAGE, "python")[0], encoding="utf-8")
    (toml,) = blocks(PAGE, "toml")
    project = tomllib.loads(toml)["project"]
    info = tmp_path / f"kgroup_zone-{project['version']}.dist-info"
    info.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    entries = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in named.items())
        for group, named in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(entries), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("kgroup_zone", None)


@pytest.mark.slow
def test_every_block_of_the_tutorial_holds(tutorial):
    made = [tutorial[name]() for name in ASSIGNORS]
    assert [each.name for each in resolve(made)] == ["zone", "keeping", "loaded", "patient"]
    assert [isinstance(each, UserDataAssignor) for each in made] == [False, False, True, False]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "claims"),
    [
        ("KeepingAssignor", Claims(balance=1, sticky=True, rounds=2)),
        ("LoadedAssignor", Claims()),
        ("PatientAssignor", Claims()),
    ],
)
def test_the_assignors_of_the_tutorial_keep_what_they_promise(tutorial, name, claims):
    report = conformance.run(tutorial[name], claims, examples=300)
    assert not [outcome.reason for outcome in report.outcomes if outcome.broken]


@pytest.mark.slow
def test_the_programs_of_the_tutorial_are_typed(tmp_path):
    program = tmp_path / "tutorial.py"
    program.write_text("\n\n".join(blocks(PAGE, "python")), encoding="utf-8")
    assert not mypy([program])


@pytest.mark.slow
def test_the_project_of_the_tutorial_can_be_installed_with_its_test_beside_it(tmp_path):
    (test,), (project,) = blocks(PAGE, "py"), blocks(PAGE, "toml")
    (tmp_path / "kgroup_zone.py").write_text(blocks(PAGE, "python")[0], encoding="utf-8")
    (tmp_path / "test_kgroup_zone.py").write_text(test, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(project, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    alone = ["--no-deps", "--no-index", "--no-build-isolation", "--target", "there", "."]
    ended = subprocess.run([*pip, *alone], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert {each.name for each in (tmp_path / "there").glob("*.py")} == {"kgroup_zone.py"}
    (entries,) = (tmp_path / "there").glob("*.dist-info/entry_points.txt")
    assert "zone = kgroup_zone:ZoneAssignor" in entries.read_text(encoding="utf-8")


def test_the_test_file_of_the_tutorial_makes_a_test_of_each_promise(installed):
    names: dict[str, Any] = {}
    (test,) = blocks(PAGE, "py")
    exec(test, names)
    assert len([name for name in dir(names["TestZone"]) if name.startswith("test_")]) > 10


def test_the_project_of_the_tutorial_is_found_by_its_name(installed):
    (zone,) = ConsumerConfig(assignors=["zone"], group_id="g").membership().assignors
    assert zone.name == "zone"


@pytest.mark.slow
@pytest.mark.parametrize("command", re.findall(r"^\$ kgroup (.*)$", PAGE, re.MULTILINE))
def test_the_commands_of_the_tutorial_run(installed, command, capsys):
    fewer = ["--examples", "300"] if " check " in command else []
    assert main([*command.split(), *fewer]) == 0
    assert "zone" in capsys.readouterr().out


def test_the_block_about_other_clients_assignors_runs():
    page = (DOCS / "assignors.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    (block,) = blocks(page, "python")
    exec(block, names)
    assert names["consumer"] is not None


def test_the_table_of_built_in_assignors_is_complete():
    page = (DOCS / "assignors.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| ([\w, ]+) \|", page, re.MULTILINE)
    shown = {name: {word.strip() for word in protocols.split(",")} for name, protocols in rows}
    assert shown == {
        name: {each.value for each in assignor.supported_protocols}
        for name, assignor in BUILT_IN.items()
    }
