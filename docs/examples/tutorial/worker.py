"""The worker of the tutorial: `python worker.py NAME` prints what it reads, owns, and why."""

import os
import sys
from collections import Counter
from contextlib import suppress
from time import monotonic
from typing import Any

import anyio

from kgroup import Claim, Consumer, OwnershipChange

NAME = sys.argv[1]
BOOTSTRAP = os.environ.get("KGROUP_BOOTSTRAP", "localhost:9092")


def say(text: str) -> None:
    print(f"{NAME}: {text}", flush=True)


def named(claims: tuple[Claim, ...]) -> str:
    return ", ".join(str(claim.tp) for claim in claims)


class Report:
    """A listener that prints each change of ownership and its cause."""

    def on_assigned(self, _: Consumer[Any, Any], change: OwnershipChange) -> None:
        if change.added:
            say(f"gets {named(change.added)} ({change.cause.value})")

    def on_revoked(self, _: Consumer[Any, Any], change: OwnershipChange) -> None:
        say(f"gives back {named(change.removed)} ({change.cause.value})")

    def on_lost(self, _: Consumer[Any, Any], change: OwnershipChange) -> None:
        say(f"has lost {named(change.removed)} ({change.cause.value})")


async def main() -> None:
    async with Consumer(
        "payments",
        bootstrap_servers=BOOTSTRAP,
        group_id="accounting",
        client_id=NAME,
        auto_offset_reset="earliest",
        assignors=["cooperative-sticky"],
        session_timeout=6.0,
        heartbeat_interval=2.0,
        auto_commit_interval=1.0,
        listener=Report(),
        journal=f"{NAME}.jsonl",
    ) as consumer:
        read, said_at = Counter[str](), 0.0
        async for batch in consumer.batches():
            read[str(batch.claim.tp)] += len(batch)
            if monotonic() > said_at + 1:
                say(f"{read.total()} records of {', '.join(sorted(read))}")
                read, said_at = Counter(), monotonic()


with suppress(KeyboardInterrupt):
    anyio.run(main)
