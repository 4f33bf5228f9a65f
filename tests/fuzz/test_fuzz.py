"""Every target, with as many inputs as fit into each run of all tests; `make fuzz` takes more."""

import pytest

from tests.fuzz.loop import run
from tests.fuzz.targets import TARGETS

INPUTS = 100_000
"""For each target that reads bytes; one that plays a life or divides a group gets fewer."""

SEED = 1


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_a_target_keeps_its_promises(name: str) -> None:
    target = TARGETS[name]
    count = INPUTS // target.costs
    score = run(target, count, SEED)
    said = "\n".join(f"{each.data.hex()}\n{each.said}" for each in score.findings[:3])
    assert not score.kinds, f"{dict(score.kinds)}\n{said}"
    assert score.inputs == count
    assert score.accepted > 0
