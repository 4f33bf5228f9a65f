"""One partition is left to others for a while: by the assignor, and by a processor on it."""

from collections.abc import Mapping

import anyio
import pytest

from kgroup.assignors import LastAssignment, Member, RebalanceProtocol, conformance
from kgroup.assignors.conformance import Claims
from kgroup.consumer import Record
from kgroup.processing import Relinquish, ReportKind, YieldingAssignor
from kgroup.types import TopicPartition
from tests.assignors.groups import group
from tests.assignors.playing import Played
from tests.consumer.ground import fill
from tests.contracts.application import until
from tests.processing.at_work import A, B, Handler, Trouble, at_work, stored

TestConformance = pytest.mark.slow(
    conformance.suite(
        YieldingAssignor, claims=Claims(balance=1, sticky=True, rounds=2), examples=500
    )
)

P = [TopicPartition("t", number) for number in range(6)]


def settled(*names: str) -> Played:
    """Return a group that is at rest."""
    played = Played(YieldingAssignor, RebalanceProtocol.COOPERATIVE, t=6)
    played.join(*names)
    played.settle()
    return played


def yielding(played: Played, name: str) -> YieldingAssignor:
    found = played.players[name].assignor
    assert isinstance(found, YieldingAssignor)
    return found


def held(played: Played) -> Mapping[str, set[TopicPartition]]:
    return {name: set(tps) for name, tps in played.held().items()}


def test_what_is_left_moves_and_nothing_else_does() -> None:
    played = settled("a", "b")
    before = held(played)
    gone = min(before["a"])
    yielding(played, "a").leave(gone)
    assert played.settle() == 2  # it is handed back first
    assert held(played) == {"a": before["a"] - {gone}, "b": before["b"] | {gone}}
    played.round()
    assert held(played) == {"a": before["a"] - {gone}, "b": before["b"] | {gone}}


def test_what_is_wanted_again_evens_out() -> None:
    played = settled("a", "b")
    gone = min(held(played)["a"])
    yielding(played, "a").leave(gone)
    played.settle()
    yielding(played, "a").want(gone)
    played.settle()
    assert sorted(played.sizes().values()) == [3, 3]


def test_what_all_leave_stays_where_it_is() -> None:
    played = settled("a", "b")
    before = held(played)
    for name in ("a", "b"):
        yielding(played, name).leave(P[0])
    assert played.settle() == 1
    assert held(played) == before


def test_a_member_that_is_alone_keeps_what_it_leaves() -> None:
    played = settled("a")
    yielding(played, "a").leave(P[0])
    played.settle()
    assert held(played) == {"a": set(P)}


@pytest.mark.parametrize(
    "data", [b"\xff", b"1", b"[[]]", b'[["t"]]', b'[["t","x"]]', b'{"t":0}', b"[" * 100_000]
)
def test_bytes_of_somebody_else_ask_for_nothing(data: bytes) -> None:
    assert shares(data) == [3, 3]


def test_a_partition_that_is_gone_is_no_matter() -> None:
    one = YieldingAssignor()
    one.leave(TopicPartition("t", 99))
    data = one.encode_user_data(LastAssignment(), None)
    assert shares(data) == [3, 3]


def shares(data: bytes | None) -> list[int]:
    """Return how much each of two members gets, one of which has sent these bytes."""
    topics = frozenset({"t"})
    members = [
        Member(member_id="a", topics=topics, user_data=data),
        Member(member_id="b", topics=topics),
    ]
    assignment = YieldingAssignor().assign(group(members, t=6))
    return [len(assignment.of(name)) for name in ("a", "b")]


# -- a processor on it -----------------------------------------------------------------------------


class FailingAt:
    """Fails at offset 1 of one partition, so often."""

    def __init__(self, times: int = 10**6) -> None:
        self.tp: TopicPartition | None = A
        self.times = times
        self.tried_at: list[float] = []

    async def __call__(self, record: Record[bytes, bytes]) -> None:
        if record.tp == self.tp and record.offset == 1 and len(self.tried_at) < self.times:
            self.tried_at.append(anyio.current_time())
            raise Trouble


@pytest.mark.anyio
async def test_the_processor_gives_up_one_partition_and_others_notice_nothing() -> None:
    broker, failing = stored(0, width=4), FailingAt()
    mine, theirs = Handler(failing), Handler()
    stuck = Relinquish(deadline=5.0, away=300.0)
    async with (
        at_work(broker, mine, stuck=stuck, client_id="one", assignors=[YieldingAssignor()]) as one,
        at_work(broker, theirs, client_id="two", assignors=[YieldingAssignor()]) as two,
    ):
        works = one.consumer, two.consumer
        await until(lambda: [len(each.assignment()) for each in works] == [2, 2], 60, "even")
        before = [set(each.membership.claims) for each in works]
        failing.tp, kept = sorted(one.consumer.assignment())
        for number in range(4):
            fill(broker, TopicPartition("t", number), 3)
        for number in range(4):
            await one.committed(3, TopicPartition("t", number))
        assert theirs.offsets(failing.tp) == [1, 2]
        assert mine.offsets(kept) == [0, 1, 2]
        after = [set(each.membership.claims) for each in works]
        assert {claim.tp for claim in before[0] - after[0]} == {failing.tp}
        assert before[1] <= after[1]
        await until(lambda: len(one.consumer.assignment()) == 2, 400, "it has as many again")


@pytest.mark.anyio
async def test_a_member_that_is_alone_tries_again_ever_later_and_reads_on_elsewhere() -> None:
    broker, failing = stored(3, width=2), FailingAt(times=3)
    stuck = Relinquish(deadline=5.0, away=20.0, away_max=30.0)
    async with at_work(
        broker, Handler(failing), stuck=stuck, assignors=[YieldingAssignor()]
    ) as work:
        await work.committed(3, B, 15)
        before = work.consumer.membership.claims
        await work.committed(3, A, 200)
        assert work.consumer.membership.claims == before
        assert len(work.told(ReportKind.STEPPED_BACK)) == 3
    first, second, third = failing.tried_at
    assert (second - first, third - second) == pytest.approx((20.0, 30.0), abs=5.0)


@pytest.mark.anyio
async def test_without_that_assignor_everything_is_left_ever_longer() -> None:
    failing = FailingAt(times=3)
    stuck = Relinquish(deadline=5.0, away=50.0, away_max=400.0)
    async with at_work(stored(3), Handler(failing), stuck=stuck) as work:
        await work.committed(3, within=700)
    first, second, third = failing.tried_at
    assert (second - first, third - second) == pytest.approx((50.0, 100.0), abs=15.0)
