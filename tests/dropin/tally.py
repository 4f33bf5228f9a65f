"""What became of each test, and how the end of a run reports it.

Decides: a test counts as passed when all its phases passed, and only then; one that was skipped
counts against the class as well, but fails no run.
Never: counts a test that the list leaves out, or one of another file ("related") as portable.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, slots=True)
class Figures:
    """One number of tests out of another.

    Args:
        passed: tests that passed.
        of: tests there are.
        failed: test -> its first failure, in one line.
        skipped: test -> why.
        not_run: tests that were not asked for, or that the run did not come to.
    """

    passed: int
    of: int
    failed: dict[str, str]
    skipped: dict[str, str]
    not_run: int


@dataclass(slots=True)
class Tally:
    """Collects the outcomes of one run.

    Args:
        of: how many portable tests the suite has.
    """

    of: int
    portable: set[str] = field(default_factory=set)
    related: set[str] = field(default_factory=set)
    left_out: dict[str, str] = field(default_factory=dict)
    _failed: dict[str, str] = field(default_factory=dict)
    _skipped: dict[str, str] = field(default_factory=dict)
    _done: set[str] = field(default_factory=set)

    def note(self, test: str, outcome: str, why: str, *, last: bool) -> None:
        """Take the outcome of one phase of a test.

        Args:
            test: its node id.
            outcome: "passed", "failed" or "skipped".
            why: in one line, empty for a pass.
            last: whether it was the last phase.
        """
        if outcome == "failed":
            self._failed.setdefault(test, why)
        elif outcome == "skipped":
            self._skipped.setdefault(test, why)
        if last:
            self._done.add(test)

    def portable_figures(self) -> Figures:
        """Return the figures that count."""
        return self._figures(self.portable, self.of)

    def related_figures(self) -> Figures:
        """Return the figures of tests in files that the list does not name."""
        return self._figures(self.related, len(self.related))

    def _figures(self, tests: set[str], of: int) -> Figures:
        ran = tests & self._done
        failed = {test: why for test, why in self._failed.items() if test in ran}
        skipped = {test: why for test, why in self._skipped.items() if test in ran}
        passed = ran - failed.keys() - skipped.keys()
        return Figures(len(passed), of, failed, skipped, of - len(ran))


def report_lines(suite: str, chosen: str, tally: Tally, leanings: Iterable[str]) -> Iterator[str]:
    """Yield what a run has to say, line by line.

    Args:
        suite: which tests, with their version.
        chosen: the class, with versions of all that took part.
        tally: the outcomes.
        leanings: what the guard saw.
    """
    yield f"{suite} with {chosen}"
    yield from _lines("portable", tally.portable_figures())
    if tally.related:
        yield from _lines("related", tally.related_figures())
    if tally.left_out:
        yield f"left out: {len(tally.left_out)}, each with its reason in the list"
    seen = [*leanings]
    for line in seen:
        yield f"leans on the original: {line}"
    if seen:
        yield "not to be counted: a facade does not lean on what it replaces"


def _lines(word: str, figures: Figures) -> Iterator[str]:
    notes = {"skipped": len(figures.skipped), "not run": figures.not_run}
    more = ", ".join(f"{count} {note}" for note, count in notes.items() if count)
    yield f"{word}: {figures.passed} of {figures.of}" + (f" ({more})" if more else "")
    for test, why in sorted(figures.failed.items()):
        yield f"  failed: {test}: {why}"
    for test, why in sorted(figures.skipped.items()):
        yield f"  skipped: {test}: {why}"


def as_json(facts: dict[str, str], tally: Tally, leanings: Iterable[str]) -> str:
    """Return the outcome of a run as JSON.

    Args:
        facts: versions and names.
        tally: the outcomes.
        leanings: what the guard saw.
    """
    document = {
        **facts,
        "portable": asdict(tally.portable_figures()),
        "related": asdict(tally.related_figures()),
        "left_out": tally.left_out,
        "leans_on_the_original": [*leanings],
    }
    return json.dumps(document, indent=2, sort_keys=True) + "\n"
