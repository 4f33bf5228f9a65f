"""Holdings: what a member owns, partition by partition, and how each one is given up.

Decides: the life of a claim (HELD, DRAINING, REVOKING, gone) and that a serial is never reused.
Never: why a partition is to be given up, or when to tell the group; the round machine does.
KIPs: 429 (only what moves is revoked).

    HELD      records may be handed out
    DRAINING  nothing new is handed out; a batch is still in the application's hands
    REVOKING  on_revoked runs
DRAINING can be taken back when a later assignment returns the partition; REVOKING cannot, for
the application has heard of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType

from kgroup.frozen import replace
from kgroup.machine.rows import Row, Table, fan
from kgroup.types import Claim, TopicPartition
from kgroup.values import dataclass
from kgroup.words import Word


class HoldingState(Word):
    """Where one partition of a member stands."""

    FREE = "free"
    HELD = "held"
    DRAINING = "draining"
    REVOKING = "revoking"


class HoldingTrigger(Word):
    """What can happen to one partition of a member."""

    ACQUIRED = "acquired"
    RELEASED = "released"
    RETURNED = "returned"
    DRAINED = "drained"
    REVOKED = "revoked"
    LOST = "lost"


class HoldingGuard(Word):
    """Holdings need no guards."""


class HoldingAction(Word):
    """Holdings need no actions: the states say everything."""


_H = HoldingState
_T = HoldingTrigger

HOLDING_ROWS: Table[HoldingState, HoldingTrigger, HoldingGuard, HoldingAction] = Table(
    (
        fan(_H.FREE, _T.ACQUIRED, to=_H.HELD, why="a new claim is minted"),
        fan(_H.HELD, _T.RELEASED, to=_H.DRAINING),
        fan(_H.HELD, _T.RETURNED, why="kept: nothing happens (KIP-429)"),
        fan(_H.DRAINING, _T.RELEASED),
        fan(_H.DRAINING, _T.RETURNED, to=_H.HELD, why="a later assignment gave it back"),
        fan(_H.DRAINING, _T.DRAINED, to=_H.REVOKING),
        fan(_H.REVOKING, (_T.RELEASED, _T.RETURNED), why="the application has heard of it"),
        fan(_H.REVOKING, _T.REVOKED, to=_H.FREE),
        fan((_H.HELD, _H.DRAINING, _H.REVOKING), _T.LOST, to=_H.FREE),
    )
)


@dataclass(frozen=True, slots=True)
class Holdings:
    """Everything one member owns.

    Args:
        states: claim -> state, never FREE, in order of partition.
        next_serial: serial of the next claim.
    """

    states: Mapping[Claim, HoldingState] = field(default_factory=lambda: MappingProxyType({}))
    next_serial: int = 1

    def __bool__(self) -> bool:
        return bool(self.states)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims, in order of partition."""
        return tuple(self.states)

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """All owned partitions."""
        return frozenset(claim.tp for claim in self.states)

    def having(self, *states: HoldingState) -> tuple[Claim, ...]:
        """Return the claims in any of some states, in order of partition."""
        return tuple([claim for claim, state in self.states.items() if state in states])

    def kept_beside(self, added: Iterable[Claim]) -> tuple[Claim, ...]:
        """Return the claims that a change which adds some leaves alone, in order of partition.

        What is being revoked is not kept, whether that change says so or one before it.
        """
        gained = frozenset(added)
        return tuple(each for each in self.having(_H.HELD, _H.DRAINING) if each not in gained)

    def acquire(self, partitions: Iterable[TopicPartition]) -> tuple["Holdings", tuple[Claim, ...]]:
        """Mint a claim for each partition that is not owned; return them in order."""
        owned = self.partitions
        fresh = sorted(frozenset(partitions) - owned)
        claims = tuple(Claim(tp, self.next_serial + i) for i, tp in enumerate(fresh))
        states = {**self.states, **dict.fromkeys(claims, _H.HELD)}
        return _sorted(states, self.next_serial + len(claims)), claims

    def after(self, trigger: HoldingTrigger, claims: Iterable[Claim]) -> "Holdings":
        """Return the holdings after `trigger` happened to `claims`; ended claims are skipped.

        A trigger that is impossible in a claim's state is skipped too: 1. a listener is asked
        to give p up, 2. p is lost, 3. the listener returns. Step 3 finds no claim.
        """
        states = dict(self.states)
        for claim in claims:
            state = states.get(claim)
            if state is None or not HOLDING_ROWS.cell(state, trigger):
                continue
            states[claim] = _row(state, trigger).to
            if states[claim] is _H.FREE:
                del states[claim]
        return replace(self, states=MappingProxyType(states))


def _row(
    state: HoldingState, trigger: HoldingTrigger
) -> Row[HoldingState, HoldingTrigger, HoldingGuard, HoldingAction]:
    return HOLDING_ROWS.find(state, trigger, lambda _: True)


def _sorted(states: Mapping[Claim, HoldingState], next_serial: int) -> Holdings:
    ordered = dict(sorted(states.items(), key=lambda item: item[0].tp))
    return Holdings(MappingProxyType(ordered), next_serial)
