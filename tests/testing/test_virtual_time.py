"""Virtual time: long waits are short, in order, and a standstill is not a hang."""

import random
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import pytest
from anyio import to_thread

from kgroup.testing.virtual_time import (
    VIRTUAL_BACKENDS,
    WALL_AT_START,
    VirtualLoop,
    virtual_backend,
    virtual_ports,
)
from tests.search.scripted.broker import ScriptedBroker


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, Mapping[str, Any]]:
    return virtual_backend(request.param)


async def test_a_year_passes_at_once() -> None:
    began = time.monotonic()
    await anyio.sleep(365 * 86_400)
    assert anyio.current_time() == pytest.approx(365 * 86_400)
    assert time.monotonic() - began < 5


async def test_timers_end_in_the_order_of_their_times() -> None:
    ended: list[float] = []

    async def wait(seconds: float) -> None:
        await anyio.sleep(seconds)
        ended.append(seconds)
        assert anyio.current_time() == pytest.approx(seconds)

    waits = [random.Random(7).uniform(0, 10_000) for _ in range(200)]
    async with anyio.create_task_group() as tasks:
        for seconds in waits:
            tasks.start_soon(wait, seconds)
    assert ended == sorted(waits)


async def test_a_time_out_ends_a_wait_without_end() -> None:
    with anyio.move_on_after(3_600) as scope:
        await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert anyio.current_time() == pytest.approx(3_600)


async def test_the_clock_starts_at_zero() -> None:
    assert anyio.current_time() == 0


async def test_ports_read_virtual_clocks_and_seeded_dice() -> None:
    ports = virtual_ports(ScriptedBroker(), seed=4)
    await anyio.sleep(90)
    assert ports.clock() == pytest.approx(90)
    assert ports.wall() == pytest.approx(WALL_AT_START + 90)
    assert ports.dice.uniform(0, 1) == random.Random(4).uniform(0, 1)


def _drawn(names: str, *, seed: int = 4) -> dict[str, list[float]]:
    ports = virtual_ports(ScriptedBroker(), seed=seed)
    drawn: dict[str, list[float]] = {}
    for name in names:
        drawn.setdefault(name, []).append(ports.dice_for(name).uniform(0, 1))
    return drawn


def test_a_draw_does_not_depend_on_the_order_of_tasks() -> None:
    assert _drawn("aabab") == _drawn("babaa")


def test_each_draw_is_another_by_name_turn_and_seed() -> None:
    one, two = _drawn("aabb"), _drawn("aabb", seed=5)
    assert len({*one["a"], *one["b"], *two["a"], *two["b"]}) == 8


def test_ports_without_dice_by_name_have_one_for_all() -> None:
    ports = replace(virtual_ports(ScriptedBroker()), dice_of=None)
    assert ports.dice_for("a") is ports.dice


def test_a_worker_thread_is_waited_for_when_no_timer_runs() -> None:
    name, options = virtual_backend("asyncio")

    async def work() -> int:
        return await to_thread.run_sync(lambda: 42)

    assert anyio.run(work, backend=name, backend_options=dict(options)) == 42


def test_a_standstill_is_an_error_and_not_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgroup.testing.virtual_time._STUCK_AFTER", 0.01)
    options = {"loop_factory": VirtualLoop}
    with pytest.raises(RuntimeError, match="virtual time stands still"):
        anyio.run(anyio.sleep_forever, backend="asyncio", backend_options=options)


def test_an_unknown_backend_names_those_there_are() -> None:
    with pytest.raises(ValueError, match="asyncio"):
        virtual_backend("curio")
