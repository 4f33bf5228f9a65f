"""What the contracts' harness needs of the Marshal backend.

A session is a lease; a round is a division of the partitions that members reach by handing back and
claiming. What is committed is what the log says: G1 is judged on it, read by a reader of its own.
"""

from functools import partial

import anyio

from kgroup.backends.marshal.backend import MarshalBackend
from kgroup.backends.marshal.log_reader import LogReader, ReaderSettings
from kgroup.backends.marshal.positions import MarshalPlace
from kgroup.journal import NullSink
from kgroup.marshal.events import Event, LogOpened
from kgroup.marshal.rules import Compat, Guarantee, MarshalSettings
from kgroup.net.cluster import Cluster
from kgroup.offsets.reset import ResetPolicy
from kgroup.types import IsolationLevel, Subscription, TopicPartition
from tests.contracts.application import until
from tests.contracts.group_harness import Backend
from tests.contracts.harness import Profile, Seat

_POLL_INTERVAL = 15.0
_READING = 30.0
_STARTED = 1_700_000_000_000


def marshal_place(topic: str) -> MarshalPlace:
    """Return where the groups of these tests coordinate."""
    return MarshalPlace(
        topic=topic,
        compat=Compat.AUTO,
        reset_policy=ResetPolicy.EARLIEST,
        isolation=IsolationLevel.READ_UNCOMMITTED,
        exclude_internal_topics=True,
        timeout=5.0,
        retry_backoff=0.1,
    )


def marshal_backend(group_id: str, place: MarshalPlace, profile: Profile) -> Backend:
    """Coordinate by claims; every member is another process with a name of its own."""
    interval = round(profile.session / 2)
    started: list[str] = []

    def make(name: str, cluster: Cluster) -> MarshalBackend:
        started.append(name)
        settings = MarshalSettings(
            group_id=group_id,
            client_id=name,
            instance_id=f"{len(started):08x}",
            started=_STARTED + len(started),
            interval=interval,
            guarantee=Guarantee.AT_LEAST_ONCE,
            rebalance_timeout=4 * _POLL_INTERVAL,
        )
        return MarshalBackend(settings, place, cluster, NullSink())

    return Backend(
        make=make,
        position=partial(_position, group_id, place.topic, interval),
        another_round=partial(_another_round, profile),
        poll_interval=_POLL_INTERVAL,
    )


async def _position(
    group_id: str, topic: str, interval: int, cluster: Cluster, tp: TopicPartition
) -> int | None:
    """Read the whole log anew."""
    events: list[Event] = []
    reader = LogReader(ReaderSettings(group_id, topic, float(interval)), cluster, events.append)
    reader.follow(frozenset({tp.topic}))
    with anyio.fail_after(_READING):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reader.run)
            await until(lambda: events, _READING, "the log is read to its end")
            tasks.cancel_scope.cancel()
    opened = events[0]
    assert isinstance(opened, LogOpened)
    state = opened.keys.get(tp)
    return None if state is None else state.offset


async def _another_round(profile: Profile, seat: Seat, subscription: Subscription) -> None:
    """There are no rounds: the member hands everything back, and asks for it anew."""
    seat.backend.subscribe(None)
    empty = lambda: not seat.backend.membership.claims  # noqa: E731
    await until(empty, profile.handover, "everything is handed back")
    seat.backend.subscribe(subscription)
