"""A scenario is data: what is wrong with it is said before anything starts."""

import pytest

from kgroup.bench.cells import Cell, Data, Size
from kgroup.bench.scenario import FOLDER, built_in, find, parse, sized
from kgroup.errors import ArgumentError, ConfigError

FAIR = """
about = "What it costs"
jobs = ["read"]
[clients]
kgroup = ["records", "values"]
confluent = ["poll"]
"""

GROUP = """
about = "What it costs"
jobs = ["join"]
[clients]
kgroup = ["cooperative-sticky", "mine.assignors:Fair"]
"confluent@kip848" = ["uniform"]
mine = ["anything"]
"""

SIZES = "[[sizes]]\nmembers = 3\npartitions = 7\n[[sizes]]\nmembers = 2\npartitions = 2\n"


def told(text):
    """Return what is said of a scenario that cannot be used."""
    with pytest.raises(ConfigError) as caught:
        parse(text, "mine", "mine.toml")
    return str(caught.value)


def test_a_scenario_has_a_cell_of_each_client_and_way_to_read():
    found = parse(FAIR, "mine", "mine.toml")
    assert [cell.name for cell in found.cells()] == [
        "read: kgroup records: 100 B",
        "read: kgroup values: 100 B",
        "read: confluent poll: 100 B",
    ]


def test_clients_that_are_named_are_measured_alone_and_in_that_order():
    found = parse(FAIR, "mine", "mine.toml")
    names = [cell.client for cell in found.cells(["confluent", "kgroup"])]
    assert names == ["confluent", "kgroup", "kgroup"]


def test_a_client_that_a_scenario_does_not_name_has_one_cell():
    found = parse(FAIR, "mine", "mine.toml")
    assert [*found.cells(["mine"])] == [Cell("read", "mine")]


def test_a_client_of_kgroups_that_a_scenario_does_not_name_reads_in_its_usual_way():
    found = parse(FAIR, "mine", "mine.toml")
    assert [cell.level for cell in found.cells(["aiokafka"])] == ["getmany"]
    group = parse(GROUP, "mine", "mine.toml")
    assert [cell.level for cell in group.cells(["aiokafka", "other"])] == ["range", "range"]
    assert [cell.level for cell in group.cells(["java@kip848"])] == ["uniform"]


def test_loops_are_for_clients_that_run_on_them():
    found = parse(FAIR.replace('jobs = ["read"]', 'jobs = ["read"]\nloops = ["asyncio", "trio"]'),
                  "mine", "mine.toml")  # fmt: skip
    loops = [(cell.client, cell.loop) for cell in found.cells()]
    assert loops == [("kgroup", "asyncio"), ("kgroup", "trio")] * 2 + [("confluent", "")]


def test_kinds_of_records_are_read():
    text = FAIR + '[[data]]\nname = "1 kB zstd"\nvalue_bytes = 1000\ncodec = "zstd"\nshare = 4\n'
    assert parse(text, "mine", "mine.toml").data == (Data("1 kB zstd", 1000, "zstd", 4),)


def test_a_job_that_is_about_sizes_has_a_cell_of_each():
    text = FAIR.replace('["read"]', '["scale", "read"]') + SIZES
    found = [(cell.job, cell.size) for cell in parse(text, "mine", "mine.toml").cells(["mine"])]
    assert found == [("scale", Size(3, 7)), ("scale", Size(2, 2)), ("read", None)]


def test_marshal_mode_has_guarantees_instead_of_assignors():
    text = GROUP.replace("mine =", "marshal =").replace("anything", "at most once")
    cells = [*parse(text, "mine", "mine.toml").cells()]
    assert [cell.level for cell in cells if cell.client == "marshal"] == ["at most once"]
    assert [cell.level for cell in find("consume").cells(["marshal"])] == ["at least once"]


def test_a_broker_is_told_settings_as_text():
    text = FAIR + '[broker]\n"a.b" = 3_000\n"c" = true\n'
    assert parse(text, "mine", "mine.toml").broker == {"a.b": "3000", "c": "true"}


