"""How each moment is brought about, and seen to be there; each returns the facts it saw."""

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from tests.real.ground import describe
from tests.spark.matrix.cells import Moment
from tests.spark.matrix.members import Plain
from tests.spark.matrix.scene import Facts, Scene, SceneError

_TRIES: Final = 12
_LOOK: Final = 0.02
_WAVERING: Final = 0.8
"""Most seconds between the sight of a moment and the strike; chance says how many."""


def idle(scene: Scene) -> Facts:
    """Let the writer pause, and wait until all is committed."""
    scene.writer.pause()
    waited = scene.until(scene.has_no_lag, "everything is committed")
    _waver(scene)
    return {
        "written": scene.writer.records,
        "committed": sum(scene.committed().values()),
        "batch": scene.sink.last(),
        "finished": scene.checkpoint.finished(),
        "waited": waited,
    }


def mid_batch(scene: Scene) -> Facts:
    """Hold a batch while its tasks have rows."""
    scene.hold()
    _waver(scene)
    planned, sunk = scene.checkpoint.planned(), scene.sink.last()
    if planned <= sunk:
        raise SceneError(f"batch {planned} is planned, and {sunk} is in the sink")
    spans = scene.checkpoint.spans(planned)
    return {
        "batch": planned,
        "in the sink": sunk,
        "rows of it": sum(end - begin for begin, end in spans.values()),
        "parts": scene.program.parts(),
    }


def between(scene: Scene) -> Facts:
    """Catch a batch that is in the sink, and not committed; the next trigger would commit it."""
    for tries in range(1, _TRIES + 1):
        before = scene.sink.last()
        until = time.monotonic() + 60.0
        while scene.sink.last() == before and time.monotonic() < until:
            time.sleep(_LOOK)
        batch = scene.sink.last()
        behind = scene.behind(batch)
        if batch > before and behind and scene.checkpoint.planned() == batch:
            return {
                "batch": batch,
                "finished": scene.checkpoint.finished(),
                "not committed": behind,
                "tries": tries,
            }
        scene.until(lambda: True, "the program runs")
    raise SceneError(f"in {_TRIES} batches none was seen in the sink and not committed")


def mid_rebalance(scene: Scene) -> Facts:
    """Have another member join while a batch is in hand: its share waits for the batch."""
    scene.hold()
    scene.plain = Plain(scene.reading.bootstrap, scene.group, scene.ground.topic, scene.handled)
    scene.plain.join()
    scene.until(lambda: scene.members() == 2, "there are two members")
    _waver(scene)
    described = describe(scene.kafka, scene.group)
    facts = {
        "batch": scene.checkpoint.planned(),
        "in the sink": scene.sink.last(),
        "state": described.group_state,
        "members": len(described.members),
        "the joiner has": len(scene.plain.owned),
    }
    if scene.plain.owned:
        raise SceneError(f"the joiner has partitions while the batch runs: {facts}")
    return facts


def _waver(scene: Scene) -> None:
    time.sleep(scene.random.uniform(0, _WAVERING))


MOMENTS: Final[Mapping[Moment, Callable[[Scene], Facts]]] = MappingProxyType(
    {
        Moment.IDLE: idle,
        Moment.MID_BATCH: mid_batch,
        Moment.BETWEEN: between,
        Moment.MID_REBALANCE: mid_rebalance,
    }
)
