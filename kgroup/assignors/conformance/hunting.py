"""The hunt for a case that breaks a promise, by Hypothesis.

Decides: that equal seeds find equal cases, that nothing is kept on disk between runs, and that
the reported case is the smallest one found.
Never: lets an assignor that answers differently each time pass for a fault of the hunt.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import Flaky

from kgroup.assignors.conformance.drawing import Drawn
from kgroup.assignors.conformance.subject import Elsewhere, Offence
from kgroup.values import dataclass

T = TypeVar("T")

_TELL_EVERY: Final = 25


@dataclass(frozen=True, slots=True)
class Budget:
    """How far a hunt goes.

    Args:
        examples: cases that are drawn.
        seed: from which they are drawn.
        tell: called now and then with the number of cases so far.
    """

    examples: int
    seed: int
    tell: Callable[[int], None]


@dataclass(slots=True)
class Haul:
    """What a hunt brought home.

    Args:
        examples: cases looked at until the first that breaks the promise.
        judged: those of them about which something could be said.
        silence: why the others could not be judged: the reason of the last one.
        offence: how the smallest case breaks the promise, None when none does.
        odd: the name of that case when it is one of the odd ones, empty otherwise.
    """

    examples: int = 0
    judged: int = 0
    silence: str = ""
    offence: Offence | None = None
    odd: str = ""


class _Caught(Exception):
    """Tells Hypothesis that this case breaks the promise: always from one and the same line."""


def hunt(drawn: Drawn[T], odd: Mapping[str, T], judge: Callable[[T], None], budget: Budget) -> Haul:
    """Look for a case that breaks a promise: among those drawn first, then among the odd ones.

    Args:
        drawn: what is drawn, and what it stands for.
        odd: further cases by name.
        judge: raises `Offence` when a case breaks the promise, `Elsewhere` when it says nothing.
        budget: how many cases to draw.
    """
    haul = Haul()

    def breaks(case: T) -> bool:
        if haul.offence is None:
            haul.examples += 1
            if not haul.examples % _TELL_EVERY:
                budget.tell(haul.examples)
        try:
            judge(case)
        except Elsewhere as reason:
            haul.silence = str(reason)
            return False
        except Offence as offence:
            haul.judged += 1
            haul.offence = offence
            return True
        haul.judged += 1
        return False

    _draw(drawn, breaks, budget)
    for name, case in odd.items():
        if haul.offence is None and breaks(case):
            haul.odd = name
    return haul


def _draw(drawn: Drawn[T], breaks: Callable[[T], bool], budget: Budget) -> None:
    """Draw cases until one breaks the promise, then ever smaller ones."""

    @seed(budget.seed)
    @settings(
        max_examples=budget.examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=tuple(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(drawn.strategy)
    def look(data: bytes) -> None:
        if breaks(drawn.make(data)):
            raise _Caught

    with suppress(_Caught, Flaky):  # what was caught last is the smallest
        look()
