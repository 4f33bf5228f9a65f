"""A query without a Spark: triggers by hand, on an in-process Kafka behind a socket.

What a trigger does when Spark says that a batch is in the sink, and what comes of partitions that
others want, of a membership that is lost, and of logs that are not what they were.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kgroup.audit import Truth, audit, render_verdict
from kgroup.errors import GroupError, KGroupError
from kgroup.spark.offsets import CheckpointError, StreamOffset
from kgroup.spark.options import SourceOptions
from kgroup.spark.positions import DataLossError, is_own
from kgroup.spark.query import Query
from kgroup.sync import Consumer
from kgroup.testing import InProcessBroker
from kgroup.types import TopicPartition
from kgroup.wire.messages import HeartbeatRequest

pytestmark = pytest.mark.kgroup_broker(topics={"t": 3})

PATIENCE = 30.0
TPS = [TopicPartition("t", number) for number in range(3)]
ID = "5f1c"


class Run:
    """One run of a query: what Spark would do, step by step."""

    def __init__(self, query: Query, start: StreamOffset | None) -> None:
        self.query = query
        self.now = 0.0
        self.start = query.initial(ID) if start is None else start
        self.batches: list[dict[int, Any]] = []
        """What each batch has of each partition."""

    def plan(self, limit: int | None = None, *, available: bool = False) -> StreamOffset | None:
        """Let a trigger come; a batch that is planned begins, and is not finished."""
        self.now += 1.0
        end = self.query.advance(self.start, limit, now=self.now, available=available)
        if end is not None:
            self.query.begin_batch(end)
            self.start = end
        return end

    def until_planned(self) -> dict[int, Any]:
        """Let triggers come until one has a batch; return what it has of each partition."""
        while not (found := self.reads()):
            pass
        return found

    def reads(self, limit: int | None = None, *, available: bool = False) -> dict[int, Any]:
        """Let a trigger come; return what the batch has of each partition."""
        end = self.plan(limit, available=available)
        if end is None:
            return {}
        found = {tp.partition: span for tp, span in end.spans.items() if span[0] < span[1]}
        self.batches.append(found)
        return found


@contextmanager
def run(
    broker: InProcessBroker, start: StreamOffset | None = None, /, **options: str
) -> Iterator[Run]:
    given = {
        "kafka.bootstrap.servers": broker.bootstrap_servers,
        "kafka.group.id": "g",
        "kafka.client.id": "spark",
        "subscribe": "t",
        "startingOffsets": "earliest",
        **{name.replace("__", "."): value for name, value in options.items()},
    }
    named = {name: value for name, value in given.items() if value}
    query = Query(SourceOptions.of(named, streaming=True))
    try:
        yield Run(query, start)
    finally:
        query.close()


def fill(broker: InProcessBroker, count: int) -> None:
    for tp in TPS:
        broker.partition(*tp).append(*(f"{tp}@{number}" for number in range(count)))


def committed(broker: InProcessBroker) -> dict[int, int]:
    return {number: offset for (_, number), offset in broker.group("g").committed.items()}


def commits(broker: InProcessBroker, *offsets: int) -> None:
    """Wait until exactly this is committed."""
    wanted = dict(enumerate(offsets))
    broker.wait_until(lambda: committed(broker) == wanted, timeout=PATIENCE)


def test_the_first_positions_are_committed_at_once(kgroup_broker: InProcessBroker) -> None:
    fill(kgroup_broker, 4)
    with run(kgroup_broker, startingOffsets="latest") as query:
        assert query.reads() == {}
        commits(kgroup_broker, 4, 4, 4)


def test_a_trigger_waits_for_the_proof_of_membership(kgroup_broker: InProcessBroker) -> None:
    fill(kgroup_broker, 4)
    kgroup_broker.answers.delay(HeartbeatRequest, 1.5)
    with run(kgroup_broker) as query:
        assert query.reads(available=True) == {0: (0, 4), 1: (0, 4), 2: (0, 4)}


def test_a_batch_is_committed_when_the_next_trigger_says_that_it_is_in_the_sink(
    kgroup_broker: InProcessBroker,
) -> None:
    fill(kgroup_broker, 4)
    with run(kgroup_broker) as query:
        assert query.reads() == {0: (0, 4), 1: (0, 4), 2: (0, 4)}
        commits(kgroup_broker, 0, 0, 0)
        assert query.reads() == {}
        commits(kgroup_broker, 4, 4, 4)
        offsets = kgroup_broker.group("g").offsets
        assert all(is_own(offsets[tp], ID) for tp in TPS)


def test_a_limit_is_shared_and_the_rest_comes_next(kgroup_broker: InProcessBroker) -> None:
    fill(kgroup_broker, 4)
    with run(kgroup_broker) as query:
        assert query.reads(6) == {0: (0, 2), 1: (0, 2), 2: (0, 2)}
        assert query.reads(6) == {0: (2, 4), 1: (2, 4), 2: (2, 4)}
        assert query.reads(6) == {}


def test_a_restart_goes_on_behind_what_is_in_the_sink(kgroup_broker: InProcessBroker) -> None:
    fill(kgroup_broker, 4)
    with run(kgroup_broker) as query:
        query.plan()
        start = query.start
    commits(kgroup_broker, 0, 0, 0)
    fill(kgroup_broker, 1)
    with run(kgroup_broker, start) as query:
        assert query.reads() == {0: (4, 5), 1: (4, 5), 2: (4, 5)}
        commits(kgroup_broker, 4, 4, 4)


def test_without_a_checkpoint_a_query_goes_on_at_what_is_committed(
    kgroup_broker: InProcessBroker,
) -> None:
    fill(kgroup_broker, 4)
    kgroup_broker.group("g").commit({TPS[0]: 3, TPS[1]: 4})
    with run(kgroup_broker) as query:
        assert query.reads() == {0: (3, 4), 2: (0, 4)}


def test_what_others_handled_meanwhile_is_not_read_again(kgroup_broker: InProcessBroker) -> None:
    fill(kgroup_broker, 4)
    with run(kgroup_broker) as query:
        query.plan(6)
        query.plan(6)
        commits(kgroup_broker, 2, 2, 2)
        start = query.start
    kgroup_broker.group("g").commit({TPS[0]: 3, TPS[1]: 6})
    fill(kgroup_broker, 4)
    with run(kgroup_broker, start) as query:
        assert query.reads() == {0: (4, 8), 1: (6, 8), 2: (4, 8)}


def test_what_others_handled_stays_theirs_when_the_query_ends_before_its_next_batch(
    kgroup_broker: InProcessBroker,
) -> None:
    fill(kgroup_broker, 4)
    with run(kgroup_broker) as query:
        query.plan()
        start = query.start
    fill(kgroup_broker, 4)
    kgroup_broker.group("g").commit(dict.fromkeys(TPS, 8))
    with run(kgroup_broker, start) as query:
        assert query.reads() == {}
    fill(kgroup_broker, 1)
    with run(kgroup_broker, start) as query:
        assert query.reads() == {0: (8, 9), 1: (8, 9), 2: (8, 9)}


@pytest.mark.slow
def test_others_get_partitions_when_the_batch_is_over_and_the_rest_goes_on(
    kgroup_broker: InProcessBroker,
) -> None:
    fill(kgroup_broker, 4)
    with run(kgroup_broker) as query:
        assert len(query.reads()) == 3
        with Consumer(
            bootstrap_servers=kgroup_broker.bootstrap_servers,
            group_id="g",
            assignors=("cooperative-sticky",),
        ) as other:
            other.subscribe("t")
            group = kgroup_broker.group("g")
            kgroup_broker.wait_until(
                lambda: len(group.members) == 2 and group.state == "Stable", timeout=PATIENCE
            )
            assert other.assignment() == set()
            assert query.reads() == {}
            commits(kgroup_broker, 4, 4, 4)
            while not other.assignment():
                other.getmany(timeout=0.05)
            (theirs,) = {tp.partition for tp in other.assignment()}
            fill(kgroup_broker, 1)
            assert query.reads().keys() == {0, 1, 2} - {theirs}


def test_a_lost_membership_ends_the_query(kgroup_broker: InProcessBroker) -> None:
    fill(kgroup_broker, 4)
    with run(kgroup_broker) as query:
        query.plan()
        kgroup_broker.group("g").expire("spark")
        with pytest.raises(GroupError, match=r"lost t-0, t-1, t-2 .*onFenced=rejoin"):
            query.until_planned()


def test_a_query_that_rejoins_goes_on_at_what_is_committed(kgroup_broker: InProcessBroker) -> None:
    fill(kgroup_broker, 4)
    with run(kgroup_broker, onFenced="rejoin") as query:
        query.plan()
        group, generation = kgroup_broker.group("g"), kgroup_broker.group("g").generation
        group.expire("spark")
        kgroup_broker.wait_until(
            lambda: group.generation > generation and group.state == "Stable", timeout=PATIENCE
        )
        group.commit({TPS[0]: 6})
        fill(kgroup_broker, 4)
        assert query.until_planned() == {0: (6, 8), 1: (4, 8), 2: (4, 8)}


def test_a_topic_that_was_made_anew_ends_the_query(kgroup_broker: InProcessBroker) -> None:
    fill(kgroup_broker, 4)
    with run(kgroup_broker) as query:
        query.plan()
        start = query.start
    kgroup_broker.delete_topic("t")
    kgroup_broker.create_topic("t", 3)
    with run(kgroup_broker, start) as query, pytest.raises(CheckpointError, match="made anew"):
        query.plan()
    fill(kgroup_broker, 2)
    with run(kgroup_broker, start, failOnDataLoss="false") as query:
        assert query.reads() == {0: (0, 2), 1: (0, 2), 2: (0, 2)}


def test_records_that_are_gone_end_the_query_or_are_passed_over(
    kgroup_broker: InProcessBroker,
) -> None:
    fill(kgroup_broker, 4)
    with run(kgroup_broker) as query:
        query.plan(3)
        start = query.start
    kgroup_broker.partition("t", 0).delete_before(3)
    with run(kgroup_broker, start) as query, pytest.raises(DataLossError, match="t-0"):
        query.plan()
    with run(kgroup_broker, start, failOnDataLoss="false") as query:
        assert query.reads() == {0: (3, 4), 1: (1, 4), 2: (1, 4)}


def test_a_log_that_ends_in_front_of_the_position_is_given_a_minute(
    kgroup_broker: InProcessBroker,
) -> None:
    fill(kgroup_broker, 4)
    with run(kgroup_broker) as query:
        query.plan()
        kgroup_broker.partition("t", 1).truncate(2)
        assert query.reads() == {}
        query.now += 60
        with pytest.raises(DataLossError, match=r"t-1: .* offset 4, "):
            query.plan()


def test_a_small_backlog_waits_for_more_and_not_for_ever(kgroup_broker: InProcessBroker) -> None:
    fill(kgroup_broker, 1)
    with run(kgroup_broker, minOffsetsPerTrigger="10", maxTriggerDelay="90s") as query:
        assert query.reads() == {}
        query.now += 80
        assert query.reads() == {}
        query.now += 10
        assert len(query.reads()) == 3


def test_only_what_is_there_at_the_first_trigger_is_available(
    kgroup_broker: InProcessBroker,
) -> None:
    fill(kgroup_broker, 2)
    with run(kgroup_broker) as query:
        assert query.reads(3, available=True) == {0: (0, 1), 1: (0, 1), 2: (0, 1)}
        fill(kgroup_broker, 5)
        assert query.reads(available=True) == {0: (1, 2), 1: (1, 2), 2: (1, 2)}
        assert query.reads(available=True) == {}
        commits(kgroup_broker, 2, 2, 2)


def test_a_query_in_no_group_begins_where_its_options_say(kgroup_broker: InProcessBroker) -> None:
    fill(kgroup_broker, 4)
    with run(kgroup_broker, kafka__group__id="", startingOffsets="latest") as query:
        assert query.reads() == {}
        fill(kgroup_broker, 1)
        assert query.reads() == {0: (4, 5), 1: (4, 5), 2: (4, 5)}
    assert committed(kgroup_broker) == {}


def test_a_partition_that_is_added_is_read_from_its_beginning(
    kgroup_broker: InProcessBroker,
) -> None:
    fill(kgroup_broker, 4)
    with run(kgroup_broker, kafka__group__id="") as query:
        query.plan()
        kgroup_broker.add_partitions("t", 4)
        kgroup_broker.partition("t", 3).append("x", "y")
        query.now += 10
        assert query.reads() == {3: (0, 2)}


def test_a_query_that_ends_leaves_its_group(kgroup_broker: InProcessBroker) -> None:
    fill(kgroup_broker, 4)
    with run(kgroup_broker) as query:
        query.plan()
        assert len(kgroup_broker.group("g").members) == 1
    assert kgroup_broker.group("g").members == ()


def test_the_event_log_of_a_query_can_be_judged(
    kgroup_broker: InProcessBroker, tmp_path: Path
) -> None:
    fill(kgroup_broker, 4)
    journal = tmp_path / "query.jsonl"
    with run(kgroup_broker, journal=str(journal)) as query:
        assert len(query.reads(6)) == 3
        assert len(query.reads(6)) == 3
        assert query.reads() == {}
        commits(kgroup_broker, 4, 4, 4)
    verdict = audit([journal], Truth(bounds=dict.fromkeys(TPS, (0, 4))))
    assert verdict.clean, render_verdict(verdict)
    assert sum(each.records for each in verdict.partitions) == 12


def test_a_query_that_skips_records_is_found_by_the_audit(
    kgroup_broker: InProcessBroker, tmp_path: Path
) -> None:
    fill(kgroup_broker, 4)
    journal = tmp_path / "query.jsonl"
    with run(kgroup_broker, journal=str(journal)) as query:
        query.reads()
        query.reads()
        commits(kgroup_broker, 4, 4, 4)
    verdict = audit([journal], Truth(bounds=dict.fromkeys(TPS, (0, 5))))
    assert [each.lost for each in verdict.partitions] == [1, 1, 1]


def test_a_group_without_a_common_assignor_is_named(kgroup_broker: InProcessBroker) -> None:
    with Consumer(
        bootstrap_servers=kgroup_broker.bootstrap_servers, group_id="g", assignors=("range",)
    ) as other:
        other.subscribe("t")
        kgroup_broker.wait_until(
            lambda: kgroup_broker.group("g").state == "Stable", timeout=PATIENCE
        )
        with run(kgroup_broker) as query, pytest.raises(KGroupError, match="cooperative-sticky"):
            query.until_planned()


def test_a_second_query_under_one_instance_id_ends_the_first(
    kgroup_broker: InProcessBroker,
) -> None:
    fill(kgroup_broker, 1)
    static = {"kafka__group__instance__id": "one"}
    with run(kgroup_broker, **static) as first:
        first.plan()
        with run(kgroup_broker, **static) as second:
            second.until_planned()
            with pytest.raises(KGroupError, match=r"same group instance id|'one'"):
                first.until_planned()


@pytest.mark.slow
@pytest.mark.parametrize("group", ["", "g"])
def test_ten_thousand_partitions_are_planned(kgroup_broker: InProcessBroker, group: str) -> None:
    kgroup_broker.create_topic("wide", 10_000)
    for number in (0, 9_999):
        kgroup_broker.partition("wide", number).append("x")
    with run(kgroup_broker, kafka__group__id=group, subscribe="wide") as query:
        end, none = query.plan(), query.plan()
    assert end is not None
    assert none is None
    assert len(end.spans) == 10_000
    assert {tp.partition for tp, (begin, end) in end.spans.items() if begin < end} == {0, 9_999}


def test_a_static_query_that_ends_stays_in_its_group(kgroup_broker: InProcessBroker) -> None:
    fill(kgroup_broker, 4)
    with run(kgroup_broker, kafka__group__instance__id="one") as query:
        query.plan()
    assert [each.instance_id for each in kgroup_broker.group("g").members] == ["one"]
