"""What must be so when a group was left alone for long enough.

Decides: L1 (every partition has one owner and is read to its end), L9 (none fails without a
reason that the plan gave), and that nothing has crashed.
Never: changes anything.
"""

from collections.abc import Iterator
from typing import TypeAlias

from kgroup.errors import FencedError
from kgroup.testing.broker.handles_group import GroupHandle
from kgroup.types import TopicPartition
from tests.search.simulation.live.crew import Crew
from tests.search.simulation.live.life import Life
from tests.search.simulation.recorder import Recorder

Ends: TypeAlias = dict[TopicPartition, int]


Fault: TypeAlias = tuple[str, TopicPartition | None]
"""What is wrong, and with which partition."""


def faults_at_rest(crew: Crew, group: GroupHandle, ends: Ends, delivered: Ends) -> Iterator[Fault]:
    """Yield what is not as it must be.

    Args:
        crew: the members.
        group: theirs.
        ends: partition -> offset after its last record, of all topics that are there.
        delivered: partition -> offset after the last record that anybody was given.
    """
    readers = _readers(crew)
    if readers and not group.has_settled(len(readers)):
        names = [life.name for life in readers]
        yield f"{group!r} has not settled; there are {names}", None
    for tp, end in must_be_read(crew, ends).items():
        for text in _wrong(tp, end, readers, delivered.get(tp, 0)):
            yield f"{tp} {text}, long after the last perturbation", tp


def must_be_read(crew: Crew, ends: Ends) -> Ends:
    """Return those ends that somebody must have read up to."""
    readers = _readers(crew)
    return {tp: end for tp, end in ends.items() if any(_wants(life, tp) for life in readers)}


def _readers(crew: Crew) -> list[Life]:
    return [life for life in crew.alive if life.reads and life.failure is None]


def _wants(life: Life, tp: TopicPartition) -> bool:
    subscription = life.consumer.subscription()
    return subscription is not None and tp.topic in (subscription.topics or ())


def _wrong(tp: TopicPartition, end: int, readers: list[Life], furthest: int) -> Iterator[str]:
    owners = [life for life in readers if life.consumer.owns(tp)]
    if len(owners) != 1:
        yield f"is owned by {', '.join(life.name for life in owners) or 'nobody'}"
        return
    read = owners[0].last.get(tp, furthest)  # an owner that was given nothing had nothing to read
    if read < end:
        yield f"ends at {end}, but {owners[0].name} has read to {read}"


def judge_raised(crew: Crew, recorder: Recorder) -> None:
    """Note members whose listener has raised without a read that said so, long after (B4)."""
    for life in _readers(crew):
        if life.unraised:
            recorder.add("B4", f"the listener of {life.name} raised, and no read has said so")


def judge_ends(crew: Crew, recorder: Recorder) -> None:
    """Note members that have failed or crashed."""
    for life in crew.lives:
        if life.crash is not None:
            recorder.add("crash", f"{life.name}: {_spelled(life.crash)}")
        failure = life.failure
        fenced = isinstance(failure, FencedError) and life.plan.instance in crew.fenced
        if failure is not None and not life.killed and not fenced:
            recorder.add("L9", f"{life.name} has failed: {failure!r}")


def _spelled(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return repr(error)
