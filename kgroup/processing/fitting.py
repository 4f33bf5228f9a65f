"""Which choices fit each other, and the options of a consumer.

Decides: what is refused before anything is read.
Never: looks at a record.

An eager group, and one of KIP-848, wait for a batch in hand for half of `max_poll_interval` at
most; in a classic cooperative one the next owner waits. So that is the time within which a record
must be through.
"""

from typing import Final

from kgroup.config import ConsumerConfig
from kgroup.errors import ConfigError
from kgroup.marshal.rules import Guarantee
from kgroup.processing.choices import (
    AtMostOnce,
    AutoCommit,
    DeadLetter,
    Evict,
    InParallel,
    Raise,
    Relinquish,
    Requeue,
    Semantics,
    Strategy,
    check_topic,
    deadline_of,
    goes_by_record,
)

_SHARE: Final = 2.0
"""Part of `max_poll_interval` for which a rebalance waits for a batch in hand: one half."""


def check_fit(
    config: ConsumerConfig,
    semantics: Semantics,
    strategy: Strategy,
    bad_records: str | None,
    *,
    locked: bool = False,
) -> None:
    """Refuse what cannot work together.

    Args:
        config: of the consumer.
        semantics: when a record counts as done.
        strategy: what becomes of one that cannot finish.
        bad_records: topic for those that cannot be deserialised, None without one.
        locked: whether locks are held for each batch.

    Raises:
        ConfigError: it names what would do.
    """
    config.group()
    _check_commits(config, semantics)
    _check_pairs(semantics, strategy)
    _check_times(config, strategy)
    if locked and isinstance(semantics, InParallel):
        expected = "None with InParallel(), whose records outlive their batch"
        raise ConfigError("locks", "Locked", expected)
    if bad_records is not None:
        check_topic("bad_records", bad_records)
        policy = config.deserialize_errors.name.lower()
        if policy != "raw":
            expected = "on_deserialize_error='raw' of the consumer beside it"
            raise ConfigError("bad_records", bad_records, f"None, or {expected}")
        if not goes_by_record(semantics):
            raise ConfigError("bad_records", bad_records, "None, or a semantics per record")


def _check_commits(config: ConsumerConfig, semantics: Semantics) -> None:
    if isinstance(semantics, AutoCommit) and not config.enable_auto_commit:
        expected = "True with AutoCommit(), or another semantics"
        raise ConfigError("enable_auto_commit", value=False, expected=expected)
    if isinstance(semantics, InParallel) and config.enable_auto_commit:
        expected = "False with InParallel(): its commits say as well what is done beyond the offset"
        raise ConfigError("enable_auto_commit", value=True, expected=expected)
    by_itself = config.guarantee is Guarantee.AT_MOST_ONCE
    if by_itself and not isinstance(semantics, AtMostOnce):
        expected = "'at_least_once', or AtMostOnce()"
        raise ConfigError("guarantee", "at_most_once", expected)


def _check_pairs(semantics: Semantics, strategy: Strategy) -> None:
    name = type(strategy).__name__
    if isinstance(strategy, Requeue | DeadLetter) and not goes_by_record(semantics):
        raise ConfigError("stuck", name, "a strategy for batches, or a semantics per record")
    if isinstance(strategy, Evict | Relinquish) and isinstance(semantics, InParallel):
        raise ConfigError("stuck", name, "Raise, Wait, Requeue or DeadLetter with InParallel")
    once = isinstance(strategy, Raise) or (
        isinstance(strategy, DeadLetter) and strategy.attempts == 1
    )
    if isinstance(semantics, AtMostOnce) and not once:
        expected = "Raise(), or DeadLetter with one attempt: at most once, nothing is tried again"
        raise ConfigError("stuck", name, expected)


def _check_times(config: ConsumerConfig, strategy: Strategy) -> None:
    bound = config.poll_interval / _SHARE
    needed = 0.0
    match strategy:
        case Relinquish():
            needed = strategy.deadline
        case Requeue():
            needed = strategy.deadline + strategy.write_timeout
        case DeadLetter() if strategy.deadline is not None:
            needed = strategy.longest
        case _:
            pass
    if needed > bound:
        expected = (
            f"a deadline with which a record takes at most {bound:g} s, which is half of "
            f"max_poll_interval; with this one it may take {needed:g} s"
        )
        raise ConfigError("deadline", deadline_of(strategy), expected)
