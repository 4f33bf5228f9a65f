"""The promises that an audit judges: one row each, with the oracle that judges it.

Decides: which promises users can have judged, and which oracles `at_least_once` asks.
Never: judges.

The searches for bugs judge more promises; `tests/search/oracles` extends this table.
The letter of an id groups it: S ownership, C commits, D delivery, K cooperative and T static
members, L liveness, B callbacks.
"""

import re
from collections.abc import Iterable, Mapping
from inspect import signature
from typing import Any, Final

from kgroup.audit.oracles.balance import Balanced
from kgroup.audit.oracles.commit_order import CommitOrder
from kgroup.audit.oracles.coverage import NothingLost
from kgroup.audit.oracles.delivery_order import DeliveryOrder
from kgroup.audit.oracles.duplicates import BoundedDuplicates
from kgroup.audit.oracles.gate import DeliveryGate, FetchedUnderClaim
from kgroup.audit.oracles.generations import OneOwnerPerGeneration
from kgroup.audit.oracles.heartbeats import Heartbeats
from kgroup.audit.oracles.ownership import OneOwnerInTime
from kgroup.audit.oracles.static import StaticUnnoticed
from kgroup.audit.oracles.watch import Oracle, looks_at_one_partition
from kgroup.journal.periods import Periods
from kgroup.types import TopicPartition
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise and the oracles that judge it.

    Args:
        rule: its id.
        text: the promise in a few words.
        oracles: the classes that judge it by events; empty where events cannot show it.
        elsewhere: what of it is judged elsewhere, where and why; "" for nothing.
        real: logs of real members can prove it, without the coordinator's own record.
    """

    rule: str
    text: str
    oracles: tuple[type[Oracle], ...] = ()
    elsewhere: str = ""
    real: bool = False

    @property
    def one_partition(self) -> bool:
        """Whether each partition can be judged without the others."""
        return all(map(looks_at_one_partition, self.oracles))


PROMISES: Final = (
    Promise("S1", "one owner per partition and generation", (OneOwnerPerGeneration,), real=True),
    Promise("S2", "one owner per partition at any time", (OneOwnerInTime,), real=True),
    Promise("S6", "delivery only while owned and not paused", (DeliveryGate,), real=True),
    Promise(
        "S7",
        "records are delivered under the claim they were fetched under",
        (FetchedUnderClaim,),
        real=True,
    ),
    Promise("C3", "accepted offsets do not decrease", (CommitOrder,), real=True),
    Promise(
        "C6", "one outcome, and an unknown one is repeated with care", (CommitOrder,), real=True
    ),
    Promise("C7", "a new owner reads what was committed", (CommitOrder,), real=True),
    Promise("D1", "nothing is lost, at the end and below each commit", (NothingLost,), real=True),
    Promise("D2", "offsets rise within a claim, without gaps", (DeliveryOrder,), real=True),
    Promise("D3", "a claim starts at the offset that was read", (DeliveryOrder,), real=True),
    Promise("D5", "no duplicates after a clean handover", (BoundedDuplicates,), real=True),
    Promise(
        "D6", "duplicates after a crash lie above the last commit", (BoundedDuplicates,), real=True
    ),
    Promise(
        "K3",
        "a group at rest is balanced",
        (Balanced,),
        "the number of moves, against references: `tests/assignors`",
    ),
    Promise(
        "T1", "a static restart within the session disturbs nobody", (StaticUnnoticed,), real=True
    ),
    Promise("L3", "heartbeats come when they should", (Heartbeats,)),
    Promise("B3", "nothing is delivered while the listener runs", (DeliveryGate,), real=True),
    Promise("B5", "heartbeats go on while a listener runs", (Heartbeats,)),
)
"""The promises of an audit, in the order of the documentation."""


def at_least_once(
    *,
    ends: Mapping[TopicPartition, int] | None = None,
    sparse: frozenset[str] = frozenset(),
    clean_handover: bool = True,
) -> tuple[Oracle, ...]:
    """Return fresh oracles for what logs prove of consumers that deliver at least once.

    Args:
        ends: partition -> offset after its last record, for a run that has come to rest.
        sparse: topics with offsets that consumers do not see.
        clean_handover: judge D5; False when the application commits by hand, or not at all.
    """
    given: Mapping[type[Oracle], Mapping[str, Any]] = {
        DeliveryOrder: {"sparse": sparse},
        NothingLost: {"ends": ends, "sparse": sparse},
        BoundedDuplicates: {"clean_handover": clean_handover},
    }
    return tuple(oracles_of([promise for promise in PROMISES if promise.real], given).values())


def oracles_of(
    promises: Iterable[Promise], given: Mapping[type[Oracle], Mapping[str, Any]]
) -> dict[str, Oracle]:
    """Return a fresh oracle of each class that judges one of some promises, by its name.

    The name is the class's, in small letters: `OneOwnerInTime` is `one_owner_in_time`. Oracles that
    follow the periods of ownership share one follower.

    Args:
        promises: rows of a table such as `PROMISES`.
        given: class -> what it is made with besides.
    """
    shared = {"periods": Periods()}
    made: dict[str, Oracle] = {}
    for kind in dict.fromkeys(kind for promise in promises for kind in promise.oracles):
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
        follows = shared if "periods" in signature(kind).parameters else {}
        made[name] = kind(**follows, **given.get(kind, {}))
    return made
