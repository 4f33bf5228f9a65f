"""Planted bugs of identity, ownership, and what a member must prove before it acts."""

from tests.search.mutants.mutant import Change, Mutant
from tests.search.simulation.schedule import Mode

IDENTITY = (
    Mutant(
        name="the member id is dropped when a round begins",
        module="kgroup.machine.reactions",
        changes=(
            Change(
                "        _E.COORDINATOR_LOAD_IN_PROGRESS: _R.RETRY,\n"
                "        _E.REBALANCE_IN_PROGRESS: _R.REJOIN,\n"
                "        _E.ILLEGAL_GENERATION: _R.LOSE_GENERATION,\n"
                "        _E.UNKNOWN_MEMBER_ID: _R.LOSE_MEMBER,\n"
                "        _E.FENCED_INSTANCE_ID: _R.FENCE,\n"
                "        _E.UNKNOWN_SERVER_ERROR: _R.RETRY,\n"
                "    },\n"
                "    ApiKey.CONSUMER_GROUP_HEARTBEAT: {\n",
                "        _E.COORDINATOR_LOAD_IN_PROGRESS: _R.RETRY,\n"
                "        _E.REBALANCE_IN_PROGRESS: _R.LOSE_MEMBER,\n"
                "        _E.ILLEGAL_GENERATION: _R.LOSE_GENERATION,\n"
                "        _E.UNKNOWN_MEMBER_ID: _R.LOSE_MEMBER,\n"
                "        _E.FENCED_INSTANCE_ID: _R.FENCE,\n"
                "        _E.UNKNOWN_SERVER_ERROR: _R.RETRY,\n"
                "    },\n"
                "    ApiKey.CONSUMER_GROUP_HEARTBEAT: {\n",
            ),
        ),
        rule="S9",
    ),
    Mutant(
        name="a member id that the coordinator does not know is kept",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "        Action.FORGET_MEMBER: lambda turn: _forget(turn, Identity()),\n",
                "        Action.FORGET_MEMBER: lambda turn: _forget(\n"
                "            turn, Identity(member_id=turn.member.identity.member_id)\n"
                "        ),\n",
            ),
        ),
        rule="S9",
    ),
    Mutant(
        name="the JoinGroup after a loss names the generation that was lost",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "            turn, Identity(member_id=turn.member.identity.member_id)\n"
                "        ),\n",
                "            turn, turn.member.identity\n        ),\n",
            ),
        ),
        rule="S9",
    ),
    Mutant(
        name="claims are kept over a loss",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "    turn.put_holdings(holdings.after(HoldingTrigger.LOST, holdings.claims))\n",
                "    turn.put_holdings(holdings.after(HoldingTrigger.RETURNED, holdings.claims))\n",
            ),
        ),
        rule="B2",
    ),
    Mutant(
        name="the answer to a heartbeat of an older generation is believed",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "        heartbeat=None,\n        heartbeat_at=due,\n",
                "        heartbeat_at=due,\n",
            ),
        ),
        rule="S8",
    ),
    Mutant(
        name="a commit refused in an older generation ends the present one",
        module="kgroup.membership.translate",
        changes=(
            Change(
                "    if event.generation != turn.member.identity.generation:\n",
                "    if turn.member.identity.generation is None:\n",
            ),
        ),
        rule="S8",
        mode=Mode.COOPERATIVE,
        plan="a commit arrives after a round",
    ),
    Mutant(
        name="an assignment is adopted although a heartbeat has said that its generation is over",
        module="kgroup.membership.ending_rows",
        changes=(
            Change(
                "        (_S.PREPARING, _S.ASSIGNING, _S.SYNCING),\n"
                "        (_T.GENERATION_LOST, _T.LEASE_EXPIRED),\n"
                "        to=_S.FINDING,\n",
                "        (_S.PREPARING, _S.ASSIGNING),\n"
                "        (_T.GENERATION_LOST, _T.LEASE_EXPIRED),\n"
                "        to=_S.FINDING,\n",
            ),
            Change(
                "        (_S.PREPARING, _S.ASSIGNING, _S.SYNCING, _S.STABLE),\n"
                "        _T.MEMBER_LOST,\n",
                "        (_S.PREPARING, _S.ASSIGNING, _S.STABLE),\n        _T.MEMBER_LOST,\n",
            ),
            Change(
                "    fan((_S.FINDING, _S.BACKING_OFF), _T.MEMBER_LOST, do=LOSE_MEMBER),\n",
                "    fan((_S.FINDING, _S.BACKING_OFF), _T.MEMBER_LOST, do=LOSE_MEMBER),\n"
                "    fan(_S.SYNCING, (_T.GENERATION_LOST, _T.MEMBER_LOST)),\n"
                "    fan(_S.SYNCING, _T.LEASE_EXPIRED, to=_S.FINDING, do=LOSE_GENERATION),\n",
            ),
        ),
        rule="S9",
    ),
    Mutant(
        name="the answer to a JoinGroup is taken although the member has unsubscribed",
        module="kgroup.membership.joining_rows",
        changes=(
            Change(
                "        MEMBER,\n        (_T.UNSUBSCRIBED, _T.CLOSE_REQUESTED),\n",
                "        tuple(state for state in MEMBER if state is not _S.JOINING),\n"
                "        (_T.UNSUBSCRIBED, _T.CLOSE_REQUESTED),\n",
            ),
            Change(
                "    fan(_S.DORMANT, _T.UNSUBSCRIBED, to=_S.UNSUBSCRIBED),\n",
                "    fan(_S.JOINING, _T.UNSUBSCRIBED),\n"
                "    fan(_S.JOINING, _T.CLOSE_REQUESTED, to=_S.RELEASING, do=(_A.RELEASE_ALL,)),\n"
                "    fan(_S.DORMANT, _T.UNSUBSCRIBED, to=_S.UNSUBSCRIBED),\n",
            ),
        ),
        rule="L7",
        mode=Mode.EAGER,
        plan="one unsubscribes while its JoinGroup is answered",
    ),
    Mutant(
        name="heartbeats name the generation of the assignment before",
        module="kgroup.membership.requests",
        changes=(
            Change(
                "    return heartbeat_of(generation)\n",
                "    before = member.round.assigned_in or generation.generation_id\n"
                "    return heartbeat_of(replace(generation, generation_id=before))\n",
            ),
        ),
        rule="S8",
    ),
    Mutant(
        name="changes of ownership are numbered anew after a loss",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "    turn.member = replace(\n        turn.member,\n        heartbeat=None,\n"
                "        round=replace(\n            turn.member.round,\n"
                "            leader=False,\n",
                "    turn.member = replace(\n        turn.member,\n        heartbeat=None,\n"
                "        next_change=1,\n"
                "        round=replace(\n            turn.member.round,\n"
                "            leader=False,\n",
            ),
        ),
        rule="B1",
    ),
)
"""What the coordinator and the member know each other by."""


