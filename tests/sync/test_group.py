"""A blocking consumer in its group, and used by several threads."""

import threading
from collections.abc import Iterator
from functools import partial

import pytest

from kgroup.errors import CommitFailedError, ConfigError, IllegalStateError
from kgroup.types import CommitOutcome, Membership, MemberState, OffsetAndMetadata, TopicPartition
from tests.sync.ground import A, B, grounded, in_thread


@pytest.mark.slow
def test_the_membership_is_seen_as_it_changes() -> None:
    with grounded(1) as ground, ground.consumer("t", group_id="g") as consumer:
        states = [each.state for each in until_stable(consumer.membership_changes())]
        assert states[-1] is MemberState.STABLE
        assert consumer.membership.partitions == {A}
        generation = consumer.group_metadata()
        assert generation is not None
        assert generation.group_id == "g"
        assert (consumer.rebalances, consumer.failure) == (1, None)
        consumer.enforce_rebalance("a test")
        while consumer.rebalances < 2:
            consumer.getmany(timeout=0.01)


def until_stable(changes: Iterator[Membership]) -> Iterator[Membership]:
    for membership in changes:
        yield membership
        if membership.state is MemberState.STABLE:
            return


def test_commit_soon_returns_a_future() -> None:
    with grounded(3) as ground, ground.by_hand(A, group_id="g") as consumer:
        answered = consumer.commit_soon({A: 2})
        assert answered.result(10).ok
        assert consumer.committed(A) == {A: OffsetAndMetadata(2)}
        consumer.getone()
        assert consumer.seek_to_committed() == {A: OffsetAndMetadata(2)}
        assert consumer.getone().offset == 2


def test_a_commit_without_membership_in_a_group_with_members_fails_with_its_outcome() -> None:
    with (
        grounded(3) as ground,
        ground.consumer("t", group_id="g") as member,
        ground.consumer(group_id="g") as alone,
    ):
        member.getone(timeout=10)
        alone.assign([A])
        alone.position(A)
        with pytest.raises(CommitFailedError) as caught:
            alone.commit({A: 1})
        assert isinstance(caught.value.outcome, CommitOutcome)


def test_without_a_group_id_group_calls_are_refused() -> None:
    with grounded() as ground, ground.by_hand(A) as consumer:
        with pytest.raises(ConfigError):
            consumer.group_metadata()
        with pytest.raises(IllegalStateError):
            consumer.commit()
        consumer.unsubscribe()
        assert (consumer.subscription(), consumer.assignment()) == (None, frozenset())


def test_threads_read_each_its_own_partition() -> None:
    with grounded(50, partitions=2) as ground, ground.by_hand(A, B) as consumer:

        def read(tp: TopicPartition) -> list[int]:
            return [consumer.getone(tp, timeout=10).offset for _ in range(50)]

        with in_thread(partial(read, A)) as one, in_thread(partial(read, B)) as other:
            pass
        assert one == other == [list(range(50))]


def test_one_thread_reads_while_others_look_and_commit() -> None:
    with grounded(300) as ground, ground.by_hand(A, group_id="g") as consumer:
        over = threading.Event()

        def look() -> int:
            seen = 0
            while not over.is_set():
                seen += consumer.assignment() == {A} and consumer.position(A) >= 0
                consumer.commit()
            return seen

        with in_thread(look) as one, in_thread(look) as other:
            offsets = [next(consumer.records()).offset for _ in range(300)]
            over.set()
        assert offsets == list(range(300))
        assert all(isinstance(count, int) and count > 0 for count in one + other)
