"""A result is one document with a schema, from which everything that is shown is made."""

import json
from functools import cache
from pathlib import Path

import jsonschema
import pytest

import kgroup.bench
from kgroup.bench.cells import Size
from kgroup.bench.figures import of_sample
from kgroup.bench.histogram import encoded, percentiles
from kgroup.bench.page import page
from kgroup.bench.plots import pictures
from kgroup.bench.result import entries_of, read, written
from kgroup.bench.tables import heads, rows, sparkline
from kgroup.errors import ConfigError
from tests.bench.stage import (
    FAST,
    document,
    entry,
    grown,
    join_sample,
    latency_sample,
    reading,
    two,
)

SCHEMA = json.loads(
    (Path(kgroup.bench.__file__).parent / "result.schema.json").read_text(encoding="utf-8")
)
EVENT = entry("kgroup", "range", [join_sample(0.5, 0.02), join_sample(0.7, 0.04)], job="join")
LATENCY = entry("kgroup", "range", [latency_sample(0.001, 0.002, 0.9)], job="latency")


def everything():
    """Results with a cell of each kind."""
    wrong = entry("aiokafka", "range", [], job="join", status="wrong", reason="3 were lost <&>")
    return document(reading("kgroup", "records", *FAST), EVENT, LATENCY, wrong)


@cache
def drawn():
    """The pictures of all that; making them takes a while."""
    return [*pictures(everything())]


def as_json(found):
    return json.loads(written(found))


# -- the document --------------------------------------------------------------------------


@pytest.mark.parametrize("found", [two(), everything(), document()], ids=["two", "all", "none"])
def test_results_fit_their_schema(found):
    jsonschema.validate(as_json(found), SCHEMA)


def test_an_absent_client_with_samples_does_not_fit():
    found = as_json(two())
    found["cells"][0]["status"] = "absent"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, SCHEMA)


def test_results_that_were_kept_can_be_read_and_gone_on_with(tmp_path):
    path = tmp_path / "result.json"
    path.write_text(written(everything()), encoding="utf-8")
    again = document(*entries_of(read(path)))
    assert as_json(again)["cells"] == as_json(everything())["cells"]


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 1}'])
def test_a_file_that_is_no_result_is_refused(tmp_path, text):
    path = tmp_path / "result.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="bench run"):
        read(path)


def test_a_result_of_a_later_schema_is_refused(tmp_path):
    path = tmp_path / "result.json"
    path.write_text(json.dumps({**as_json(two()), "schema": 9}), encoding="utf-8")
    with pytest.raises(ConfigError, match="schema 1"):
        read(path)


# -- figures -------------------------------------------------------------------------------


def test_the_waits_of_partitions_that_moved_and_that_stayed_are_told_apart():
    found = of_sample("join", join_sample(0.5, 0.02), {})
    assert found["moved_ms"] == pytest.approx(500)
    assert found["stay_max_ms"] == pytest.approx(20)
    assert (found["moved"], found["repeated"]) == (1, 2)


def test_where_nothing_stayed_there_is_no_figure_of_it_and_no_zero():
    sample = join_sample(0.5, 0.02)
    sample["partitions"] = sample["partitions"][:1]
    found = document(entry("kgroup", "range", [sample], job="join"), EVENT)
    assert "stay_ms" not in found["cells"][0]["figures"]
    place = heads(found["cells"]).index("stay: silence")
    lines = {tuple(row[place : place + 2]) for row in rows(found["cells"])}
    assert lines == {("-", "-"), ("30 (20-40) ms", "30 (20-40) ms")}


def test_a_column_that_no_cell_has_is_left_out():
    names = heads(document(EVENT)["cells"])
    assert "stay: silence" in names
    assert "restarted: silence" not in names


def test_a_cell_that_an_interrupted_run_did_not_reach_says_so():
    [row] = rows(document(reading("kgroup", "records"))["cells"])
    assert row[2] == "not measured yet"


def test_histograms_are_put_together():
    found = percentiles([encoded([0.001] * 99), encoded([1.0])], (50.0, 100.0))
    assert found == pytest.approx([0.001, 1.0], rel=0.002)


def test_a_time_of_more_than_an_hour_counts_as_one():
    assert percentiles([encoded([9_999.0])], (100.0,)) == pytest.approx([3600.0], rel=0.002)


def test_nothing_has_no_percentiles():
    assert percentiles([encoded([])]) == []


def test_runs_are_shown_as_bars_between_the_least_and_the_most():
    assert sparkline([1.0, 2.0, 1.5]) == "▁█▅"
    assert sparkline([3.0, 3.0]) == "▁▁"
    assert sparkline([]) == ""


# -- what is shown -------------------------------------------------------------------------


@pytest.mark.slow
def test_the_page_shows_what_was_wrong_and_runs_nothing_from_elsewhere():
    text = page(everything(), drawn())
    assert "3 were lost &lt;&amp;&gt;" in text
    assert "<svg" in text
    assert "<script" not in text
    assert 'src="http' not in text


def test_the_page_says_better_only_where_the_runs_do():
    assert "<td>better</td>" in page(two())
    rough = two(FAST[:3], FAST[:3])
    assert "<td>better</td>" not in page(rough)
    assert "<td>not shown</td>" in page(rough)


def test_the_page_shows_an_absent_client_with_its_reason():
    assert "absent: no Java" in page(two())


def test_the_page_says_that_a_run_was_interrupted():
    assert "Interrupted" in page(document(reading("kgroup", "records", *FAST), complete=False))


@pytest.mark.slow
def test_each_kind_of_cell_has_a_picture():
    names = {picture.name for picture in drawn()}
    assert len(names) == len(drawn())
    for part in ("read", "percentiles", "last-run"):
        assert any(part in name for name in names), part


@pytest.mark.slow
def test_groups_of_several_sizes_are_lines_and_of_one_size_bars():
    sizes = (Size(10, 20), Size(50, 100))
    cells = [grown(client, size) for client in ("kgroup", "aiokafka") for size in sizes]
    several, one = document(*cells), document(*cells[::2])
    assert ">members<" in next(iter(pictures(several))).svg
    assert ">members<" not in next(iter(pictures(one))).svg


@pytest.mark.slow
def test_pictures_are_images_and_scale():
    for picture in drawn():
        assert picture.png.startswith(b"\x89PNG")
        assert picture.svg.startswith("<svg")
