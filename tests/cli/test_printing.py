"""Lines of records, and the rate beside them."""

import io
import json

import pytest

from kgroup.cli.printing import Format, Gauge, Lines
from kgroup.consumer import Record
from kgroup.wire.records import TimestampType


def record(
    key: bytes | None = b"k", value: bytes | None = b"v", timestamp: int = 1_795_265_568_516
) -> Record[bytes | None, bytes | None]:
    headers = (("trace", b"1"), ("trace", None), ("bin", b"\xff"))
    kind = TimestampType.CREATE_TIME
    return Record("orders", 2, 17, timestamp, kind, key, value, headers)


def test_a_line_names_the_place_the_time_and_both_halves() -> None:
    line = b"orders-2@17  2026-11-21T12:52:48.516Z  k  v\n"
    assert Lines().of(record()) == line


def test_headers_are_shown_when_asked_for() -> None:
    line = Lines(headers=True).of(record(timestamp=-1))
    assert line == b"orders-2@17  -  k  v  {trace=1, trace=null, bin=\\xff}\n"


@pytest.mark.parametrize("timestamp", [-1, 0, 2**62])
def test_no_timestamp_is_too_strange_to_be_shown(timestamp: int) -> None:
    assert Lines().of(record(timestamp=timestamp)).startswith(b"orders-2@17  ")


def test_values_alone_are_nothing_but_values() -> None:
    assert Lines(values_only=True, value=Format.RAW).of(record(value=b"\xff")) == b"\xff\n"


def test_a_line_of_json_holds_everything() -> None:
    lines = Lines(as_json=True, key=Format.HEX, value=Format.JSON)
    assert json.loads(lines.of(record(value=b'{"id": 1}'))) == {
        "topic": "orders",
        "partition": 2,
        "offset": 17,
        "timestamp": 1_795_265_568_516,
        "key": "6b",
        "value": {"id": 1},
        "headers": [["trace", "1"], ["trace", None], ["bin", "\\xff"]],
    }


def test_a_line_of_json_names_what_is_not_what_it_is_taken_for() -> None:
    found = json.loads(Lines(as_json=True, value=Format.JSON).of(record(b"\xff", b"{")))
    assert (found["key"], found["value"], found["bad"]) == ("\\xff", "{", ["key", "value"])


def test_a_tombstone_and_a_missing_time_are_nulls_in_json() -> None:
    found = json.loads(Lines(as_json=True).of(record(None, None, -1)))
    assert (found["key"], found["value"], found["timestamp"], "bad" in found) == (
        None,
        None,
        None,
        False,
    )


class Hand:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_rate_is_that_of_the_time_since_it_was_shown_last() -> None:
    stream, clock = io.StringIO(), Hand()
    gauge = Gauge(stream, clock)
    gauge.count(1_000, 2_000_000)
    clock.now = 2.0
    gauge.tick()
    gauge.count(100, 0)
    clock.now = 3.0
    gauge.tick()
    shown = stream.getvalue().split("\r\x1b[2K")[1:]
    assert shown == ["1,000 records, 2.0 MB, 500/s", "1,100 records, 2.0 MB, 100/s"]


def test_the_rate_is_out_of_the_way_while_records_are_written() -> None:
    stream, clock = io.StringIO(), Hand()
    gauge = Gauge(stream, clock)
    gauge.clear()
    assert stream.getvalue() == ""
    clock.now = 1.0
    gauge.tick()
    gauge.clear()
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_the_end_tells_the_whole() -> None:
    stream, clock = io.StringIO(), Hand()
    gauge = Gauge(stream, clock)
    gauge.count(10, 5)
    clock.now = 4.0
    gauge.end()
    assert stream.getvalue() == "10 records, 0.0 MB in 4.0 s, 2/s\n"
