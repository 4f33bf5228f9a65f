"""Groups made for tests: by hand in one line, or drawn by Hypothesis."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import product

from hypothesis import strategies as st

from kgroup.assignors import GroupSubscription, Member, PartitionRacks
from kgroup.types import TopicPartition
from kgroup.wire.user_data import encode_sticky_user_data

RACKS = ("a", "b", "c")
TOPICS = ("t", "u", "v")


def tp(name: str) -> TopicPartition:
    """`t-3` -> TopicPartition("t", 3)."""
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


def tps(names: str) -> tuple[TopicPartition, ...]:
    """`t-0 t-1` -> both partitions."""
    return tuple(tp(name) for name in names.split())


def member(member_id, topics="t", owned="", generation_id=None, **more):
    """Make a member that claims in both ways, for the eager and the cooperative."""
    claim = tps(owned)
    return Member(
        member_id=member_id,
        topics=frozenset(topics.split()),
        owned=claim,
        generation_id=generation_id,
        user_data=encode_sticky_user_data(claim, generation_id) if claim else None,
        **more,
    )


def group(members, **counts):
    """`group([...], t=3)`: topic t with three partitions, no racks."""
    topics = {
        topic: {number: PartitionRacks() for number in range(count)}
        for topic, count in counts.items()
    }
    return GroupSubscription(tuple(members), topics)


def claiming(member: Member, owned: Iterable[TopicPartition], generation_id: int | None) -> Member:
    """Return the member, claiming partitions in both ways: for the eager and the cooperative."""
    claim = tuple(owned)
    data = encode_sticky_user_data(claim, generation_id)
    return replace(member, owned=claim, generation_id=generation_id, user_data=data)


def after(described, assignment, generation_id):
    """Return the group as it joins the next round, holding what it was just given."""
    members = (claiming(m, assignment.of(m.member_id), generation_id) for m in described.members)
    return GroupSubscription(tuple(members), described.topics)


def target(assignment):
    """Member -> what it has in the end, with what is withheld in this round."""
    ends = {who: set(given) for who, given in assignment.partitions.items()}
    for partition, who in assignment.withheld.items():
        ends[who].add(partition)
    return ends


claimed = st.builds(TopicPartition, st.sampled_from((*TOPICS, "gone")), st.integers(-1, 6))
members_drawn = st.lists(
    st.tuples(
        st.sets(st.sampled_from((*TOPICS, "missing"))),
        st.lists(claimed, max_size=6).map(tuple),
        st.sampled_from([None, 1, 2]),
        st.sampled_from([None, None, *RACKS]),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)
topics_drawn = st.fixed_dictionaries(
    {
        topic: st.lists(
            st.sets(st.sampled_from(RACKS), max_size=2).map(
                lambda racks: PartitionRacks(min(racks, default=None), frozenset(racks))
            ),
            max_size=6,
        ).map(lambda racks: dict(enumerate(racks)))
        for topic in TOPICS
    }
)


@st.composite
def groups(draw, *, equal=None, racks=True):
    """Draw a group with false, stale and contradicting claims; `equal` fixes subscriptions."""
    if equal is None:
        equal = draw(st.booleans())
    drawn = draw(members_drawn)
    members = [
        Member(
            member_id=f"m{index}",
            group_instance_id=f"i{9 - index}" if static else None,
            topics=frozenset(drawn[0][0] if equal else topics),
            owned=owned,
            generation_id=generation_id,
            rack=rack if racks else None,
            user_data=encode_sticky_user_data(owned, generation_id),
        )
        for index, (topics, owned, generation_id, rack, static) in enumerate(drawn)
    ]
    return GroupSubscription(tuple(members), draw(topics_drawn))


def every_assignment(described):
    """Yield every complete assignment of a tiny group, as partition -> member id."""
    able = [
        [m.member_id for m in described.subscribers(partition.topic)]
        for partition in described.partitions
    ]
    for choice in product(*able):
        yield dict(zip(described.partitions, choice, strict=True))
