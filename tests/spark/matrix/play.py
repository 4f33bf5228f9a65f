"""One cell from its start to the verdict.

Decides: what follows a strike. The writer goes on. A second member leaves when it has handled some.
A query that the strike has ended leaves no process behind; any other goes on by itself until it has
no lag. Then the query is drained from its checkpoint by another driver, and the table is judged.
"""

import time
from random import Random
from typing import Final

from tests.spark.matrix.cells import WHAT, WHEN, Cell
from tests.spark.matrix.judging import Case, judge
from tests.spark.matrix.ledger import Line, stamp
from tests.spark.matrix.moments import MOMENTS
from tests.spark.matrix.program import start
from tests.spark.matrix.scene import PATIENCE, SLOW, Facts, Scene, SceneError, Stage
from tests.spark.matrix.strikes import strike

_AGAIN: Final = 2
_GOES_ON: Final = 2
"""Batches after the strike that show that a query lives."""


def play(stage: Stage, cell: Cell, seed: int) -> Line:
    """Play one cell; return its line of the ledger.

    Args:
        stage: where.
        cell: which one.
        seed: of chance.
    """
    began = time.monotonic()
    line: Line = {**stamp(), "cell": cell.name, "seed": seed, "kafka": stage.kafka.version}
    line |= {"victim": WHAT[cell.victim], "when": WHEN[cell.moment], "problems": []}
    scene = Scene(stage, cell, Random(seed))
    try:
        _acts(scene, line)
    except Exception as error:  # noqa: BLE001 - a fault of the tool is no clean cell either
        line["problems"].append(f"broken off: {type(error).__name__}: {error}")
    finally:
        scene.end_program()
    line["clean"] = not line["problems"]
    line["seconds"] = round(time.monotonic() - began, 1)
    if line["clean"]:
        scene.remove()
    else:
        line["folder"] = scene.folder.name
    return line


def _acts(scene: Scene, line: Line) -> None:
    problems: list[str] = line["problems"]
    clock = _Clock(line)
    scene.begin()
    clock.note("start")
    line["moment"] = MOMENTS[scene.cell.moment](scene)
    clock.note("moment")
    line["fault"] = strike(scene)
    scene.release()
    scene.writer.resume()
    clock.note("strike")
    line["after"] = after = _goes_on(scene, problems)
    scene.writer.pause()
    after["ended"] = _ends(scene, problems)
    clock.note("going on")
    drained(scene, problems)
    clock.note("drain")
    scene.watch.finish()
    scene.watch.look()
    after |= {
        "starts": scene.starts,
        "looks": scene.watch.looks,
        "unanswered": scene.watch.unanswered,
    }
    problems += scene.watch.ahead + scene.watch.broken
    case = Case(
        spark=scene.spark,
        bootstrap=scene.reading.bootstrap,
        topic=scene.ground.topic,
        group=scene.group,
        folder=scene.folder,
        sinks={scene.reading.sink: scene.sink},
        handled=[scene.handled],
    )
    line["verdict"], found = judge(case)
    problems += found
    clock.note("verdict")


class _Clock:
    """Notes what took how long."""

    def __init__(self, line: Line) -> None:
        self._at = time.monotonic()
        self._took: dict[str, float] = {}
        line["took"] = self._took

    def note(self, what: str) -> None:
        now = time.monotonic()
        self._took[what], self._at = round(now - self._at, 1), now


def _goes_on(scene: Scene, problems: list[str]) -> Facts:
    """Let the second member have its share; wait for what the strike does to the query."""
    facts: Facts = {}
    plain, program = scene.plain, scene.program
    if plain is not None:
        scene.until(lambda: plain.handled, "the second member handles records", runs=False)
        plain.leave()
        facts |= {"handled beside": plain.handled, "its errors": plain.errors}
    if scene.cell.victim.ends_the_query:
        facts["ended after"] = scene.until(lambda: not program.runs, "the program ends", runs=False)
        facts["exit code"] = program.code
        try:
            scene.until(lambda: not program.parts(), "no process is left", within=60.0, runs=False)
        except SceneError as error:
            problems.append(f"{error}: {program.parts()}")
        return facts
    last = scene.sink.last()
    scene.until(
        lambda: scene.sink.last() >= last + _GOES_ON or not program.runs,
        "batches follow the strike",
        runs=False,
    )
    if not program.runs:
        problems.append(f"the query has ended by itself: {' | '.join(program.last_lines())}")
    facts["batches after"] = scene.sink.last() - last
    return facts


def _ends(scene: Scene, problems: list[str]) -> str:
    """Let a query that lives catch up, then stop it."""
    if not scene.program.runs:
        return "by the strike"
    try:
        scene.until(scene.has_no_lag, "the query has no lag")
    except SceneError as error:
        problems.append(str(error))
    scene.program.ask_to_stop()
    try:
        scene.until(lambda: not scene.program.runs, "the program ends", runs=False)
    except SceneError as error:
        problems.append(str(error))
    return "when it was asked to, without lag"


def _drain(scene: Scene) -> str | None:
    query = start(scene.spark, scene.reading, now=True)
    try:
        if query.awaitTermination(2 * PATIENCE):
            return None
        return f"the query was not drained within {2 * PATIENCE:g} s"
    except Exception as error:  # noqa: BLE001 - Spark's, of whichever class
        return f"the query could not be drained: {str(error)[:500]}"
    finally:
        query.stop()


def drained(scene: Scene, problems: list[str]) -> None:
    """Run the query from its checkpoint until it has read what is there."""
    why = _drain(scene)
    for _ in range(_AGAIN):
        if why is not None and SLOW in why:
            why = _drain(scene)
    problems += [] if why is None else [why]
    for is_so, what in (
        (scene.has_no_lag, "everything is committed"),
        (lambda: scene.members() == 0, "the group is empty"),
    ):
        try:
            scene.until(is_so, what, within=60.0, runs=False)
        except SceneError as error:
            problems.append(f"after the end: {error}")
