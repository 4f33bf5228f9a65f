"""Which files belong to which group, and what speaks against the group at once."""

from pathlib import Path
from typing import Any

from kgroup.spark.audit.belonging import Gathered, Lines, gather


def wrote(path: str, member: str = "m", group: str | None = "g", **more: Any) -> Lines:
    given = {"entries": 5, "own": 5, "first": (0, 1000.0, 10.0), "first_at": 10.0}
    source = (more.pop("host", "h"), "1", member)
    return Lines(path=path, source=source, group=group, **{**given, "last_at": 20.0, **more})


def gathered(*lines: Lines, runs: dict[str, str] | None = None) -> dict[Any, Gathered]:
    paths = {each.path for each in lines}
    found = gather(lines, {path: Path(path) for path in paths}, runs or dict.fromkeys(paths, ""))
    return {each.key: each for each in found}


def test_a_file_is_of_every_group_that_has_a_line_in_it() -> None:
    found = gathered(wrote("b"), wrote("a"), wrote("a", "n", "other"))
    assert [found["", "g"].paths, found["", "other"].paths] == [["a", "b"], ["a"]]
    assert (found["", "g"].entries, found["", "other"].entries) == (10, 5)


def test_members_without_a_group_are_a_group_of_their_own() -> None:
    assert set(gathered(wrote("a", group=None), wrote("b"))) == {("", None), ("", "g")}


def test_a_folder_of_its_own_makes_another_group_of_the_same_name() -> None:
    found = gathered(wrote("x/a"), wrote("y/a"), runs={"x/a": "x", "y/a": "y"})
    assert {key: each.paths for key, each in found.items()} == {
        ("x", "g"): ["x/a"],
        ("y", "g"): ["y/a"],
    }


def test_a_fault_that_names_no_group_concerns_all_and_one_that_does_only_that() -> None:
    faults: dict[str, Any] = {"entries": 1, "own": 0, "faults": 1}
    found = gathered(
        wrote("a"), wrote("b", "n", "other"), wrote("c", "x", None, **faults), wrote("d", **faults)
    )
    assert found["", "g"].paths == ["a", "c", "d"]
    assert found["", "other"].paths == ["b", "c"]
    assert {each.why for each in found.values()} == {"faults were made"}


def test_what_the_coordinator_stored_concerns_its_group() -> None:
    found = gathered(wrote("a"), wrote("b", "broker", own=0, stored=5, why="watched"))
    assert found["", "g"].paths == ["a", "b"]
    assert found["", "g"].why == "watched"


def test_a_file_without_a_member_is_nobodys_and_must_be_judged() -> None:
    found = gathered(wrote("a"), Lines(path="b"))
    assert found["", None].paths == ["b"]
    assert found["", None].why is not None
    assert found["", "g"].why is None


def test_a_line_that_does_not_fit_speaks_against_every_group_in_its_file() -> None:
    found = gathered(
        wrote("a"), wrote("a", "n", "other"), wrote("b", "o", "third"), Lines(path="a")
    )
    assert {key[1] for key, each in found.items() if each.why} == {"g", "other"}


def test_a_member_in_two_files_and_a_file_of_two_machines_must_be_judged() -> None:
    assert gathered(wrote("a"), wrote("b"))["", "g"].why is not None
    assert gathered(wrote("a"), wrote("a", "n", host="k"))["", "g"].why is not None
    assert gathered(wrote("a"), wrote("b", "n", host="k"))["", "g"].why is None


def test_machines_are_tied_at_the_first_line_of_each() -> None:
    late: dict[str, Any] = {
        "host": "k",
        "first": (0, 1002.0, 700.0),
        "first_at": 700.0,
        "last_at": 730.0,
    }
    found = gathered(wrote("a"), wrote("b", "n", **late))["", "g"]
    assert found.shifts == {"a": 0.0, "b": -688.0}
    assert found.span == (10.0, 42.0)
