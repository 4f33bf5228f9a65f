"""Every move of a position but by fetching: seek, reset, truncation, a recreated topic.

Decides: the effects of such a move. Buffered records are dropped; records in hand no longer count
for commits; the move is journalled and, unless the application asked for it, logged.
Never: asks a broker. Never moves a position because of an error.

Truncation (KIP-320): a leader was elected that lacks records which were read. With a reset policy
reading goes on at the offset where the logs diverge, as in Java's consumer, and not at an end of
the log: records before that offset were read, records after it were not. Without a policy every
read raises LogTruncatedError until a seek. Records that were fetched and not handed out are fetched
again without a warning.

A recreated topic (KIP-516) has none of the records that were read. It is read from its beginning,
whatever the policy, and no offset counts that was committed for its predecessor.
"""

import logging
from dataclasses import replace

from kgroup.config import FetchSettings
from kgroup.consumer.buffer.delivery import Delivery
from kgroup.consumer.buffer.notifiers import Notifiers
from kgroup.consumer.buffer.owned import Owned
from kgroup.errors import LogTruncatedError, OffsetOutOfRangeError
from kgroup.journal import PositionMove, PositionMoved, Sink
from kgroup.net.cluster import Cluster
from kgroup.net.log_offsets import EpochEnd, ListedOffset
from kgroup.offsets.positions import ResetFound, ResetOwed, Sought
from kgroup.offsets.reset import (
    LogEnd,
    LogPlace,
    ResetPolicy,
    Since,
    after_out_of_range,
    after_truncation,
)

log = logging.getLogger(__name__)


