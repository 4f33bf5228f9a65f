"""Groups whose members speak both protocols: in the process as on a real broker.

A recorded conversation holds the way to KIP-848 and back; these hold what it does not show:
cooperative members, and static ones that come back with the other protocol.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.testing.kafka import RealKafka, create_topic
from kgroup.wire.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatTopicPartitions,
)
from kgroup.wire.schema import Request
from tests.real.ground import fresh
from tests.real.group_sides import PATIENCE, InProcess, Side, real_side
from tests.testing.broker.classic_member import Classic

pytestmark = [pytest.mark.real, pytest.mark.no_stand_in("it is compared with a real one")]

PARTITIONS = 4
NEXT_TARGET = 1.1
"""Seconds after which another target is made."""


class Scene:
    """A group at one broker."""

    def __init__(self, side: Side, group_id: str, topic: str) -> None:
        self.side, self.group_id, self.topic = side, group_id, topic
        self.epoch = 0
        self.rows: tuple[ConsumerGroupHeartbeatTopicPartitions, ...] = ()

    def ask(self, name: str, request: Request[Any]) -> Any:
        answer = self.side.ask(name, request)(PATIENCE)
        assert answer is not None
        return answer

    def classic(self, instance_id: str | None = None) -> Classic:
        ask = partial(self.ask, "classic")
        return Classic(ask, self.group_id, self.topic, PARTITIONS, instance_id=instance_id)

    def beat(self, **fields: Any) -> tuple[int, int, list[int] | None]:
        """Send a heartbeat of KIP-848; return its code, the epoch, and the part, if it is told."""
        said = {"member_id": "N" * 22, "member_epoch": self.epoch, "group_id": self.group_id}
        answer = self.ask("new", ConsumerGroupHeartbeatRequest(**{**said, **fields}))
        part = None
        if not answer.error_code:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.rows = answer.assignment.topic_partitions
                part = sorted(number for row in self.rows for number in row.partitions)
        return int(answer.error_code), answer.member_epoch, part

    def join(self, **fields: Any) -> tuple[int, int, list[int] | None]:
        """Join with a heartbeat of KIP-848."""
        said = {
            "member_epoch": 0,
            "rebalance_timeout_ms": 10_000,
            "subscribed_topic_names": (self.topic,),
            "topic_partitions": (),
        }
        return self.beat(**{**said, **fields})

    def own(self, **fields: Any) -> tuple[int, int, list[int] | None]:
        """Say that what was told is owned."""
        return self.beat(topic_partitions=self.rows, **fields)

    def state(self) -> str:
        """Return the state of the group in words of KIP-848, "" when it is classic."""
        request = ConsumerGroupDescribeRequest(
            group_ids=(self.group_id,), include_authorized_operations=False
        )
        found: str = self.ask("admin", request).groups[0].group_state
        return found


def standing(member: Classic) -> object:
    return member.generation, sorted(member.has)


def a_cooperative_member_gives_up(scene: Scene) -> list[object]:
    old = scene.classic()
    said: list[object] = [old.join(), standing(old), scene.join(), old.beat()]
    said += [old.join(owned=range(PARTITIONS)), standing(old), old.beat(), scene.beat()]
    said += [old.join(owned=old.has), standing(old), old.beat(), scene.beat(), scene.own()]
    return [*said, scene.state()]


def a_classic_member_comes_and_stays(scene: Scene) -> list[object]:
    said: list[object] = [scene.join(), scene.own()]
    scene.side.wait(NEXT_TARGET)
    late = scene.classic()
    said += [late.join(), standing(late), late.beat(), scene.beat(), scene.own(), late.beat()]
    said += [late.join(), standing(late), late.beat(), scene.beat(member_epoch=-1)]
    return [*said, scene.state(), late.beat(), late.join(), standing(late)]


def a_static_member_takes_the_next_protocol(scene: Scene) -> list[object]:
    old = scene.classic("one")
    said: list[object] = [old.join(), scene.join(instance_id="one")]
    said += [scene.own(instance_id="one"), old.beat(), old.join()]
    return [*said, scene.state()]


def a_static_member_takes_the_classic_protocol(scene: Scene) -> list[object]:
    said: list[object] = [scene.join(instance_id="one"), scene.own(instance_id="one")]
    said += [scene.beat(instance_id="one", member_epoch=-2)]
    back = scene.classic("one")
    return [*said, back.join(), standing(back), back.beat(), scene.state()]


def a_static_member_is_replaced_while_it_lives(scene: Scene) -> list[object]:
    said: list[object] = [scene.join(instance_id="one"), scene.own(instance_id="one")]
    twin = scene.classic("one")
    said += [twin.join(), standing(twin), twin.beat()]
    return [*said, scene.beat(instance_id="one")[0], scene.state()]


def until_known(side: Side, topic: str) -> None:
    """Wait until a coordinator divides a topic that has just been made."""
    while not Scene(side, fresh("early"), topic).join()[2]:
        side.wait(0.1)


@pytest.mark.parametrize(
    "conversation",
    [
        a_cooperative_member_gives_up,
        a_classic_member_comes_and_stays,
        a_static_member_takes_the_next_protocol,
        a_static_member_takes_the_classic_protocol,
        a_static_member_is_replaced_while_it_lives,
    ],
)
def test_a_mixed_group_answers_as_with_a_real_broker(
    kafka: RealKafka, conversation: Callable[[Scene], list[object]]
) -> None:
    group_id, topic = fresh("mixed"), fresh("topic")
    create_topic(kafka.bootstrap, topic, PARTITIONS)
    with real_side(kafka.bootstrap) as real:
        until_known(real, topic)
        expected = conversation(Scene(real, group_id, topic))
    ours = InProcess.of(CoordinatorKind.NEW)
    ours.raw.core.cluster.create_topic(topic, PARTITIONS)
    assert conversation(Scene(ours, group_id, topic)) == expected
