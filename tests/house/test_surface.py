"""The public surface names tests that exist, and knows the whole of aiokafka's consumer."""

import inspect
import re

import pytest
from aiokafka import AIOKafkaConsumer

from kgroup import Consumer
from kgroup.config import ConsumerConfig
from tests.house.aiokafka_names import METHODS, OPTIONS
from tests.house.nodes import all_nodes, missing
from tests.house.surface import SURFACE, Row

ROWS = [row for rows in SURFACE.values() for row in rows]
PROVED = [row for row in ROWS if row.answer == "yes"]

each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.feature)
each_proved = pytest.mark.parametrize("row", PROVED, ids=lambda row: row.feature)


@each_row
def test_every_test_that_is_named_exists(row: Row) -> None:
    assert not missing(row.proofs)


@each_proved
def test_a_yes_is_proved_on_a_real_kafka_or_says_why_not(row: Row) -> None:
    assert row.proofs
    real = any(all_nodes()[node] for node in row.proofs)
    assert real != bool(row.unreal)


@each_row
def test_an_answer_is_known_and_all_but_a_yes_say_why(row: Row) -> None:
    assert row.answer in ("yes", "no", "later")
    assert row.note or row.answer == "yes"


def test_every_parameter_of_aiokafka_has_an_answer() -> None:
    given = [name for name in inspect.signature(AIOKafkaConsumer).parameters if name != "topics"]
    assert sorted(OPTIONS) == sorted(given)


def test_every_option_that_replaces_one_of_aiokafka_exists() -> None:
    known = inspect.signature(ConsumerConfig).parameters.keys() | {"key", "value"}
    assert not [ours for ours, _ in OPTIONS.values() if ours and ours not in known]


def test_every_call_of_aiokafka_has_an_answer() -> None:
    public = {
        name
        for name, _ in inspect.getmembers(AIOKafkaConsumer, inspect.isfunction)
        if not name.startswith("_")
    }
    assert {match[0] for call in METHODS if (match := re.match(r"\w+(?=\()", call))} == public


def test_every_call_that_replaces_one_of_aiokafka_exists_with_these_arguments() -> None:
    wrong = []
    for ours, _ in METHODS.values():
        if match := re.fullmatch(r"(\w+)\((.*)\)", ours):
            given = inspect.signature(getattr(Consumer, match[1])).parameters
            named = [each.split("=")[0].lstrip("*") for each in match[2].split(", ") if each]
            wrong += [f"{ours}: {name}" for name in named if name not in given]
    assert not wrong
