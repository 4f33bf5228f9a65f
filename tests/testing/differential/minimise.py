"""A script that shows a difference, made smaller while it still does.

Decides: which steps can go: those without which the same difference comes back. What is left must
still keep away from the edges of timers, which move when a step goes.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.testing.differential.campaign import compare
from tests.testing.differential.generator import margin_of
from tests.testing.differential.judging import Difference
from tests.testing.differential.script import Script

_LEAST_MARGIN = 0.12
_ROUNDS = 8
_CONCURRENCY = 24


def minimise(
    address: tuple[str, int], difference: Difference, say: Callable[[str], None]
) -> Difference:
    """Return the same difference with as few steps as can be found.

    Args:
        address: of a broker with the settings of the script.
        difference: what to show.
        say: called with a line of text at each step.
    """
    version = difference.played.trace.version
    for _ in range(_ROUNDS):
        script = difference.played.trace.script
        smaller = [s for s in _smaller(difference) if margin_of(s, version) >= _LEAST_MARGIN]
        tally = compare(address, version, smaller, concurrency=_CONCURRENCY, say=lambda _: None)
        same = [d for d in tally.differences if d.signature == difference.signature]
        if not same:
            return difference
        difference = min(same, key=lambda each: len(each.played.trace.script.steps))
        steps = len(difference.played.trace.script.steps)
        say(f"seed {script.seed}: {len(script.steps)} -> {steps} steps")
    return difference


def _smaller(difference: Difference) -> Iterator[Script]:
    """Yield the script up to the difference, then without each run of steps."""
    script = difference.played.trace.script
    last = max(difference.turn.real.step, _last_step_before(difference))
    if last + 1 < len(script.steps):
        yield replace(script, steps=script.steps[: last + 1])
        return
    size = len(script.steps) // 2
    while size:
        for first in range(0, len(script.steps), size):
            steps = script.steps[:first] + script.steps[first + size :]
            if steps:
                yield replace(script, steps=steps)
        size //= 2


def _last_step_before(difference: Difference) -> int:
    """Return the number of the last step that can have to do with it."""
    real = difference.turn.real
    seen_at = max(real.answered_at or real.sent_at, difference.turn.answered_at or 0.0)
    steps = difference.played.trace.script.steps
    return max((n for n, step in enumerate(steps) if step.at <= seen_at), default=0)
