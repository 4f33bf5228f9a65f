"""`kgroup bench` on results that are there already; what it measures is tested elsewhere."""

import json

import pytest

from kgroup.bench.result import written
from kgroup.cli import main
from tests.bench.stage import FAST, SLOW, two


@pytest.fixture
def results(tmp_path):
    """Two results of one machine: kgroup was fast, then slow."""
    paths = {}
    for name, cpu in (("fast", FAST), ("slow", SLOW)):
        paths[name] = tmp_path / f"{name}.json"
        paths[name].write_text(written(two(cpu)), encoding="utf-8")
    return paths


def said(words, shown, code=0):
    """Run a verb that must end so, and return what it printed."""
    shown.readouterr()
    ended = main([str(word) for word in words])
    out = shown.readouterr()
    assert ended == code, out.err
    return out


def test_scenarios_and_clients_are_listed(capsys):
    found = json.loads(said(["bench", "list", "--json"], capsys).out)
    assert {"consume", "latency", "rebalance"} <= found["scenarios"].keys()
    assert found["clients"][0] == "kgroup"
    assert "kgroup" not in found["absent"]
    assert "consume" in said(["bench", "list"], capsys).out


def test_a_loss_is_named_worse(results, capsys):
    out = said(["bench", "compare", results["slow"], results["fast"], "--json"], capsys).out
    rows = {(row["cell"], row["figure"]): row for row in json.loads(out)}
    assert rows["read: kgroup records: 100 B", "cpu_us"]["better"] is False
    table = said(["bench", "compare", results["slow"], results["fast"]], capsys).out
    assert "worse" in table


def test_results_of_two_machines_are_refused_until_somebody_insists(results, capsys):
    document = json.loads(results["fast"].read_text(encoding="utf-8"))
    document["environment"]["processor"] = "another one"
    results["fast"].write_text(json.dumps(document), encoding="utf-8")
    words = ["bench", "compare", results["slow"], results["fast"]]
    assert "--other-machine" in said(words, capsys, 2).err
    said([*words, "--other-machine"], capsys)


@pytest.mark.slow
def test_a_report_is_one_page_and_its_pictures(results, tmp_path, capsys):
    out = tmp_path / "shown"
    printed = said(["bench", "report", results["fast"], "--out", out], capsys)
    assert "kgroup records" in printed.out
    assert (out / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert {path.suffix for path in out.iterdir()} == {".html", ".png"}


def test_the_guard_passes_the_ratios_it_wrote_and_fails_a_loss(results, tmp_path, capsys):
    kept = tmp_path / "ratios.json"
    said(["bench", "guard", kept, "--result", results["fast"], "--write"], capsys)
    said(["bench", "guard", kept, "--result", results["fast"]], capsys)
    out = said(["bench", "guard", kept, "--result", results["slow"]], capsys, 1).out
    assert "WORSE" in out


def test_the_guard_refuses_a_run_that_was_interrupted(results, tmp_path, capsys):
    document = json.loads(results["fast"].read_text(encoding="utf-8"))
    results["fast"].write_text(json.dumps({**document, "complete": False}), encoding="utf-8")
    words = ["bench", "guard", tmp_path / "ratios.json", "--result", results["fast"], "--write"]
    assert "a whole run" in said(words, capsys, 2).err
    assert not (tmp_path / "ratios.json").exists()


@pytest.mark.parametrize(
    ("words", "way_out"),
    [
        (["run"], "--quick"),
        (["run", "consumer"], "consume"),
        (["run", "consume", "--clients", "aiokaffka"], "aiokafka"),
        (["run", "consume", "--adapter", "mine"], "NAME=COMMAND"),
        (["run", "consume", "--brokers", "2"], "1 or 3"),
        (["report", "nowhere.json"], "bench run"),
        (["guard", "nowhere.json", "--result", "nowhere.json"], "guard --write"),
    ],
)
def test_a_wrong_use_names_the_way_out_before_anything_starts(words, way_out, capsys):
    assert way_out in said(["bench", *words], capsys, 2).err
