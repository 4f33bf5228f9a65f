"""The oracles over members that claim partitions through a log: what they find, what they leave."""

import pytest

from kgroup.audit.oracles import judge
from kgroup.journal import ClaimMessage, ClaimVerdict
from tests.audit.claimants import LEASE, MARGIN, Claimant, claimants
from tests.audit.histories import History, tp
from tests.search.oracles import members_oracles, simulation_oracles
from tests.search.oracles.lease import LeaseHeld

ENDS = {tp(0): 25, tp(1): 20}


def one(partition: int = 0) -> Claimant:
    """Return a member that owns a key, proved by a heartbeat just now."""
    (member,) = claimants(History(), "a")
    member.start()
    member.own(partition, 0)
    return member


def rules(member: Claimant) -> list[str]:
    return [found.rule for found in judge([LeaseHeld()], member.history.entries)]


def hand_overs() -> History:
    """A start, a fair share given to a second member, and a takeover from one that was killed."""
    history = History()
    a, b = claimants(history, "a", "b")
    a.start()
    for partition in (0, 1):
        a.own(partition, 0)
        a.deliver(partition, 10)
        a.commit(partition)
        a.beat(partition)
    b.start()
    a.give(1)
    b.own(1, 10)
    b.deliver(1, 10)
    a.deliver(0, 5)  # killed before it commits
    for _ in range(6):
        history.wait(20.0)
        b.beat(1)
    b.own(0, 10)
    b.deliver(0, 15)
    for partition in (0, 1):
        b.give(partition)
    b.stop()
    return history


def test_a_good_history_of_claims_keeps_every_promise_of_an_audit():
    assert judge(members_oracles(ends=ENDS).values(), hand_overs().entries) == ()


def test_a_good_history_of_claims_keeps_every_promise_of_a_simulation():
    oracles = simulation_oracles(partitions={"t": 2}, ends=ENDS)
    assert judge(oracles.values(), hand_overs().entries) == ()


def test_s2_a_partition_taken_from_a_member_that_goes_on_delivering_has_two_owners():
    a, b = claimants(History(), "a", "b")
    for member in (a, b):
        member.start()
        member.own(0, 0)
    a.deliver(0, 1)
    found = judge(members_oracles().values(), a.history.entries)
    assert [violation.rule for violation in found] == ["S2"]


@pytest.mark.parametrize(("waited", "expected"), [(-0.5, []), (0.0, ["S3"])])
def test_s3_a_delivery_inside_the_lease_is_fine_and_one_outside_is_not(
    waited: float, expected: list[str]
):
    member = one()
    member.history.wait(LEASE - MARGIN + waited)
    member.deliver(0, 1)
    assert rules(member) == expected


def test_s3_each_key_has_a_lease_of_its_own():
    member = one(0)
    member.own(1, 0)
    for _ in range(2):
        member.history.wait(60.0)
        member.beat(1)
    member.deliver(1, 1)
    assert rules(member) == []
    member.deliver(0, 1)
    assert rules(member) == ["S3"]


def test_s3_the_writing_of_a_heartbeat_counts_and_not_its_reading():
    member = one()
    beat = member.put(ClaimMessage.HEARTBEAT, 0, 0)
    member.history.wait(100.0)
    member.read_back(beat, ClaimVerdict.RENEWED)
    member.history.wait(10.0)
    member.deliver(0, 1)
    assert rules(member) == ["S3"]


def test_s3_a_heartbeat_that_was_not_read_back_proves_nothing():
    member = one()
    member.history.wait(100.0)
    member.put(ClaimMessage.HEARTBEAT, 0, 0)
    member.history.wait(10.0)
    member.deliver(0, 1)
    assert rules(member) == ["S3"]


def test_s3_nothing_is_delivered_under_a_claim_alone():
    (member,) = claimants(History(), "a")
    member.start()
    member.claim(0)
    member.assign(0, offset=0)
    member.deliver(0, 1)
    assert rules(member) == ["S3"]


def test_s3_a_heartbeat_that_is_void_ends_the_lease():
    member = one()
    member.beat(0, ClaimVerdict.VOID)
    member.deliver(0, 1)
    assert rules(member) == ["S3"]


def test_s3_a_heartbeat_of_the_claim_before_says_nothing_of_this_one():
    member = one()
    late = member.put(ClaimMessage.HEARTBEAT, 0, 0)
    member.lose(0)
    member.own(0, 0)
    member.read_back(late, ClaimVerdict.VOID)
    member.deliver(0, 1)
    assert rules(member) == []
    member.lose(0)
    late = member.put(ClaimMessage.HEARTBEAT, 0, 0)
    member.claim(0)
    member.read_back(late, ClaimVerdict.RENEWED)
    member.assign(0, offset=0)
    member.deliver(0, 1)
    assert rules(member) == ["S3"]


def test_s3_a_claim_of_another_ends_the_lease():
    member = one()
    member.see(0, "b/2")
    member.deliver(0, 1)
    assert rules(member) == ["S3"]


def test_s3_a_release_ends_the_lease():
    member = one()
    member.release(0)
    member.deliver(0, 1)
    assert rules(member) == ["S3"]
