"""Differences that are known and may be: one named rule each, with the real broker's frames.

A rule is as narrow as it can be, and says why the core does not do as the real broker did. Its
frames stand beside it as `<name>.json`: the trace of one script that shows it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.testing.differential.judging import Difference

__all__ = ["RULES", "Rule", "explained_by"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One explained difference.

    Args:
        name: of the rule and of its file of frames.
        what: what the two sides do.
        why: why the core does not follow.
        fits: whether a difference is of this kind.
    """

    name: str
    what: str
    why: str
    fits: Callable[[Difference], bool]


RULES: Final[tuple[Rule, ...]] = ()


def explained_by(difference: Difference) -> Rule | None:
    """Return the rule that a difference falls under, None when nothing explains it."""
    return next((rule for rule in RULES if rule.fits(difference)), None)
