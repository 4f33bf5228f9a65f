"""What a supervisor is told of a member, and the stalls that a monitor finds."""

import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.frozen import replace
from kgroup.observe.health import Limits, Monitor, Stall, StallKind, StallLimits
from kgroup.observe.vitals import Part, Pulse, Vitals
from kgroup.testing.virtual_time import VIRTUAL_BACKENDS, virtual_backend
from kgroup.types import (
    Claim,
    Membership,
    MemberState,
    OwnershipChange,
    TopicPartition,
)
from tests.consumer.entered import config_for, grouped
from tests.consumer.ground import ground
from tests.contracts.application import until

A = TopicPartition("t", 0)
CLAIM = Claim(A, 1)


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, Mapping[str, Any]]:
    return virtual_backend(request.param)


# -- what is judged --------------------------------------------------------------------------------


MEMBER = Membership("g", MemberState.STABLE, claims=(CLAIM,))
SOUND = Vitals(
    at=100.0,
    membership=MEMBER,
    parts=(Part(CLAIM, 10, 10, 10, paused=False),),
    pulse=Pulse(until=140.0, confirmed_at=99.0, lease=40.0, heartbeat_interval=3.0),
    polled_at=99.0,
    poll_interval=60.0,
)


class Patient:
    """Something that is watched: it is as the test says."""

    def __init__(self, vitals: Vitals = SOUND) -> None:
        self.now = vitals

    def vitals(self) -> Vitals:
        return self.now


@asynccontextmanager
async def looked_at(
    vitals: Vitals, limits: Limits | None = None, *, now: float | None = None
) -> AsyncIterator[Monitor]:
    """Have a monitor that has looked once, and is asked at an instant."""
    age = 0.0
    async with Monitor(Patient(vitals), limits, clock=lambda: age).running() as monitor:
        age = 0.0 if now is None else now - vitals.at
        yield monitor


async def test_a_member_at_work_is_live_and_ready() -> None:
    async with looked_at(SOUND) as monitor:
        health = monitor.health()
    assert (health.live, health.ready, health.causes, health.waits) == (True, True, (), ())
    assert health.numbers["lease_left"] == 40.0


@pytest.mark.parametrize(
    ("later", "limits", "cause"),
    [
        (28.9, Limits(lease=None), None),
        (29.0, Limits(lease=None), "nothing was read for 30 s, limit 30 s"),
        (100.0, Limits(lease=None, poll=None), None),
        (19.0, Limits(), None),
        (20.0, Limits(), "the membership ends in 20 s, limit 20 s"),
        (10.0, Limits(lease=0.25), "the membership ends in 30 s, limit 30 s"),
    ],
)
async def test_liveness_is_red_while_the_member_still_has_time(
    later: float, limits: Limits, cause: str | None
) -> None:
    async with looked_at(SOUND, limits, now=SOUND.at + later) as monitor:
        health = monitor.health()
    assert health.causes == (() if cause is None else (cause,))
    assert health.live is (cause is None)
    assert not health.causes or not health.ready


async def test_a_blocked_loop_with_isolated_heartbeats_has_until_the_poll_interval() -> None:
    isolated = replace(SOUND, isolated=True)
    async with looked_at(isolated, now=SOUND.at + 25) as monitor:
        assert monitor.health().live
    async with looked_at(isolated, now=SOUND.at + 30) as monitor:
        assert not monitor.health().live


async def test_a_member_that_has_nothing_holds_nothing_up() -> None:
    idle = replace(SOUND, membership=replace(MEMBER, claims=()), parts=(), polled_at=-900.0)
    async with looked_at(idle, now=SOUND.at + 1) as monitor:
        assert monitor.health().live


@pytest.mark.parametrize(
    ("later", "isolated", "live"),
    [(19.0, False, True), (20.0, False, False), (28.0, True, True), (30.0, True, False)],
)
async def test_a_loop_that_is_blocked_by_the_first_records_turns_red(
    later: float, isolated: bool, live: bool
) -> None:
    """The latest look was before the member got its first partitions."""
    pulse = replace(SOUND.pulse, until=None)
    early = replace(SOUND, membership=replace(MEMBER, claims=()), parts=(), pulse=pulse)
    early = replace(early, isolated=isolated)
    async with looked_at(early, now=SOUND.at + later) as monitor:
        assert monitor.health().live is live


async def test_a_failure_is_red_and_named() -> None:
    async with looked_at(replace(SOUND, failure=ValueError("gone"))) as monitor:
        assert monitor.health().causes == ("it has failed: ValueError: gone",)


async def test_a_closed_consumer_is_red() -> None:
    async with looked_at(replace(SOUND, closed=True)) as monitor:
        assert monitor.health().causes == ("it is closed",)


