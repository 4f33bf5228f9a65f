"""What simulations have met, and what they can meet."""

from collections import Counter
from dataclasses import replace

import pytest

from kgroup.membership.ending_rows import ROWS
from kgroup.membership.states import FACTS, possible
from kgroup.membership.triggers import Trigger
from kgroup.types import MemberState
from tests.search.simulation.campaign import Found
from tests.search.simulation.coverage import (
    CELLS,
    CellClass,
    Coverage,
    cell_named,
    classify,
    row_named,
)
from tests.search.simulation.plan import Kind, Perturbation
from tests.search.simulation.worlds import played, struck

S = MemberState
T = Trigger


def test_a_cell_is_legal_exactly_when_the_table_has_a_row_for_it() -> None:
    for state, trigger in CELLS:
        legal = classify(state, trigger).kind is CellClass.LEGAL
        assert legal == bool(ROWS.cell(state, trigger)) == (trigger in possible(state))


def test_every_cell_has_a_class_and_every_other_than_legal_a_reason() -> None:
    assert len(CELLS) == len(FACTS) * len(Trigger)
    for cell in CELLS:
        verdict = classify(*cell)
        assert bool(verdict.why) == (verdict.kind is not CellClass.LEGAL)


@pytest.mark.parametrize(
    ("state", "trigger", "kind"),
    [
        (S.STABLE, T.SYNCED, CellClass.IGNORED),
        (S.DORMANT, T.MEMBER_LOST, CellClass.IGNORED),
        (S.STABLE, T.COORDINATOR_READY, CellClass.IGNORED),
        (S.ASSIGNING, T.TOPICS_CHANGED, CellClass.IGNORED),
        (S.DORMANT, T.HEARTBEAT_DUE, CellClass.IMPOSSIBLE),
        (S.STABLE, T.POLL_RESUMED, CellClass.IMPOSSIBLE),
        (S.LEFT, T.COORDINATOR_LOST, CellClass.IMPOSSIBLE),
        (S.STABLE, T.LEASE_EXPIRED, CellClass.LEGAL),
    ],
)
def test_what_a_trigger_is_to_a_state(state: S, trigger: T, kind: CellClass) -> None:
    assert classify(state, trigger).kind is kind


def test_counts_of_two_runs_merge_into_the_counts_of_both() -> None:
    outcome = played(struck())
    one, both = Coverage(), Coverage()
    one.add(outcome)
    one.merge(one)
    both.add(outcome)
    both.add(outcome)
    assert one == both
    fired = {row_named(number) for number in both.rows}
    assert fired == {str(row) for row in outcome.rows}
    assert not fired & set(both.rows_never_fired())


def test_a_trigger_without_a_row_is_counted_as_ignored() -> None:
    outcome = played(struck(Perturbation(8.0, Kind.COORDINATOR_MOVED)))
    ignored = (S.STABLE, T.COORDINATOR_LOST)
    coverage = Coverage()
    coverage.add(outcome)
    assert coverage.cells[CELLS.index(ignored)] == outcome.cells[ignored] > 0
    assert coverage.impossible_cells_met() == ()
    assert dict(coverage.ignored_cells_met())["STABLE+COORDINATOR_LOST"] == outcome.cells[ignored]


def test_a_campaign_that_meets_an_impossible_cell_is_not_good() -> None:
    outcome = played(struck())
    found = Found()
    found.coverage.add(outcome)
    assert found.good
    found.coverage.add(replace(outcome, cells={(S.DORMANT, T.COORDINATOR_LOST): 1}))
    assert not found.good


def test_an_impossible_cell_that_was_met_is_reported() -> None:
    coverage = Coverage(cells=Counter({CELLS.index((S.LEFT, T.HEARTBEAT_DUE)): 1}))
    assert coverage.impossible_cells_met() == ("LEFT+HEARTBEAT_DUE",)
    assert cell_named(CELLS.index((S.LEFT, T.SYNCED))) == "LEFT+SYNCED"
