"""Raising an error of ours as another client's.

Decides: how a table of classes is read, how what a call raised is replaced, and which refusals of
a commit mean that the membership is over, and which commits the originals send again.
Never: knows another client's classes: each facade has a table of its own. Loses an error.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeAlias

from kgroup.assignors import AssignorChoice
from kgroup.codes import ErrorCode
from kgroup.errors import CommitFailedError
from kgroup.types import (
    CommitStatus,
    OffsetAndMetadata,
    PartitionOutcome,
    TopicPartition,
)
from kgroup.values import dataclass

__all__ = [
    "Strategies",
    "Words",
    "as_translated",
    "in_the_same_words",
    "is_over",
    "to_commit_again",
]

Words: TypeAlias = Mapping[type[BaseException], type[Exception]]
"""Ours, and every kind of it that has no row of its own -> theirs, with our text."""

_REBALANCED: Final = frozenset(
    {
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.REBALANCE_IN_PROGRESS,
    }
)

_NO_COORDINATOR: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


@contextmanager
def as_translated(translated: Callable[[BaseException], BaseException]) -> Iterator[None]:
    """Raise what the body raises as another client would.

    Args:
        translated: returns the error of that client, or the same one.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is, it goes on
        found = translated(error)
        try:
            if found is error:
                raise
            raise found
        finally:
            del found  # it holds this frame


def in_the_same_words(error: BaseException, words: Words) -> Exception | None:
    """Return the other client's error with our text, None when there is no row for it."""
    for kind in type(error).__mro__:
        if kind in words:
            return words[kind](str(error))
    return None


def is_over(failed: Iterable[PartitionOutcome]) -> bool:
    """Tell whether one of these was refused because the claim, or the membership, is over."""
    return any(
        # Without a code it was refused here.
        each.status is CommitStatus.REFUSED and (each.code is None or each.code in _REBALANCED)
        for each in failed
    )


def to_commit_again(
    error: CommitFailedError,
    owns: Callable[[TopicPartition], bool],
    moved_on: Callable[[str], Exception],
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return what the originals send again by themselves.

    They go on while no answer comes and while no coordinator is there. Here that ends when a
    partition is not owned any more: another member may have it then.

    Args:
        error: what the last try raised.
        owns: tells whether a partition is owned now.
        moved_on: makes the original's error for a membership that is over.

    Raises:
        Exception: what `moved_on` makes, or the same error, when another commit is useless.
    """
    failed = error.outcome.failed()
    if not all(map(_may_succeed, failed.values())):
        raise error
    lost = sorted(str(tp) for tp in failed if not owns(tp))
    if lost:
        text = f"{', '.join(lost)}: not owned any more, another member may have it. {error}"
        raise moved_on(text) from error
    return {tp: each.offset for tp, each in failed.items()}


def _may_succeed(failed: PartitionOutcome) -> bool:
    return failed.status is CommitStatus.UNKNOWN or failed.code in _NO_COORDINATOR


# -- strategies ------------------------------------------------------------------------------------
#
# Assignors of another client, as the option `assignors` takes them.
#
# Decides: that the classes of a table stand for native assignors, and that any other class of that
# client's kind is called itself.
# Never: runs one; takes a subclass of a class of the table for that class.


@dataclass(frozen=True, slots=True)
class Strategies:
    """What one client's `partition_assignment_strategy` may hold.

    Args:
        kind: the class that all of its assignors are of.
        native: its own classes -> names of the native assignors that understand the same.
        wrong: makes the error about an object that is not an assignor.
    """

    kind: type
    native: Mapping[type, str]
    wrong: Callable[[object], Exception]

    def adapted(self, strategy: object) -> tuple[AssignorChoice, ...]:
        """Return the assignors of a strategy, in its order, each once.

        Args:
            strategy: several classes, or instances of them.

        Raises:
            Exception: what `wrong` makes: it is one class and not several, or one of them is
                something else.
        """
        if isinstance(strategy, str | type) or not isinstance(strategy, Iterable):
            raise self.wrong(strategy)
        return tuple(dict.fromkeys(map(self._adapted, strategy)))

    def _adapted(self, given: object) -> AssignorChoice:
        kind = given if isinstance(given, type) else type(given)
        if not issubclass(kind, self.kind):
            raise self.wrong(given)
        found = self.native.get(kind)
        return given if found is None else found  # type: ignore[return-value]  # its shape is the ABC's
