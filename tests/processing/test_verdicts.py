"""What becomes of a record that did not finish, and which headers its copy has."""

from typing import Any

import pytest

from kgroup.processing.choices import DeadLetter, Evict, Raise, Relinquish, Requeue, Strategy, Wait
from kgroup.processing.verdicts import (
    ATTEMPTS,
    CAUSE,
    EXPIRES,
    FIRST_TRIED,
    GROUP,
    ORIGIN,
    Failure,
    GiveUp,
    Send,
    StepBack,
    Trail,
    TryAgain,
    read_trail,
    verdict_on,
)
from kgroup.types import TopicPartition

TP = TopicPartition("orders", 3)
NOW = 1_700_000_000_000


def failure(headers: Any = (), *, attempt: int = 1, now: int = NOW) -> Failure:
    return Failure((TP, 42), headers, attempt, ValueError("no such bill"), "billing", NOW, now)


def sent(strategy: Strategy, failed: Failure) -> tuple[str | None, dict[str, str]]:
    """Return where a copy goes, and its headers."""
    verdict = verdict_on(strategy, failed)
    assert isinstance(verdict, Send)
    return verdict.topic, {name: (value or b"").decode() for name, value in verdict.headers}


def test_each_strategy_has_its_verdict() -> None:
    assert verdict_on(Raise(), failure()) == GiveUp()
    assert verdict_on(Relinquish(5.0), failure()) == StepBack()
    assert verdict_on(Wait(), failure()) == TryAgain(0.5)


@pytest.mark.parametrize("kind", [Wait, Evict])
def test_pauses_double_up_to_the_longest(kind: Any) -> None:
    strategy = kind(pause=1.0, pause_max=10.0)
    pauses = [verdict_on(strategy, failure(attempt=n)).pause for n in (1, 2, 3, 4, 5, 1000)]  # type: ignore[union-attr]
    assert pauses == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_a_copy_at_the_end_says_how_often_and_until_when() -> None:
    strategy = Requeue(5.0, "dead", attempts=3, expiry=60.0)
    topic, headers = sent(strategy, failure([("mine", b"kept")]))
    assert topic is None
    assert headers == {
        "mine": "kept",
        ATTEMPTS: "1",
        FIRST_TRIED: str(NOW),
        EXPIRES: str(NOW + 60_000),
        ORIGIN: "orders-3@42",
    }


def test_the_second_copy_remembers_the_first() -> None:
    strategy = Requeue(5.0, "dead", attempts=3, expiry=60.0)
    first = verdict_on(strategy, failure())
    assert isinstance(first, Send)
    again = Failure((TP, 99), first.headers, 1, ValueError(), "billing", NOW + 9, NOW + 9)
    _, headers = sent(strategy, again)
    assert (headers[ATTEMPTS], headers[ORIGIN]) == ("2", "orders-3@42")
    assert (headers[FIRST_TRIED], headers[EXPIRES]) == (str(NOW), str(NOW + 60_000))


@pytest.mark.parametrize(
    ("tried", "now"), [("2", NOW), ("1", NOW + 60_000)], ids=["attempts", "expiry"]
)
def test_a_copy_whose_attempts_or_time_are_used_up_is_a_dead_letter(tried: str, now: int) -> None:
    headers = [(ATTEMPTS, tried.encode()), (EXPIRES, str(NOW + 60_000).encode())]
    topic, found = sent(Requeue(5.0, "dead", attempts=3), failure(headers, now=now))
    assert topic == "dead"
    assert found[CAUSE] == "ValueError: no such bill"
    assert found[ATTEMPTS] == str(int(tried) + 1)
    assert EXPIRES not in found


def test_a_dead_letter_says_why_how_often_and_from_where() -> None:
    topic, headers = sent(DeadLetter("dead"), failure([("mine", None)]))
    assert topic == "dead"
    assert headers == {
        "mine": "",
        CAUSE: "ValueError: no such bill",
        ATTEMPTS: "1",
        FIRST_TRIED: str(NOW),
        ORIGIN: "orders-3@42",
        GROUP: "billing",
    }


def test_a_dead_letter_is_written_after_the_last_attempt() -> None:
    strategy = DeadLetter("dead", attempts=3, pause=2.0)
    assert verdict_on(strategy, failure(attempt=2)) == TryAgain(2.0)
    assert isinstance(verdict_on(strategy, failure(attempt=3)), Send)


def test_a_long_cause_is_cut() -> None:
    failed = Failure((TP, 1), (), 1, ValueError("x" * 5000), "g", NOW, NOW)
    assert len(sent(DeadLetter("dead"), failed)[1][CAUSE]) == 1000


def test_headers_of_somebody_else_say_nothing() -> None:
    headers = [(ATTEMPTS, b"many"), (FIRST_TRIED, b"-1"), (EXPIRES, None), ("other", b"1")]
    assert read_trail(headers) == Trail()
