"""One member of the demo's group: `python -m kgroup.demo.member '{"label": "m1", ...}'`.

Decides: how a plain application uses the consumer: read batches, finish them, let it commit.
Never: outlives the demo: the end of its input is the order to close, and the system closes that
input when the demo is gone, however it went.

It writes its event log to a file and its status, one JSON line each, to its output.
"""

import json
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Final

import anyio

from kgroup.config import ConsumerConfig
from kgroup.consumer import Consumer
from kgroup.demo.board import Status
from kgroup.net.ports import system_clock
from kgroup.observe.journal_file import local_source, open_journal
from kgroup.types import Backend, Membership
from kgroup.values import dataclass

_STATUS_INTERVAL: Final = 0.25
_CLOSE_TIMEOUT: Final = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberOrders:
    """The command line of a member's process.

    Args:
        label: its name in views and logs; also its client id.
        instance: static identity (KIP-345), None for a dynamic member.
        bootstrap: `host:port`, several separated by commas.
        group: name of the group.
        topic: name of the topic.
        journal: file of its event log.
        claims: whether it claims its partitions in a log (Marshal).
    """

    label: str
    instance: str | None
    bootstrap: str
    group: str
    topic: str
    journal: str
    claims: bool = False

    def argument(self) -> str:
        """Return the orders as one argument of a command line."""
        return json.dumps(asdict(self))


@dataclass(slots=True)
class _Work:
    """What the application has done so far."""

    records: int = 0
    positions: dict[int, int] = field(default_factory=dict)


def member_config(orders: MemberOrders) -> ConsumerConfig:
    """Return the options of the member's consumer; the session is the shortest brokers allow."""
    if orders.claims:
        return ConsumerConfig(
            bootstrap_servers=orders.bootstrap,
            group_id=orders.group,
            client_id=orders.label,
            backend=Backend.MARSHAL,
            # A claim outlives a broker that is away for a while.
            marshal_heartbeat_interval=15,
            auto_offset_reset="earliest",
            auto_commit_interval=1.0,
            fetch_max_wait=0.2,
        )
    return ConsumerConfig(
        bootstrap_servers=orders.bootstrap,
        group_id=orders.group,
        client_id=orders.label,
        group_instance_id=orders.instance,
        assignors=("cooperative-sticky",),
        auto_offset_reset="earliest",
        session_timeout=6.0,
        heartbeat_interval=1.0,
        max_poll_interval=30.0,
        auto_commit_interval=1.0,
        fetch_max_wait=0.2,
    )


def status_of(membership: Membership, records: int, positions: Mapping[int, int]) -> Status:
    """Say how the member is."""
    generation = membership.generation
    owned = sorted(tp.partition for tp in membership.partitions)
    return Status(
        state=membership.state.value,
        generation=None if generation is None else generation.generation_id,
        leader=membership.leader,
        partitions=tuple(owned),
        positions={
            partition: positions[partition] for partition in owned if partition in positions
        },
        records=records,
        cause=None if membership.cause is None else membership.cause.value,
    )


async def _serve(orders: MemberOrders) -> None:
    source = local_source(orders.label, orders.group)
    work = _Work()
    with open_journal(Path(orders.journal), source, clock=system_clock, wall=time.time) as journal:
        consumer = Consumer(orders.topic, config=member_config(orders), journal=journal)
        async with consumer, anyio.create_task_group() as tasks:
            tasks.start_soon(_report, consumer, work)
            tasks.start_soon(_consume, consumer, work)
            await anyio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
            tasks.cancel_scope.cancel()
            await consumer.close(timeout=_CLOSE_TIMEOUT)
        if journal.failure is not None:
            raise journal.failure


async def _consume(consumer: Consumer[bytes | None, bytes | None], work: _Work) -> None:
    async for batch in consumer.batches():
        for record in batch:
            work.records += 1
            work.positions[record.partition] = record.offset + 1
        batch.done()


async def _report(consumer: Consumer[bytes | None, bytes | None], work: _Work) -> None:
    """Write a line for every change of the membership, and one per interval for the positions."""
    changes = consumer.membership_changes()
    membership = consumer.membership
    while True:
        status = status_of(membership, work.records, work.positions)
        sys.stdout.write(status.line() + "\n")
        sys.stdout.flush()
        with anyio.move_on_after(_STATUS_INTERVAL):
            membership = await anext(changes)


def main(argument: str) -> None:
    """Serve until the input ends.

    Args:
        argument: `MemberOrders.argument()`.
    """
    # Ctrl-C goes to the whole terminal; the demo alone decides when its members close.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    anyio.run(_serve, MemberOrders(**json.loads(argument)))


if __name__ == "__main__":
    main(sys.argv[1])
