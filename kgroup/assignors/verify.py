"""The leader's last look at an assignment, whichever assignor made it.

Decides: whether it may be sent. A wrong one fails the round loudly, before SyncGroup.
Never: repairs anything, judges balance.
KIPs: 429 (nothing is handed over before it was revoked).
"""

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import isfinite

from kgroup.assignors.api import USER_DATA_LIMIT
from kgroup.assignors.assignment import GroupAssignment
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.numbering import Numbered, PartitionNumbering
from kgroup.errors import AssignorError
from kgroup.types import RebalanceProtocol, TopicPartition

SHOWN = 5

Given = Sequence[tuple[str, Sequence[int]]]
"""(member id, indices of what it was given) for every member of the group, in order."""


def verify(
    group: GroupSubscription,
    assignment: GroupAssignment,
    *,
    assignor: str,
    protocol: RebalanceProtocol,
) -> None:
    """Check an assignment against the group it is for.

    Args:
        group: what the assignor was given.
        assignment: what it returned.
        assignor: its name, for the error.
        protocol: what the members of the group follow.

    Raises:
        AssignorError: it leaves a member out or names a stranger; gives partitions in something
            that can be read only once, like a generator; names a partition that does not exist;
            gives one twice, to a member that does not subscribe to its topic, or to nobody
            without saying so; carries user data that is not bytes or too long, or asks for a
            round that is not in the future; or, with COOPERATIVE, gives away what another member
            still holds. It lists the first offences of each kind.
    """
    if not isinstance(assignment, GroupAssignment):
        raise AssignorError(assignor, [f"returned {assignment!r}, not a GroupAssignment"])
    offences = [*_strangers(group, assignment), *_passing(assignment), *_extras(assignment)]
    if not offences:
        given = _in_indices(group, assignment)
        offences = [
            *_inventions(group, assignment),
            *_not_subscribed(group, given),
            *_not_once(group, assignment, given),
        ]
        if not offences and protocol is RebalanceProtocol.COOPERATIVE:
            offences = list(_early_handovers(group, given))
    if offences:
        raise AssignorError(assignor, offences)


def _strangers(group: GroupSubscription, assignment: GroupAssignment) -> Iterator[str]:
    members = {member.member_id for member in group.members}
    named = {*assignment.partitions, *assignment.user_data}
    named.update(who for who in assignment.withheld.values() if who is not None)
    strangers = sorted(map(repr, named - members))
    if strangers:
        yield f"named {_some(strangers)}, who is not a member"
    forgotten = sorted(map(repr, members - assignment.partitions.keys()))
    if forgotten:
        yield f"has no entry, not even an empty one, for {_some(forgotten)}"


def _passing(assignment: GroupAssignment) -> Iterator[str]:
    """Check that what is read here is still there when it is written: an iterator is used up."""
    given: Mapping[str, object] = assignment.partitions  # foreign code made it
    for member_id, partitions in given.items():
        if not isinstance(partitions, Collection):
            kind = type(partitions).__name__
            yield f"gave {member_id!r} partitions in a {kind}, which is no tuple or list"


def _extras(assignment: GroupAssignment) -> Iterator[str]:
    """Check what travels with the partitions."""
    user_data: Mapping[str, object] = assignment.user_data  # foreign code made it
    for member_id, data in user_data.items():
        if not isinstance(data, bytes):
            yield f"has user data for {member_id!r} that is not bytes: {data!r}"
        elif len(data) > USER_DATA_LIMIT:
            yield f"has {len(data)} bytes for {member_id!r}; a member may have {USER_DATA_LIMIT}"
    after: object = assignment.rejoin_after
    seconds = isinstance(after, int | float) and after > 0 and isfinite(after)
    if after is not None and not seconds:
        yield f"wants to rejoin after {after!r}, not a positive number of seconds"


def _in_indices(group: GroupSubscription, assignment: GroupAssignment) -> Given:
    known = group.partitions
    return [
        (member.member_id, _indices(known, assignment.partitions[member.member_id]))
        for member in group.members
    ]


def _indices(known: PartitionNumbering, given: Sequence[TopicPartition]) -> Sequence[int]:
    if isinstance(given, Numbered) and given.numbering is known:
        return given.indices
    return known.indices_of(given)


