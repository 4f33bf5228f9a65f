"""What is installed is read from disk when a consumer is made, and never while it runs."""

import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path

import anyio
import pytest

from kgroup.assignors import RangeAssignor
from kgroup.config import ConsumerConfig
from kgroup.consumer import Consumer
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_backend, virtual_ports


class Lookout(DistributionFinder):
    """Counts how often somebody looks for installed distributions; finds none."""

    def __init__(self) -> None:
        self.looks = 0

    def find_distributions(
        self,
        context: DistributionFinder.Context = DistributionFinder.Context(),  # noqa: B008
    ) -> Iterator[Distribution]:
        self.looks += 1
        return iter(())


@pytest.fixture
def lookout() -> Iterator[Lookout]:
    finder = Lookout()
    sys.meta_path.append(finder)
    yield finder
    sys.meta_path.remove(finder)


def test_calls_about_offsets_do_not_read_what_is_installed(lookout: Lookout) -> None:
    """Found by sweeps: `committed`, `commit_done` and `group_metadata` read it at each call."""

    async def ask() -> None:
        broker = InProcessBroker(topics={"t": 1})
        async with Consumer(
            "t",
            bootstrap_servers=broker.bootstrap_servers,
            ports=virtual_ports(broker.dial),
            group_id="g",
        ) as consumer:
            before = lookout.looks
            await consumer.committed(timeout=5.0)
            await consumer.commit_done()
            consumer.group_metadata()
            assert lookout.looks == before > 0

    name, options = virtual_backend("asyncio")
    anyio.run(ask, backend=name, backend_options=dict(options))


def test_assignors_that_are_given_need_nothing_that_is_installed(lookout: Lookout) -> None:
    ConsumerConfig(group_id="g", assignors=(RangeAssignor(),))
    assert lookout.looks == 0
    ConsumerConfig(group_id="g", assignors=("range",))
    assert lookout.looks > 0


def test_what_is_installed_is_read_once_while_it_stays_the_same(
    lookout: Lookout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ConsumerConfig(group_id="g")
    looks = lookout.looks
    ConsumerConfig(group_id="h")
    assert lookout.looks == looks
    monkeypatch.syspath_prepend(tmp_path)
    ConsumerConfig(group_id="g")
    once_more = lookout.looks
    assert once_more > looks
    (tmp_path / "something-1.0.dist-info").mkdir()
    ConsumerConfig(group_id="g")
    assert lookout.looks > once_more
