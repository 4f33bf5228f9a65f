"""One naive program on one consumer class: it reads, commits, and dies of its first exception.

Decides: what a program looks like that expects no outage.
Never: catches what a call raises, but to print it: `python -m ...program CLIENT STYLE BOOTSTRAP
TOPIC GROUP` prints a line of JSON for each batch it has read, and one when it dies.
"""

import asyncio
import importlib
import json
import sys
import time
from typing import Any

CLASSES = {
    "aiokafka": ("aiokafka", "AIOKafkaConsumer"),
    "drop-in for aiokafka": ("kgroup.compat.aiokafka", "AIOKafkaConsumer"),
    "kafka-python": ("kafka", "KafkaConsumer"),
    "drop-in for kafka-python": ("kgroup.compat.kafka_python", "KafkaConsumer"),
}
"""Client -> module and class."""

STYLES = {
    "aiokafka": ("async for", "getmany", "getone", "auto-commit"),
    "kafka-python": ("poll", "iterate", "auto-commit"),
}
"""Original -> the programs there are for it."""

_EACH = 20
"""Records after which a program commits."""

_WORK = 0.05
"""Seconds that so many records take, so that there is always more to read."""


def say(**what: object) -> None:
    print(json.dumps({"at": time.monotonic(), **what}), flush=True)


async def read(consumer: Any, style: str) -> None:
    """Read for ever with aiokafka or its drop-in."""
    await consumer.start()
    count = 0
    while style == "getmany":
        found = await consumer.getmany(timeout_ms=500, max_records=_EACH)
        if found:
            await _handle(sum(map(len, found.values())))
            await consumer.commit()
    while style == "getone":
        await consumer.getone()
        count += 1
        if count % _EACH == 0:
            await _handle(_EACH)
            await consumer.commit()
    async for _ in consumer:
        count += 1
        if count % _EACH == 0:
            await _handle(_EACH)
            if style == "async for":
                await consumer.commit()


async def _handle(records: int) -> None:
    say(read=records)
    await asyncio.sleep(_WORK)


def read_blocking(consumer: Any, style: str) -> None:
    """Read for ever with kafka-python or its drop-in."""
    while style == "poll":
        found = consumer.poll(timeout_ms=500, max_records=_EACH)
        if found:
            say(read=sum(map(len, found.values())))
            time.sleep(_WORK)
            consumer.commit()
    for count, _ in enumerate(consumer, 1):
        if count % _EACH == 0:
            say(read=_EACH)
            time.sleep(_WORK)
            if style == "iterate":
                consumer.commit()


def main(client: str, style: str, bootstrap: str, topic: str, group: str) -> None:
    module, name = CLASSES[client]
    kind = getattr(importlib.import_module(module), name)
    options = {
        "bootstrap_servers": bootstrap,
        "group_id": group,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": style == "auto-commit",
    }
    try:
        if client.endswith("aiokafka"):

            async def play() -> None:
                await read(kind(topic, **options), style)

            asyncio.run(play())
        else:
            read_blocking(kind(topic, **options), style)
    except Exception as error:  # noqa: BLE001 - which one it is, is what is asked
        say(died=type(error).__name__, text=str(error)[:200])


if __name__ == "__main__":
    main(*sys.argv[1:6])
