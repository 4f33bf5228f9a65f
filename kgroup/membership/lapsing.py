"""What a member does whose lease is over while no coordinator says what became of it.

Decides: what is kept of a membership that may still stand, and how its assignment is known again.
Never: hands anything out; that needs the lease, which SyncGroup's answer and a heartbeat renew.

1. The coordinator's broker is away for longer than the session; 2. it comes back, loads the group,
and begins each session anew; 3. the member asks under its generation, and is answered as before. A
member that asks for a new round instead gives up what it may keep. Records that were handed out may
still be committed: a coordinator that has given the partitions away refuses the generation.
"""

from kgroup.frozen import replace
from kgroup.membership.events import Note, Tell
from kgroup.membership.turn import Turn
from kgroup.membership.value import GroupMember


def lapse(turn: Turn) -> None:
    """Keep the generation and what is owned, unproved.

    The heartbeat that is out counts no more: it may be answered by a coordinator that is loading.
    """
    member = turn.member
    turn.put_identity(replace(member.identity, synced=False))
    turn.give_up(member.heartbeat)
    turn.put_lease(member.lease.lapse())
    turn.member = replace(turn.member, heartbeat=None)
    names = ", ".join(str(tp) for tp in sorted(member.holdings.partitions))
    turn.effects.append(Tell(Note.SESSION_UNCONFIRMED, names))


def is_resumed(member: GroupMember) -> bool:
    """Tell whether the generation that SyncGroup was answered for was adopted before it lapsed."""
    generation = member.identity.generation
    known = generation is not None and member.round.assigned_in == generation.generation_id
    return known and member.settings.outlives_lease
