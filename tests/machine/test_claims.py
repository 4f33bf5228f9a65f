"""Holdings: the life of a claim."""

import pytest

from kgroup.machine.claims import (
    HOLDING_ROWS,
    HoldingAction,
    HoldingGuard,
    Holdings,
    HoldingState,
    HoldingTrigger,
)
from kgroup.types import Claim, TopicPartition
from tests.machine.coverage import Expectation, findings

A0 = TopicPartition("a", 0)
A1 = TopicPartition("a", 1)
B0 = TopicPartition("b", 0)
B1 = TopicPartition("b", 1)


def held(*partitions: TopicPartition) -> Holdings:
    return Holdings().acquire(partitions)[0]


def test_serials_rise_and_are_never_reused() -> None:
    holdings, first = Holdings().acquire([A0, A1])
    holdings = holdings.after(HoldingTrigger.LOST, first)
    _, second = holdings.acquire([A0])
    assert [claim.serial for claim in (*first, *second)] == [1, 2, 3]


def test_a_kept_partition_keeps_its_claim() -> None:
    holdings = held(A0)
    again, added = holdings.acquire([A0])
    assert added == ()
    assert again.claims == holdings.claims


def test_a_draining_partition_can_be_taken_back() -> None:
    holdings = held(A0)
    draining = holdings.after(HoldingTrigger.RELEASED, holdings.claims)
    assert draining.having(HoldingState.DRAINING) == holdings.claims
    assert draining.after(HoldingTrigger.RETURNED, holdings.claims) == holdings


def test_a_partition_that_is_being_revoked_cannot_be_taken_back() -> None:
    holdings = held(A0)
    revoking = holdings.after(HoldingTrigger.RELEASED, holdings.claims).after(
        HoldingTrigger.DRAINED, holdings.claims
    )
    assert revoking.after(HoldingTrigger.RETURNED, holdings.claims) == revoking


def test_a_listener_that_returns_after_the_loss_changes_nothing() -> None:
    holdings = held(A0)
    lost = holdings.after(HoldingTrigger.LOST, holdings.claims)
    assert lost.after(HoldingTrigger.REVOKED, holdings.claims) == lost


def test_claims_stand_in_order_of_partition() -> None:
    holdings, _ = held(A1).acquire([A0])
    assert holdings.claims == (Claim(A0, 2), Claim(A1, 1))


def test_what_is_being_revoked_and_what_is_added_is_not_kept_beside_it() -> None:
    holdings, (a0, a1, b0, b1) = Holdings().acquire([A0, A1, B0, B1])
    holdings = holdings.after(HoldingTrigger.RELEASED, [a1, b0])
    holdings = holdings.after(HoldingTrigger.DRAINED, [b0])
    assert holdings.kept_beside([b1]) == (a0, a1)


def test_every_way_out_of_a_holding_ends_free() -> None:
    ends = {row.at for row in HOLDING_ROWS.rows if row.to is HoldingState.FREE}
    assert ends == {HoldingState.HELD, HoldingState.DRAINING, HoldingState.REVOKING}


WAYS = {
    HoldingState.HELD: (),
    HoldingState.DRAINING: (HoldingTrigger.RELEASED,),
    HoldingState.REVOKING: (HoldingTrigger.RELEASED, HoldingTrigger.DRAINED),
}

ROWS = [row for row in HOLDING_ROWS.rows if row.at is not HoldingState.FREE]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_leads_where_it_says(row) -> None:
    holdings = held(A0)
    for trigger in WAYS[row.at]:
        holdings = holdings.after(trigger, holdings.claims)
    after = holdings.after(row.on, holdings.claims)
    if row.to is HoldingState.FREE:
        assert after.claims == ()
    else:
        assert after.having(row.to) == holdings.claims


def test_every_trigger_possible_in_a_state_has_its_row() -> None:
    releasing = {HoldingTrigger.RELEASED, HoldingTrigger.RETURNED, HoldingTrigger.LOST}
    expectation: Expectation[HoldingState, HoldingTrigger, HoldingGuard, HoldingAction] = (
        Expectation(
            possible={
                HoldingState.FREE: frozenset({HoldingTrigger.ACQUIRED}),
                HoldingState.HELD: frozenset(releasing),
                HoldingState.DRAINING: frozenset(releasing | {HoldingTrigger.DRAINED}),
                HoldingState.REVOKING: frozenset(releasing | {HoldingTrigger.REVOKED}),
            },
            start=HoldingState.FREE,
            families=(),
            actions=frozenset(),
            rearms={},
        )
    )
    assert findings(HOLDING_ROWS, expectation) == ()
