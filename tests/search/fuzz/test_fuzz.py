"""Every target holds for ten thousand inputs, and for each input that once broke it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.search.fuzz.loop import replay, run
from tests.search.fuzz.target import save, saved
from tests.search.fuzz.targets import TARGETS

INPUTS: Final = 10_000
SEED: Final = 1
AT_ONCE: Final = {"T9": 2_500, "T12": 10_000}
"""Inputs of one test, where that is not all of them: one plays a life, or divides a group."""


def slices() -> Iterator[tuple[str, int, int]]:
    """Yield (target, first input, how many); what takes longest comes first."""
    for name in sorted(TARGETS, key=lambda name: AT_ONCE.get(name, INPUTS)):
        step = AT_ONCE.get(name, INPUTS)
        yield from ((name, start, step) for start in range(0, INPUTS, step))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start", "count"), list(slices()))
def test_a_target_keeps_its_promises(name: str, start: int, count: int) -> None:
    score = run(TARGETS[name], count, SEED, start=start)
    said = "\n".join(f"{each.data.hex()}\n{each.said}" for each in score.findings[:3])
    assert not score.kinds, f"{dict(score.kinds)}\n{said}"
    assert score.inputs == count
    assert score.accepted > 0


# -- test crashers ---------------------------------------------------------------------------------


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
