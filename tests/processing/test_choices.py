"""Choices that do not fit each other, or the consumer, are refused before anything is read."""

from typing import Any

import pytest

from kgroup.config import ConsumerConfig
from kgroup.consumer import Consumer
from kgroup.errors import ArgumentError, ConfigError
from kgroup.processing import (
    AtLeastOnce,
    AtMostOnce,
    AutoCommit,
    DeadLetter,
    Drain,
    Evict,
    InParallel,
    Locked,
    Per,
    Processor,
    Raise,
    Relinquish,
    Requeue,
    Semantics,
    SqliteLock,
    Strategy,
    Wait,
)
from kgroup.processing.fitting import check_fit

PLAIN: dict[str, Any] = {"group_id": "g", "max_poll_interval": 60.0, "enable_auto_commit": False}


def refused(
    semantics: Semantics, strategy: Strategy, bad: str | None = None, **options: Any
) -> str:
    """Return the option that is refused."""
    with pytest.raises(ConfigError) as caught:
        check_fit(ConsumerConfig.of({**PLAIN, **options}), semantics, strategy, bad)
    return caught.value.option


@pytest.mark.parametrize(
    "strategy",
    [
        Relinquish(deadline=31.0),
        Requeue(deadline=21.0, dead_letter="dead"),
        DeadLetter("dead", deadline=21.0),
        DeadLetter("dead", deadline=7.0, attempts=3, pause=1.0),
    ],
)
def test_a_deadline_that_does_not_fit_the_poll_interval_is_refused(strategy: Strategy) -> None:
    assert refused(AtLeastOnce(), strategy) == "deadline"


@pytest.mark.parametrize(
    "strategy",
    [
        Relinquish(deadline=30.0),
        Requeue(deadline=20.0, dead_letter="dead"),
        DeadLetter("dead", deadline=20.0),
        DeadLetter("dead", deadline=6.0, attempts=3, pause=1.0),
        DeadLetter("dead"),
        Wait(),
        Evict(),
        Raise(),
    ],
)
def test_one_that_fits_is_taken(strategy: Strategy) -> None:
    check_fit(ConsumerConfig.of(PLAIN), AtLeastOnce(), strategy, None)


@pytest.mark.parametrize(
    ("semantics", "strategy"),
    [
        (AtLeastOnce(Per.BATCH), DeadLetter("dead")),
        (AtLeastOnce(Per.BATCH), Requeue(1.0, "dead")),
        (AtMostOnce(), Wait()),
        (AtMostOnce(), DeadLetter("dead", attempts=2)),
        (AtMostOnce(), Requeue(1.0, "dead")),
        (InParallel(), Evict()),
        (InParallel(), Relinquish(1.0)),
    ],
)
def test_a_strategy_that_breaks_the_semantics_is_refused(
    semantics: Semantics, strategy: Strategy
) -> None:
    assert refused(semantics, strategy) == "stuck"


def test_semantics_say_who_commits() -> None:
    assert refused(AutoCommit(), Raise()) == "enable_auto_commit"
    assert refused(InParallel(), Raise(), enable_auto_commit=True) == "enable_auto_commit"
    once: dict[str, Any] = {"backend": "marshal", "guarantee": "at_most_once"}
    assert refused(AtLeastOnce(), Raise(), **once) == "guarantee"
    check_fit(ConsumerConfig.of({**PLAIN, **once}), AtMostOnce(), Raise(), None)


def test_there_is_a_group() -> None:
    assert refused(AtLeastOnce(), Raise(), group_id=None) == "group_id"


def test_bad_records_come_as_bytes_one_by_one() -> None:
    assert refused(AtLeastOnce(), Raise(), "bad") == "bad_records"
    raw = {"on_deserialize_error": "raw"}
    assert refused(AtLeastOnce(Per.BATCH), Raise(), "bad", **raw) == "bad_records"
    check_fit(ConsumerConfig.of({**PLAIN, **raw}), AtLeastOnce(), Raise(), "bad")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Wait(pause=0),
        lambda: Wait(pause=2.0, pause_max=1.0),
        lambda: Evict(pause=-1),
        lambda: Relinquish(deadline=0),
        lambda: Relinquish(deadline=1.0, away=0),
        lambda: Requeue(1.0, ""),
        lambda: Requeue(1.0, "dead", attempts=0),
        lambda: Requeue(1.0, "dead", expiry=-1.0),
        lambda: DeadLetter(""),
        lambda: DeadLetter("dead", attempts=1.5),  # type: ignore[arg-type]
        lambda: DeadLetter("dead", pause=-1),
        lambda: DeadLetter("dead", deadline=float("inf")),
        lambda: InParallel(lanes=0),
        lambda: InParallel(in_flight=0),
        lambda: Drain(timeout=0),
        lambda: Locked(SqliteLock(":memory:"), patience=0),
    ],
)
def test_values_that_make_no_sense_are_refused(make: Any) -> None:
    with pytest.raises(ConfigError):
        make()


def test_a_processor_refuses_when_it_is_made() -> None:
    consumer = Consumer("t", config=ConsumerConfig.of(PLAIN))
    with pytest.raises(ConfigError, match="half of max_poll_interval"):
        Processor(consumer, print, stuck=Relinquish(deadline=31.0))
    with pytest.raises(ConfigError, match="locks"):
        Processor(consumer, print, InParallel(), locks=Locked(SqliteLock(":memory:")))
    with pytest.raises(ArgumentError, match="handler"):
        Processor(consumer, "handle")  # type: ignore[arg-type]
