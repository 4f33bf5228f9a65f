"""One run as text: its plan, then each event of its journal in a line.

Decides: that `>>>` stands before what proves a violation, and the violation behind its last proof.
Never: leaves out an event.
"""

from collections.abc import Iterator

from kgroup.audit.oracles import Violation
from kgroup.journal import Entry
from tests.search.simulation.schedule import Outcome


def story(outcome: Outcome) -> str:
    """Return a run as text.

    Args:
        outcome: of a run that kept its journal.
    """
    return "\n".join(_lines(outcome))


def _lines(outcome: Outcome) -> Iterator[str]:
    yield str(outcome.schedule)
    yield from str(outcome.plan).splitlines()
    yield ""
    proofs = {_key(entry) for each in outcome.violations for entry in each.entries}
    ends: dict[tuple[str, int] | None, list[Violation]] = {}
    for violation in outcome.violations:
        last = _key(violation.entries[-1]) if violation.entries else None
        ends.setdefault(last, []).append(violation)
    for entry in outcome.entries:
        key = _key(entry)
        mark = ">>>" if key in proofs else "   "
        yield f"{mark} {entry.at:9.3f} {entry.source.member or 'broker':<6} {entry.event}"
        yield from (f"    broken: {each.rule}: {each.text}" for each in ends.pop(key, ()))
    yield from (f"broken: {each.rule}: {each.text}" for rest in ends.values() for each in rest)
    if not outcome.violations:
        yield "nothing is broken"


def _key(entry: Entry) -> tuple[str, int]:
    return str(entry.source), entry.seq
