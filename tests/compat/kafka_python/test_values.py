"""Each key with odd values, given to kafka-python's constructor and to the facade's.

What works there works here. The rest is in tables: what both refuse, what only one of them takes.
"""

import time
from collections.abc import Iterator
from itertools import count

import pytest
from kafka.errors import KafkaError, KafkaTimeoutError

from kgroup.compat.kafka_python import KafkaConsumer
from kgroup.compat.kafka_python.keywords import DEFAULTS
from kgroup.compat.kafka_python.options import read
from kgroup.wire.messages import ApiVersionsRequest
from tests.compat.kafka_python.ground import A, Ground, grounded
from tests.compat.kafka_python.odd_values import (
    BOTH_TAKE,
    CANNOT_BE_USED,
    NEITHER_TAKES,
    NOT_HONOURED,
    ONLY_HERE,
    Table,
    ask_the_original,
    configs_of,
    rows,
)

ELSEWHERE = frozenset({"bootstrap_servers", "bootstrap_timeout_ms"})
"""Keys with which the broker of the test may not be reached: their values are read only."""


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with grounded(3) as laid:
        yield laid


def refused(ground: Ground, name: str, value: object) -> Exception | None:
    """Return what the facade's constructor raises."""
    configs = configs_of(name, value)
    try:
        if name in ELSEWHERE:
            read(configs)
        else:
            KafkaConsumer(bootstrap_servers=ground.servers, **configs).close(autocommit=False)
    except Exception as error:  # noqa: BLE001 - it is looked at
        return error
    return None


def each(table: Table) -> pytest.MarkDecorator:
    found = list(rows(table))
    values = [(name, value) for _, name, value in found]
    return pytest.mark.parametrize(("name", "value"), values, ids=[row[0] for row in found])


def test_every_key_is_looked_at() -> None:
    assert set(BOTH_TAKE) == set(DEFAULTS)


@pytest.mark.slow
def test_the_original_does_what_the_tables_say() -> None:
    theirs = ask_the_original()
    tables = {
        True: (BOTH_TAKE, CANNOT_BE_USED, NOT_HONOURED),
        False: (NEITHER_TAKES, ONLY_HERE),
    }
    said = {
        row[0]: taken for taken, some in tables.items() for table in some for row in rows(table)
    }
    assert theirs == said


@each(BOTH_TAKE)
def test_what_works_there_is_taken(ground: Ground, name: str, value: object) -> None:
    assert refused(ground, name, value) is None


@each(ONLY_HERE)
def test_what_only_the_facade_takes_is_taken(ground: Ground, name: str, value: object) -> None:
    assert refused(ground, name, value) is None


@each(NEITHER_TAKES)
def test_what_is_refused_there_is_refused(ground: Ground, name: str, value: object) -> None:
    assert refused(ground, name, value) is not None


@each({**CANNOT_BE_USED, **NOT_HONOURED})
def test_what_cannot_be_used_or_honoured_is_refused_by_its_name(
    ground: Ground, name: str, value: object
) -> None:
    found = refused(ground, name, value)
    assert isinstance(found, KafkaError)
    assert name.removesuffix("_ms") in str(found)


# -- what odd values become ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "ours", "becomes"),
    [
        ("retry_backoff_ms", True, "retry_backoff", 0.001),
        ("fetch_max_bytes", 2**31, "fetch_max_bytes", 2**26),
        ("max_partition_fetch_bytes", 2**31, "max_partition_fetch_bytes", 2**26),
        ("fetch_min_bytes", -1, "fetch_min_bytes", 0),
        ("max_poll_records", True, "max_poll_records", 1),
        ("group_id", 5, "group_id", "5"),
        ("group_id", b"x", "group_id", "b'x'"),
        ("isolation_level", " read-committed", "isolation_level", 1),
        ("bootstrap_servers", "::1", "bootstrap_servers", ("[::1]:9092",)),
        ("bootstrap_servers", "SSL://a:1, b,", "bootstrap_servers", ("a:1", "b:9092")),
    ],
)
def test_an_odd_value_says_what_it_says_there(
    name: str, value: object, ours: str, becomes: object
) -> None:
    found = getattr(read({name: value}).config, ours)
    assert getattr(found, "value", found) == becomes


@pytest.mark.parametrize(("value", "kind"), [(0, ValueError), (-1, ValueError), ("x", TypeError)])
def test_a_number_of_records_that_cannot_be_is_an_error_of_each_read(
    ground: Ground, value: object, kind: type[Exception]
) -> None:
    with ground.by_hand(A, max_poll_records=value) as consumer:
        for read_one in (consumer.poll, consumer.__next__):
            with pytest.raises(kind, match="max_records must be"):
                read_one()


def test_more_records_than_can_be_counted_are_all_there_are(ground: Ground) -> None:
    with ground.by_hand(A, max_poll_records=2**63) as consumer:
        assert len(consumer.poll(timeout_ms=10_000)[A]) == 3


def test_a_group_is_read_with_a_time_for_answers_in_which_none_can_come(ground: Ground) -> None:
    """kafka-python 3.0.12 does so, too: what it asks for is there the next time."""
    short = {"fetch_max_wait_ms": 0, "request_timeout_ms": 1, "connections_max_idle_ms": 2}
    with ground.consumer("t", group_id="impatient", **short) as consumer:
        found: list[object] = []
        deadline = time.monotonic() + 20
        while len(found) < 6 and time.monotonic() < deadline:
            found += [each for some in consumer.poll(timeout_ms=500).values() for each in some]
        assert len(found) == 6


def test_a_broker_that_falls_silent_when_it_is_asked_for_its_versions_is_an_error_of_kafkas() -> (
    None
):
    asked = count()
    with grounded() as ground:
        # The first time its connection is made, the second time it is asked for `api_version`.
        ground.broker.answers.lose(ApiVersionsRequest, where=lambda _: next(asked) > 0, times=None)
        with pytest.raises(KafkaTimeoutError):
            ground.consumer(api_version=None, request_timeout_ms=200, bootstrap_timeout_ms=500)