def _inventions(group: GroupSubscription, assignment: GroupAssignment) -> Iterator[str]:
    """Check that everything given exists; what is given in indices of the group does."""
    invented = {tp for tp in assignment.withheld if not group.has(tp)}
    for given in assignment.partitions.values():
        if not (isinstance(given, Numbered) and given.numbering is group.partitions):
            invented.update(tp for tp in given if not group.has(tp))
    if invented:
        yield f"gave what does not exist {_partitions(invented)}"


def _not_subscribed(group: GroupSubscription, given: Given) -> Iterator[str]:
    everything: dict[frozenset[str], bool] = {}
    for member, (member_id, indices) in zip(group.members, given, strict=True):
        topics = member.topics
        if topics not in everything:
            everything[topics] = topics >= group.topics.keys()
        if everything[topics]:
            continue
        foreign = group.partitions.topics_of(indices) - topics
        if foreign:
            wrong = [tp for tp in group.partitions.select(indices) if tp.topic in foreign]
            yield f"gave {member_id!r} what it does not subscribe to {_partitions(wrong)}"


def _not_once(group: GroupSubscription, assignment: GroupAssignment, given: Given) -> Iterator[str]:
    seen = bytearray(len(group.partitions))
    twice: set[int] = set()
    withheld = group.partitions.indices_of(assignment.withheld)
    for indices in (withheld, *(indices for _, indices in given)):
        for index in indices:
            if seen[index]:
                twice.add(index)
            seen[index] = 1
    if twice:
        yield f"gave more than once {_partitions(group.partitions.select(sorted(twice)))}"
    if not all(seen):
        missing = [index for index, times in enumerate(seen) if not times]
        names = _partitions(group.partitions.select(missing))
        yield f"gave to nobody, and did not list as withheld, {names}"


def _early_handovers(group: GroupSubscription, given: Given) -> Iterator[str]:
    """Check that nothing is added to a member while another one's newest claim to it stands."""
    nobody = len(group.members)
    holder = array("i", [nobody]) * len(group.partitions)
    contested: dict[int, set[int]] = {}
    for place, member in enumerate(group.members):
        for index in group.partitions.indices_of(member.owned):
            if holder[index] not in (place, nobody):
                contested.setdefault(index, {holder[index]}).add(place)
            holder[index] = place
    early: list[str] = []
    for place, (member_id, indices) in enumerate(given):
        for index in indices:
            if holder[index] in (place, nobody) and index not in contested:
                continue
            rival = _rival(group, contested.get(index, {holder[index]}), place)
            if rival is not None:
                early.append(f"{group.partitions[index]} to {member_id!r} while {rival!r} holds it")
    if early:
        yield f"gave {_some(early)}; it has to withhold that until it has been revoked (KIP-429)"


def _rival(group: GroupSubscription, claimants: set[int], place: int) -> str | None:
    """Return the member that has to hand a partition back first, None when there is none.

    Of two claims in one generation either may be true. A claim without a generation
    (before KIP-792) is taken to be as new as any other; one of the generation that is being made,
    or of a later one, cannot be true, and counts only when nobody else claims the partition.
    """
    known = {at: group.members[at].generation_id for at in claimants}
    made = group.generation_id
    true = {at: it for at, it in known.items() if made is None or it is None or it < made}
    known = true or known
    newest = max((each for each in known.values() if each is not None), default=None)
    newest_claimants = [at for at in sorted(known) if newest is not None and known[at] == newest]
    undated = [at for at in sorted(known) if known[at] is None]
    if place in undated or newest_claimants == [place]:
        return None
    others = [at for at in (newest_claimants or undated) if at != place]
    return group.members[others[0]].member_id


def _partitions(partitions: Sequence[TopicPartition] | set[TopicPartition]) -> str:
    if isinstance(partitions, set):
        partitions = sorted(partitions)
    return _some([str(tp) for tp in partitions[:SHOWN]], len(partitions))


def _some(names: Sequence[str], count: int | None = None) -> str:
    count = len(names) if count is None else count
    more = f" and {count - SHOWN} more" if count > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
