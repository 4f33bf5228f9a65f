"""Inputs that once broke a promise do so no more."""

from pathlib import Path

from tests.search.fuzz.crashers import save, saved
from tests.search.fuzz.loop import replay
from tests.search.fuzz.targets import TARGETS


def test_no_saved_input_breaks_a_promise() -> None:
    for name, path in saved():
        try:
            replay(TARGETS[name], path.read_bytes())
        except BaseException as error:
            error.add_note(f"{name}: {path.name}")
            raise


def test_what_is_saved_is_found_again(tmp_path: Path) -> None:
    path = save("T1", b"abc", tmp_path)
    assert save("T1", b"abc", tmp_path) == path
    assert list(saved(tmp_path)) == [("T1", path)]
    assert path.read_bytes() == b"abc"
