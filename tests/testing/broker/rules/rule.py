"""One rule of a broker: a sentence, where it was learnt, and what holds it."""

from dataclasses import dataclass

from kgroup.testing.broker.releases import CoordinatorKind


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Args:
        id: short and unique, such as `join.pending`.
        what: one sentence.
        source: numbers in the notes of the measurements (`B7`) and of the broker's sources (`R3`),
            or a KIP.
        proof: recorded scenarios (`not_rejoining`: all its traces, or those of `coordinator`) and
            tests (`test_fetching::test_...`); at least one.
        coordinator: the kind that keeps the rule; None = both.
    """

    id: str
    what: str
    source: str
    proof: tuple[str, ...]
    coordinator: CoordinatorKind | None = None
