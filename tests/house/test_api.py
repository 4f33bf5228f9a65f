"""What is public is documented, and what is documented is public."""

from tests.house.api import PAGE, documented, exported, render


def test_the_documented_names_are_the_exported_ones() -> None:
    assert documented(PAGE.read_text(encoding="utf-8")) == exported(), "run `make docs`"


def test_the_page_is_the_one_that_would_be_written_now() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run `make docs`"


def test_every_public_name_is_described() -> None:
    bare = [line for line in render().splitlines() if line.startswith("| `") and "|  |" in line]
    assert not bare
