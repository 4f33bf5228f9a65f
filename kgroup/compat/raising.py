"""Raising an error of ours as another client's.

Decides: how a table of classes is read, how what a call raised is replaced, and which refusals of
a commit mean that the membership is over.
Never: knows another client's classes: each facade has a table of its own. Loses an error.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeAlias

from kgroup.codes import ErrorCode
from kgroup.types import CommitStatus, PartitionOutcome

__all__ = ["Words", "as_told", "in_the_same_words", "is_over"]

Words: TypeAlias = Mapping[type[BaseException], type[Exception]]
"""Ours, and every kind of it that has no row of its own -> theirs, with our text."""

_REBALANCED: Final = frozenset(
    {
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.REBALANCE_IN_PROGRESS,
    }
)


@contextmanager
def as_told(translated: Callable[[BaseException], BaseException]) -> Iterator[None]:
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
