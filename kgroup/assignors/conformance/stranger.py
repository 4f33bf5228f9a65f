"""The other process: it answers for the same groups, where strings hash differently.

Decides: nothing; it is handed an assignor and groups, and hands back answers.
Never: imports anything that the assignor's own module does not need, so that it starts fast;
writes to standard output what is not an answer: an author's module may print.
"""

import pickle
import sys

from kgroup.assignors.conformance.subject import Elsewhere, Essence, Subject, essence, subject_of
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member, PartitionRacks
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True)
class Packed:
    """A group in a form that can be sent to another process."""

    members: tuple[Member, ...]
    topics: dict[str, dict[int, PartitionRacks]]
    now: float

    def unpacked(self) -> GroupSubscription:
        """Return the group."""
        return GroupSubscription(self.members, self.topics, self.now)


def answer_all() -> None:
    """Read an assignor and groups from standard input, write the answers to standard output.

    An answer is None where the assignor raises or does not answer the same twice.
    """
    out, sys.stdout = sys.stdout, sys.stderr
    subject = subject_of(pickle.load(sys.stdin.buffer))  # noqa: S301 - from the process above
    asked: list[Packed] = pickle.load(sys.stdin.buffer)  # noqa: S301 - likewise
    pickle.dump([_answer(subject, each.unpacked()) for each in asked], out.buffer)
    out.flush()


def _answer(subject: Subject, group: GroupSubscription) -> Essence | None:
    try:
        first, second = essence(subject.ask(group)), essence(subject.ask(group))
    except Elsewhere:
        return None
    return first if first == second else None
