"""Lists of tests, trees and installed peers that do not fit: each error names them."""

import importlib.util
from pathlib import Path

import pytest

from tests.dropin.__main__ import main, peers
from tests.dropin.suite import ListError, read_suite
from tests.dropin.tree import TreeError, check_tree, installed_version

WRONG_LISTS = {
    "no such entry": ('peer = "pytest"', "", "the entry 'peer' is missing"),
    "not a string": ('peer = "pytest"', "peer = 3", "peer = 3 is not a string"),
    "not a list": ('trees = ["1.0"]', 'trees = "1.0"', "trees = '1.0' is not a list"),
    "not a number": ("portable = 3", 'portable = "3"', "portable = '3' is not a whole number"),
    "not a class": ("facades:Good", "facades.Good", "'facades.Good' is not written as"),
    "no reason": ("reads consumer._client", " ", "test_private of .* without a reason"),
    "no table": ('"reads consumer._client"', "3", "test_private of .* without a reason"),
    "no TOML": ("portable = 3", "portable = ", "Invalid value"),
}


@pytest.mark.parametrize("case", WRONG_LISTS)
def test_a_list_that_cannot_be_read_says_which_entry_is_wrong(tree: Path, case: str) -> None:
    before, after, message = WRONG_LISTS[case]
    path = tree / "list.toml"
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(ListError, match=f"list.toml: .*{message}"):
        read_suite(path)


def test_a_list_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ListError, match=r"none\.toml"):
        read_suite(tmp_path / "none.toml")


def test_a_tree_that_fits_says_its_version(tree: Path) -> None:
    assert check_tree(read_suite(tree / "list.toml"), tree) == "1.0"


def test_a_folder_that_is_no_tree_of_the_peer_is_refused(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(TreeError, match=r"no source tree of pytest: .* get one by: fetch the tree"):
        check_tree(read_suite(tree / "list.toml"), tmp_path / "elsewhere")


def test_a_tree_of_another_version_is_refused(tree: Path) -> None:
    (tree / "peerlib" / "__init__.py").write_text('__version__ = "1.1"\n', encoding="utf-8")
    with pytest.raises(TreeError, match=r"is pytest 1\.1, and the list of tests holds for 1\.0"):
        check_tree(read_suite(tree / "list.toml"), tree)


def test_a_tree_without_its_tests_is_refused(tree: Path) -> None:
    (tree / "suite" / "test_consumer.py").unlink()
    with pytest.raises(TreeError, match=r"has no suite/test_consumer\.py; a tree with its tests"):
        check_tree(read_suite(tree / "list.toml"), tree)


def test_another_number_of_tests_than_the_list_says_is_refused(tree: Path) -> None:
    path = tree / "suite" / "test_consumer.py"
    more = path.read_text(encoding="utf-8") + "\nasync def test_more():\n    pass\n"
    path.write_text(more, encoding="utf-8")
    with pytest.raises(TreeError, match="have 4 tests that are not left out, the list says 3"):
        check_tree(read_suite(tree / "list.toml"), tree)


def test_an_installed_peer_of_another_version_is_refused(tree: Path) -> None:
    path = tree / "list.toml"
    text = path.read_text(encoding="utf-8").replace(pytest.__version__, "0.1")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TreeError, match=r"is installed, .* holds for 0\.1: pip install"):
        installed_version(read_suite(path))


def test_a_peer_that_is_not_installed_is_reported(tree: Path) -> None:
    path = tree / "list.toml"
    text = path.read_text(encoding="utf-8").replace('peer = "pytest"', 'peer = "no-such-peer"')
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TreeError, match="no-such-peer is not installed"):
        installed_version(read_suite(path))


def test_each_plugin_that_the_command_names_is_there() -> None:
    for peer in peers():
        assert importlib.util.find_spec(peer.plugin) is not None, peer.plugin


def test_the_command_without_a_tree_says_how_both_are_had(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([]) == 2
    printed = capsys.readouterr().err
    assert "AIOKAFKA_SRC=FOLDER: git clone" in printed
    assert "KAFKA_PYTHON_SRC=FOLDER: git clone" in printed


def test_the_command_with_a_folder_that_is_no_tree_runs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--kafka-python", str(tmp_path)]) == 2
    assert f"{tmp_path} is no source tree of kafka-python" in capsys.readouterr().err
