"""The `kgroup` command, with and without what it needs."""

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from kgroup.cli import main
from kgroup.wire.records import COMPILED

WITHOUT_EXTRA = """
import sys
from importlib.abc import MetaPathFinder


class NotInstalled(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"typer", "rich"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, NotInstalled())
from kgroup.cli import main

sys.exit(main(sys.argv[1:]))
"""

PLENTY = """
import sys
from kgroup.cli import app, lag
from kgroup.cli.connecting import Common
from kgroup.cli.tables import screen

def plenty(common: Common) -> None:
    for number in range(20_000):
        screen().print(number) if "rich" in sys.argv else print(number)

lag.lag = plenty
sys.exit(app.run(["lag"]))
"""

LOADED_BY = """
import sys
from kgroup.cli import main

ended = main(sys.argv[1:])
print(*sorted(sys.modules), file=sys.stderr)
sys.exit(ended)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGROUP_CACHE", str(tmp_path))


def test_without_its_extra_the_command_names_it_and_how_to_get_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRA, "broker", "status"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "needs the extra 'cli': pip install 'kgroup[cli]'" in done.stderr


def test_a_verb_that_does_not_exist_is_a_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["juggle"]) == 2
    assert "juggle" in capsys.readouterr().err


def test_help_loads_no_verb_and_no_room_of_kgroup() -> None:
    words = [sys.executable, "-c", LOADED_BY, "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    loaded = {name for name in done.stderr.split() if name.startswith("kgroup.")}
    assert {".".join(name.split(".")[:2]) for name in loaded} == {
        "kgroup.cli",
        "kgroup.codes",
        "kgroup.errors",
        "kgroup.types",
        "kgroup.values",
        "kgroup.words",
    }
    assert {name for name in loaded if name.startswith("kgroup.cli.")} == {
        "kgroup.cli.app",
        "kgroup.cli.verbs",
    }


def test_help_says_of_every_verb_what_the_verb_says_of_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["--help"]) == 0
    listed = dict(re.findall(r"│ (\w+) +(\S.*?) +│", capsys.readouterr().out))
    grouped = {"demo", "audit", "consume", "produce", "lag"}
    for verb in grouped:
        assert main([verb, "--help"]) == 0
        assert f" {listed[verb]}" in capsys.readouterr().out
    assert set(listed) - grouped == {
        "bench",
        "broker",
        "groups",
        "topics",
        "assignors",
        "marshal",
        "spark",
    }


def test_status_without_a_broker_says_how_to_start_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["broker", "status"]) == 1
    assert "kgroup broker up" in capsys.readouterr().out


def test_status_for_programs_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["broker", "status", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {"running": False}


def test_down_without_a_broker_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["broker", "down", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"ended": False}


def test_an_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["broker", "up", "--version", "1.0.0"]) == 2
    assert capsys.readouterr().err.strip() == (
        "error: option 'version': got '1.0.0', expected one of 4.3.1, 3.9.1"
    )


@pytest.mark.parametrize(
    "words",
    [
        "",
        "nonsense",
        "consume",
        "consume t --from 5 --until 3",
        "consume t --config nowhere.toml",
        "consume t --bootstrap :x",
        "produce",
        "produce t --file nowhere",
        "groups nonsense",
        "groups evict g",
        "lag",
        "lag g --interval 0",
        "topics create t --set nonsense",
        "topics delete",
        "marshal",
        "marshal watch",
        "marshal set-positions g",
        "assignors simulate",
        "assignors check nonsense",
        "broker up --brokers 0",
        "broker up --version nonsense",
        "spark",
        "spark verify",
        "spark verify t",
        "spark verify t --topic orders --columns offset",
        "spark verify t --topic orders --isolation nonsense",
        "spark verify t --topic orders --bounds nowhere.json",
        "spark verify t --topic orders --conf nonsense",
        "demo --seconds 1",
        "demo --kafka nonsense",
        "audit",
        "audit nowhere.jsonl",
    ],
)
def test_a_wrong_use_ends_with_two_and_asks_nobody(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    printed = capsys.readouterr()
    assert "no broker reachable" not in printed.err


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    form = "compiled" if COMPILED else "in Python"
    said = capsys.readouterr().out
    assert said == f"kgroup {version('kgroup')} (loops over records: {form})\n"


def run_into(target: str, way: str = "plain") -> "subprocess.CompletedProcess[str]":
    """Print plenty into a file or a command of the shell; the exit code is that of the verb."""
    shell = f'"$0" -c "$1" {way} {target}; exit "${{PIPESTATUS[0]}}"'
    words = ["bash", "-c", shell, sys.executable, PLENTY]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["plain", "rich"])
def test_a_reader_of_the_first_line_ends_a_verb_in_silence(way: str) -> None:
    done = run_into("| head -1", way)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_is_one_line_and_exit_code_one() -> None:
    done = run_into("> /dev/full")
    assert (done.returncode, done.stderr) == (1, "error: [Errno 28] No space left on device\n")
