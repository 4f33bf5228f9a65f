"""Which of two assignors with equally many votes a group uses: in the process as on real brokers.

The names are made up so that other orders than the one of the coordinator's hash map would choose
otherwise: alphabetical, Java's buckets, and Scala's trie differ in them.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.groups.group import Group
from kgroup.testing.broker.groups.member import Member
from kgroup.testing.broker.java_hash import bucket_order, trie_order
from kgroup.testing.broker.release import CoordinatorKind
from kgroup.testing.kafka import RealKafka
from kgroup.testing.kafka.probe import Probe
from kgroup.testing.kafka.ready import parse_bootstrap
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)

pytestmark = pytest.mark.real

TIES = (
    ("alpha", "beta"),
    ("gamma", "delta"),
    ("mine", "yours"),
    ("fair", "quick"),
    ("a", "q"),
    ("one", "two"),
    ("by-rack", "by-lag"),
    ("blue", "green"),
)


def request(group_id: str, offers: Sequence[str], member_id: str = "") -> JoinGroupRequest:
    rows = tuple(JoinGroupRequestProtocol(name=each, metadata=b"") for each in offers)
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=20_000,
        rebalance_timeout_ms=20_000,
        member_id=member_id,
        protocol_type="votes",
        protocols=rows,
    )


def joined(probe: Probe, group_id: str, offers: Sequence[str]) -> JoinGroupResponse:
    """Join with the id that the broker asks for."""
    member_id = probe.ask(request(group_id, offers)).member_id
    return probe.ask(request(group_id, offers, member_id))


def vote(first: Probe, second: Probe, tie: tuple[str, str]) -> str | None:
    """Let two members of a group of their own vote for either; return what is chosen."""
    group_id = "-".join(("votes", *tie))
    lead = joined(first, group_id, tie)
    assert lead.error_code == ErrorCode.NONE
    with ThreadPoolExecutor(1) as pool:
        other: Future[JoinGroupResponse] = pool.submit(joined, second, group_id, tie[::-1])
        beat = HeartbeatRequest(
            group_id=group_id, generation_id=lead.generation_id, member_id=lead.member_id
        )
        while first.ask(beat).error_code != ErrorCode.REBALANCE_IN_PROGRESS:
            assert not other.done(), other.result()
        again = first.ask(request(group_id, tie, lead.member_id))
        assert other.result().protocol_name == again.protocol_name
    return again.protocol_name


def elected(kind: CoordinatorKind, tie: tuple[str, str]) -> str:
    """What the in-process coordinator chooses."""
    group = Group("g", kind, protocol_type="votes")
    for member_id, offers in (("a", tie), ("b", tie[::-1])):
        member = Member(
            member_id=member_id,
            instance_id=None,
            client_id="",
            client_host="",
            session_timeout=20.0,
            rebalance_timeout=20.0,
            protocols=tuple((each, b"") for each in offers),
        )
        group.add(member, "votes")
    return group.elected()


def test_the_ties_tell_the_orders_apart() -> None:
    java = [bucket_order(tie)[0] for tie in TIES]
    scala = [trie_order(tie)[0] for tie in TIES]
    assert java != scala
    assert [bucket_order(tie)[1] for tie in TIES] != scala
    assert sorted(map(min, TIES)) not in (java, scala)


@pytest.mark.parametrize(
    ("kafka", "kind"),
    [("4.3.1", CoordinatorKind.NEW), ("3.9.1", CoordinatorKind.OLD)],
    indirect=["kafka"],
)
def test_a_tie_goes_to_whom_a_real_broker_gives_it(kafka: RealKafka, kind: CoordinatorKind) -> None:
    address = parse_bootstrap(kafka.bootstrap)[0]
    with ExitStack() as stack:
        first, second = (stack.enter_context(Probe(address, timeout=30.0)) for _ in "ab")
        find = FindCoordinatorRequest(key_type=0, coordinator_keys=("votes",))
        while any(row.error_code for row in first.ask(find).coordinators):
            pass
        chosen = {tie: vote(first, second, tie) for tie in TIES}
    assert chosen == {tie: elected(kind, tie) for tie in TIES}
