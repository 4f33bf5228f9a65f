"""What the journal says about each step of the machine.

Decides: which journal events a step is worth.
Never: decides anything about the group.
"""

import logging

from kgroup.journal import (
    GenerationEntered,
    JoinIssued,
    RoundFailed,
    Sink,
    StateChanged,
)
from kgroup.machine.wishes import claims_ended
from kgroup.membership.events import CallListener, Send
from kgroup.membership.step import Step
from kgroup.membership.triggers import Trigger
from kgroup.membership.value import GroupMember
from kgroup.types import ChangeKind, MemberState, OwnershipChange
from kgroup.wire.consumer_protocol import decode_subscription
from kgroup.wire.messages import JoinGroupRequest

log = logging.getLogger("kgroup.membership")

_NAMED = 5
"""Partitions that one line of the log names."""


class MemberTrace:
    """Turns steps into journal events and log lines.

    Args:
        sink: takes the events.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def stepped(self, before: GroupMember, result: Step, now: float) -> None:
        """Report one step: rows that moved the state, a generation entered, a JoinGroup sent.

        Rows that moved nothing, and triggers that had no effect, go to the log alone.

        Args:
            before: the value the step began with.
            result: what it came to.
            now: its instant.
        """
        after = result.member
        cause = after.round.cause
        self._ended(before, result)
        for row in result.rows:
            log.debug("group=%s row=%s to=%s", after.settings.group_id, row, row.to.name)
            if row.at is MemberState.LEAVING and row.to is not row.at:
                self._left(before, after)
            if row.on is Trigger.ASSIGNOR_FAILED:
                self._failed(after, now)
            if row.to is not row.at:
                self._sink.emit(StateChanged(row.at, row.to, row.on.value))
        for state, trigger in result.ignored:
            log.debug("group=%s at=%s vain=%s", after.settings.group_id, state, trigger)
        if after.identity.synced and after.round.completed != before.round.completed:
            self._entered(after)
        for effect in result.effects:
            if isinstance(effect, Send) and isinstance(effect.request, JoinGroupRequest):
                self._joining(after, effect.request, cause.value if cause else "")

    def _left(self, before: GroupMember, after: GroupMember) -> None:
        """Log that it is out of the group, and whether the coordinator was asked to let it go."""
        asked_to_leave = before.state is MemberState.LEAVING and before.round.ticket is not None
        group, member = before.settings.group_id, before.identity.member_id
        closing = after.wishes.closing
        reason = after.release_cause().value if closing is None else closing.reason
        text = "group=%s member=%s left leave_sent=%s reason=%s"
        log.info(text, group, member, asked_to_leave, reason)

    def _failed(self, member: GroupMember, now: float) -> None:
        generation = member.identity.generation
        assert generation is not None
        self._sink.emit(
            RoundFailed(
                generation_id=generation.generation_id,
                protocol_name=generation.protocol_name,
                reason=str(member.lead.failure),
                retry_after=member.round.retry_at - now,
            )
        )

    def _ended(self, before: GroupMember, result: Step) -> None:
        """Report claims whose end this step decided; a call that is repeated says nothing new."""
        for effect in result.effects:
            if not isinstance(effect, CallListener) or effect.change.serial < before.next_change:
                continue
            if effect.change.removed:
                self._sink.emit(claims_ended(effect.change))
            if effect.change.kind is ChangeKind.LOST:
                self._lost(result.member, effect.change)

    def _lost(self, member: GroupMember, change: OwnershipChange) -> None:
        partitions = ", ".join(str(claim.tp) for claim in change.removed[:_NAMED])
        if len(change.removed) > _NAMED:
            partitions += f" and {len(change.removed) - _NAMED} more"
        group = member.settings.group_id
        log.warning("group=%s lost partitions=%s cause=%s", group, partitions, change.cause.value)

    def _entered(self, member: GroupMember) -> None:
        generation = member.identity.generation
        assert generation is not None
        log.info(
            "group=%s generation=%d member=%s assignor=%s leader=%s partitions=%d cause=%s",
            generation.group_id,
            generation.generation_id,
            generation.member_id,
            generation.protocol_name,
            member.round.leader,
            len(member.round.assigned),
            member.round.cause.value if member.round.cause else "",
        )
        self._sink.emit(
            GenerationEntered(
                generation_id=generation.generation_id,
                member_id=generation.member_id,
                leader=member.round.leader,
                protocol_name=generation.protocol_name,
                protocol=member.protocol,
                assignment=tuple(sorted(member.round.assigned)),
            )
        )

    def _joining(self, member: GroupMember, request: JoinGroupRequest, cause: str) -> None:
        generation = member.identity.generation
        # What the others will read counts, not what the member believes to have said.
        sent = decode_subscription(request.protocols[0].metadata)
        self._sink.emit(
            JoinIssued(
                member_id=member.identity.member_id,
                generation_id=None if generation is None else generation.generation_id,
                owned=tuple(sorted(sent.owned)),
                cause=cause,
            )
        )
