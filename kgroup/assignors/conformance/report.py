"""What a run of the kit found, as values and as text.

Decides: the shape of a report, and how a broken promise reads.
Never: judges.
"""

from enum import Enum

from kgroup.assignors.conformance.paste import indented
from kgroup.assignors.conformance.promises import Claims, Promise
from kgroup.values import dataclass


class Status(Enum):
    """What became of one promise."""

    KEPT = "kept"
    BROKEN = "broken"
    NOT_BOUND = "not bound"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one promise.

    Args:
        promise: which.
        status: kept, broken, not bound (it makes no such promise), or not judged.
        examples: how many groups or stories it was judged by, odd ones included; those that only
            made a counterexample smaller do not count.
        reason: how it is broken, or why it was not judged, in a sentence; empty when kept.
        counterexample: what shows that it is broken: the group as code that can be pasted, what
            happened, the answers. None unless it is broken.
    """

    promise: Promise
    status: Status
    examples: int = 0
    reason: str = ""
    counterexample: str | None = None

    @property
    def check(self) -> str:
        """The name of the promise."""
        return self.promise.name

    @property
    def broken(self) -> bool:
        """Whether the assignor breaks this promise."""
        return self.status is Status.BROKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What became of all promises.

    Args:
        assignor: its name.
        claims: what it was held to beyond what binds every assignor.
        seed: from which the groups were drawn.
        outcomes: one for each promise, in their order.
    """

    assignor: str
    claims: Claims
    seed: int
    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> bool:
        """Whether no promise is broken."""
        return not self.broken

    @property
    def broken(self) -> tuple[Outcome, ...]:
        """The broken promises."""
        return tuple(outcome for outcome in self.outcomes if outcome.broken)

    @property
    def examples(self) -> int:
        """How many groups and stories it was judged by in all."""
        return sum(outcome.examples for outcome in self.outcomes)

    def text(self) -> str:
        """Return everything that is broken, in words and code; empty when nothing is."""
        return "\n\n".join(self.explain(outcome) for outcome in self.broken)

    def explain(self, outcome: Outcome) -> str:
        """Return what is wrong with one promise."""
        head = f"assignor {self.assignor!r} breaks a promise: {outcome.promise.says}"
        return (
            f"{head}\n{outcome.reason}\n\n{indented(outcome.counterexample or '')}\n\n"
            f"({outcome.examples} examples, seed {self.seed}: the same seed finds it again)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run has come.

    Args:
        promise: that is being judged.
        done: groups that are behind it.
        total: groups there are in all.
        outcome: what became of the promise, None while it is being judged.
    """

    promise: Promise
    done: int
    total: int
    outcome: Outcome | None = None