def test_a_scenario_says_how_many_brokers_it_takes():
    assert [find(name).brokers for name in ("failover", "rebalance")] == [3, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (FAIR + "[size]\nrunz = 3\n", ("mine.toml: size.runz", "did you mean 'runs'")),
        (FAIR + "[size]\nruns = 0\n", ("mine.toml: size.runs", "whole number above 0")),
        (FAIR + "[size]\nruns = 2.5\n", ("mine.toml: size.runs", "whole number")),
        (FAIR + '[size]\nruns = "many"\n', ("mine.toml: size.runs", "'many'")),
        (FAIR + "[group]\nmembers = 12\npartitions = 12\n", ("group.partitions", "at least 13")),
        (FAIR + "[group]\nheartbeat_interval = 9.0\n", ("group.heartbeat_interval", "less than")),
        (FAIR + "[group]\nrate = 5\n", ("group.rate", "each of 12")),
        (FAIR + '[[data]]\nname = "x"\n', ("data.value_bytes", "number of bytes")),
        (FAIR + '[[data]]\nname = "x"\nvalue_bytes = 5\ncodec = "rar"\n', ("data.codec", "zstd")),
        (FAIR.replace("read", "write"), ("mine.toml: jobs", "one of read")),
        (FAIR.replace("about", "abuot"), ("mine.toml: abuot", "did you mean 'about'")),
        ('about = "x"\njobs = ["read"]\n', ("mine.toml: clients", "[clients]")),
        ("about = \n", ("mine.toml", "TOML")),
        (FAIR + "[size]\nruns = true\n", ("mine.toml: size.runs",)),
        (FAIR.replace("read", "scale"), ("mine.toml: sizes", "[[sizes]]")),
        (FAIR + "[[sizes]]\nmembers = 3\n", ("mine.toml: sizes.partitions", "whole number")),
        (FAIR + "[[sizes]]\nmembers = 3\npartitions = 2\n", ("sizes.partitions", "at least 3")),
        ("brokers = 2\n" + FAIR, ("mine.toml: brokers", "1 or 3")),
        ("brokers = true\n" + FAIR, ("mine.toml: brokers", "1 or 3")),
        (FAIR + "[sizes]\nmembers = 3\n", ("mine.toml: sizes", "[[sizes]]")),
        (FAIR + "[broker]\na.b = 3\n", ("mine.toml: broker.a", '"a.b" = 1')),
        (FAIR.replace("values", "vlaues"), ("mine.toml: clients.kgroup", "mean 'values'")),
        (FAIR.replace("values", "records"), ("mine.toml: clients.kgroup", "once")),
        (FAIR.replace('["read"]', '["read", "read"]'), ("mine.toml: jobs", "once")),
        (GROUP.replace("uniform", "sticky"), ("clients.confluent@kip848", "uniform, range")),
        (GROUP + "[group]\nbatch = 5000\n", ("group.batch", "at most 100")),
        (
            GROUP + "[group]\nrate = 90000\nbatch = 5000\n" + '[[data]]\nname = "x"\n'
            "value_bytes = 1000\n",
            ("group.batch", "at most 900 of 'x'"),
        ),
        (GROUP.replace("join", "crash") + "[group]\nmembers = 1\n", ("group.members", "2")),
        (GROUP.replace("join", "failover"), ("mine.toml: brokers", "3: a failover kills one")),
        (FAIR + "[size]\nruns = 1000\n", ("size.runs", "at most 100")),
        (FAIR + "[group]\nbefore = 1e9\n", ("group.before", "at most 3,600")),
        (FAIR + '[[data]]\nname = "x"\nvalue_bytes = 2000000\n', ("value_bytes", "900,000")),
        (FAIR + '[[data]]\nname = "a/b"\nvalue_bytes = 10\n', ("data.name", "letters")),
        (FAIR + '[[data]]\nname = "x"\nvalue_bytes = 10\n' * 2, ("data.name", "once")),
        (
            FAIR + '[size]\nrecords = 5\n[[data]]\nname = "x"\nvalue_bytes = 10\nshare = 9\n',
            ("data.share", "size.records (5)"),
        ),
    ],
)
def test_a_mistake_names_file_key_and_way_out(text, words):
    said = told(text)
    assert [word for word in words if word not in said] == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_what_comes_with_kgroup_can_be_used(path):
    found = find(path.stem)
    names = [cell.name for cell in found.cells()]
    assert names
    assert len(names) == len({*names})


def test_a_scenario_that_is_not_there_names_those_that_are():
    with pytest.raises(ConfigError, match="consume"):
        find("consumer")
    with pytest.raises(ConfigError, match="readable"):
        find("nowhere/mine.toml")


def test_a_scenario_of_ones_own_is_found_by_its_path(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(FAIR, encoding="utf-8")
    assert find(str(path)).name == "mine"


def test_some_of_the_jobs_can_be_measured_alone():
    found = sized(built_in()["rebalance"], jobs=["crash"])
    assert {cell.job for cell in found.cells()} == {"crash"}
    with pytest.raises(ArgumentError, match="join, crash"):
        sized(built_in()["rebalance"], jobs=["dance"])


def test_fewer_seconds_are_fewer_records_and_a_shorter_watch():
    small = sized(built_in()["consume"], runs=2, seconds=0.5, seed=3)
    assert (small.plan.runs, small.plan.records, small.plan.seed) == (2, 200_000, 3)
    assert small.plan.group.before == 0.5
