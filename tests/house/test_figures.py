"""The package stays one that a reader can find the way in, and no import goes in a circle."""

from tests.house.figures import circles, rooms

# 94,000, `kgroup bench`, processing with locks and health, KIP-848 (a third machine of 2,500 lines
# with a backend, and the coordinator's side of it in the process, where a group may have members of
# both protocols), and Spark: coordination logs as tables, alarms, and fleets of event logs judged.
MOST_LINES = 119_900
MOST_FILES = 658


def test_the_package_has_few_enough_lines() -> None:
    assert sum(lines for lines, _ in rooms().values()) <= MOST_LINES


def test_the_package_has_few_enough_files() -> None:
    assert sum(files for _, files in rooms().values()) <= MOST_FILES


def test_no_files_import_each_other_in_a_circle() -> None:
    assert not circles()


def test_no_rooms_import_each_other_in_a_circle() -> None:
    assert not circles(True)
