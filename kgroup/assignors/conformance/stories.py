"""What happens to a group between its rounds.

Decides: the single changes after which an assignor is watched.
Never: judges; see `checks_rounds`.
"""

from dataclasses import dataclass, replace
from enum import Enum

from kgroup.assignors.conformance.offence import Elsewhere
from kgroup.assignors.conformance.rounds import Gathering
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member

__all__ = ["Change", "Kind", "Story", "happen"]


class Kind(Enum):
    """What may happen."""

    NOTHING = "nothing"
    LEAVE = "leave"
    JOIN = "join"
    GROW = "grow"
    RESTART = "restart"
    SUBSCRIBE = "subscribe"

    @property
    def keeps_equal(self) -> bool:
        """Whether equal subscriptions are still equal afterwards."""
        return self is not Kind.SUBSCRIBE


@dataclass(frozen=True, slots=True)
class Change:
    """One change.

    Args:
        kind: what happens.
        which: to whom or to which topic, modulo how many there are.
    """

    kind: Kind
    which: int = 0


@dataclass(frozen=True, slots=True)
class Story:
    """A group, and what happens to it.

    Args:
        group: who is there at first; claims nothing.
        early: what happens first, so that the group has a past.
        change: after what it is watched.
        equal: whether all members subscribe to all topics.
    """

    group: GroupSubscription
    early: Change
    change: Change
    equal: bool = False


def happen(gathering: Gathering, change: Change, *, equal: bool) -> str:
    """Have something happen.

    Args:
        gathering: to which group.
        change: what.
        equal: whether a newcomer subscribes to everything.

    Returns:
        Who it was about: a member id or a topic; empty for nothing.

    Raises:
        Elsewhere: it cannot, as when the last member would leave.
    """
    members = sorted(member.member_id for member in gathering.members)
    topics = sorted(gathering.topics)
    which = change.which
    match change.kind:
        case Kind.NOTHING:
            return ""
        case Kind.LEAVE if len(members) > 1:
            who = members[which % len(members)]
            gathering.leave(who)
            return who
        case Kind.JOIN:
            return _join(gathering, which, equal=equal)
        case Kind.RESTART if members:
            return _restart(gathering, members[which % len(members)])
        case Kind.GROW if topics:
            topic = topics[which % len(topics)]
            last = max(gathering.topics[topic], default=-1)
            gathering.grow(topic, range(last + 1, last + 2 + which % 3))
            return topic
        case Kind.SUBSCRIBE if members:
            who = members[which % len(members)]
            gathering.subscribe(who, _some_topics(gathering, which))
            return who
        case _:
            raise Elsewhere("nothing can happen here")


def _join(gathering: Gathering, which: int, *, equal: bool) -> str:
    """Have a member join whose id comes first or last, and return its id."""
    racks = sorted({member.rack for member in gathering.members if member.rack is not None})
    who = f"{'0' if which % 2 else 'z'}-new-{len(gathering.members)}"
    topics = _some_topics(gathering, 0 if equal else which)
    rack = racks[which % len(racks)] if racks else None
    gathering.join(Member(member_id=who, topics=topics, rack=rack))
    return who


def _restart(gathering: Gathering, who: str) -> str:
    """Have a member come back with another id, a static one with its instance id, and no memory."""
    (member,) = (each for each in gathering.members if each.member_id == who)
    again = replace(member, member_id=f"{who}-again")
    gathering.leave(who)
    gathering.join(again)
    return again.member_id


def _some_topics(gathering: Gathering, which: int) -> frozenset[str]:
    """Return a part of what members subscribe to; with 0 all of it."""
    wanted = frozenset().union(*(member.topics for member in gathering.members))
    return frozenset(sorted(wanted)[which % 3 :])
