"""What transactions write, read by the facade: the last stable offset, aborted records, marks."""

import asyncio
from typing import Any

import pytest
from aiokafka.structs import TopicPartition

from kgroup.compat.aiokafka import AIOKafkaConsumer
from kgroup.testing import InProcessBroker
from tests.compat.aiokafka.transactional import PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_it_comes_to_what_it_does_with_aiokafka(program: Any) -> None:
    # On sockets, because aiokafka's producer writes.
    with InProcessBroker(topics={"t": 1}).serve() as served:
        seen = asyncio.run(program(AIOKafkaConsumer, served.bootstrap, TopicPartition("t", 0)))
    assert seen == PROGRAMS[program]
