"""Pieces of a page: they need nothing besides themselves, and stay small whatever they show."""

import re
from xml.etree import ElementTree as ET

from kgroup.audit import drawing
from kgroup.audit.drawing import Bar, Mark

DAY = 86_400_000
SPAN = (1_700_000_000_000, 1_700_000_000_000 + DAY)


def shapes(svg: str, tag: str) -> list[ET.Element]:
    whole = svg.split("<p class", 1)[0]
    found = ET.fromstring(whole)
    return [each for each in found.iter() if each.tag.endswith(tag)]


def test_a_page_is_whole_and_loads_nothing() -> None:
    page = drawing.page("a & b", [drawing.section("one", drawing.words("<two>", "bad"))])
    assert page.startswith("<!doctype html>")
    assert "a &amp; b" in page
    assert "&lt;two&gt;" in page
    assert not re.search(r"(src|href)=|@import|url\(", page)


def test_a_bar_stands_where_it_lasted() -> None:
    half = SPAN[0] + DAY // 2
    svg = drawing.bars(
        {"t-0": [Bar(SPAN[0], half, "one", "x"), Bar(half, SPAN[1], None, "y")]}, SPAN
    )
    first, second = shapes(svg, "rect")
    assert (first.get("x"), first.get("width")) == ("150.0", "500.0")
    assert (second.get("x"), second.get("class")) == ("650.0", "none")


def test_what_is_out_of_the_span_is_not_drawn() -> None:
    bars = [Bar(SPAN[0] - 9, SPAN[0] - 1, "one", ""), Bar(SPAN[1], SPAN[1] + 1, "one", "")]
    assert shapes(drawing.bars({"t-0": bars}, SPAN, [Mark(SPAN[1], "late")]), "rect") == []


def test_short_bars_are_drawn_together_and_a_long_one_is_not() -> None:
    short = [Bar(SPAN[0] + n, SPAN[0] + n + 1, f"m{n}", "") for n in range(1000)]
    long = Bar(SPAN[0] + 1000, SPAN[1], "one", "")
    many, alone = shapes(drawing.bars({"t-0": [*short, long]}, SPAN), "rect")
    assert many.get("class") == "many"
    assert "1000 short ones" in ET.tostring(many, "unicode")
    assert alone.get("class") != "many"


def test_a_day_of_two_hundred_partitions_stays_small() -> None:
    step = DAY // 1440
    bars = [
        Bar(SPAN[0] + n * step, SPAN[0] + (n + 1) * step, f"m{n % 9}", f"m{n % 9}, left")
        for n in range(1440)
    ]
    points = [(SPAN[0] + n * step, float(n % 100)) for n in range(1440)]
    marks = [Mark(SPAN[0] + n * 17_280, "joined") for n in range(5000)]
    chart = drawing.bars({f"t-{n}": bars for n in range(200)}, SPAN, marks)
    lag = drawing.lines({f"t-{n}": points for n in range(200)}, SPAN)
    assert len(chart) + 2 * len(lag) < 5_000_000


def test_peaks_of_a_line_are_kept() -> None:
    points = [(SPAN[0] + n * 1000, 5.0) for n in range(80_000)]
    points[40_000] = (points[40_000][0], 900.0)
    svg = drawing.lines({"t-0": points}, SPAN)
    (line,) = shapes(svg, "polyline")
    heights = [float(pair.split(",")[1]) for pair in str(line.get("points")).split()]
    assert min(heights) == 12.0
    assert len(heights) < 3000


def test_a_table_counts_what_it_does_not_show() -> None:
    table = drawing.rows(("a", "b"), [(1234, None)] * 7, most=5)
    assert table.count("<tr>") == 6
    assert "1,234" in table
    assert "and 2 more" in table
