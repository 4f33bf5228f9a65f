"""A log is read once: its claims are found however lines are spelled and wherever it is parted."""

import gzip
from pathlib import Path
from random import Random

import pytest

from kgroup.spark.audit.passing import passes
from kgroup.spark.audit.sieve import Pass, Sieved
from kgroup.spark.audit.sifting import claims_of, pieces, sifted
from tests.spark.fleet import PlainRun, text_of

TEXT = text_of(PlainRun(Random(1)).go(), "g")


def sieved(*parts: list[str]) -> Sieved:
    sieve = Pass("a.jsonl")
    for lines in parts:
        sieve.take(lines)
    return sieve.end()


def test_a_plain_log_passes() -> None:
    found = sieved(TEXT.splitlines())
    assert {each.why for each in found.lines} == {None}
    assert passes([(0.0, found.passed["g"])])


def test_what_another_client_wrote_does_not_pass() -> None:
    started = '"isolated_heartbeats":false'
    assert started in TEXT
    found = sieved(TEXT.replace(started, started + ',"client":"java"').splitlines())
    assert {each.why for each in found.lines} == {"another client wrote a log"}
    assert found.passed["g"] is None


def test_a_log_in_pieces_is_the_same_log() -> None:
    lines = TEXT.splitlines()
    assert sieved(lines[:7], [], lines[7:]) == sieved(lines)


@pytest.mark.parametrize("event", ["deliver", "ownership", "commit"])
def test_a_claim_in_another_spelling_is_the_same_claim(event: str) -> None:
    spelled = [
        line.replace('["t",', r'["\u0074",') if f'"event":"{event}"' in line else line
        for line in TEXT.splitlines()
    ]
    assert spelled != TEXT.splitlines()
    assert sieved(spelled) == sieved(TEXT.splitlines())


def test_a_member_in_another_spelling_is_the_same_member() -> None:
    spelled = [
        line.replace('"member":"m0"', r'"member":"\u006d0"') if number % 2 else line
        for number, line in enumerate(TEXT.splitlines())
    ]
    assert sieved(spelled) == sieved(TEXT.splitlines())


def test_groups_in_one_log_pass_each_for_itself() -> None:
    other = text_of(PlainRun(Random(2)).go()[:-1], "other").replace(
        '"process":"1"', '"process":"2"'
    )
    lines = sorted(
        [*TEXT.splitlines(), *other.splitlines()], key=lambda line: line.split('"at":')[1]
    )
    found = sieved(lines)
    assert found.passed["g"] == sieved(TEXT.splitlines()).passed["g"]
    assert found.passed["other"] is None


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_log_of_many_pieces_is_read_to_its_end(name: str, end: str, tmp_path: Path) -> None:
    text = (TEXT * (3_000_000 // len(TEXT)) + "no line" + end).encode()
    (tmp_path / name).write_bytes(gzip.compress(text, 1) if name.endswith(".gz") else text)
    found = list(pieces(tmp_path / name))
    assert len(found) > 2
    assert b"".join(found) == text
    assert all(each.endswith(b"\n") for each in found[:-1])
    row = sifted("a", found)
    assert (row["lines"], row["cut"]) == (len(text.splitlines()), not end)
    assert [claims_of(each["claims"]) for each in row["groups"]] == [None]


def test_a_compressed_log_that_ends_too_early_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(TEXT.encode())[:-20])
    with pytest.raises(OSError, match=r"a\.gz: what is compressed ends too early"):
        list(pieces(tmp_path / "a.gz"))
