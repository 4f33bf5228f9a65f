"""Queries in groups that claim by a log: the same triggers by hand, with Marshal behind them."""

from collections.abc import Mapping
from functools import partial

import pytest
from anyio.from_thread import start_blocking_portal

from kgroup import ConfigError, MarshalAdmin
from kgroup.sync import Consumer
from kgroup.testing import InProcessBroker
from kgroup.types import TopicPartition
from tests.consumer.marshal.stage import APPENDED, LOG
from tests.spark.test_query import PATIENCE, TPS, Run, committed, fill, run

pytestmark = [pytest.mark.kgroup_broker(topics={"t": 3}), pytest.mark.slow]

CLAIMING = {"kgroup__backend": "marshal", "kgroup__marshal_heartbeat_interval": "1"}


@pytest.fixture
def broker(kgroup_broker: InProcessBroker) -> InProcessBroker:
    """A Kafka with a coordination topic."""
    kgroup_broker.create_topic(LOG, 1, configs=APPENDED)
    fill(kgroup_broker, 4)
    return kgroup_broker


def all_of(query: Run) -> dict[int, tuple[int, int]]:
    """Let triggers come until each partition was read; return what was read of each."""
    found: dict[int, tuple[int, int]] = {}
    while len(found) < len(TPS):
        for partition, (begin, end) in query.reads().items():
            found[partition] = (found.get(partition, (begin, end))[0], end)
    return found


def taken(query: Run, broker: InProcessBroker, *offsets: int) -> None:
    """Let triggers come until exactly this is committed."""
    wanted = dict(enumerate(offsets))
    while committed(broker) != wanted:
        query.reads()


def set_back(broker: InProcessBroker, query: Run, offsets: Mapping[TopicPartition, int]) -> None:
    """Set positions, while triggers come."""
    admin = MarshalAdmin(bootstrap_servers=broker.bootstrap_servers, group_id="g")
    with start_blocking_portal() as portal:
        done = portal.start_task_soon(partial(admin.set_positions, offsets, patience=PATIENCE))
        while not done.done():
            query.reads()
        assert done.result() == {}


def test_a_query_claims_reads_and_commits(broker: InProcessBroker) -> None:
    with run(broker, **CLAIMING) as query:
        assert all_of(query) == {0: (0, 4), 1: (0, 4), 2: (0, 4)}
        taken(query, broker, 4, 4, 4)


def test_all_that_is_available_is_read_by_the_first_trigger(broker: InProcessBroker) -> None:
    with run(broker, **CLAIMING) as query:
        assert query.reads(available=True) == {0: (0, 4), 1: (0, 4), 2: (0, 4)}


def test_offsets_to_begin_with_are_refused(broker: InProcessBroker) -> None:
    at = '{"t": {"0": 1, "1": 1, "2": 1}}'
    with (
        pytest.raises(ConfigError, match=r"'startingOffsets'.*set-positions"),
        run(broker, startingOffsets=at, **CLAIMING) as query,
    ):
        query.plan()


def test_a_restart_goes_on_behind_what_is_in_the_sink(broker: InProcessBroker) -> None:
    with run(broker, **CLAIMING) as query:
        all_of(query)
        start = query.start
    fill(broker, 1)
    with run(broker, start, **CLAIMING) as query:
        assert all_of(query) == {0: (4, 5), 1: (4, 5), 2: (4, 5)}


def test_positions_that_are_set_move_a_running_query_when_its_batch_is_over(
    broker: InProcessBroker,
) -> None:
    with run(broker, **CLAIMING) as query:
        all_of(query)
        taken(query, broker, 4, 4, 4)
        fill(broker, 2)
        assert query.reads().keys() == {0, 1, 2}
        set_back(broker, query, {TPS[0]: 1})
        taken(query, broker, 6, 6, 6)
        assert [batch[0] for batch in query.batches if 0 in batch][-1] == (1, 6)


def test_the_fence_rises_with_each_owner_and_is_kept_in_the_offset(
    broker: InProcessBroker,
) -> None:
    with run(broker, includeFence="true", **CLAIMING) as query:
        all_of(query)
        first = query.start.fences
    with Consumer(
        bootstrap_servers=broker.bootstrap_servers,
        group_id="g",
        backend="marshal",
        marshal_heartbeat_interval=1,
    ) as other:
        other.subscribe("t")
        while len(other.assignment()) < len(TPS):
            other.getmany(timeout=0.1)
    fill(broker, 1)
    with run(broker, query.start, includeFence="true", **CLAIMING) as query:
        all_of(query)
        second = query.start.fences
    assert first.keys() == second.keys() == set(TPS)
    assert all(second[tp] > first[tp] for tp in TPS)
