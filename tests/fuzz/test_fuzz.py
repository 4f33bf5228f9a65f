"""Every target, with as many inputs as fit into each run of all tests; `make fuzz` takes more."""

from collections.abc import Iterator

import pytest

from tests.fuzz.loop import run
from tests.fuzz.targets import TARGETS

INPUTS = 100_000
"""For each target that reads bytes; one that plays a life or divides a group gets fewer."""

SEED = 1
AT_ONCE = 2_500
"""Inputs of the latter in one test: on a busy machine, too, a test is to end within minutes."""


def slices() -> Iterator[tuple[str, int, int]]:
    """Yield (target, first input, how many)."""
    for name, target in TARGETS.items():
        count = INPUTS // target.costs
        step = count if target.costs == 1 else AT_ONCE
        yield from ((name, start, min(step, count - start)) for start in range(0, count, step))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start", "count"), list(slices()))
def test_a_target_keeps_its_promises(name: str, start: int, count: int) -> None:
    score = run(TARGETS[name], count, SEED, start=start)
    said = "\n".join(f"{each.data.hex()}\n{each.said}" for each in score.findings[:3])
    assert not score.kinds, f"{dict(score.kinds)}\n{said}"
    assert score.inputs == count
    assert score.accepted > 0
