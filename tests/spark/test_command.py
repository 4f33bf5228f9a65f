"""`kgroup spark` before it asks anybody: its files, its extra."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kgroup.cli import main
from kgroup.cli.connecting import Common
from kgroup.cli.spark import read_bounds, read_truth
from kgroup.cli.spark_coordination import source_options
from kgroup.errors import ConfigError
from kgroup.spark.counting import Span
from kgroup.spark.options import SourceOptions
from kgroup.types import TopicPartition

WITHOUT_EXTRA = """
import sys
from importlib.abc import MetaPathFinder


class NotInstalled(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyspark", "pyarrow", "numpy"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, NotInstalled())
from kgroup.cli import main

sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "words",
    [["verify", "t", "--topic", "t"], ["coordination", "--out", "o"], ["audit", "a.jsonl"]],
)
def test_without_its_extra_the_command_names_it_and_asks_nobody(
    words: list[str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRA, "spark", *words, "--bootstrap", "localhost:1"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "needs the extra 'spark': pip install 'kgroup[spark]'" in done.stderr
    assert "localhost" not in done.stderr
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--oracles", "all"], "at_least_once"),
        (["--truth", "t.json", "--bootstrap", "h:1"], "either a file or brokers"),
        (["--truth", "no.json"], "option 'truth'"),
    ],
)
def test_an_audit_names_the_option_that_cannot_be_used(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["spark", "audit", "a.jsonl", *words]) == 2
    assert told in capsys.readouterr().err


def test_ends_of_all_topics_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    path.write_text('{"t": {"0": [3, 9]}, "u": {"1": [0, 0]}}')
    assert read_truth(path) == {TopicPartition("t", 0): (3, 9), TopicPartition("u", 1): (0, 0)}


def test_a_folder_is_not_read_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spark", "coordination", "--from", "a", "--out", "b", "--stream"]) == 2
    assert "stream: got 'true'" in capsys.readouterr().err


def test_the_source_is_told_how_brokers_are_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "options.toml"
    path.write_text(
        'sasl_username = "u"\nsecurity_protocol = "SASL_PLAINTEXT"\nsasl_mechanism = "PLAIN"\n'
        'group_id = "g"\nauto_offset_reset = "latest"\nrequest_timeout = 7.5\n'
        "check_crcs = false\n"
    )
    monkeypatch.setenv("KGROUP_SASL_PASSWORD", "secret")
    found = source_options(Common(bootstrap="h:1", config=path))
    assert found == {
        "kgroup.bootstrap_servers": "h:1",
        "kgroup.check_crcs": "false",
        "kgroup.request_timeout": "7.5",
        "kgroup.sasl_mechanism": "PLAIN",
        "kgroup.sasl_password": "env:KGROUP_SASL_PASSWORD",
        "kgroup.sasl_username": "u",
        "kgroup.security_protocol": "SASL_PLAINTEXT",
    }
    assert SourceOptions.of({**found, "subscribe": "t"}, streaming=False).group_id is None


def test_bounds_of_one_topic_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "bounds.json"
    path.write_text('{"t": {"0": [3, 9], "12": [0, 0]}, "u": {}}')
    assert read_bounds(path, "t") == {0: Span(3, 9), 12: Span(0, 0)}
    assert read_bounds(path, "u") == {}


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[]",
        '{"t": [0, 1]}',
        '{"t": {"zero": [0, 1]}}',
        '{"t": {"0": [0]}}',
        '{"t": {"0": [2, 1]}}',
        '{"t": {"0": [-1, 1]}}',
        '{"t": {"0": [0, 1e3]}}',
        '{"t": {"0": [0, 9223372036854775807]}}',
        '{"u": {"0": [0, 1]}}',
    ],
)
def test_a_file_of_bounds_that_cannot_be_used_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bounds.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match="option 'bounds'"):
        read_bounds(path, "t")
