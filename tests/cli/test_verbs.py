"""Verbs and their options."""

import pytest

from kgroup.cli import main
from kgroup.cli.verbs import with_list


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ([], []),
        (["topics"], ["topics", "list"]),
        (["topics", "orders"], ["topics", "list", "orders"]),
        (["topics", "--json"], ["topics", "list", "--json"]),
        (["topics", "create", "x"], ["topics", "create", "x"]),
        (["topics", "list", "create"], ["topics", "list", "create"]),
        (["topics", "--help"], ["topics", "--help"]),
        (["groups"], ["groups", "list"]),
        (["groups", "show", "g"], ["groups", "show", "g"]),
        (["lag", "g"], ["lag", "g"]),
    ],
)
def test_list_may_be_left_out(words: list[str], meant: list[str]) -> None:
    assert with_list(words) == meant


@pytest.mark.parametrize(
    "words",
    [
        ["consume"],
        ["consume", "orders", "--value-format", "xml"],
        ["consume", "orders", "--from", "tomorrow"],
        ["consume", "orders", "--from", "20", "--until", "10"],
        ["consume", "orders", "--group", "g", "--partition", "1"],
        ["consume", "orders", "--until", "latest", "--follow"],
        ["consume", "orders", "--max-records", "0"],
        ["lag"],
        ["lag", "g", "--interval", "0"],
        ["groups", "sho", "g"],
        ["groups", "show"],
        ["groups", "evict"],
        ["groups", "evict", "g"],
        ["topics", "create"],
        ["topics", "create", "t", "--partitions", "0"],
        ["topics", "create", "t", "--set", "retention.ms"],
        ["topics", "delete"],
    ],
)
def test_a_wrong_use_is_refused_before_any_broker_is_asked(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--bootstrap", "127.0.0.1:1", "--timeout", "0.1"]) == 2
    assert capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [["consume", "t"], ["lag", "g"], ["groups"], ["groups", "show", "g"], ["topics"]],
)
def test_a_cluster_that_is_not_there_is_one_line(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--bootstrap", "127.0.0.1:1", "--timeout", "0.2"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: no broker reachable within 0.2 s: 127.0.0.1:1 (")


@pytest.mark.parametrize("verb", [["consume"], ["lag"], ["groups", "show"], ["topics", "create"]])
def test_every_verb_takes_the_common_options(
    verb: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*verb, "--help"]) == 0
    printed = capsys.readouterr().out
    assert all(option in printed for option in ("--bootstrap", "--config", "--timeout", "--json"))
    assert "--sasl" not in printed
    assert "--password" not in printed


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["consume", "t", "--value-format", "avro"], "raw, utf8, json, hex, base64"),
        (["consume", "t", "--isolation", "none"], "read_uncommitted, read_committed"),
        (["groups", "evict", "g"], "--instance or --member is needed"),
    ],
)
def test_a_wrong_use_names_what_is_right(
    words: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--bootstrap", "127.0.0.1:1", "--timeout", "0.1"]) == 2
    printed = " ".join(capsys.readouterr().err.replace("\u2502", " ").split())
    assert named in printed
    assert "Value error" not in printed
