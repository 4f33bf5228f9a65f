"""Rounds and sessions of one coordinator: what time, joining and leaving do to a group.

Decides: when a round begins and ends, which members are dropped at its end, and when silence or a
missing SyncGroup costs a member its place (R2-R4, R8, R10 as corrected by `broker_facts.md` B4,
B7-B11, B14, B20, B22, C4, C7, D4, D5).
Never: reads requests; `joining` and `syncing` do.

A round that begins in Empty waits for the initial delay, and for nothing else: ids that were handed
out do not hold it up. Any other round ends when everybody waits and no such id is missing, or after
the longest rebalance timeout of its members.
"""

from collections.abc import Callable
from functools import partial

from kgroup.codes import ErrorCode
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.answers import join_refused, joined, sync_refused, synced
from kgroup.testing.broker.groups.group import Group, Phase
from kgroup.testing.broker.groups.member import Member, UnreadableMetadataError, topics_of
from kgroup.wire.messages import JoinGroupResponse, SyncGroupResponse

_REBALANCING = (Phase.COMPLETING, Phase.STABLE)

_TICK = 0.001
"""Seconds; timers of a real broker are not finer."""


class Rounds:
    """What moves the groups of one coordinator.

    Args:
        context: clock, answers, settings.
        store: writes a group to the coordinator's log, from which it is loaded after a move.
    """

    def __init__(self, context: Context, store: Callable[[Group], None]) -> None:
        self._context = context
        self._store = store

    # -- the beginning of a round ----------------------------------------------------------------

    def prepare(self, group: Group) -> None:
        """Begin a round, or let a change count in the one that runs.

        Raises:
            UnreadableMetadataError: see `complete`.
        """
        if group.phase is Phase.PREPARING:
            self.try_complete(group)
            return
        if group.phase is Phase.COMPLETING:
            self._hand_out(group, ErrorCode.REBALANCE_IN_PROGRESS)
        if group.sync_timer is not None:
            group.sync_timer.cancel()
        first = group.phase is Phase.EMPTY
        group.enter(Phase.PREPARING)
        group.emptied_at = None
        if first:
            self._begin_first(group)
        elif group.all_joined:
            self.complete(group)
        else:
            self._end_round_after(group, group.rebalance_timeout)

    def try_complete(self, group: Group) -> None:
        """Complete the running round if no member is missing.

        Raises:
            UnreadableMetadataError: see `complete`.
        """
        runs = group.phase is Phase.PREPARING and group.was is not Phase.EMPTY
        if runs and group.all_joined and not group.wedged:
            self.complete(group)

    def _begin_first(self, group: Group) -> None:
        delay = self._context.settings.initial_rebalance_delay
        left = max(group.rebalance_timeout - delay, 0.0)
        # A member that came in a window with no window after it still counts in this one.
        self._end_window_after(group, delay, left)

    def _end_window_after(self, group: Group, seconds: float, left: float) -> None:
        act = partial(self._end_window, group, seconds, left)
        group.join_timer = self._context.agenda.after(seconds, act)

    def _end_window(self, group: Group, window: float, left: float) -> None:
        """B22: a window in which somebody came is followed by another, at most R in all."""
        if group.newcomers and left > 0:
            group.newcomers = False
            delay = min(self._context.settings.initial_rebalance_delay, left)
            self._end_window_after(group, delay, max(left - window, 0.0))
            return
        self._complete_by_time(group)

    def _end_round_after(self, group: Group, seconds: float) -> None:
        act = partial(self._complete_by_time, group)
        group.join_timer = self._context.agenda.after(seconds, act)

    def _complete_by_time(self, group: Group) -> None:
        try:
            self.complete(group)
        except UnreadableMetadataError:
            return  # B14: no member can be answered, so waiting ones go on waiting

    # -- the end of a round ----------------------------------------------------------------------

    def complete(self, group: Group) -> None:
        """End the round: drop missing members, begin the next generation, answer waiting ones.

        Raises:
            UnreadableMetadataError: a real coordinator would throw here; the generation has gone
                on, no member is answered, and nothing will end the round by itself (B14).
        """
        if group.join_timer is not None:
            group.join_timer.cancel()
        for member in [*group.members.values()]:
            if member.join is None and member.instance_id is None:
                group.remove(member.member_id)
        if not group.elect_joined_leader() and group.members:
            # B10. With R = 0 the round would end again and again at this very instant.
            self._end_round_after(group, max(group.rebalance_timeout, _TICK))
            return
        self._begin_generation(group)
        if group.phase is Phase.EMPTY:
            self._store(group)
            return
        for member in [*group.members.values()]:
            self._admit(group, member)
        act = partial(self._drop_unsynced, group, group.generation_id)
        group.sync_timer = self._context.agenda.after(group.rebalance_timeout, act)

    def _begin_generation(self, group: Group) -> None:
        group.generation_id += 1
        group.unsynced.clear()
        if not group.members:
            group.protocol_name = None
            group.subscribed = frozenset()
            group.emptied_at = self._context.agenda.now
            group.enter(Phase.EMPTY)
            return
        group.protocol_name = group.elected()
        # 1. the operation that completes the round is used up; 2. reading the topics throws; 3. the
        # old coordinator makes another operation only when a round begins, and this one never ends.
        group.wedged = self._context.is_old
        group.subscribed = subscribed_topics(group)
        group.wedged = False
        group.enter(Phase.COMPLETING)

    def _admit(self, group: Group, member: Member) -> None:
        leads = member.member_id == group.leader_id
        self.answer_join(member, joined(group, member.member_id, listed=leads))
        self.renew(group, member)
        member.is_new = False
        group.unsynced.add(member.member_id)

    def answer_join(self, member: Member, answer: JoinGroupResponse) -> None:
        """Answer a parked JoinGroup, if there is one."""
        parked, member.join = member.join, None
        if parked is not None and parked.ticket is not None:
            self._context.outbox.reply(parked.ticket, answer)

    # -- SyncGroup -------------------------------------------------------------------------------

    def finish(self, group: Group, assignments: dict[str, bytes]) -> None:
        """Take the leader's assignment: store it and hand it out; strangers' parts are dropped."""
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
        group.enter(Phase.STABLE)
        self._store(group)
        self._hand_out(group, ErrorCode.NONE)

    def keep(self, group: Group) -> None:
        """Write a Stable group to the log as it is now, as after a static restart."""
        self._store(group)

    def _hand_out(self, group: Group, code: ErrorCode) -> None:
        for member in group.members.values():
            if code:
                member.assignment = b""
            answer = sync_refused(code) if code else synced(group, member.assignment)
            if self.answer_sync(member, answer):
                self.renew(group, member)

    def answer_sync(self, member: Member, answer: SyncGroupResponse) -> bool:
        """Answer a parked SyncGroup; False when there is none."""
        parked, member.sync = member.sync, None
        if parked is None or parked.ticket is None:
            return False
        self._context.outbox.reply(parked.ticket, answer)
        return True

    def heard_sync(self, group: Group, member_id: str) -> None:
        """Note that a member has sent SyncGroup in this generation."""
        group.unsynced.discard(member_id)

    def _drop_unsynced(self, group: Group, generation_id: int) -> None:
        """C4: a member that has not synced within R loses its place, also in Stable."""
        if generation_id != group.generation_id or group.phase not in _REBALANCING:
            return
        if not group.unsynced:
            return
        for member_id in [*group.unsynced]:
            group.remove(member_id)
        group.unsynced.clear()
        self._count_by_time(group)

    # -- sessions --------------------------------------------------------------------------------

    def renew(self, group: Group, member: Member) -> None:
        """Begin a member's session anew."""
        self._end_session_after(group, member, member.session_timeout)

    def admit_new(self, group: Group, member: Member) -> None:
        """Give a member that is parked without a session its own limit."""
        limit = self._context.settings.new_member_join_timeout
        self._end_session_after(group, member, limit)

    def _end_session_after(self, group: Group, member: Member, seconds: float) -> None:
        member.quiet()
        act = partial(self.expire, group, member)
        member.session = self._context.agenda.after(seconds, act)

    def expire(self, group: Group, member: Member) -> None:
        """End a session; one that waits for an answer stays until it has it (R10)."""
        if group.members.get(member.member_id) is member and not member.outlives_session:
            self.drop(group, member)

    def drop(self, group: Group, member: Member) -> None:
        """Remove a member whose session is over, and let that count."""
        self.let_go(group, member)
        self._count_by_time(group)

    def let_go(self, group: Group, member: Member) -> None:
        """Remove a member; its parked JoinGroup is answered, its parked SyncGroup never (C5)."""
        if member.join is not None:
            code = ErrorCode.UNKNOWN_MEMBER_ID
            self.answer_join(member, join_refused(code, member.join.version))
        group.remove(member.member_id)

    def hold_place(self, group: Group, member_id: str, session_timeout: float) -> None:
        """Hand out an id: it holds up rounds until it joins, leaves or its session ends (B3)."""
        act = partial(self._forget_place, group, member_id)
        group.pending[member_id] = self._context.agenda.after(session_timeout, act)

    def _forget_place(self, group: Group, member_id: str) -> None:
        group.forget_pending(member_id)
        if group.phase is Phase.PREPARING:
            self._count_by_time(group)

    def count_loss(self, group: Group) -> None:
        """Let the loss of members or of pending ids count: a round begins, or may end.

        Raises:
            UnreadableMetadataError: see `complete`.
        """
        if group.phase in _REBALANCING:
            self.prepare(group)
        else:
            self.try_complete(group)

    def _count_by_time(self, group: Group) -> None:
        """Let a loss that time brought count; the new rules then end even an initial delay."""
        try:
            if self._context.is_old or group.phase is not Phase.PREPARING:
                self.count_loss(group)
            elif group.all_joined:
                self.complete(group)
        except UnreadableMetadataError:
            return  # as in `_complete_by_time`


def subscribed_topics(group: Group) -> frozenset[str] | None:
    """Read the topics of all members under the present assignor.

    Returns:
        None when one of them is unknown, or when it is no consumer group.

    Raises:
        UnreadableMetadataError: a real coordinator would throw here (B14).
    """
    if group.protocol_type != "consumer":
        return None
    name = group.protocol_name or ""
    every: set[str] = set()
    for member in group.in_hash_order():
        topics = topics_of(member.metadata(name))
        if topics is None:
            return None  # the rest is not read, so it cannot fail
        every |= topics
    return frozenset(every)
