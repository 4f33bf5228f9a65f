"""The table of rows and the tests agree."""

import re
from pathlib import Path

import pytest

from tests.bad_input.rows import ROWS, Row

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

_NAMED = re.compile(r"^(?:async )?def (test_n(\d\d)_\w+)\(", re.MULTILINE)


def named_after(number: int) -> dict[str, list[str]]:
    """Return the tests of a row by the file that has them."""
    found: dict[str, list[str]] = {}
    for path in sorted(HERE.glob("test_*.py")):
        for name, of in _NAMED.findall(path.read_text(encoding="utf-8")):
            if int(of) == number:
                found.setdefault(path.stem.removeprefix("test_"), []).append(name)
    return found


def test_the_table_has_all_thirty_rows() -> None:
    assert list(ROWS) == [*range(1, 31)]


@pytest.mark.parametrize("number", ROWS)
def test_each_row_has_its_tests_where_the_table_says(number: int) -> None:
    assert set(named_after(number)) == set(ROWS[number].files)


@pytest.mark.parametrize("row", ROWS.values(), ids=[f"N{number}" for number in ROWS])
def test_each_row_is_judged_once_or_says_why_not(row: Row) -> None:
    assert sum(map(bool, (row.files, row.elsewhere, row.missing))) == 1
    for each in row.elsewhere:
        path, _, name = each.partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")