@pytest.mark.parametrize(
    ("change", "wait"),
    [
        ({"membership": replace(MEMBER, state=MemberState.JOINING)}, "the member is joining"),
        ({"membership": replace(MEMBER, trouble=OSError("no"))}, "OSError: no"),
        (
            {"parts": (Part(CLAIM, 10, 10, 1011, paused=False),)},
            "1 partitions are behind: t-0",
        ),
        ({"parts": (Part(CLAIM, None, None, None, paused=False),)}, "1 partitions are behind: t-0"),
    ],
)
async def test_a_member_that_is_not_at_work_is_live_and_not_ready(
    change: dict[str, Any], wait: str
) -> None:
    async with looked_at(replace(SOUND, **change)) as monitor:
        health = monitor.health()
    assert (health.live, health.ready, health.waits) == (True, False, (wait,))


async def test_who_has_caught_up_once_stays_ready() -> None:
    patient = Patient()
    async with Monitor(patient, every=1.0, clock=lambda: 100.0).running() as monitor:
        patient.now = replace(SOUND, parts=(Part(CLAIM, 10, 10, 10**6, paused=False),))
        await anyio.sleep(2)
        assert monitor.health().ready
        another = Claim(A, 2)
        patient.now = replace(SOUND, parts=(Part(another, 10, 10, 10**6, paused=False),))
        await anyio.sleep(2)
        assert not monitor.health().ready


async def test_it_is_not_ready_before_the_first_look() -> None:
    health = Monitor(Patient()).health()
    assert (health.live, health.ready) == (True, False)


# -- stalls ----------------------------------------------------------------------------------------


class Hours:
    """Vitals whose instant is the present one."""

    def __init__(self, vitals: Vitals) -> None:
        self.sound = vitals
        self.skip = 0.0

    def vitals(self) -> Vitals:
        return replace(self.sound, at=anyio.current_time() + self.skip)


@asynccontextmanager
async def found(
    patient: Hours, limits: StallLimits | None = None, **more: Any
) -> AsyncIterator[list[Stall]]:
    """Collect the stalls of one block."""
    stalls: list[Stall] = []
    wanted = Limits(stalls=StallLimits() if limits is None else limits, **more)

    async def collect(monitor: Monitor) -> None:
        async for stall in monitor.stalls():
            stalls.append(stall)

    monitor = Monitor(patient, wanted, clock=anyio.current_time)
    async with monitor.running(), anyio.create_task_group() as tasks:
        tasks.start_soon(collect, monitor)
        yield stalls
        tasks.cancel_scope.cancel()


async def test_a_blocked_loop_is_measured_when_it_goes_on() -> None:
    patient = Hours(replace(SOUND, pulse=Pulse()))
    async with found(patient) as stalls:
        await anyio.sleep(5)
        patient.skip = 3.0  # as if nothing had run for so long
        await anyio.sleep(5)
    (stall,) = stalls
    assert (stall.kind, stall.limit) == (StallKind.LOOP_BLOCKED, 1.0)
    assert stall.seconds == pytest.approx(3.0)


async def test_a_late_heartbeat_is_told_once() -> None:
    patient = Hours(replace(SOUND, pulse=Pulse(10**6, confirmed_at=0.0, heartbeat_interval=3.0)))
    async with found(patient) as stalls:
        await anyio.sleep(60)
    (stall,) = stalls
    assert stall.kind is StallKind.HEARTBEAT_LATE
    assert stall.limit == 12.0
    assert stall.seconds == pytest.approx(12.0, abs=0.3)


@pytest.mark.parametrize(
    ("part", "stalls_too"),
    [
        (Part(CLAIM, 10, 12, 12, paused=True), True),
        (Part(CLAIM, 10, 10, 12, paused=False), True),
        (Part(CLAIM, 10, 10, 12, paused=True), False),
        (Part(CLAIM, 12, 12, 12, paused=False), False),
        (Part(CLAIM, None, None, 12, paused=False), False),
    ],
    ids=["in hand", "to be read", "paused", "at the end", "without a position"],
)
async def test_no_progress_is_told_once_where_something_is_to_be_done(
    part: Part, stalls_too: bool
) -> None:
    vitals = replace(SOUND, parts=(part,), pulse=Pulse())
    async with found(Hours(vitals)) as stalls:
        await anyio.sleep(59)
        assert stalls == []
        await anyio.sleep(300)
    assert [(each.kind, each.tp) for each in stalls] == [(StallKind.NO_PROGRESS, A)] * stalls_too


async def test_progress_begins_the_count_anew() -> None:
    patient = Hours(replace(SOUND, pulse=Pulse()))
    async with found(patient) as stalls:
        for done in range(5):
            parts = (Part(CLAIM, done, 10, 20, paused=False),)
            patient.sound = replace(patient.sound, parts=parts)
            await anyio.sleep(50)
    assert stalls == []


