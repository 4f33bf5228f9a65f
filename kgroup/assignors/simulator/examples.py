"""Scenarios to begin with, by name; the documentation shows what becomes of them.

Decides: the groups and the events. Member ids end in hex digits, as those of real groups do. Where
ids begin with the same word, a member that restarts has another place in their order.
Never: plays them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kgroup.assignors.simulator.scenario import (
    Event,
    Grow,
    Join,
    Leave,
    Restart,
    Scenario,
    SimulatedMember,
    SimulatedTopic,
    Subscribe,
)

_FLEET: Final = ("app-13", "app-2e", "app-47", "app-68", "app-8a", "app-a5", "app-c1", "app-e6")
_AGAIN: Final = ("app-b9", "app-05", "app-7c", "app-f4", "app-31", "app-99", "app-5d", "app-d2")
_ZONES: Final = ("a", "b", "c")


def _swaps() -> Scenario:
    """8 partitions, and from 1 to 4 members that join one after the other."""
    joins = tuple(Join(member_id=name) for name in ("m2", "m3", "m4"))
    first = SimulatedMember(member_id="m1", topics=frozenset({"orders"}))
    return Scenario({"orders": SimulatedTopic(8)}, (first,), joins)


def _equal() -> Scenario:
    """10 topics of 12 partitions, 8 members that subscribe to all of them; ordinary days."""
    events = (
        Join(member_id="app-70"),
        Leave("app-47"),
        Restart((*(name for name in _FLEET if name != "app-47"), "app-70"), _AGAIN),
        Grow("topic-3", 24),
    )
    return _fleet(events, static=False)


def _static() -> Scenario:
    """The same members with group instance ids: all restart, and one is away for longer."""
    names = tuple(f"node-{place}" for place in range(1, len(_FLEET) + 1))
    events = (
        Restart(names, _AGAIN),
        Leave("node-3"),
        Join(member_id="app-48", group_instance_id="node-3"),
    )
    return _fleet(events, static=True)


def _fleet(events: tuple[Event, ...], *, static: bool) -> Scenario:
    topics = {f"topic-{n}": SimulatedTopic(12) for n in range(10)}
    members = tuple(
        SimulatedMember(
            member_id=name,
            topics=frozenset(topics),
            group_instance_id=f"node-{place}" if static else None,
        )
        for place, name in enumerate(_FLEET, 1)
    )
    return Scenario(topics, members, events)


def _narrow_topics() -> Scenario:
    """100 topics of 3 partitions, 10 members that subscribe to all of them."""
    topics = {f"topic-{n:02d}": SimulatedTopic(3) for n in range(100)}
    members = tuple(SimulatedMember(member_id=f"m{n}", topics=frozenset(topics)) for n in range(10))
    return Scenario(topics, members, (Leave("m1"), Join(member_id="m1-new")))


def _unequal() -> Scenario:
    """Three services in one group: some topics are everybody's, some are not."""
    topics = {
        "orders": SimulatedTopic(24),
        "payments": SimulatedTopic(12),
        "returns": SimulatedTopic(6),
        "audit": SimulatedTopic(3),
    }
    wants = {
        "billing": ("orders", "payments"),
        "stock": ("orders", "returns"),
        "watch": ("payments", "audit"),
    }
    members = tuple(
        SimulatedMember(member_id=f"{service}-{n}", topics=frozenset(names))
        for service, names in wants.items()
        for n in (1, 2, 3)
    )
    events = (
        Join(member_id="billing-4", topics=frozenset(wants["billing"])),
        Leave("stock-2"),
        Subscribe("watch-1", frozenset({"payments", "audit", "returns"})),
        Leave("billing-1"),
        Grow("payments", 18),
    )
    return Scenario(topics, members, events)


def _racks() -> Scenario:
    """Brokers and members in three zones; each partition has replicas in two of them."""
    pairs = tuple((_ZONES[n % 3], _ZONES[(n + 1) % 3]) for n in range(30))
    topics = {name: SimulatedTopic(30, pairs) for name in ("clicks", "views")}
    members = tuple(
        SimulatedMember(member_id=f"m{n}", topics=frozenset(topics), rack=_ZONES[n // 2])
        for n in range(6)
    )
    events = (Join(member_id="m6", rack="b"), Leave("m0"), Leave("m3"))
    return Scenario(topics, members, events)


EXAMPLES: Final[Mapping[str, Scenario]] = MappingProxyType(
    {
        "swaps": _swaps(),
        "equal": _equal(),
        "static": _static(),
        "narrow-topics": _narrow_topics(),
        "unequal": _unequal(),
        "racks": _racks(),
    }
)
"""Name -> scenario."""
