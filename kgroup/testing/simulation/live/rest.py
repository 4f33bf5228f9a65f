"""What must be so when a group was left alone for long enough.

Decides: L1 (every partition has one owner and is read to its end), L9 (nobody has failed without a
reason that the plan gave).
Never: changes anything.
"""

from kgroup.errors import FencedError
from kgroup.testing import InProcessBroker
from kgroup.testing.simulation.live.cluster import ClusterTrouble
from kgroup.testing.simulation.live.crew import GROUP, Crew
from kgroup.testing.simulation.live.life import Life
from kgroup.testing.simulation.live.recorder import Recorder
from kgroup.testing.simulation.plan import Plan
from kgroup.types import TopicPartition

__all__ = ["judge_rest"]


def judge_rest(_plan: Plan, broker: InProcessBroker, crew: Crew, recorder: Recorder) -> None:
    """Note what is not as it must be at the end of the quiet time."""
    for life in crew.lives:
        _judge_failure(life, crew, recorder)
    readers = [life for life in crew.alive if life.reads]
    if not readers:
        return
    group = broker.group(GROUP)
    if not group.has_settled(len(readers)):
        text = f"{group!r} has not settled; {len(readers)} members live"
        recorder.add("L1", f"{text}: {[life.name for life in readers]}")
    for topic, width in ClusterTrouble(broker).topics().items():
        wanting = [life for life in readers if _wants(life, topic)]
        if wanting:
            for number in range(width):
                _judge_partition(TopicPartition(topic, number), broker, wanting, recorder)


def _wants(life: Life, topic: str) -> bool:
    subscription = life.consumer.subscription()
    return subscription is not None and topic in (subscription.topics or ())


def _judge_failure(life: Life, crew: Crew, recorder: Recorder) -> None:
    failure = life.failure
    if failure is None or life.killed:
        return
    fenced = isinstance(failure, FencedError) and life.plan.instance in crew.fenced
    if not fenced:
        recorder.add("L9", f"{life.name} has failed: {failure!r}")


def _judge_partition(
    tp: TopicPartition, broker: InProcessBroker, wanting: list[Life], recorder: Recorder
) -> None:
    owners = [life for life in wanting if life.consumer.owns(tp)]
    if len(owners) != 1:
        names = [life.name for life in owners] or "nobody"
        recorder.add("L1", f"{tp} is owned by {names} at rest", tp)
        return
    end, read = broker.partition(*tp).high_watermark, owners[0].last.get(tp, 0)
    if read < end and recorder.delivered.get(tp, 0) < end:
        recorder.add("L1", f"{tp} ends at {end}, but {owners[0].name} was given {read} of it", tp)
