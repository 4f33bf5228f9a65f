"""Two results, or two clients of one, next to each other."""

import pytest

from kgroup.bench.compare import check_machines, two_clients, two_results
from kgroup.bench.guard import guarded, ratios, read_ratios
from kgroup.errors import ArgumentError, ConfigError
from tests.bench.stage import FAST, SLOW, counted_sample, document, entry, join_sample, two


def cpu(rows):
    """The row about kgroup's CPU after start-up."""
    ours = (row for row in rows if row.cell.startswith("read: kgroup"))
    [row] = [row for row in ours if row.figure == "cpu_us"]
    return row


def test_a_client_that_takes_less_cpu_is_better():
    row = cpu(two_clients(two(), "kgroup", "aiokafka"))
    assert row.better is True
    assert row.difference.ratio == pytest.approx(0.524, abs=0.01)


def test_a_client_that_takes_more_is_worse_and_says_so():
    assert cpu(two_clients(two(SLOW, FAST), "kgroup", "aiokafka")).better is False


def test_three_runs_show_no_difference():
    assert cpu(two_clients(two(FAST[:3], SLOW[:3]), "kgroup", "aiokafka")).better is None


def test_a_client_that_is_absent_is_compared_with_nothing():
    assert two_clients(two(), "kgroup", "java") == []


def test_groups_are_compared_where_they_have_one_assignor():
    def rows(theirs):
        cells = ((client, level, [join_sample(wait, 0.01) for wait in FAST])
                 for client, level in (("kgroup", "range"), ("aiokafka", theirs)))  # fmt: skip
        return two_clients(document(*(entry(*cell, job="join") for cell in cells)),
                           "kgroup", "aiokafka")  # fmt: skip

    assert rows("range")
    assert rows("roundrobin") == []


def test_a_cell_is_compared_with_the_cell_of_its_name():
    row = cpu(two_results(two(SLOW), two(FAST)))
    assert (row.cell, row.other) == ("read: kgroup records: 100 B",) * 2
    assert row.better is False


def test_results_of_one_machine_are_compared():
    check_machines(two(), two())


def test_results_of_two_machines_are_refused():
    other = two()
    other["environment"] = {**other["environment"], "cores": 96}
    with pytest.raises(ArgumentError, match="--other-machine"):
        check_machines(two(), other)


# -- the guard -----------------------------------------------------------------------------


def counting(instructions):
    """Results in which kgroup takes so many instructions for a record, and aiokafka 10,000."""
    samples = {"kgroup": instructions, "aiokafka": 10_000.0}
    cells = (
        entry(client, level, [counted_sample(samples[client])], job="instructions")
        for client, level in (("kgroup", "records"), ("aiokafka", "getmany"))
    )
    return document(*cells)


NAME = "read: kgroup records: 100 B / aiokafka getmany cpu_us"


def test_the_same_ratios_again_are_no_loss():
    found = guarded(ratios(two()), ratios(two()))
    assert NAME in {each.name for each in found}
    assert not any(each.worse for each in found)


def test_a_ratio_beyond_the_committed_interval_is_a_loss():
    found = {each.name: each for each in guarded(ratios(two(SLOW)), ratios(two(FAST)))}
    assert found[NAME].worse


def test_a_ratio_that_has_become_better_is_no_loss():
    found = {each.name: each for each in guarded(ratios(two(FAST)), ratios(two(SLOW)))}
    assert not found[NAME].worse


def test_fewer_records_a_second_are_a_loss():
    name = "read: kgroup records: 100 B / aiokafka getmany records_per_s"
    then = {name: {"ratio": 2.0, "low": 1.9, "high": 2.1}}
    slow = {name: {"ratio": 1.0, "low": 0.9, "high": 1.1}}
    assert [each.worse for each in guarded(slow, then)] == [True]
    assert [each.worse for each in guarded(then, slow)] == [False]


def test_what_lies_within_the_tolerance_is_no_loss():
    then = {"x cpu_us": {"ratio": 1.0, "low": 0.95, "high": 1.0}}
    now = {"x cpu_us": {"ratio": 1.08, "low": 1.05, "high": 1.1}}
    assert [each.worse for each in guarded(now, then, 0.1)] == [False]
    assert [each.worse for each in guarded(now, then, 0.01)] == [True]


def test_a_committed_ratio_that_was_not_measured_is_an_error():
    with pytest.raises(ConfigError, match="one that was measured"):
        guarded({}, {NAME: {"ratio": 1.0, "low": 1.0, "high": 1.0}})


def test_instructions_are_judged_where_they_were_counted():
    less, more = counting(5_000.0), counting(9_000.0)
    [name] = ratios(less)
    assert name == "instructions: kgroup records: 100 B / aiokafka getmany instructions"
    assert [each.worse for each in guarded(ratios(more), ratios(less))] == [True]
    assert [each.worse for each in guarded(ratios(less), ratios(less))] == [False]
    assert guarded({}, ratios(less)) == [], "there is no valgrind"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"x": {"ratio": 1}}'])
def test_a_file_without_ratios_is_refused(tmp_path, text):
    path = tmp_path / "ratios.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="guard --write"):
        read_ratios(path)
