"""The pages on migrating: their tables name what is there, on both sides."""

import inspect
import warnings
from dataclasses import fields
from enum import Enum

import pytest
from confluent_kafka import Consumer as ConfluentConsumer

import kgroup.sync
from kgroup.config import ConsumerConfig
from tests.house.migrating import PAGES, programs, rows

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # kafka-python reads its schemas in a deprecated way
    from kafka import KafkaConsumer

ARGUMENTS = {"key", "value"}
OPTIONS = {each.name for each in fields(ConsumerConfig)} | ARGUMENTS
SAMPLE = {"group.id": "g", "log_level": 0}
"""librdkafka makes no consumer without a group."""

UNBUILT = {"sasl.mechanism"}
"""Its default is GSSAPI, which the wheels of confluent-kafka are built without."""

pages = pytest.mark.parametrize("name", ["kafka-python", "confluent-kafka"])


def public(kind: type) -> set[str]:
    """Return the names of the methods of a class."""
    members = inspect.getmembers(kind, callable)
    return {name for name, _ in members if not name.startswith("_")}


def test_there_is_a_page_for_each_library_with_programs() -> None:
    assert {title.split(":")[0] for title in programs()} == set(PAGES)


@pages
def test_an_option_of_ours_that_is_named_is_there_with_its_default(name: str) -> None:
    for (theirs, *_), _, own, default, _ in rows(name, "Options"):
        if not own:
            continue
        assert own[0] in OPTIONS, theirs
        if own[0] not in ARGUMENTS:
            assert default == [repr(shown(getattr(ConsumerConfig(), own[0])))], theirs


def shown(value: object) -> object:
    """Return a default as one would write it."""
    match value:
        case Enum(value=str(word)):
            return word
        case Enum(name=name):
            return name.lower()
        case (one,):
            return one
        case _:
            return value


def test_every_option_of_kafka_python_has_a_row_and_those_with_a_counterpart_a_default() -> None:
    table = {each[0][0]: each[1] for each in rows("kafka-python", "Options")}
    alone = {each[0][0] for each in rows("kafka-python", "Options without a counterpart")}
    defaults = KafkaConsumer.DEFAULT_CONFIG
    assert table.keys() | alone == defaults.keys()
    assert not table.keys() & alone
    plain = {
        name: shown
        for name, shown in table.items()
        if shown and name not in ("client_id", "partition_assignment_strategy")
    }
    assert plain == {name: [repr(defaults[name])] for name in plain}


def test_every_option_of_librdkafka_that_is_named_is_taken_with_its_default() -> None:
    given = {each[0][0]: each[1][0] for each in rows("confluent-kafka", "Options") if each[1]}
    assert len(given) > 20
    for name in given.keys() - UNBUILT:
        ConfluentConsumer({**SAMPLE, name: given[name]}).close()


@pytest.mark.parametrize(
    ("name", "theirs"),
    [("kafka-python", KafkaConsumer), ("confluent-kafka", ConfluentConsumer)],
)
def test_every_call_in_the_tables_exists_on_both_sides(name: str, theirs: type) -> None:
    table = rows(name, "Calls")
    ours = public(kgroup.sync.Consumer) | {"failure", "membership"}
    named = {each[0][0] for each in table}
    assert named <= public(theirs)
    assert not [each for each in table if each[1] and each[1][0] not in ours]


def test_every_call_of_kafka_python_has_a_row() -> None:
    assert {each[0][0] for each in rows("kafka-python", "Calls")} == public(KafkaConsumer)
