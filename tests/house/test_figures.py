"""The package stays one that a reader can find the way in, and no import goes in a circle."""

from tests.house.figures import circles, rooms

# 94,000, `kgroup bench`, processing with locks and health, and KIP-848: a third machine of 2,500
# lines with a backend, a choice between protocols, and the coordinator's side of it in the process.
MOST_LINES = 117_000
MOST_FILES = 645


def test_the_package_has_few_enough_lines() -> None:
    assert sum(lines for lines, _ in rooms().values()) <= MOST_LINES


def test_the_package_has_few_enough_files() -> None:
    assert sum(files for _, files in rooms().values()) <= MOST_FILES


def test_no_files_import_each_other_in_a_circle() -> None:
    assert not circles()


def test_no_rooms_import_each_other_in_a_circle() -> None:
    assert not circles(True)
