"""What a row of the public surface is."""

from dataclasses import dataclass
from enum import Enum

__all__ = ["Answer", "Row"]


class Answer(Enum):
    """Whether it is there."""

    YES = "yes"
    NO = "no"
    LATER = "later"


@dataclass(frozen=True, slots=True)
class Row:
    """One feature.

    Args:
        feature: what it is called.
        answer: whether it is there.
        note: how it is done, or why it is not there.
        proofs: the tests, as file below `tests/` and name; at least one of a yes.
        unreal: why no test on a real Kafka is among them, "" when there is one.
    """

    feature: str
    answer: Answer
    note: str
    proofs: tuple[tuple[str, str], ...] = ()
    unreal: str = ""
