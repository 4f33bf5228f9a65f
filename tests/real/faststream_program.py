"""FastStream's documented example, a subscriber that publishes, in a process of its own.

Decides: the order in which a program is put on the facade: the class first, then the broker. What
is changed of the example: topics, groups and the end are given; the reader prints what it reads.
Never: is imported: it changes aiokafka for its whole process.
"""

import asyncio
import json
import sys

import aiokafka
from aiokafka.abc import ConsumerRebalanceListener

from kgroup.compat.aiokafka.faststream import AIOKafkaConsumer

aiokafka.AIOKafkaConsumer = AIOKafkaConsumer

from faststream import AckPolicy, FastStream  # noqa: E402 - as programs have it
from faststream.kafka import KafkaBroker, KafkaMessage  # noqa: E402

bootstrap, given, made, count = sys.argv[1:]
broker = KafkaBroker(bootstrap)
app = FastStream(broker)
answers: list[str] = []
refused: list[str] = []
assigned: list[str] = []
kinds: set[str] = set()


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # it has no types
    """The application's own."""

    def on_partitions_revoked(self, revoked: set[aiokafka.TopicPartition]) -> None:
        """Keep nothing."""

    def on_partitions_assigned(self, partitions: set[aiokafka.TopicPartition]) -> None:
        """Keep what the first consumer has."""
        assigned.extend(f"{tp.topic}-{tp.partition}" for tp in sorted(partitions))


@broker.subscriber(given, group_id=given, auto_offset_reset="earliest", listener=Listener())
@broker.publisher(made)
async def handle(user: str, user_id: int) -> str:
    """Answer a message."""
    return f"User: {user_id} - {user} registered"


@broker.subscriber(
    made, group_id=made, auto_offset_reset="earliest", ack_policy=AckPolicy.NACK_ON_ERROR
)
async def note(answer: str, message: KafkaMessage) -> None:
    """Keep the answers, of which one is wanted twice, and end with the last."""
    if not refused:
        refused.append(answer)
        raise ValueError(answer)
    kinds.add(f"{type(message.consumer).__module__}.{type(message.consumer).__name__}")
    answers.append(answer)
    if len(answers) == int(count):
        app.exit()


@app.after_startup
async def ask() -> None:
    """Write the messages."""
    for number in range(int(count)):
        await broker.publish({"user": "John", "user_id": number}, given)


asyncio.run(app.run())
report = {"answers": sorted(answers), "refused": refused, "assigned": assigned, "kinds": [*kinds]}
sys.stdout.write(json.dumps(report))
