"""Every target, with 10,000 inputs in each `make search`; `make search ARGS=fuzz` takes more."""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.search.fuzz.loop import run
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
