"""What a member's log says of an outage: when the first request fails, and when it is over."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from tests.consumer.scene import HEARTBEAT, SESSION, scene, settings

POOL = logging.getLogger("kgroup.net.pool")


class Lines(logging.Handler):
    """Keeps level and instant of each line about brokers out of reach."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.said: list[tuple[str, float]] = []
        self.began = anyio.current_time()

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append((record.levelname, anyio.current_time() - self.began))


@contextmanager
def lines() -> Iterator[Lines]:
    """Have the lines of one block; instants count from its begin."""
    handler, level = Lines(), POOL.level
    POOL.addHandler(handler)
    POOL.setLevel(logging.INFO)
    try:
        yield handler
    finally:
        POOL.removeHandler(handler)
        POOL.setLevel(level)


async def test_a_dead_coordinator_is_warned_of_at_the_first_heartbeat() -> None:
    async with scene(2) as on:
        await on.joined()
        with lines() as heard:
            on.go_down()
            await anyio.sleep(HEARTBEAT + 0.1)
            assert [level for level, _ in heard.said] == ["WARNING"]


async def test_a_silent_coordinator_is_warned_of_when_the_first_heartbeat_s_time_is_up() -> None:
    async with scene(2) as on:
        await on.joined(settings(session_timeout=3 * SESSION))
        with lines() as heard:
            on.mute(on.coordinator)
            await anyio.sleep(HEARTBEAT + SESSION + 0.1)
            assert [level for level, _ in heard.said] == ["WARNING"]


async def test_an_outage_of_all_brokers_is_a_warning_and_a_line_at_its_end_for_each() -> None:
    async with scene(2) as on:
        await on.joined(settings(session_timeout=45.0))
        with lines() as heard:
            rules = [on.mute(node) for node in (1, 2)]
            await anyio.sleep(40)
            for rule in rules:
                rule.cancel()
            await anyio.sleep(60)
    assert sorted(level for level, _ in heard.said) == ["INFO", "INFO", "WARNING", "WARNING"]
    assert all(at < 40 for level, at in heard.said if level == "WARNING")
