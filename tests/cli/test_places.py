"""Places in logs as they are typed."""

import pytest

from kgroup.cli.consuming import read_place
from kgroup.errors import ArgumentError
from kgroup.net.log_offsets import OffsetSpec
from kgroup.net.log_places import FromEnd, Offset, Place, Time

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("earliest", OffsetSpec.EARLIEST),
        ("Latest", OffsetSpec.LATEST),
        ("0", Offset(0)),
        ("42", Offset(42)),
        ("-10", FromEnd(10)),
        ("90s", Time(1_799_999_910_000)),
        ("15m", Time(1_799_999_100_000)),
        ("1h30m", Time(1_799_994_600_000)),
        ("1.5h", Time(1_799_994_600_000)),
        ("2d", Time(1_799_827_200_000)),
        ("250ms", Time(1_799_999_999_750)),
        ("2026-08-01T12:00Z", Time(1_785_585_600_000)),
        ("2026-08-01T12:00:00.500+02:00", Time(1_785_578_400_500)),
    ],
)
def test_each_form_means_its_place(text: str, place: Place) -> None:
    assert read_place("--from", text, now=NOW) == place


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "-", "1.5", "15 m", "99999999999999999999", "²", "5y"]
)
def test_anything_else_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"--until: got .*an offset such as 42"):
        read_place("--until", text, now=NOW)


@pytest.mark.parametrize("text", ["2100-01-01T00:00Z", "1969-12-31T00:00Z", "100000w"])
def test_a_time_that_no_record_can_have_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="a time in the past"):
        read_place("--from", text, now=NOW)
