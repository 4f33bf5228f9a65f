"""Mutants of proof: the lease, and the heartbeats that renew it."""

from tests.search.mutants.mutant import Change, Mutant
from tests.search.simulation.schedule import Mode

__all__ = ["PROOF"]

PROOF = (
    Mutant(
        name="the lease counts from when a heartbeat is answered",
        module="kgroup.membership.translate",
        changes=(
            Change(
                "        turn.put_lease(lease.confirmed(sent_at, "
                "synced=turn.member.identity.synced))\n",
                "        turn.put_lease(lease.confirmed(turn.now, "
                "synced=turn.member.identity.synced))\n",
            ),
        ),
        rule="S3",
        first=5282,
    ),
    Mutant(
        name="the lease knows the session only",
        module="kgroup.machine.lease",
        changes=(
            Change(
                "        return min(session_end, round_end) - self.margin\n",
                "        return max(session_end, min(session_end, round_end)) - self.margin\n",
            ),
        ),
        rule="S3",
        first=771,
    ),
    Mutant(
        name="a heartbeat that says that a round is on renews the time for the round",
        module="kgroup.machine.lease",
        changes=(
            Change(
                "        return replace(self, confirmed_at=_later(self.confirmed_at, sent_at))\n",
                "        return self.confirmed(sent_at, synced=True)\n",
            ),
        ),
        rule="S3",
        first=771,
    ),
    Mutant(
        name="a lease outlives the membership it proved",
        module="kgroup.machine.lease",
        changes=(
            Change(
                "        return replace(self, confirmed_at=None, synced_at=None)\n",
                "        return self\n",
            ),
        ),
        rule="S3",
    ),
    Mutant(
        name="heartbeats follow each other without a pause",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "    due = turn.now + member.settings.heartbeat_interval\n"
                "    turn.member = replace(member, heartbeat_at=due)\n",
                "    due = turn.now\n    turn.member = replace(member, heartbeat_at=due)\n",
            ),
        ),
        rule="L4",
    ),
    Mutant(
        name="no heartbeat is due while a listener runs",
        module="kgroup.membership.timers",
        changes=(
            Change(
                "    sends = member.identity.generation is not None\n",
                "    sends = member.identity.generation is not None and not member.changes\n",
            ),
        ),
        rule="B5",
    ),
    Mutant(
        name="heartbeats are further apart than they may be",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "    due = turn.now + member.settings.heartbeat_interval\n"
                "    turn.member = replace(member, heartbeat_at=due)\n",
                "    due = turn.now + 1.5 * member.settings.heartbeat_interval\n"
                "    turn.member = replace(member, heartbeat_at=due)\n",
            ),
        ),
        rule="L3",
    ),
    Mutant(
        name="no timer runs while the answer to SyncGroup is awaited",
        module="kgroup.membership.timers",
        changes=(
            Change(
                "for each in sorted(facts.timers, key=lambda one: one.value)),\n",
                "for each in sorted(facts.timers, key=lambda one: one.value)\n"
                "                  if state is not MemberState.SYNCING),\n",
            ),
        ),
        rule="L3",
        mode=Mode.EAGER,
        plan="the SyncGroup of the leader is late",
    ),
)
"""Until when a member may say that a partition is its own."""
