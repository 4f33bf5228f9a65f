"""Running the machine: how many examples, how many rules each, and where their chance comes from.

Decides: the settings, the same for tests and for runs by hand.
Never: keeps examples from one run for the next; a failure is told whole.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

__all__ = ["EXAMPLES", "STEPS", "hunt"]

EXAMPLES: Final = 2_000
"""Of the run that is part of all tests."""
STEPS: Final = 40
"""Rules of one example, where nothing else is said."""


def hunt(
    machine: type[RuleBasedStateMachine],
    examples: int,
    *,
    chance: int | None = None,
    steps: int = STEPS,
) -> None:
    """Run a machine.

    Args:
        machine: its rules.
        examples: how many at most.
        chance: a seed; None = the same examples each time.
        steps: rules of one example, at most.

    Raises:
        AssertionError: a promise is broken; notes of the error tell the shortest rules that do.
    """
    wanted = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        derandomize=chance is None,
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=tuple(HealthCheck),
    )

    with _quiet():
        run_state_machine_as_test(
            machine if chance is None else _seeded(machine, chance), settings=wanted
        )


def _seeded(machine: type[RuleBasedStateMachine], chance: int) -> type[RuleBasedStateMachine]:
    """Return the same machine under a seed, which is a mark that the original must not bear."""
    own: type[RuleBasedStateMachine] = type(machine.__name__, (machine,), {})
    return seed(chance)(own)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the members' logs to themselves."""
    log = logging.getLogger("kgroup")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)