async def test_a_partition_that_is_stuck_turns_liveness_red_where_that_is_asked_for() -> None:
    vitals = replace(SOUND, parts=(Part(CLAIM, 10, 12, 12, paused=True),), pulse=Pulse())
    limits = Limits(stuck=90.0, poll=None)
    async with Monitor(Hours(vitals), limits, clock=anyio.current_time).running() as monitor:
        await anyio.sleep(89)
        assert monitor.health().live
        await anyio.sleep(2)
        assert monitor.health().causes == ("t-0: no record is done for 91 s, limit 90 s",)


async def test_one_line_in_the_log_for_each_kind_and_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    parts = tuple(
        Part(Claim(TopicPartition("t", number), number), 0, 1, 1, paused=True)
        for number in range(5)
    )
    patient = Hours(replace(SOUND, parts=parts, pulse=Pulse()))
    with caplog.at_level(logging.WARNING, "kgroup.observe"):
        async with found(patient) as stalls:
            await anyio.sleep(100)
    assert len(stalls) == 5
    (line,) = [record.getMessage() for record in caplog.records]
    words = "there are records, and none is done (done to 0, 1 in hand, 1 behind)"
    assert line == f"t-0: {words} for 60 s, limit 60 s"


# -- a real member ---------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["classic", "consumer", "auto"])
async def test_the_vitals_of_a_member(protocol: str) -> None:
    config = config_for(ground(10, t=1), group_protocol=protocol)
    async with Consumer("t", config=config) as consumer:
        await consumer.getone(timeout=60.0)
        await until(lambda: consumer.vitals().pulse.until is not None, 60, "it is proved")
        vitals = consumer.vitals()
    (part,) = vitals.parts
    assert (part.tp, part.done, part.handed, part.end) == (A, 0, 1, 10)
    assert vitals.membership.claims == (part.claim,)
    assert vitals.polled_at is not None
    pulse = vitals.pulse
    assert pulse.until is not None
    assert pulse.lease == 44.5  # a session of 45 s, in the process as on brokers
    assert vitals.at < pulse.until <= vitals.at + pulse.lease
    assert pulse.heartbeat_interval in (3.0, 5.0)  # the member's, or the broker's


async def test_a_member_is_ready_when_it_has_caught_up() -> None:
    async with grouped(ground(10, t=1)) as member:
        limits, clock = Limits(behind=3), anyio.current_time
        async with Monitor(member.consumer, limits, clock=clock).running() as monitor:
            await member.owns(A)
            await anyio.sleep(1)
            assert not monitor.health().ready
            await member.consumer.getmany(timeout=5)
            await member.consumer.commit()
            await anyio.sleep(1)
            assert monitor.health().ready


async def test_a_slow_listener_is_told_with_its_name() -> None:
    release = anyio.Event()

    class Slow:
        async def on_assigned(self, consumer: object, change: OwnershipChange) -> None:
            await release.wait()

    limits = Limits(stalls=StallLimits(listener=5.0))
    async with grouped(ground(1, t=1), listener=Slow()) as member:
        monitor = Monitor(member.consumer, limits, clock=anyio.current_time)
        async with monitor.running():
            stall = await anext(monitor.stalls())
            release.set()
    assert (stall.kind, stall.detail) == (StallKind.LISTENER_SLOW, "on_assigned of the listener")
    assert stall.seconds >= stall.limit == 5.0


async def test_a_member_that_does_not_read_turns_red_before_it_is_out() -> None:
    async with grouped(ground(10, t=1)) as member:
        clock = anyio.current_time
        async with Monitor(member.consumer, clock=clock).running() as monitor:
            await member.consumer.getone()
            await anyio.sleep(29)
            assert monitor.health().live
            await anyio.sleep(2)
            assert monitor.health().causes[0].startswith("nothing was read for 31 s")
            assert member.consumer.assignment() == {A}


# -- the app ---------------------------------------------------------------------------------------


async def asked(monitor: Monitor, path: str, method: str = "GET") -> tuple[int, Any]:
    """Return the status and the body that the app answers with."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        sent.append(message)

    await monitor({"type": "http", "path": path, "method": method}, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"] or "null")


async def test_the_app_answers_for_supervisors() -> None:
    async with looked_at(SOUND, now=SOUND.at + 25) as monitor:
        status, body = await asked(monitor, "/health/live")
        assert (status, body["live"]) == (503, False)
        assert body["causes"] == ["the membership ends in 15 s, limit 20 s"]
        assert body["partitions"] == {"t-0": {"done": 10, "end": 10}}
        assert (await asked(monitor, "/ready", "HEAD")) == (503, None)
        assert (await asked(monitor, "/metrics"))[0] == 404


async def test_the_app_lives_through_a_server_s_life() -> None:
    said, sent = iter(["lifespan.startup", "lifespan.shutdown"]), list[str]()

    async def receive() -> dict[str, Any]:
        return {"type": next(said)}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    async with looked_at(SOUND) as monitor:
        await monitor({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
