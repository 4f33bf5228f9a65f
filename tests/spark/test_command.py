"""`kgroup spark verify` before it asks anybody: its files, its extra."""

import subprocess
import sys
from pathlib import Path

import pytest

from kgroup.cli.spark import read_bounds
from kgroup.errors import ConfigError
from kgroup.spark.counting import Span

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


def test_without_its_extra_the_command_names_it_and_asks_nobody() -> None:
    words = ["spark", "verify", "t", "--topic", "t", "--bootstrap", "localhost:1"]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRA, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "needs the extra 'spark': pip install 'kgroup[spark]'" in done.stderr
    assert "localhost" not in done.stderr


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
