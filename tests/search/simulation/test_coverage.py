"""What simulations have met, and what they can meet."""

from collections import Counter
from dataclasses import replace

import pytest

from kgroup.membership.ending_rows import ROWS
from kgroup.membership.states import possible
from kgroup.membership.triggers import Trigger
from kgroup.types import MemberState
from tests.search.simulation.campaign import Found
from tests.search.simulation.coverage import (
    CELLS,
    CellClass,
    Coverage,
    cell_named,
    classify,
    features,
    row_named,
)
from tests.search.simulation.perturbation import Kind, Perturbation
from tests.search.simulation.schedule import Level, Schedule
from tests.search.simulation.toy import play, play_well
from tests.search.simulation.worlds import played, struck

S = MemberState
T = Trigger


def test_a_cell_is_legal_exactly_when_the_table_has_a_row_for_it() -> None:
    for state, trigger in CELLS:
        legal = classify(state, trigger).kind is CellClass.LEGAL
        assert legal == bool(ROWS.cell(state, trigger)) == (trigger in possible(state))


def test_every_cell_has_a_class_and_every_other_than_legal_a_reason() -> None:
    assert len(CELLS) == len(MemberState) * len(Trigger)
    for cell in CELLS:
        verdict = classify(*cell)
        assert bool(verdict.why) == (verdict.kind is not CellClass.LEGAL)


@pytest.mark.parametrize(
    ("state", "trigger", "kind"),
    [
        (S.STABLE, T.SYNCED, CellClass.IGNORED),
        (S.DORMANT, T.EXPELLED, CellClass.IGNORED),
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


def test_rows_and_cells_are_counted_over_runs() -> None:
    outcome = play(Schedule(Level.A, seed=1))
    coverage = Coverage()
    assert coverage.add(outcome)
    assert not coverage.add(outcome)  # nothing new
    assert sum(coverage.rows.values()) == 6
    assert coverage.legal_cells_met() == len(coverage.cells)
    fired = {row_named(number) for number in coverage.rows}
    assert fired == {str(row) for row in outcome.rows}
    assert not fired & set(coverage.rows_never_fired())


def test_counts_of_others_are_added() -> None:
    one, other, both = Coverage(), Coverage(), Coverage()
    for seed, counts in ((1, one), (2, other)):
        counts.add(play(Schedule(Level.A, seed=seed)))
        both.add(play(Schedule(Level.A, seed=seed)))
    one.merge(other)
    assert one == both


def test_cells_are_met_by_their_rows_when_an_engine_counts_rows_only() -> None:
    outcome = play(Schedule(Level.A, seed=1))
    whole, rows_only = Coverage(), Coverage()
    whole.add(outcome)
    rows_only.add(replace(outcome, cells={}))
    assert whole == rows_only


def test_a_trigger_that_comes_in_vain_is_counted_and_is_nothing_to_search_for() -> None:
    outcome = played(struck(Perturbation(8.0, Kind.COORDINATOR_MOVED)))
    ignored = (S.STABLE, T.COORDINATOR_LOST)
    coverage = Coverage()
    coverage.add(outcome)
    assert coverage.cells[CELLS.index(ignored)] == outcome.cells[ignored] > 0
    assert coverage.impossible_cells_met() == ()
    assert dict(coverage.ignored_cells_met())["STABLE+COORDINATOR_LOST"] == outcome.cells[ignored]
    assert features(outcome) == features(replace(outcome, cells={}))


def test_a_campaign_that_met_an_impossible_cell_is_not_good() -> None:
    outcome = play_well(Schedule(Level.A))
    found = Found()
    found.coverage.add(outcome)
    assert found.good
    found.coverage.add(replace(outcome, cells={(S.DORMANT, T.COORDINATOR_LOST): 1}))
    assert not found.good


def test_legal_cells_that_were_hardly_met_are_told_with_how_often() -> None:
    coverage = Coverage()
    for _ in range(4):
        coverage.add(play_well(Schedule(Level.A)))
    legal = sum(len(possible(state)) for state in MemberState)
    row = ROWS.rows[0]  # that alone fires, three times a run
    assert coverage.legal_cells_met(12) == 1
    assert len(coverage.legal_cells_rare(12)) == legal - 1
    assert dict(coverage.legal_cells_rare(13))[f"{row.at.name}+{row.on.name}"] == 12


def test_an_impossible_cell_that_was_met_is_told() -> None:
    coverage = Coverage(cells=Counter({CELLS.index((S.LEFT, T.HEARTBEAT_DUE)): 1}))
    assert coverage.impossible_cells_met() == ("LEFT+HEARTBEAT_DUE",)
    assert cell_named(CELLS.index((S.LEFT, T.SYNCED))) == "LEFT+SYNCED"


def test_a_ledger_says_what_is_lacking() -> None:
    coverage = Coverage()
    coverage.add(play(Schedule(Level.A, seed=1)))
    told = coverage.to_json()
    assert told["rows"] == len(ROWS.rows)
    assert told["rows_fired"] == len(told["fired"])
    assert told["rows_fired"] + len(told["rows_never_fired"]) == told["rows"]
    assert sum(told["cells"].values()) == len(CELLS)
    assert told["pairs_of_rows"] >= 1
