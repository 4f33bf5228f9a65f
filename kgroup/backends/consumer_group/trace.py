"""What the journal says about each step of the machine.

Decides: which journal events a step is worth.
Never: decides anything about the group.
"""

import logging

from kgroup.consumer_group.events import Send
from kgroup.consumer_group.states import FACTS
from kgroup.consumer_group.step import Step
from kgroup.consumer_group.value import ConsumerGroupMember
from kgroup.journal import GenerationEntered, JoinIssued, Sink, StateChanged
from kgroup.machine.wishes import CallListener, claims_ended
from kgroup.types import ChangeKind, MemberState, OwnershipChange, RebalanceProtocol
from kgroup.wire.messages import ConsumerGroupHeartbeatRequest

log = logging.getLogger("kgroup.consumer_group")

_NAMED = 5
"""Partitions that one line of the log names."""


class MemberTrace:
    """Turns steps into journal events and log lines.

    Args:
        sink: takes the events.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def stepped(self, before: ConsumerGroupMember, result: Step) -> None:
        """Report one step: rows that moved the state, an epoch entered, a join sent.

        Rows that moved nothing, and triggers that had no effect, go to the log alone.

        Args:
            before: the value the step began with.
            result: what it came to.
        """
        after = result.member
        group = after.settings.group_id
        self._ended(before, result)
        for row in result.rows:
            log.debug("group=%s row=%s to=%s", group, row, row.to.name)
            if row.at is MemberState.LEAVING and row.to is not row.at:
                log.info("group=%s member=%s left", group, after.settings.member_id)
            if row.to is not row.at:
                self._sink.emit(StateChanged(row.at, row.to, row.on.value))
        for state, trigger in result.ignored:
            log.debug("group=%s at=%s vain=%s", group, state, trigger)
        self._entered(before, after)
        for effect in result.effects:
            if isinstance(effect, Send):
                self._joining(after, effect)

    def _ended(self, before: ConsumerGroupMember, result: Step) -> None:
        """Report claims whose end this step decided; a call that is repeated says nothing new."""
        for effect in result.effects:
            if not isinstance(effect, CallListener) or effect.change.serial < before.next_change:
                continue
            if effect.change.removed:
                self._sink.emit(claims_ended(effect.change))
            if effect.change.kind is ChangeKind.LOST:
                self._lost(result.member, effect.change)

    def _lost(self, member: ConsumerGroupMember, change: OwnershipChange) -> None:
        partitions = ", ".join(str(claim.tp) for claim in change.removed[:_NAMED])
        if len(change.removed) > _NAMED:
            partitions += f" and {len(change.removed) - _NAMED} more"
        group = member.settings.group_id
        log.warning("group=%s lost partitions=%s cause=%s", group, partitions, change.cause.value)

    def _entered(self, before: ConsumerGroupMember, after: ConsumerGroupMember) -> None:
        generation = after.identity.generation
        same = generation == before.identity.generation
        if generation is None or not FACTS[after.state].heartbeats:
            return
        if same and after.assigned.completed == before.assigned.completed:
            return
        log.info(
            "group=%s epoch=%d member=%s partitions=%d cause=%s",
            generation.group_id,
            generation.generation_id,
            generation.member_id,
            len(after.holdings.claims),
            after.cause.value if after.cause else "",
        )
        self._sink.emit(
            GenerationEntered(
                generation_id=generation.generation_id,
                member_id=generation.member_id,
                protocol_name=generation.protocol_name,
                protocol=RebalanceProtocol.COOPERATIVE,
                assignment=tuple(sorted(after.takeable())),
            )
        )

    def _joining(self, member: ConsumerGroupMember, effect: Send) -> None:
        request = effect.request
        joins = isinstance(request, ConsumerGroupHeartbeatRequest) and request.member_epoch == 0
        if joins:
            cause = "" if member.cause is None else member.cause.value
            self._sink.emit(
                JoinIssued(
                    member_id=member.settings.member_id, generation_id=None, owned=(), cause=cause
                )
            )
