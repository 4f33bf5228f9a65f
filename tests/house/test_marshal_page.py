"""Each row about Marshal mode names tests that exist; no weakness of the original is left out."""

import pytest

from tests.house.marshal_page import TABLES, Row
from tests.house.nodes import all_nodes

ROWS = [
    pytest.param(row, id=f"{name}-{row.cells[0][:40]}")
    for name, each in TABLES.items()
    for row in each.rows
]


@pytest.mark.parametrize("row", ROWS)
def test_every_row_names_tests_and_they_exist(row: Row) -> None:
    named = [f"tests/{file}::{test}" for file, test in row.proofs]
    assert named
    assert not [node for node in named if node not in all_nodes()]


@pytest.mark.parametrize("name", TABLES)
def test_every_row_fills_its_columns_and_none_comes_twice(name: str) -> None:
    shown = TABLES[name]
    assert {len(row.cells) for row in shown.rows} == {len(shown.heads)}
    assert all(text for row in shown.rows for text in row.cells)
    assert len({row.cells for row in shown.rows}) == len(shown.rows)


def test_the_weaknesses_are_numbered_and_there_are_twenty_three() -> None:
    numbers = [row.cells[0] for row in TABLES["comparison"].rows]
    assert numbers == [str(number) for number in range(1, 24)]
