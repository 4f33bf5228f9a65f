"""Which records are handed out, which are done, and so which offset may be committed.

Decides: the committable offset of a claim: below it every record handed out is done.
Never: commits; counts a record as done because it was handed out. That is at-least-once: a process
that dies has committed only finished records. Records of one read are not covered by a commit
before the next read, `done`, or an explicit commit.

A `Handout` is one stretch of offsets in the application's hands. Several of a claim may be out at
once and finish in any order. The committable offset stops at the first that is not done, also when
that was dropped, until a seek or an explicit commit.

With a bound, the ledger counts the records that a crash would repeat: handed out, and covered by no
commit. After the position is set back, only a commit that is asked for later covers them: an older
one has a higher offset, and the next commit replaces it.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import count

from kgroup.offsets.reset import Exposed
from kgroup.types import Claim, OffsetAndMetadata
from kgroup.values import dataclass


@dataclass(slots=True, eq=False)
class Handout:
    """Records of one claim in the application's hands; changed by the ledger only, but for
    `left_at` and `read`, which it never looks at.

    Args:
        claim: the period of ownership.
        next_offset: first offset after it.
        done_to: below this all its records are done; begins where the stretch before it ended.
        leader_epoch: epoch of its records, None when not known or not the same for all.
        in_hand: whether the application still holds it.
        void: whether a seek, or the end of the claim, has made it meaningless for commits.
        left_at: how far it is done if the application ends well now; None for all of it.
        read: which read handed it out, None where that does not matter.
        account: that of its claim, while nothing was handed out or sought after it; else None.
    """

    claim: Claim
    next_offset: int
    done_to: int
    leader_epoch: int | None
    in_hand: bool = True
    void: bool = False
    left_at: int | None = 0
    read: object = None
    account: "_Account | None" = None

    @property
    def finished(self) -> bool:
        """Whether every record of it is done."""
        return self.done_to >= self.next_offset


@dataclass(slots=True)
class _Account:
    """One claim.

    Args:
        handed: first offset that is not handed out.
        handed_epoch: leader epoch of the record before it.
        committed: what the coordinator holds, None while that is not known.
        done: below this everything is done; handouts begin here.
        done_epoch: leader epoch of the record before it.
        decreed: moment at which the position was set anew, 0 when it is the first of the claim or
            the coordinator's.
        asked: moment at which the commit was asked for that `committed` is from, 0 without one.
        handouts: those that are not done, in order.
        exposed: the records handed out and not committed; empty without a bound.
    """

    handed: int
    handed_epoch: int | None
    committed: int | None
    done: int
    done_epoch: int | None
    decreed: int
    asked: int
    handouts: deque[Handout] = field(default_factory=deque)
    exposed: Exposed = field(default_factory=Exposed)

    @property
    def moved(self) -> bool:
        """Whether the position was set since the newest commit that is answered was asked for."""
        return self.decreed > self.asked


class Ledger:
    """The accounts of one consumer.

    Args:
        bound: most records of a claim that are handed out beyond what is committed, None for any
            number.
    """

    __slots__ = ("_accounts", "_in_hand", "_moments", "bound")

    def __init__(self, bound: int | None = None) -> None:
        self.bound: int | None = bound
        self._moments = count(1)
        self._accounts: dict[Claim, _Account] = {}
        self._in_hand: dict[Claim, set[Handout]] = {}

    # -- positions -------------------------------------------------------------------------

    def begin(
        self, claim: Claim, offset: int, epoch: int | None = None, *, committed: bool = False
    ) -> None:
        """Set a claim's position: read from the coordinator, found by a reset, or sought.

        Records in hand stay in hand, but no longer count for commits.

        Args:
            claim: the period of ownership.
            offset: the next to hand out.
            epoch: leader epoch of the record before it.
            committed: whether the coordinator said so.
        """
        old = self._accounts.get(claim)
        known = offset if committed else (None if old is None else old.committed)
        if old is not None:
            for handout in old.handouts:
                handout.void, handout.account = True, None
        asked = 0 if old is None else old.asked
        # The first position does not take back a commit that was asked for before it.
        decreed = 0 if committed or old is None else self.moment()
        account = _Account(offset, epoch, known, offset, epoch, decreed, asked)
        self._accounts[claim] = account
        if old is not None:
            account.exposed = old.exposed
            account.exposed.cut(offset)
        if committed:
            account.exposed.cover(offset)

    def renew(self, claim: Claim) -> None:
        """Begin anew with a recreated topic: nothing of it is handed out or committed."""
        self.begin(claim, 0)
        account = self._accounts[claim]
        # Answers to commits that were asked for before are about its predecessor.
        account.committed, account.asked = None, self.moment()

    def has_committed(self, claim: Claim) -> bool:
        """Tell whether the coordinator is known to hold an offset of this claim's topic."""
        account = self._accounts.get(claim)
        return account is not None and account.committed is not None

    def end(self, claim: Claim) -> None:
        """Forget a claim that is over."""
        account = self._accounts.pop(claim, None)
        if account is not None:
            for handout in account.handouts:
                handout.void, handout.account = True, None
        self._in_hand.pop(claim, None)

    def handed(self, claim: Claim) -> int | None:
        """Return the next offset to hand out, None while no position is known."""
        account = self._accounts.get(claim)
        return None if account is None else account.handed

    # -- handouts --------------------------------------------------------------------------

    def hand_out(self, claim: Claim, next_offset: int, epoch: int | None) -> Handout:
        """Hand out the records up to an offset.

        Args:
            claim: one with a position.
            next_offset: first offset after what is handed out.
            epoch: leader epoch of the records, None when it is not the same for all.
        """
        self._settle(claim)  # what `deliver` has finished is behind it now
        account = self._accounts[claim]
        if account.handouts:
            account.handouts[-1].account = None
        handout = Handout(claim, next_offset, account.handed, epoch, account=account)
        account.handouts.append(handout)
        account.handed, account.handed_epoch = next_offset, epoch
        self._in_hand.setdefault(claim, set()).add(handout)
        return handout

    def extend(self, handout: Handout, next_offset: int) -> bool:
        """Hand out one more stretch under a handout; all that was in it is done.

        One handout serves a run of single records, because this runs for each of them.

        Returns:
            Whether it was handed out. Not when something of the claim was handed out or sought
            after the handout, or it is done with.
        """
        account = handout.account
        if account is None:
            return False
        handout.done_to = handout.next_offset
        handout.next_offset = account.handed = next_offset
        return True

    def deliver(self, handout: Handout) -> None:
        """Count the newest handout as done, and as out of hand, while it goes on to be extended."""
        handout.done_to = handout.next_offset
        if handout.in_hand:
            self.drop(handout)

    def skip(self, claim: Claim, next_offset: int) -> None:
        """Move over offsets without records that an application could see."""
        account = self._accounts[claim]
        account.handed = max(account.handed, next_offset)

    def finish(self, handout: Handout, upto: int | None = None) -> None:
        """Count a handout, or its part below `upto`, as done; when whole it is out of hand."""
        target = handout.next_offset if upto is None else min(upto, handout.next_offset)
        handout.done_to = max(handout.done_to, target)
        if handout.finished:
            self.drop(handout)
        self._settle(handout.claim)

    def drop(self, handout: Handout) -> None:
        """Take a handout out of the application's hands without counting the rest as done."""
        handout.in_hand = False
        held = self._in_hand.get(handout.claim)
        if held is not None:
            held.discard(handout)
            if not held:
                del self._in_hand[handout.claim]

    def finish_all(self, claim: Claim, upto: int | None = None) -> None:
        """Count everything handed out (below `upto`) as done, also what was dropped undone."""
        account = self._accounts.get(claim)
        for handout in () if account is None else tuple(account.handouts):
            self.finish(handout, upto)

    def cut(self, handout: Handout, offset: int) -> bool:
        """Shorten a handout: its records from an offset on could not be used; `rewind` follows.

        Returns:
            Whether it was shortened. Not when a seek has made the handout meaningless.
        """
        if handout.void or handout.finished or offset >= handout.next_offset:
            return False
        handout.next_offset = max(offset, handout.done_to)
        return True

    def rewind(self, handout: Handout) -> bool:
        """Go on behind a handout that was cut: the rest will be handed out again.

        Records handed out later no longer count for commits, as after a seek.

        Returns:
            Whether the position went back. Not when a seek has set it meanwhile.
        """
        account = self._accounts.get(handout.claim)
        if account is None or handout.void or handout not in account.handouts:
            return False
        while account.handouts[-1] is not handout:
            later = account.handouts.pop()
            later.void, later.account = True, None
        account.handed, account.handed_epoch = handout.next_offset, handout.leader_epoch
        account.exposed.cut(handout.next_offset)
        self.finish(handout, handout.done_to)
        return True

    def in_hand(self, claim: Claim) -> bool:
        """Tell whether the application holds records of a claim."""
        return claim in self._in_hand

    def held(self) -> tuple[Handout, ...]:
        """Return every handout in the application's hands."""
        return tuple(handout for handouts in self._in_hand.values() for handout in handouts)

    def _settle(self, claim: Claim) -> None:
        account = self._accounts.get(claim)
        while account is not None and account.handouts and account.handouts[0].finished:
            handout = account.handouts.popleft()
            handout.account = None
            account.done, account.done_epoch = handout.next_offset, handout.leader_epoch

    # -- the bound -------------------------------------------------------------------------

    def expose(self, claim: Claim, offsets: Sequence[int]) -> None:
        """Count records that are handed out, but not those that are committed already.

        Args:
            claim: one with a position.
            offsets: of the records, rising.
        """
        if self.bound is None:
            return
        account = self._accounts[claim]
        if account.committed is not None and not account.moved:
            offsets = offsets[bisect_left(offsets, account.committed) :]
        account.exposed.add(offsets)

    def room(self, claim: Claim) -> int | None:
        """Return how many records more may be handed out now, None for any number."""
        account = self._accounts.get(claim)
        if self.bound is None or account is None:
            return self.bound
        return max(self.bound - account.exposed.count, 0)

    def is_at_bound(self, claim: Claim) -> bool:
        """Tell whether nothing more of a claim may be handed out before a commit."""
        return self.room(claim) == 0

    # -- commits ---------------------------------------------------------------------------

    def committable(self, claim: Claim) -> OffsetAndMetadata | None:
        """Return the offset below which everything is done, None while no position is known."""
        account = self._accounts.get(claim)
        if account is None:
            return None
        if not account.handouts:
            same = account.handed == account.done
            epoch = account.done_epoch if same else account.handed_epoch
            return OffsetAndMetadata(account.handed, leader_epoch=epoch)
        first = account.handouts[0]
        began = first.done_to <= account.done
        epoch = account.done_epoch if began else first.leader_epoch
        return OffsetAndMetadata(max(first.done_to, account.done), leader_epoch=epoch)

    def uncommitted(self) -> Iterator[tuple[Claim, OffsetAndMetadata]]:
        """Yield the offsets that may be committed and are not yet.

        A commit goes back only where the position was set back since the last one: an offset that
        the application committed ahead of its reading stays. With a bound, records that are done
        again after a seek back are committed again, also up to the same offset: the ledger needs
        the answer.
        """
        for claim, account in self._accounts.items():
            offset = self.committable(claim)
            again = account.moved and account.exposed.count > 0
            if offset is None or (offset.offset == account.committed and not again):
                continue
            if account.committed is None or account.moved or offset.offset > account.committed:
                yield claim, offset

    def moment(self) -> int:
        """Return a number higher than all before: when a commit was asked for, by this order."""
        return next(self._moments)

    def acknowledged(self, claim: Claim, offset: int, asked: int) -> None:
        """Note that the coordinator holds an offset.

        1. A commit is on its way; 2. the application seeks back; 3. the answer comes. The seek is
        newer: records read after it are committed all the same.

        Args:
            claim: the period of ownership.
            offset: the one that was committed.
            asked: `moment` at which the commit was asked for; an answer to an older one than
                before is ignored.
        """
        account = self._accounts.get(claim)
        if account is not None and asked > account.asked:
            account.committed, account.asked = offset, asked
            if not account.moved:
                account.exposed.cover(offset)