# -- ownership -------------------------------------------------------------------------------------


OWNERSHIP = (
    Mutant(
        name="a cooperative JoinGroup leaves out one of the partitions that its sender has",
        module="kgroup.membership.requests",
        changes=(
            Change(
                "        owned=() if member.eager "
                "else tuple(sorted(member.holdings.partitions)),\n",
                "        owned=() if member.eager "
                "else tuple(sorted(member.holdings.partitions))[1:],\n",
            ),
        ),
        rule="S4",
    ),
    Mutant(
        name="a member keeps what its assignment lacks",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "    gone = tuple(claim for claim in member.holdings.claims "
                "if claim.tp not in usable)\n",
                "    gone = ()\n",
            ),
        ),
        rule="K3",
        mode=Mode.COOPERATIVE,
    ),
    Mutant(
        name="a loss is not reported",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "    if lost:\n        turn.call_listener(ChangeKind.LOST, removed=lost)\n",
                "    if not lost:\n        turn.call_listener(ChangeKind.LOST, removed=lost)\n",
            ),
        ),
        rule="B2",
    ),
    Mutant(
        name="a leader does not read what members hold",
        module="kgroup.assignors.leader",
        changes=(Change("        owned=read.owned,\n", "        owned=(),\n"),),
        rule="S2",
        mode=Mode.COOPERATIVE,
    ),
    Mutant(
        name="a round takes away and gives again what a member keeps",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "    kept = tuple(claim for claim in member.holdings.claims "
                "if claim.tp in usable)\n"
                "    gone = tuple(claim for claim in member.holdings.claims "
                "if claim.tp not in usable)\n",
                "    kept = ()\n    gone = member.holdings.claims\n",
            ),
        ),
        rule="K1",
        mode=Mode.COOPERATIVE,
    ),
    Mutant(
        name="an assignment counts together with the one before",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "            assigned=usable,\n",
                "            assigned=usable | member.round.assigned,\n",
            ),
        ),
        rule="S1",
        mode=Mode.EAGER,
    ),
    Mutant(
        name="a JoinGroup does not list what is still being given up",
        module="kgroup.membership.requests",
        changes=(
            Change(
                "from kgroup.frozen import replace\n",
                "from kgroup.frozen import replace\n"
                "from kgroup.machine.claims import HoldingState as _H\n",
            ),
            Change(
                "tuple(sorted(member.holdings.partitions)),\n",
                "tuple(\n"
                "            c.tp for c in member.holdings.having(_H.HELD, _H.DRAINING)\n"
                "        ),\n",
            ),
        ),
        rule="S2",
        mode=Mode.COOPERATIVE,
    ),
)
"""Which member has what, and which one knows."""


# -- proof -----------------------------------------------------------------------------------------


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
                "        return replace(self, confirmed_at=confirmed_at, lapsed=False)\n",
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
                "        return replace(self, confirmed_at=None, synced_at=None, lapsed=False)\n",
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
