"""Where the next fetch of a claim begins, and how that becomes known.

Decides: the states of a position and every move between them.
Never: sends a request; decides what may be committed (`ledger` does); survives its claim.
KIPs: 320 (leader epochs, validation).

    AWAITING_COMMITTED   the coordinator is asked what the group has committed
    AWAITING_RESET       a leader is asked where its log starts or ends
    AWAITING_VALIDATION  a leader is asked whether its log still agrees with the position
    FETCHING             known

Each position set by decree (reset, seek) gets a new seek number. Answers carry the number they
were asked under, and an answer under another one changes nothing:
1. a fetch is sent; 2. the application seeks; 3. the fetch is answered: not what was sought.

A position that knows the epoch of the record before it is good under one leader, the one that
gave it or confirmed it. Under any other leader epoch it must be confirmed before the next fetch:
1. records up to 20 are read from a leader; 2. it dies, and an unclean election makes a replica
leader that only has 10; 3. others write 10 more; 4. a fetch at 20 would find nothing wrong.
"""

from typing import TypeAlias, assert_never

from kgroup.frozen import replace
from kgroup.offsets.reset import LogPlace
from kgroup.types import Claim, OffsetAndMetadata
from kgroup.values import dataclass
from kgroup.words import Word


class PositionState(Word):
    """What is known of a position."""

    AWAITING_COMMITTED = "awaiting committed"
    AWAITING_RESET = "awaiting reset"
    AWAITING_VALIDATION = "awaiting validation"
    FETCHING = "fetching"


@dataclass(frozen=True, slots=True)
class CommittedRead:
    """The coordinator named a committed offset; without one `ResetOwed` follows.

    Args:
        seek: number the question was asked under.
        committed: what it holds.
    """

    seek: int
    committed: OffsetAndMetadata


@dataclass(frozen=True, slots=True)
class ResetOwed:
    """There is no usable position: it must be looked up in the log.

    Args:
        seek: number the answer that said so was asked under.
        end: which end of the log, or which place in it.
    """

    seek: int
    end: LogPlace


@dataclass(frozen=True, slots=True)
class ResetFound:
    """A leader said where its log starts or ends.

    Args:
        seek: number the question was asked under.
        offset: the offset.
        leader_epoch: epoch of the record before it, None when not said.
        checked: epoch of the leader that said so, None when not known.
    """

    seek: int
    offset: int
    leader_epoch: int | None = None
    checked: int | None = None


@dataclass(frozen=True, slots=True)
class Sought:
    """The application, or the end of what two logs share, set the position; always heard.

    Args:
        offset: the next to fetch.
        leader_epoch: epoch of the record before it, None when not known.
        checked: epoch of the leader that said so, None when none did.
    """

    offset: int
    leader_epoch: int | None = None
    checked: int | None = None


@dataclass(frozen=True, slots=True)
class Received:
    """A fetch was answered up to an offset.

    Args:
        seek: number the fetch was sent under.
        offset: first offset that was asked for.
        next_offset: where to go on, at least `offset`.
        leader_epoch: epoch of the last batch, None when there was none.
        checked: epoch of the leader under which it was asked, None when not known.
    """

    seek: int
    offset: int
    next_offset: int
    leader_epoch: int | None = None
    checked: int | None = None


@dataclass(frozen=True, slots=True)
class EpochChanged:
    """The partition is led under this epoch; news when the position is good under another.

    Args:
        seek: number of the position that was looked at.
        leader_epoch: of the present leader (KIP-320).
    """

    seek: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class Validated:
    """The leader's log agrees with the position, or the brokers are too old to say.

    Args:
        seek: number the question was asked under.
        checked: epoch of the leader that was asked.
    """

    seek: int
    checked: int


PositionEvent: TypeAlias = (
    CommittedRead | ResetOwed | ResetFound | Sought | Received | EpochChanged | Validated
)


@dataclass(frozen=True, slots=True)
class Position:
    """The position of one claim.

    Args:
        claim: the period of ownership.
        state: what is known.
        offset: the next offset to fetch, None until the first is known.
        leader_epoch: epoch of the record before `offset`, None when not known.
        seek: number of the latest decree.
        end: the place in the log that is looked up, None in other states.
        checked: leader epoch under which it is good, None when under none that is known.
    """

    claim: Claim
    state: PositionState = PositionState.AWAITING_COMMITTED
    offset: int | None = None
    leader_epoch: int | None = None
    seek: int = 0
    end: LogPlace | None = None
    checked: int | None = None

    def after(self, event: PositionEvent) -> "Position":
        """Return the position after an event; itself when the event is too late to matter."""
        if isinstance(event, Sought):
            return self._decreed(event)
        if event.seek != self.seek:
            return self
        match event:
            case CommittedRead(committed=committed):
                return self._committed(committed)
            case ResetOwed(end=end):
                return self._owed(end)
            case ResetFound():
                awaited = self.state is PositionState.AWAITING_RESET
                return self._decreed(event) if awaited else self
            case Received():
                return self._received(event)
            case EpochChanged(leader_epoch=leader_epoch):
                return self._doubted(leader_epoch)
            case Validated(checked=checked):
                return self._validated(checked)
            case _:
                assert_never(event)

    def _decreed(self, event: Sought | ResetFound) -> "Position":
        return replace(
            self,
            state=PositionState.FETCHING,
            offset=event.offset,
            leader_epoch=event.leader_epoch,
            seek=self.seek + 1,
            end=None,
            checked=event.checked,
        )

    def _committed(self, committed: OffsetAndMetadata) -> "Position":
        if self.state is not PositionState.AWAITING_COMMITTED:
            return self
        return replace(
            self,
            state=PositionState.FETCHING,
            offset=committed.offset,
            leader_epoch=committed.leader_epoch,
            checked=None,
        )

    def _owed(self, end: LogPlace) -> "Position":
        # The number rises at once: answers still in flight for the old position are void.
        return replace(
            self,
            state=PositionState.AWAITING_RESET,
            end=end,
            seek=self.seek + 1,
        )

    def _received(self, event: Received) -> "Position":
        if self.state is not PositionState.FETCHING or event.offset != self.offset:
            return self
        if event.next_offset <= event.offset:
            return self
        return replace(
            self,
            offset=event.next_offset,
            leader_epoch=self.leader_epoch if event.leader_epoch is None else event.leader_epoch,
            checked=self.checked if event.checked is None else event.checked,
        )

    def _doubted(self, leader_epoch: int) -> "Position":
        good = self.leader_epoch is None or self.checked == leader_epoch
        if good or self.state is not PositionState.FETCHING:
            return self
        return replace(self, state=PositionState.AWAITING_VALIDATION)

    def _validated(self, checked: int) -> "Position":
        if self.state is not PositionState.AWAITING_VALIDATION:
            return self
        return replace(self, state=PositionState.FETCHING, checked=checked)
