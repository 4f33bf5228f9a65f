"""What must be so when a group was left alone for long enough.

Decides: L1 (every partition has one owner and is read to its end), L9 (nobody has failed without a
reason that the plan gave), and that nothing has crashed.
Never: changes anything.
"""

from collections.abc import Iterator

from kgroup.errors import FencedError
from kgroup.testing.broker.handles_group import GroupHandle
from kgroup.testing.simulation.live.crew import Crew
from kgroup.testing.simulation.live.life import Life
from kgroup.testing.simulation.recorder import Recorder
from kgroup.types import TopicPartition

__all__ = ["judge_ends", "judge_rest"]


def judge_rest(
    crew: Crew, group: GroupHandle, ends: dict[TopicPartition, int], recorder: Recorder
) -> dict[TopicPartition, int]:
    """Note what is not as it must be; return the ends of what must have been read.

    Args:
        crew: the members.
        group: theirs.
        ends: partition -> offset after its last record, of all topics that are there.
        recorder: takes what is wrong.
    """
    readers = [life for life in crew.alive if life.reads and life.failure is None]
    if not readers:
        return {}
    if not group.has_settled(len(readers)):
        names = [life.name for life in readers]
        recorder.add("L1", f"{group!r} has not settled; there are {names}")
    wanted = {tp: end for tp, end in ends.items() if any(_wants(life, tp) for life in readers)}
    for tp, end in wanted.items():
        for text in _wrong(tp, end, readers, recorder.delivered.get(tp, 0)):
            recorder.add("L1", f"{tp} {text}, long after the last perturbation", tp)
    return wanted


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


def judge_ends(crew: Crew, recorder: Recorder) -> None:
    """Note who has failed or crashed."""
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
