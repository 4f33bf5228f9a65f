"""What the sieve of an audit takes for a line of the writer: never one that cannot be read."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from kgroup.journal import (
    Entry,
    Event,
    RequestSent,
    Source,
    UnknownEvent,
    decode_entry,
    encode_entry,
)
from kgroup.spark.audit.sieve import Pass
from tests.journal.test_codec import EVENTS

SOURCE = Source(host="h/1", process="7-a", member="m1", group="g")
KNOWN: list[Any] = [event for event in EVENTS if not isinstance(event, UnknownEvent)]
FIRST = KNOWN[0]


def fits(text: str) -> bool:
    """Tell whether the sieve reads a line, and does not leave it to the judge."""
    sieve = Pass("a.jsonl")
    sieve.take([text])
    (lines,) = sieve.end().lines
    return lines.source is not None


def line(event: Event, source: Source = SOURCE) -> str:
    return encode_entry(Entry(source=source, seq=7, at=1.5, wall=1.7e9, event=event))


@pytest.mark.parametrize("event", KNOWN, ids=repr)
def test_a_line_of_the_writer_fits(event: Event) -> None:
    assert fits(line(event))
    assert fits(line(event, replace_group(None)))


def replace_group(group: str | None) -> Source:
    return SOURCE._replace(group=group)


@pytest.mark.parametrize(
    "text",
    [
        line(FIRST).replace(":", ": "),
        line(FIRST) + "\r",
        line(FIRST) + "\n",
        line(FIRST)[:-1],
        line(FIRST).replace('"v":1', '"v":2'),
        line(FIRST).replace('"seq":7', '"seq":7.0'),
        line(FIRST).replace('"seq":7', '"seq":9223372036854775808'),
        line(FIRST).replace('"at":1.5', '"at":NaN'),
        line(FIRST).replace('"at":1.5', '"at":1e999'),
        line(FIRST, replace_group("")),
        line(FIRST, replace_group("\ud800")),
        line(UnknownEvent("later")),
        "",
        "{}",
    ],
)
def test_what_can_be_read_in_two_ways_does_not_fit(text: str) -> None:
    assert not fits(text)


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_line_that_fits_can_be_read(seed: int) -> None:
    random = Random(seed)
    lines = [line(event) for event in KNOWN]
    letters = "".join(sorted(set("".join(lines)))) + '\\"{}[]\x00é'
    fitted = 0
    for _ in range(600):
        text = random.choice(lines)
        at = random.randrange(len(text))
        text = text[:at] + random.choice(letters) + text[at + random.randint(0, 1) :]
        if fits(text):
            fitted += 1
            assert not isinstance(decode_entry(text).event, UnknownEvent)
    assert fitted


def test_a_name_that_no_request_has_does_not_fit() -> None:
    sent = next(event for event in KNOWN if isinstance(event, RequestSent))
    assert not fits(line(sent).replace(sent.api.name, "NO_SUCH_API"))
    assert fits(line(replace(sent, correlation_id=8)))
