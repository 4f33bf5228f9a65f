"""What time and topics do to a group of KIP-848: targets, sessions, and ends of patience.

Decides: that a new target is not made sooner than an interval after the one before, when a silent
member is removed, and that the loss of the last member of KIP-848 turns what is left into a classic
group (`broker_facts.md` K1, K3, K6).
Never: reads requests; `heartbeats` and `classic_members` do.
"""

import re
from collections.abc import Iterable
from functools import partial

from kgroup.testing.broker.agenda import Timer
from kgroup.testing.broker.cluster.cluster import Cluster, Topic
from kgroup.testing.broker.cluster.configuring import HEARTBEAT, SESSION
from kgroup.testing.broker.consumer_groups.assigning import ASSIGNORS, Wish
from kgroup.testing.broker.consumer_groups.group import ConsumerGroup
from kgroup.testing.broker.consumer_groups.member import ConsumerMember
from kgroup.testing.broker.consumer_groups.turning import downgraded
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.coordinators import Coordinators
from kgroup.testing.broker.groups.group import Group
from kgroup.testing.broker.groups.shard import Shard


class Pace:
    """What moves the groups of KIP-848 of one cluster.

    Args:
        context: clock and settings.
        coordinators: the groups.
        cluster: the topics.
    """

    def __init__(self, context: Context, coordinators: Coordinators, cluster: Cluster) -> None:
        self._context = context
        self._coordinators = coordinators
        self._cluster = cluster
        for shard in coordinators.shards:
            shard.on_loaded = partial(self._begin_sessions, shard)

    # -- targets ---------------------------------------------------------------------------------

    def advance(self, group: ConsumerGroup) -> None:
        """Look at the topics, and make another target if one is asked for and due."""
        self._look_at_topics(group)
        due = self._context.agenda.now - group.target_at >= (
            self._context.settings.consumer_assignment_interval
        )
        if group.epoch > group.target_epoch and due:
            self._assign(group)

    def _look_at_topics(self, group: ConsumerGroup) -> None:
        """Let topics that came, went or grew ask for another target."""
        seen = {
            topic.topic_id: len(topic.partitions)
            for member in group.members.values()
            for topic in self._topics_of(member)
        }
        if seen == group.seen:
            return
        if group.seen and group.epoch == group.target_epoch:
            group.epoch += 1
        group.seen = seen

    def _topics_of(self, member: ConsumerMember) -> Iterable[Topic]:
        fits = None if member.regex is None else re.compile(member.regex)
        for name, topic in self._cluster.topics.items():
            if name in member.topics or (fits is not None and fits.fullmatch(name)):
                yield topic

    def _assign(self, group: ConsumerGroup) -> None:
        wishes = {
            member_id: Wish(
                topics=frozenset(topic.topic_id for topic in self._topics_of(member)),
                has=group.target.get(member_id, frozenset()),
                order=member.instance_id or member_id,
            )
            for member_id, member in group.members.items()
        }
        group.target = ASSIGNORS[group.assignor](group.seen, wishes)
        group.target_epoch, group.target_at = group.epoch, self._context.agenda.now

    # -- sessions --------------------------------------------------------------------------------

    def times(self, group: ConsumerGroup) -> tuple[float, float]:
        """Return a group's session time-out and heartbeat interval, seconds."""
        settings = self._context.settings
        own = self._coordinators.configs.get(group.group_id, {})
        session, beat = own.get(SESSION), own.get(HEARTBEAT)
        return (
            settings.consumer_session_timeout if session is None else int(session) / 1000,
            settings.consumer_heartbeat_interval if beat is None else int(beat) / 1000,
        )

    def _begin_sessions(self, shard: Shard) -> None:
        """Begin every session anew, as a coordinator that has read its log does."""
        for group in shard.consumer_groups.values():
            for member in group.members.values():
                self.renew(group, member)
                self.bound_revocation(group, member)

    def renew(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """Begin a member's session anew; that of a classic member is its own."""
        if member.session is not None:
            member.session.cancel()
        session, _ = self.times(group)
        if member.classic is not None:
            session = member.classic.session_timeout
        member.session = self.expel_after(session, group, member)

    def bound_revocation(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """Bound the time a member may take to give up what others wait for."""
        if not member.revoking:
            if member.revocation is not None:
                member.revocation.cancel()
            member.revocation = None
        elif member.revocation is None:
            member.revocation = self.expel_after(member.rebalance_timeout, group, member)

    # -- members that go -------------------------------------------------------------------------

    def expel_after(self, seconds: float, group: ConsumerGroup, member: ConsumerMember) -> Timer:
        """Remove a member some time from now, unless the timer is cancelled."""
        return self._context.agenda.after(seconds, partial(self.expel, group, member))

    def expel(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """Remove a member that is there still; its next heartbeat is refused (25)."""
        if group.members.get(member.member_id) is member:
            self.let_go(group, member)

    def let_go(self, group: ConsumerGroup, *members: ConsumerMember) -> None:
        """Take members out together; classic ones that are left among themselves begin a round."""
        turns = group.only_classic_without(*members)
        epoch = group.epoch
        for member in members:
            group.remove(member)
        if turns:
            shard = self._coordinators.shard_of(group.group_id)
            classic = self.turn_back(group, epoch)
            shard.rounds.prepare(classic)

    def turn_back(self, group: ConsumerGroup, epoch: int) -> Group:
        """Let a group whose members are all classic be a classic one again, in its epoch."""
        shard = self._coordinators.shard_of(group.group_id)
        classic = downgraded(group, epoch, self._context.coordinator, self._cluster)
        shard.turn_to_classic(classic)
        return classic
