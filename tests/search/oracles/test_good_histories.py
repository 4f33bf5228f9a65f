from collections.abc import Callable

import pytest

from kgroup.audit.oracles import (
    BoundedDuplicates,
    CommitOrder,
    DeliveryGate,
    DeliveryOrder,
    FetchedUnderClaim,
    NothingLost,
    OneOwnerInTime,
    OneOwnerPerGeneration,
    Oracle,
    StaticUnnoticed,
    judge,
)
from tests.audit.histories import EAGER, History, good_history, tp
from tests.search.oracles import members_oracles
from tests.search.oracles.commit_done import CommitsOnlyDone
from tests.search.oracles.commit_identity import CommitIdentity
from tests.search.oracles.cooperative import KeptUntouched
from tests.search.oracles.fenced import FencedSilent
from tests.search.oracles.few_rounds import FewRounds
from tests.search.oracles.handover import JoinClaims
from tests.search.oracles.lease import LeaseHeld
from tests.search.oracles.listener_calls import ListenerSerial
from tests.search.oracles.ownership_changes import OwnershipAlternates

ENDS = {tp(0): 32, tp(1): 15, tp(2): 20}


def eager_history() -> History:
    """Two eager members; the second one makes the first hand everything back."""
    history = History()
    a, b = (history.member(label, protocol=EAGER) for label in "ab")
    a.start()
    a.join(1, 0, 1)
    a.assign(0, 1, offset=0)
    for partition in (0, 1):
        a.deliver(partition, 5)
        a.commit(partition)
    b.start()
    a.heartbeat(error=27)
    a.revoke(0, 1)
    b.join(2, 1)
    a.join(2, 0)
    a.assign(0, offset=5)
    b.assign(1, offset=5)
    a.deliver(0, 5)
    b.deliver(1, 5)
    return history


@pytest.mark.parametrize("history", [good_history(), eager_history()], ids=["cooperative", "eager"])
@pytest.mark.parametrize(
    "oracle",
    [
        BoundedDuplicates,
        CommitIdentity,
        CommitOrder,
        CommitsOnlyDone,
        DeliveryGate,
        DeliveryOrder,
        FencedSilent,
        FetchedUnderClaim,
        FewRounds,
        JoinClaims,
        KeptUntouched,
        LeaseHeld,
        ListenerSerial,
        NothingLost,
        OneOwnerInTime,
        OneOwnerPerGeneration,
        OwnershipAlternates,
        StaticUnnoticed,
    ],
)
def test_an_oracle_is_silent_on_a_good_history(oracle: Callable[[], Oracle], history: History):
    assert judge([oracle()], history.entries) == ()


def test_the_whole_set_is_silent_when_the_end_offsets_agree():
    assert judge(members_oracles(ends=ENDS).values(), good_history().entries) == ()


def test_a_set_of_oracles_is_fresh_each_time():
    assert not set(map(id, members_oracles().values())) & set(map(id, members_oracles().values()))
