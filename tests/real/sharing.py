"""Members of ours and one of another library's share a topic, and each does its part.

Decides: what it means that members get along: every partition has one owner, each owner reads
what is its own, and the member that is left takes over where the other one stopped.
"""

from collections.abc import Sequence

import anyio

from tests.real.ground import Ground, committed, describe, eventually
from tests.real.members import Group, Member
from tests.real.peers import Peer

PARTITIONS = 6
WAVE = 20


async def share(
    group: Group, peer: Peer, assignor: str, *, we_lead: bool, count: int = 1
) -> list[Member]:
    """Have all read a topic, then end the peer, and judge what each did.

    Args:
        group: of ours, without members; its options say what they offer.
        peer: the other library's member.
        assignor: name of the one that must be in use.
        we_lead: whether our member comes first, and so divides.
        count: of members of ours.

    Returns:
        Ours, which have left.
    """
    ground = group.ground
    await ground.fill(WAVE)
    async with anyio.create_task_group() as tasks:
        if we_lead:
            await group.join("ours-1")
            await group.settled(PARTITIONS)
        await tasks.start(peer.run)
        if not we_lead:
            # kafka-python now and then waits for a request of its own to time out (30 s) first.
            alone = "the peer owns all"
            await eventually(lambda: len(peer.owned) == PARTITIONS, alone, timeout=45.0)
        while len(group.members) < count:
            await group.join(f"ours-{len(group.members) + 1}")
        everybody: tuple[Member | Peer, ...] = (*group.members, peer)
        await eventually(lambda: shared(ground, everybody), "each owns its part")
        assert [each.consumer.membership.leader for each in group.members].count(True) == we_lead
        await read_by_their_owners(ground, everybody)
        await anyio.to_thread.run_sync(check_description, group, assignor)
        peer.stop()
    await group.settled(*[PARTITIONS // count] * count)
    await ground.fill(WAVE)
    await group.all_read(peer)
    ours = list(group.members)
    await group.end()
    found = await anyio.to_thread.run_sync(committed, ground.kafka, group.name)
    assert found == ground.sent
    return ours


def shared(ground: Ground, everybody: Sequence[Member | Peer]) -> bool:
    """Tell whether every partition is owned once, and each has as many as the others."""
    owned = [tp for each in everybody for tp in each.owned]
    return sorted(owned) == sorted(ground.all_partitions) and {
        len(each.owned) for each in everybody
    } == {PARTITIONS // len(everybody)}


async def read_by_their_owners(ground: Ground, everybody: Sequence[Member | Peer]) -> None:
    """Write a wave and wait until it is read: each place by its owner."""
    before = ground.expected()
    await ground.fill(WAVE)
    await eventually(
        lambda: {place for each in everybody for place in each.seen} == ground.expected(),
        "all is read",
    )
    for each in everybody:
        news = [place for place in each.seen if place not in before]
        assert {tp for tp, _ in news} == each.owned
        assert len(news) == len(set(news)) == WAVE * len(each.owned)


def check_description(group: Group, assignor: str) -> None:
    """Hear the coordinator's own word on it."""
    described = describe(group.ground.kafka, group.name)
    assert (described.group_state, described.protocol_data) == ("Stable", assignor)
    assert len(described.members) == len(group.members) + 1
