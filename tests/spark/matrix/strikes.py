"""How each victim is struck, and seen to be gone; a strike returns the facts it saw."""

import socket
import time
from contextlib import suppress
from typing import Final

from confluent_kafka.admin import AdminClient

from kgroup.testing.kafka import RealKafka
from tests.real.ground import coordinator_of
from tests.spark.matrix.cells import Cell, Victim
from tests.spark.matrix.processes import Kind
from tests.spark.matrix.scene import UNANSWERED, Facts, Scene, SceneError

_AWAY: Final = 6.0
"""Seconds a broker is gone: of three, others lead and coordinate by then."""
_MOVED: Final = 30.0

_KINDS: Final = {
    Victim.PROGRAM: Kind.PROGRAM,
    Victim.DRIVER: Kind.DRIVER,
    Victim.READER: Kind.READER,
    Victim.EXECUTOR: Kind.EXECUTOR,
    Victim.WORKER: Kind.WORKER,
}


def strike(scene: Scene) -> Facts:
    """End the victim by SIGKILL; a broker is back when this returns.

    Raises:
        SceneError: there was none, or it is not gone.
    """
    return _broker(scene) if scene.cell.victim.is_broker else _processes(scene)


def _processes(scene: Scene) -> Facts:
    kind = _KINDS[scene.cell.victim]
    pids = scene.program.of(kind)
    if kind is Kind.WORKER and not pids:
        kind = Kind.DAEMON
        pids = scene.program.of(kind)
    if kind is Kind.EXECUTOR and pids:
        pids = [scene.random.choice(pids)]
    killed = scene.program.strike(pids)
    if not killed:
        raise SceneError(f"there is no {kind.value} to strike")
    waited = scene.until(
        lambda: scene.program.gone(killed), f"{kind.value} {killed} is gone", runs=False
    )
    return {"killed": kind.value, "pids": killed, "gone": True, "waited": waited}


# -- brokers ---------------------------------------------------------------------------------------


def _broker(scene: Scene) -> Facts:
    kafka, cell = scene.kafka, scene.cell
    node = _node(kafka, cell, scene)
    address = _address(kafka, node)
    facts: Facts = {"killed": cell.victim.value, "node": node, "leads": _led(scene, node)}
    kafka.kill(node)
    if _answers(address):
        raise SceneError(f"node {node} answers at {address} after its end")
    facts["gone"] = True
    scene.release()  # what was in hand goes on while the broker is away
    time.sleep(_AWAY)
    if cell.victim is Victim.COORDINATOR:
        scene.until(
            lambda: _coordinator(scene) not in (node, None),
            "another broker coordinates the group",
            within=_MOVED,
            runs=False,
        )
    if len(kafka.nodes) > 1:
        facts["coordinator then"] = _coordinator(scene)
    kafka.restart(node)
    facts["back"] = _answers(address)
    return facts


def _node(kafka: RealKafka, cell: Cell, scene: Scene) -> int:
    if cell.victim is Victim.BROKER:
        return kafka.nodes[0]
    coordinator = coordinator_of(kafka, scene.group)
    if cell.victim is Victim.COORDINATOR:
        return coordinator
    leaders = sorted({node for node in kafka.nodes if _led(scene, node)} - {coordinator})
    if not leaders:
        raise SceneError("the coordinator leads all partitions")
    return scene.random.choice(leaders)


def _led(scene: Scene, node: int) -> list[int]:
    """Return the partitions of the topic that a broker leads."""
    admin = AdminClient({"bootstrap.servers": scene.kafka.bootstrap})
    topic = admin.list_topics(scene.ground.topic, timeout=10.0).topics[scene.ground.topic]
    return sorted(number for number, each in topic.partitions.items() if each.leader == node)


def _coordinator(scene: Scene) -> int | None:
    with suppress(*UNANSWERED):
        return coordinator_of(scene.kafka, scene.group)
    return None


def _address(kafka: RealKafka, node: int) -> tuple[str, int]:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    found = admin.list_topics(timeout=10.0).brokers[node]
    return str(found.host), found.port


def _answers(address: tuple[str, int]) -> bool:
    try:
        with socket.create_connection(address, timeout=2.0):
            return True
    except OSError:
        return False
