"""Each row about Marshal mode names tests that exist; no weakness of the original is left out."""

from typing import Any

import pytest

from tests.house.marshal_page import TABLES
from tests.house.nodes import missing

ROWS = [
    pytest.param(row, id=f"{name}-{row['cells'][0][:40]}")
    for name, each in TABLES.items()
    for row in each["rows"]
]


@pytest.mark.parametrize("row", ROWS)
def test_every_row_names_tests_and_they_exist(row: dict[str, Any]) -> None:
    assert row["proofs"]
    assert not missing(row["proofs"])


@pytest.mark.parametrize("name", TABLES)
def test_every_row_fills_its_columns_and_none_comes_twice(name: str) -> None:
    rows = [tuple(row["cells"]) for row in TABLES[name]["rows"]]
    assert {len(cells) for cells in rows} == {len(TABLES[name]["heads"])}
    assert all(text for cells in rows for text in cells)
    assert len(set(rows)) == len(rows)


def test_the_weaknesses_are_numbered_and_there_are_twenty_three() -> None:
    numbers = [row["cells"][0] for row in TABLES["comparison"]["rows"]]
    assert numbers == [str(number) for number in range(1, 24)]
