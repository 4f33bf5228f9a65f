"""Inputs that once broke a promise do so no more."""

from pathlib import Path

import pytest

from tests.fuzz.crashers import save, saved
from tests.fuzz.loop import replay
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize(
    ("name", "path"), list(saved()), ids=lambda each: getattr(each, "stem", each)
)
def test_a_saved_input_breaks_no_promise(name: str, path: Path) -> None:
    replay(TARGETS[name], path.read_bytes())


def test_what_is_saved_is_found_again(tmp_path: Path) -> None:
    path = save("T1", b"abc", tmp_path)
    assert save("T1", b"abc", tmp_path) == path
    assert list(saved(tmp_path)) == [("T1", path)]
    assert path.read_bytes() == b"abc"
