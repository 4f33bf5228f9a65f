"""Running the machine: how many examples, how many rules each, and where their chance comes from.

Decides: the settings, the same for tests and for runs by hand.
Never: keeps examples from one run for the next; a failure is shown whole.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from hypothesis import Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

EXAMPLES: Final = 200
"""Of `make search`."""
SLICES: Final = 2
SLICE: Final = EXAMPLES // SLICES
"""Examples of one of its slices: five seconds of one core, a minute where many share it."""
STEPS: Final = 40
"""Rules of one example, where nothing else is said."""


def hunt(
    machine: type[RuleBasedStateMachine],
    examples: int,
    *,
    chance: int | None = None,
    steps: int = STEPS,
    shrinks: bool = True,
) -> None:
    """Run a machine.

    Args:
        machine: its rules.
        examples: how many at most.
        chance: a seed; None = the same examples each time.
        steps: rules of one example, at most.
        shrinks: whether a failure is made as short as it can be, which may take minutes.

    Raises:
        AssertionError: a promise is broken; notes of the error tell the rules that do.
    """
    wanted = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        derandomize=chance is None,
        phases=(Phase.generate, Phase.shrink) if shrinks else (Phase.generate,),
        report_multiple_bugs=False,
        print_blob=False,
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
