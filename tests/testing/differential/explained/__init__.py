"""Differences that are known and may be: one named rule each, with the real broker's frames.

A rule is as narrow as it can be, and says why the core does not do as the real broker did. The
trace of one script that shows it stands beside its module, as `<name>.json`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tests.testing.differential.explained.made_by_an_empty_commit import (
    describes_what_an_empty_commit_made,
)
from tests.testing.differential.judging import Difference, differences
from tests.testing.differential.replay import Played

__all__ = ["RULES", "Rule", "Verdict", "judge"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One explained difference.

    Args:
        name: of the rule, its module and its file of frames.
        what: what the two sides do.
        why: why the core does not follow.
        fits: whether a difference is of this kind.
        harmless: whether the two sides are in the same state afterwards, so that what follows can
            be judged.
    """

    name: str
    what: str
    why: str
    fits: Callable[[Difference], bool]
    harmless: bool


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="made_by_an_empty_commit",
        what="the new coordinator says Dead of a simple group that a commit has made of which "
        "nothing was stored; in the process it is Empty",
        why="it shows administrators its memory as of the last record of the offsets partition, so "
        "that it depends on other groups when such a group comes to light",
        fits=describes_what_an_empty_commit_made,
        harmless=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one run.

    Args:
        explained: rules that were needed.
        difference: the first that nothing explains, None without one.
    """

    explained: tuple[Rule, ...]
    difference: Difference | None


def judge(played: Played, rules: Sequence[Rule] = RULES) -> Verdict:
    """Judge a run up to its first difference that is not harmless."""
    explained: list[Rule] = []
    for difference in differences(played):
        rule = next((rule for rule in rules if rule.fits(difference)), None)
        if rule is None:
            return Verdict(tuple(explained), difference)
        explained.append(rule)
        if not rule.harmless:
            break
    return Verdict(tuple(explained), None)
