"""What can happen to a simulated group.

Decides: the shapes of events and their names.
Never: knows the group they happen to; `population` does.
KIPs: 345 (a static member that restarts), 429 (a subscription that changes).
"""

from dataclasses import dataclass
from typing import TypeAlias, assert_never

__all__ = ["Event", "Grow", "Join", "Leave", "Restart", "Subscribe", "Wait", "in_words"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """A member joins.

    Args:
        member_id: None for a new one (`new-001`, ...).
        topics: what it subscribes to; None for what all others do.
        group_instance_id: static identity, None for a dynamic member.
        rack: where it runs, None when not told.
        user_data: see `SimulatedMember`.
    """

    member_id: str | None = None
    topics: frozenset[str] | None = None
    group_instance_id: str | None = None
    rack: str | None = None
    user_data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Leave:
    """A member leaves, or its session ends.

    Args:
        member: its member id or group instance id.
    """

    member: str


@dataclass(frozen=True, slots=True)
class Grow:
    """A topic gets more partitions, or comes to be.

    Args:
        topic: its name.
        partitions: how many it has then.
        racks: of the added partitions; see `SimulatedTopic.grown`.
    """

    topic: str
    partitions: int
    racks: tuple[tuple[str | None, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Subscribe:
    """A member subscribes to other topics.

    Args:
        member: its member id or group instance id.
        topics: all it subscribes to from now on.
    """

    member: str
    topics: frozenset[str]


@dataclass(frozen=True, slots=True)
class Restart:
    """Members end and come back under new member ids, one after the other.

    A dynamic member costs the group two rebalances, one when it leaves and one when it joins. A
    static one costs none: the coordinator gives the new process what the old one had.

    Args:
        members: their member ids or group instance ids, in the order of their restarts.
        member_ids: their new ones, in the same order; without any they are made up.
    """

    members: tuple[str, ...]
    member_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """Time passes; a leader that was told to rejoin after some time does so.

    Args:
        seconds: more than 0.
    """

    seconds: float


Event: TypeAlias = Join | Leave | Grow | Subscribe | Restart | Wait


def in_words(event: Event | None) -> str:
    """Return an event as a few words; None is the beginning."""
    match event:
        case None:
            return "start"
        case Join():
            return f"join {event.member_id}" if event.member_id else "join"
        case Leave():
            return f"leave {event.member}"
        case Grow():
            return f"grow {event.topic} to {event.partitions}"
        case Subscribe():
            return f"subscribe {event.member}"
        case Restart(members=(only,)):
            return f"restart {only}"
        case Restart():
            return f"restart {len(event.members)} members"
        case Wait():
            return f"wait {event.seconds:g} s"
        case _:
            assert_never(event)