class Jumps:
    """Moves positions.

    Args:
        settings: reset policy.
        cluster: its view says which leader a position is good under; not owned.
        delivery: its claims and its ledger.
        notifiers: fired when something is to be asked, or a position is known.
        sink: takes the journal's events.
    """

    def __init__(
        self,
        settings: FetchSettings,
        cluster: Cluster,
        delivery: Delivery,
        notifiers: Notifiers,
        sink: Sink,
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._ledger = delivery.ledger
        self._notifiers = notifiers
        self._sink = sink

    # -- asked for -------------------------------------------------------------------------

    def seek(self, owned: Owned, offset: int, leader_epoch: int | None = None) -> None:
        """Put a claim at an offset the application chose; with an epoch it is validated first."""
        owned.sought += 1
        self._put(owned, Sought(offset, leader_epoch), PositionMove.SEEK)
        owned.led_under(self._cluster.view.leader_epoch(owned.tp))

    # -- brought about ---------------------------------------------------------------------

    def found(self, owned: Owned, seek: int, place: ListedOffset, checked: int | None) -> None:
        """Put a claim at the place that was looked up for it.

        Args:
            owned: the claim.
            seek: number of the position when the question was asked.
            place: what the leader said.
            checked: the leader's epoch.
        """
        if self._settings.forward_only and owned.move is not PositionMove.RECREATED:
            forward = self._forward(owned, place)
            if forward is None:
                self._look_up(owned, LogEnd.END, owned.move)
                return
            place = forward
        event = ResetFound(seek, place.offset, place.leader_epoch, checked)
        at_start = owned.position.end is LogEnd.START
        self._put(owned, event, owned.move)
        owned.log_began = place.offset if at_start else None

    def _forward(self, owned: Owned, place: ListedOffset) -> ListedOffset | None:
        """Return where to go on so that nothing is handed out twice; None: ask where the log ends.

        At most once. 1. A position is out of range, and the policy says: the beginning; 2. that is
        in front of what was handed out, so the log has lost its end, or has it again; 3. reading
        goes on at that end, or where it was, whichever comes first.
        """
        handed = self._ledger.handed(owned.claim)
        if handed is None or (place.offset >= handed and owned.position.end is not LogEnd.END):
            return place
        if owned.position.end is not LogEnd.END:
            return None
        if self._settings.reset_policy is ResetPolicy.LATEST:
            return place
        return place if place.offset < handed else replace(place, offset=handed)

    def out_of_range(self, owned: Owned) -> None:
        """Go on by the policy: the leader's log does not hold the position."""
        offset = owned.position.offset or 0
        try:
            place = after_out_of_range(self._settings.reset_policy, owned.tp, offset)
        except OffsetOutOfRangeError as error:
            owned.fail(error, blocked=True)
            return
        where = _words(place)
        log.warning("partition=%s offset=%d out of range, reset to %s", owned.tp, offset, where)
        self._look_up(owned, place, PositionMove.RESET)
        self._slow_down(owned)

    def _slow_down(self, owned: Owned) -> None:
        """Pause before a place is looked up again, when the last one was out of range.

        1. A leader names an offset that its log does not hold (N13), or that retention deletes at
        once; 2. the fetch there is out of range; 3. the leader is asked, and names it again.
        """
        owned.failures = max(owned.resets - 1, 0)
        if owned.resets:
            settings, now = self._settings, self._cluster.ports.clock()
            why = "its leader names an offset that is out of range"
            owned.put_off(now, settings.retry_backoff, settings.retry_backoff_max, why)
        owned.resets += 1

    def diverged(self, owned: Owned, end: EpochEnd, checked: int | None) -> None:
        """Go on where the logs diverge: the leader has fewer records of an epoch than were read.

        Args:
            owned: the claim.
            end: where the leader's log and what was read diverge, as far as it knows.
            checked: the leader's epoch.
        """
        at, epoch = (end.end_offset, end.leader_epoch) if end.known else (None, None)
        if at is not None and self._holds(owned, at, epoch, checked):
            return
        if owned.log_began is not None and self._ledger.handed(owned.claim) == owned.log_began:
            self._begin_again(owned)
            return
        owned.chunks.clear()
        position = self._ledger.handed(owned.claim) or 0
        try:
            place = after_truncation(
                self._settings.reset_policy,
                owned.tp,
                position,
                leader_epoch=owned.position.leader_epoch,
                diverged_at=at,
            )
        except LogTruncatedError as error:
            owned.fail(error, blocked=True)
            return
        where = f"offset {place}" if isinstance(place, int) else _words(place)
        text = "partition=%s offset=%d: the log was truncated, records that were read are gone; %s"
        log.warning(text, owned.tp, position, f"reading goes on at {where}")
        if isinstance(place, int):
            self._put(owned, Sought(place, epoch, checked), PositionMove.TRUNCATED)
        else:
            self._look_up(owned, place, PositionMove.TRUNCATED)

    def _begin_again(self, owned: Owned) -> None:
        """Ask again where the log begins: no record was read yet, so none may be skipped.

        1. A leader names a beginning behind the end of its log (N13), or loses its log just then;
        2. the logs diverge before it; 3. going on there would skip the records in front.
        """
        text = "partition=%s its log does not begin at %d, as its leader said; asked again"
        log.warning(text, owned.tp, owned.log_began)
        self._look_up(owned, LogEnd.START, PositionMove.RESET)
        self._slow_down(owned)

    def _holds(self, owned: Owned, at: int, epoch: int | None, checked: int | None) -> bool:
        """Go on when all records handed out are before the offset where the logs diverge.

        An epoch without records leaves no trace in a log: 1. the end of a log is asked for, a
        leader says 100, epoch 5; 2. another is elected before anything is written; 3. its log
        knows epochs 4 and 6. Epoch 4 ends at 100 there, nothing is gone.
        """
        offset, handed = owned.position.offset, self._ledger.handed(owned.claim)
        if offset is not None and at >= offset:
            owned.position = owned.position.after(Sought(offset, epoch, checked))
        elif handed is not None and at >= handed:
            log.info("partition=%s truncated to %d behind what was handed out", owned.tp, at)
            owned.chunks.clear()
            owned.position = owned.position.after(Sought(handed, None, checked))
        else:
            return False
        owned.succeeded()
        self._notify()
        return True

    def recreated(self, owned: Owned) -> None:
        """Go on at the beginning: the topic was deleted and created again."""
        log.warning(
            "partition=%s offset=%s: the topic was deleted and made anew, "
            "it is read from its beginning",
            owned.tp,
            owned.position.offset,
        )
        owned.renewed = True
        owned.high_watermark = owned.last_stable_offset = owned.log_start_offset = None
        self._look_up(owned, LogEnd.START, PositionMove.RECREATED)
        self._ledger.renew(owned.claim)

    # -- both ------------------------------------------------------------------------------

    def _put(self, owned: Owned, event: Sought | ResetFound, move: PositionMove) -> None:
        owned.forget_data()
        owned.fresh, owned.log_began = False, None
        owned.position = owned.position.after(event)
        self._ledger.begin(owned.claim, event.offset, event.leader_epoch)
        self._sink.emit(PositionMoved(owned.claim, event.offset, move))
        self._notify()

    def _look_up(self, owned: Owned, place: LogPlace, move: PositionMove) -> None:
        owned.forget_data()
        owned.move = move
        owned.position = owned.position.after(ResetOwed(owned.position.seek, place))
        self._notify()

    def _notify(self) -> None:
        self._notifiers.work.notify()
        self._notifiers.news.notify()


def _words(place: LogPlace) -> str:
    if isinstance(place, Since):
        return f"the first record of the last {place.age:g} s"
    return f"the {place.value} of the log"
