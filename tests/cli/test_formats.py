"""Bytes of keys and values as they are shown."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.cli.printing import Format, as_line, as_value


@pytest.mark.parametrize(
    ("form", "data", "shown"),
    [
        (Format.UTF8, "Grüße".encode(), "Grüße".encode()),
        (Format.UTF8, b"\xff\x00", rb"\xff\u0000"),
        (Format.UTF8, b"two\nlines", rb"two\nlines"),
        (Format.UTF8, b"\x1b[31mred", rb"\u001b[31mred"),
        (Format.RAW, b"\xff\x1b\n", b"\xff\x1b\n"),
        (Format.JSON, b'{ "a" : [1, 2] }', b'{"a": [1, 2]}'),
        (Format.JSON, b"{a}", b"{a}"),
        (Format.HEX, b"\x00\xff", b"00ff"),
        (Format.BASE64, b"\x00\xff", b"AP8="),
    ],
)
def test_each_format_shows_a_line(form: Format, data: bytes, shown: bytes) -> None:
    assert as_line(data, form) == shown


@pytest.mark.parametrize("form", Format)
def test_a_null_is_a_null_in_every_format(form: Format) -> None:
    assert as_line(None, form) == b"null"
    assert as_value(None, form) == (None, True)


@pytest.mark.parametrize(
    ("form", "data", "value", "is_so"),
    [
        (Format.JSON, b'{"a": 1}', {"a": 1}, True),
        (Format.JSON, b"NaN", "NaN", False),
        (Format.JSON, b"1e999", "1e999", False),
        (Format.JSON, b"\xff", r"\xff", False),
        (Format.UTF8, b"\xffx", r"\xffx", False),
        (Format.RAW, b"x", "x", True),
        (Format.HEX, b"\xff", "ff", True),
        (Format.BASE64, b"\xff", "/w==", True),
    ],
)
def test_json_says_whether_bytes_are_what_they_are_taken_for(
    form: Format, data: bytes, value: object, is_so: bool
) -> None:
    assert as_value(data, form) == (value, is_so)


@pytest.mark.parametrize("depth", [990, 100_000])
def test_json_of_any_depth_can_be_shown(depth: int) -> None:
    data = b"[" * depth + b"]" * depth
    value, is_so = as_value(data, Format.JSON)
    assert (json.loads(json.dumps(value)), is_so) == (data.decode(), False)


@given(st.binary(), st.sampled_from([form for form in Format if form is not Format.RAW]))
def test_any_bytes_stay_on_one_line_without_control_characters(data: bytes, form: Format) -> None:
    text = as_line(data, form).decode()
    assert len(text.splitlines()) <= 1
    assert "Cc" not in {unicodedata.category(character) for character in text}


@given(st.binary(), st.sampled_from(Format))
def test_any_bytes_fit_into_a_line_of_json(data: bytes, form: Format) -> None:
    value, _ = as_value(data, form)
    assert json.loads(json.dumps(value)) == value
