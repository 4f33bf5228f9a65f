"""A read at level A waits as a real one does: for records, and for the listener that holds them."""

from dataclasses import replace
from itertools import pairwise

from kgroup.journal import Delivered, Entry, OwnershipStep, Phase, Polled
from kgroup.testing.simulation.outcome import Outcome
from kgroup.testing.simulation.perturbation import Kind, Perturbation
from kgroup.testing.simulation.plan import Plan
from kgroup.types import ChangeKind
from tests.testing.simulation.worlds import calm, played

SELDOM = 5.0


def patient(plan: Plan, *, handling: float = 0.0) -> Plan:
    """Return a plan whose members read seldom, and whose listeners outlast a fetch."""
    members = (
        replace(each, poll_every=SELDOM, listener=0.5, handling=handling) for each in plan.members
    )
    return replace(plan, members=tuple(members))


def reads(outcome: Outcome, source: str) -> list[Entry]:
    return [
        entry
        for entry in outcome.entries
        if isinstance(entry.event, Polled) and entry.source.process == source
    ]


def test_a_read_that_waits_returns_when_the_listener_has_let_go_what_came_before() -> None:
    # Records are written once, before anybody reads.
    outcome = played(patient(replace(calm(), produce_every=60.0)))
    assert outcome.rules == ()
    opened = {
        (entry.source, claim): entry.at
        for entry in outcome.entries
        if isinstance(entry.event, OwnershipStep)
        and (entry.event.kind, entry.event.phase) == (ChangeKind.ASSIGNED, Phase.END)
        for claim in entry.event.claims
    }
    handed = [
        entry.at - opened[entry.source, entry.event.claim]
        for entry in outcome.entries
        if isinstance(entry.event, Delivered)
    ]
    assert handed == [0.0] * 6


def test_a_listener_that_returns_ends_no_read_for_which_nothing_has_come() -> None:
    outcome = played(patient(replace(calm(), quiet_at=0.0)))
    for number in range(3):
        times = [entry.at for entry in reads(outcome, f"m{number}.0")]
        assert {round(after - before, 6) for before, after in pairwise(times)} == {SELDOM}


def test_a_listener_that_returns_takes_nothing_out_of_the_applications_hands() -> None:
    leaves = Perturbation(at=8.0, kind=Kind.LEAVE, member=1)
    outcome = played(patient(replace(calm(), perturbations=(leaves,)), handling=1.0))
    assert outcome.rules == ()
    busy = {(entry.source, entry.at) for entry in outcome.entries if _hands_out(entry)}
    for number in (0, 2):
        for before, after in pairwise(reads(outcome, f"m{number}.0")):
            held = (before.source, before.at) in busy
            assert not held or after.at - before.at >= 1.0 - 1e-9


def _hands_out(entry: Entry) -> bool:
    return isinstance(entry.event, Delivered)
