"""Mutants of identity: member ids, generations, and what an error says about them."""

from tests.search.mutants.mutant import Change, Mutant
from tests.search.simulation.schedule import Mode

__all__ = ["IDENTITY"]

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
                "    ApiKey.OFFSET_COMMIT: {\n",
                "        _E.COORDINATOR_LOAD_IN_PROGRESS: _R.RETRY,\n"
                "        _E.REBALANCE_IN_PROGRESS: _R.LOSE_MEMBER,\n"
                "        _E.ILLEGAL_GENERATION: _R.LOSE_GENERATION,\n"
                "        _E.UNKNOWN_MEMBER_ID: _R.LOSE_MEMBER,\n"
                "        _E.FENCED_INSTANCE_ID: _R.FENCE,\n"
                "        _E.UNKNOWN_SERVER_ERROR: _R.RETRY,\n"
                "    },\n"
                "    ApiKey.OFFSET_COMMIT: {\n",
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
                "        (_S.PREPARING, _S.ASSIGNING, _S.SYNCING, _S.STABLE),\n"
                "        (_T.GENERATION_LOST, _T.LEASE_EXPIRED),\n"
                "        to=_S.FINDING,\n",
                "        (_S.PREPARING, _S.ASSIGNING, _S.STABLE),\n"
                "        (_T.GENERATION_LOST, _T.LEASE_EXPIRED),\n"
                "        to=_S.FINDING,\n",
            ),
            Change(
                "        (_S.PREPARING, _S.ASSIGNING, _S.SYNCING, _S.STABLE),\n"
                "        _T.MEMBER_LOST,\n",
                "        (_S.PREPARING, _S.ASSIGNING, _S.STABLE),\n        _T.MEMBER_LOST,\n",
            ),
            Change(
                "    fan((_S.FINDING, _S.BACKING_OFF), _T.MEMBER_LOST, do=_LOSE_MEMBER),\n",
                "    fan((_S.FINDING, _S.BACKING_OFF), _T.MEMBER_LOST, do=_LOSE_MEMBER),\n"
                "    fan(_S.SYNCING, (_T.GENERATION_LOST, _T.MEMBER_LOST)),\n"
                "    fan(_S.SYNCING, _T.LEASE_EXPIRED, to=_S.FINDING, do=_LOSE_GENERATION),\n",
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
                "    return HeartbeatRequest(\n"
                "        group_id=generation.group_id,\n"
                "        generation_id=generation.generation_id,\n",
                "    return HeartbeatRequest(\n"
                "        group_id=generation.group_id,\n"
                "        generation_id=member.round.assigned_in or generation.generation_id,\n",
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
