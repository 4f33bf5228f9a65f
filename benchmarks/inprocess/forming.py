"""Until four members have their partitions, in memory: raw requests, and kgroup's own members.

Decides: that the clock of the group is virtual, so waiting costs nothing and only work counts; and
that each group has a broker and a loop of its own.
Never: counts the making of brokers and members, or their end.

With `initial_rebalance_delay` 0 the first member is alone in generation 1, and the others take a
second round; with Kafka's 3 s (virtual) all four meet in the first.
"""

import gc
from collections.abc import Awaitable, Callable

import anyio

from benchmarks.inprocess.group import PARTITIONS, TOPIC, Watch
from benchmarks.inprocess.kgroup_members import classic_backends, consumers
from benchmarks.inprocess.raw_members import raw_members
from kgroup.testing import BrokerSettings, InProcessBroker
from kgroup.testing.virtual_time import VirtualLoop

DELAYS = (0.0, 3.0)
"""`initial_rebalance_delay`: the in-process default, and Kafka's."""
WAYS: dict[str, Callable[[InProcessBroker, Watch], Awaitable[None]]] = {
    "raw requests": raw_members,
    "kgroup backends": classic_backends,
    "kgroup consumers": consumers,
}
_PATIENCE = 60.0


def form(way: str, delay: float, times: int) -> list[tuple[float, float]]:
    """Form groups.

    Args:
        way: one of `WAYS`.
        delay: `initial_rebalance_delay`, virtual seconds.
        times: how many; two more go before as warm-up.

    Returns:
        Real and CPU seconds of each.
    """
    return [_form_once(way, delay) for _ in range(times + 2)][2:]


def _form_once(way: str, delay: float) -> tuple[float, float]:
    settings = BrokerSettings(initial_rebalance_delay=delay)
    broker = InProcessBroker(topics={TOPIC: PARTITIONS}, settings=settings)
    watch = Watch()

    async def bounded() -> None:
        with anyio.fail_after(_PATIENCE):
            await WAYS[way](broker, watch)

    gc.collect()
    anyio.run(bounded, backend="asyncio", backend_options={"loop_factory": VirtualLoop})
    return watch.seconds()
