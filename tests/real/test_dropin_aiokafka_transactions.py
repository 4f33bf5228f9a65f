"""What transactions write on a real Kafka, read with the original and with the drop-in alike."""

from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer as Original
from aiokafka.structs import TopicPartition

from kgroup.compat.aiokafka import AIOKafkaConsumer as Facade
from kgroup.testing.kafka import RealKafka
from tests.compat.aiokafka.transactional import PROGRAMS
from tests.real.ground import lay_ground

pytestmark = [pytest.mark.real, pytest.mark.parametrize("anyio_backend", ["asyncio"])]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
async def test_a_program_comes_to_the_same_on_the_facade(kafka: RealKafka, program: Any) -> None:
    told = []
    for kind in (Original, Facade):
        ground = await lay_ground(kafka, 1)
        told.append(await program(kind, kafka.bootstrap, TopicPartition(ground.topic, 0)))
    assert told == [PROGRAMS[program]] * 2
