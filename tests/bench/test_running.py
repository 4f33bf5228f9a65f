"""A scenario from first broker to last file; what there is already is not measured again."""

import json

import jsonschema
import pytest

from kgroup.bench.adapters import Adapters
from kgroup.bench.asking import check_brokers, tidy
from kgroup.bench.cells import Cell
from kgroup.bench.contest import Entry
from kgroup.bench.result import read
from kgroup.bench.running import Kafkas, Run, is_whole, measured
from kgroup.bench.scenario import parse
from kgroup.cli import main
from kgroup.errors import ArgumentError, BrokerError, NoBrokerError
from kgroup.testing import InProcessBroker
from kgroup.testing.kafka import create_topic, read_bounds
from tests.bench.stage import document, read_sample
from tests.bench.test_result import SCHEMA

TEXT = """
about = "A little"
jobs = ["read"]
[clients]
kgroup = ["records"]
[size]
runs = 2
records = 80
"""


class Noted:
    """Progress, and what it was told."""

    def __init__(self):
        self.lines, self.steps, self.names = [], 0, []

    def say(self, line):
        self.lines.append(line)

    def total(self, steps):
        self.steps = steps

    def step(self, name):
        self.names.append(name)


def ran(folder, before=(), **more):
    """Run the little scenario on an in-process broker."""
    noted = Noted()
    run = {"clients": (), "adapters": Adapters(), "keep": folder / "result.json", **more}
    with InProcessBroker().serve() as broker:
        plan = Run(scenario=parse(TEXT, "mine", "mine.toml"), bootstrap=broker.bootstrap, **run)
        document = measured(plan, noted, before)
        topics = [line.split()[1].rstrip(":") for line in noted.lines if "filling" in line]
        with pytest.raises(BrokerError, match="UNKNOWN_TOPIC"):
            read_bounds(broker.bootstrap, topics)
    return document, noted


def test_cells_with_all_their_samples_are_not_measured_again(tmp_path):
    entry = Entry(Cell("read", "kgroup", "records", "asyncio"), samples=[read_sample(0.1)] * 2)
    document, noted = ran(tmp_path, [entry])
    assert (noted.steps, noted.names) == (0, [])
    assert len(document["cells"][0]["samples"]) == 2
    assert read(tmp_path / "result.json") == json.loads(json.dumps(document))


def test_results_of_a_whole_run_leave_nothing_to_measure():
    plan = Run(scenario=parse(TEXT, "mine", "mine.toml"), clients=(), adapters=Adapters())
    cell, samples = Cell("read", "kgroup", "records", "asyncio"), [read_sample(0.1)] * 2

    def whole(*entries, **more):
        return is_whole(plan, document(*entries, plan=plan.scenario.plan, **more))

    assert whole(Entry(cell, samples=samples))
    assert whole(Entry(cell, status="absent"))
    assert not whole(Entry(cell, samples=samples[:1]))
    assert not whole(Entry(cell, samples=samples), complete=False)
    assert not whole(Entry(Cell("read", "mine"), samples=samples)), "another client was measured"


def test_a_cell_that_was_absent_is_tried_again(tmp_path):
    cell = Cell("read", "kgroup", "records", "asyncio")
    adapters = Adapters({"none": ["/nowhere/client"]})
    _, noted = ran(tmp_path, [Entry(cell, status="absent")], adapters=adapters, clients=["none"])
    assert noted.steps == 3
    assert noted.names == ["read: none: 100 B"], "absent once, it is not asked again"


@pytest.mark.slow
def test_a_whole_run_fits_the_schema_and_leaves_no_topic(tmp_path):
    document, noted = ran(tmp_path)
    assert (document["complete"], document["rough"]) == (True, True)
    assert len(noted.names) == noted.steps == 3
    jsonschema.validate(json.loads(json.dumps(document)), SCHEMA)


def test_scenarios_that_want_the_same_kafka_share_it(monkeypatch):
    with InProcessBroker().serve() as broker, Kafkas() as kafkas:
        monkeypatch.setenv("KGROUP_BOOTSTRAP", broker.bootstrap)
        first, again = (kafkas.get(1, {"a": "1"}, print) for _ in range(2))
        assert first is again
        assert kafkas.get(1, {"a": "2"}, print) is not first


def test_an_adapter_that_is_not_known_is_refused_before_any_broker_is_asked(tmp_path):
    plan = Run(scenario=parse(TEXT, "mine", "mine.toml"), clients=["x"], adapters=Adapters())
    with pytest.raises(ArgumentError, match="kgroup"):
        measured(plan, Noted())


def test_another_run_is_not_gone_on_with(tmp_path, capsys):
    ran(tmp_path, [Entry(Cell("read", "kgroup", "records", "asyncio"),
                         samples=[read_sample(0.1)] * 2)])  # fmt: skip
    (tmp_path / "mine").mkdir()
    (tmp_path / "result.json").rename(tmp_path / "mine" / "result.json")
    path = tmp_path / "mine.toml"
    path.write_text(TEXT.replace("80", "160"), encoding="utf-8")
    words = ["bench", "run", str(path), "--out", str(tmp_path), "--resume"]
    assert main([*words, "--bootstrap", "127.0.0.1:1"]) == 2
    assert "begins anew" in capsys.readouterr().err


def test_results_are_not_written_over(tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    kept = tmp_path / "mine" / "result.json"
    kept.write_text("{}", encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(TEXT, encoding="utf-8")
    words = ["bench", "run", str(path), "--out", str(tmp_path), "--bootstrap", "127.0.0.1:1"]
    assert main(words) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert kept.read_text(encoding="utf-8") == "{}"


def test_two_scenarios_of_one_name_are_refused(tmp_path, capsys):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.toml").write_text(TEXT, encoding="utf-8")
    paths = [str(tmp_path / folder / "mine.toml") for folder in ("a", "b")]
    assert main(["bench", "run", *paths, "--out", str(tmp_path / "out")]) == 2
    assert "names differ" in capsys.readouterr().err


def test_a_client_that_a_scenario_names_and_nobody_knows_is_refused_with_its_file(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    path.write_text(TEXT.replace("kgroup =", "kgrup ="), encoding="utf-8")
    assert main(["bench", "run", str(path), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "mine.toml: clients.kgrup" in said
    assert "did you mean 'kgroup'" in said


def test_a_cell_that_failed_is_tried_again_and_one_that_was_wrong_is_not(tmp_path):
    cell = Cell("read", "kgroup", "records", "asyncio")
    plan = Run(scenario=parse(TEXT, "mine", "mine.toml"), clients=(), adapters=Adapters())
    found = {
        status: is_whole(plan, document(Entry(cell, status=status), plan=plan.scenario.plan))
        for status in ("failed", "wrong", "absent")
    }
    assert found == {"failed": False, "wrong": True, "absent": True}


def test_brokers_that_do_not_answer_are_told_before_anything_starts():
    with pytest.raises(NoBrokerError):
        check_brokers("127.0.0.1:1", "x-", "mine: brokers", newer=False)


def test_what_a_run_has_made_is_deleted_and_what_others_made_stays():
    with InProcessBroker().serve() as broker:
        for name in ("mine-1", "other"):
            create_topic(broker.bootstrap, name, 1)
        assert tidy(broker.bootstrap, "mine-", ["mine-1", "never"]) == []
        assert read_bounds(broker.bootstrap, ["other"])
        with pytest.raises(BrokerError, match="UNKNOWN_TOPIC"):
            read_bounds(broker.bootstrap, ["mine-1"])
