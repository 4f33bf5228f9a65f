"""Draws what one run is about: the group, its habits, and what will happen to it.

Decides: how likely what is. Strategies in rotation: anywhere; at the edges of timers (session,
rebalance, heartbeat, drain limit, give or take a round trip); answers lost after their effect;
several things at once. Some runs of each have an order of members in place of jitter, which changes
one to three times. Of the kinds of perturbation each run takes a few only (swarm testing), so that
runs differ more than one run of everything would from the next.
Never: draws other than by `choices`; knows what a level makes of the plan.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Final, TypeVar

from kgroup.codes import ApiKey
from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.types import Leave, RebalanceProtocol
from tests.search.simulation.choices import Choices
from tests.search.simulation.drawing_ambushes import LONGEST, draw_ambushes
from tests.search.simulation.plan import (
    Ambush,
    CommitHabit,
    Kind,
    MemberPlan,
    Order,
    Perturbation,
    Plan,
    end_of_tail,
)
from tests.search.simulation.schedule import Mode

T = TypeVar("T")

_EAGER: Final = RebalanceProtocol.EAGER
_COOPERATIVE: Final = RebalanceProtocol.COOPERATIVE

_PROTOCOLS: Final = {
    Mode.EAGER: (_EAGER,),
    Mode.COOPERATIVE: (_COOPERATIVE,),
    Mode.STATIC: (_COOPERATIVE, _EAGER),
    Mode.MIXED: (_COOPERATIVE, _EAGER),
    Mode.HOSTILE: (_COOPERATIVE, _EAGER),
}
_ASSIGNORS: Final = {
    _EAGER: (("range",), ("roundrobin",), ("sticky",)),
    _COOPERATIVE: (("cooperative-sticky",),),
}
_SESSIONS: Final = (6.0, 3.0, 4.0, 10.0)
_HEARTBEATS: Final = (3.0, 4.0, 6.0)
"""Parts of the session."""
_REBALANCES: Final = (1.5, 1.0, 2.5, 1.2)
"""Times the session."""
_LATENCIES: Final = (0.002, 0.01, 0.05)
_SIZES: Final = (4, 3, 4, 2, 3, 5, 4, 7)
_ONE_STATIC_OF: Final = {Mode.MIXED: 4, Mode.HOSTILE: 2}
_MOST: Final = 8
"""Members of one group, those that join later included."""
_TOPICS: Final = ((4,), (2,), (3, 2), (8,), (1,), (4, 2, 1), (12,), (5,))
_HANDLING: Final = (0.0, 0.05, 0.3, 1.0)
_LISTENING: Final = (0.0, 0.05, 0.5)
_POLLS: Final = (1.0, 0.5, 2.0)
_COUNTS: Final = (2, 3, 2, 1, 3, 4, 5, 8)
_SHORT_SESSIONS: Final = (3.0, 4.0)
_QUICK_HEARTBEATS: Final = (5.0, 4.0, 6.0)
_SHORT_REBALANCES: Final = (1.5, 1.0, 1.2)
_FEW_TOPICS: Final = ((2, 1), (3, 2), (1, 1), (2, 2, 1))
_FEW: Final = (2, 3, 2, 4)
"""Of hostile groups, whose states are made to last as long."""
_HOSTILE: Final = 20.0
"""Seconds in which ambushes are laid."""
_GRID: Final = 512
_WARM: Final = 3.0
"""Seconds in which the group forms."""
_ORDERED: Final = 8
"""One run in so many is ordered."""
_MOST_CHANGES: Final = 3
_STAY: Final = 4
"""One of so many static members leaves the group when it closes."""

_MEMBERS: Final = (
    Kind.JOIN,
    Kind.LEAVE,
    Kind.KILL,
    Kind.RESTART,
    Kind.TWIN,
    Kind.SUBSCRIBE,
    Kind.RESUBSCRIBE,
    Kind.ENFORCE,
    Kind.EVICT,
)
_APPLICATION: Final = (
    Kind.FREEZE,
    Kind.STALL,
    Kind.SLOW_LISTENER,
    Kind.RAISING_LISTENER,
    Kind.COMMIT,
    Kind.SEEK,
    Kind.PAUSE,
)
_NETWORK: Final = (Kind.CUT, Kind.LOSE, Kind.DELAY, Kind.HOLD, Kind.BLACKHOLE, Kind.DEAF)
_COORDINATOR: Final = (Kind.COORDINATOR_KILLED, Kind.COORDINATOR_MOVED, Kind.COORDINATOR_LOADS)
_TOPIC: Final = (Kind.ADD_PARTITIONS, Kind.DELETE_TOPIC, Kind.DELETE_OFFSETS, Kind.PRODUCE)
_LOSSES: Final = (Kind.LOSE, Kind.DELAY, Kind.DEAF)
_EVERYTHING: Final = _MEMBERS + _APPLICATION + _NETWORK + _COORDINATOR + _TOPIC
_APIS: Final = (
    ApiKey.OFFSET_COMMIT,
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.OFFSET_FETCH,
    ApiKey.FIND_COORDINATOR,
)


class _Strategy(Enum):
    """How instants and kinds are drawn."""

    ANYWHERE = 0
    EDGES = 1
    LOSSES = 2
    BURST = 3


def draw_plan(choices: Choices, mode: Mode) -> Plan:
    """Draw one run.

    Args:
        choices: the run's chance.
        mode: which groups.
    """
    strategy = _Strategy(choices.choose("strategy", len(_Strategy)))
    protocol = _one(choices, "protocol", _PROTOCOLS[mode])
    hostile = mode is Mode.HOSTILE
    session = _one(choices, "session", _SHORT_SESSIONS if hostile else _SESSIONS)
    heartbeat = session / _one(choices, "heartbeat", _QUICK_HEARTBEATS if hostile else _HEARTBEATS)
    rebalances = _SHORT_REBALANCES if hostile else _REBALANCES
    rebalance = session * _one(choices, "rebalance", rebalances)
    latency = _one(choices, "latency", _LATENCIES)
    counts = _one(choices, "topics", _FEW_TOPICS if hostile else _TOPICS)
    topics = {f"t{number}": count for number, count in enumerate(counts)}
    members = _members(choices, mode, tuple(topics))
    quiet_at = _WARM + 9.0 + choices.choose("quiet", 4) * 3.0
    times = (session, rebalance, heartbeat, rebalance / 2, 2 * latency)
    drawn = _perturbations(choices, strategy, members, (_WARM, quiet_at), times)
    longest = max((each.at + each.seconds for each in drawn), default=quiet_at)
    quiet_at = max(quiet_at, longest)
    ambushes: tuple[Ambush, ...] = ()
    if hostile:
        ambushes = draw_ambushes(choices, len(members), (0.0, _HOSTILE), times)
        quiet_at = max(quiet_at, _HOSTILE) + LONGEST * max(session, rebalance)
    order = _order(choices, len(members), quiet_at)
    return Plan(
        protocol=protocol,
        assignors=_one(choices, "assignors", _ASSIGNORS[protocol]),
        coordinator=_one(choices, "coordinator", (CoordinatorKind.NEW, CoordinatorKind.OLD)),
        brokers=1 + choices.choose("brokers", 2),
        topics=topics,
        members=_leaving(choices, members),
        session_timeout=session,
        heartbeat_interval=heartbeat,
        rebalance_timeout=rebalance,
        latency=latency,
        produce_every=_one(choices, "produce", (2.0, 1.0) if hostile else (4.0, 2.0, 6.0)),
        perturbations=drawn,
        quiet_at=quiet_at,
        ends_at=end_of_tail(quiet_at, session, rebalance),
        order=order,
        ambushes=ambushes,
    )


def _order(choices: Choices, size: int, quiet_at: float) -> Order | None:
    """Draw an order of members, for some runs; aside, so that the others are as they were."""
    if choices.aside("order", _ORDERED) != _ORDERED - 1:
        return None
    members: list[int] = []
    for number in range(size):
        members.insert(choices.aside(f"order/{number}", number + 1), number)
    changes = [
        _WARM + choices.aside(f"order/at{number}", _GRID) / _GRID * (quiet_at - _WARM)
        for number in range(1 + choices.aside("order/changes", _MOST_CHANGES))
    ]
    return Order(tuple(members), tuple(sorted(changes)))


def _leaving(choices: Choices, members: Sequence[MemberPlan]) -> tuple[MemberPlan, ...]:
    """Draw which static members leave the group when they close; aside, as the order is."""
    return tuple(
        replace(each, leave=Leave.LEAVE)
        if each.instance is not None and choices.aside(f"{each.label}/leave", _STAY) == _STAY - 1
        else each
        for each in members
    )


def _one(choices: Choices, site: str, values: Sequence[T]) -> T:
    return values[choices.choose(site, len(values))]


# -- members -------------------------------------------------------------------------------------


def _members(choices: Choices, mode: Mode, topics: tuple[str, ...]) -> tuple[MemberPlan, ...]:
    size = _one(choices, "members", _FEW if mode is Mode.HOSTILE else _SIZES)
    later = (0, 1, 0, 2)[choices.choose("later", 4)]
    return tuple(
        _member(choices, mode, topics, number, later=number >= size)
        for number in range(min(size + later, _MOST))
    )


def _member(
    choices: Choices, mode: Mode, topics: tuple[str, ...], number: int, *, later: bool
) -> MemberPlan:
    at = f"m{number}"
    of = _ONE_STATIC_OF.get(mode)
    static = mode is Mode.STATIC or (
        of is not None and choices.choose(f"{at}/static", of) == of - 1
    )
    fewer = len(topics) > 1 and choices.choose(f"{at}/topics", 4) == 3
    return MemberPlan(
        index=number,
        instance=f"i{number}" if static else None,
        starts_at=None if later else choices.choose(f"{at}/start", 8) * 0.15,
        topics=topics[:1] if fewer else topics,
        poll_every=_one(choices, f"{at}/poll", _POLLS),
        handling=_one(choices, f"{at}/handling", _HANDLING),
        listener=_one(choices, f"{at}/listener", _LISTENING),
        habit=_one(choices, f"{at}/habit", (CommitHabit.AUTO, CommitHabit.EACH_BATCH)),
        commit_interval=_one(choices, f"{at}/commits", (5.0, 1.0)),
        luck=_one(choices, f"{at}/luck", (0.5, 0.0, 0.99, 0.25)),
    )


# -- perturbations -------------------------------------------------------------------------------


def _perturbations(
    choices: Choices,
    strategy: _Strategy,
    members: Sequence[MemberPlan],
    span: tuple[float, float],
    times: tuple[float, ...],
) -> tuple[Perturbation, ...]:
    """Draw what happens.

    Args:
        choices: the run's chance.
        strategy: of the run.
        members: that it may happen to.
        span: first and last instant.
        times: those whose edges matter; the last is a round trip.
    """
    kinds = _LOSSES if strategy is _Strategy.LOSSES else _EVERYTHING
    swarm = [kinds[choices.choose("swarm", len(kinds))] for _ in range(6)]
    swarm += [Kind.JOIN, Kind.LEAVE, Kind.KILL]
    drawn: list[Perturbation] = []
    before = span[0]
    for number in range(_one(choices, "perturbations", _COUNTS)):
        at = f"p{number}"
        chosen = choices.choose(f"{at}/kind", len(swarm) + 1)
        instant = _instant(choices, strategy, at, (before, *span), times)
        if not chosen:
            continue
        before = instant
        drawn.append(
            Perturbation(
                at=instant,
                kind=swarm[chosen - 1],
                member=choices.choose(f"{at}/member", len(members)),
                seconds=_duration(choices, at, times),
                api=_one(choices, f"{at}/api", _APIS),
                number=1 + choices.choose(f"{at}/number", 3),
            )
        )
    return tuple(sorted(drawn, key=lambda each: each.at))


def _instant(
    choices: Choices,
    strategy: _Strategy,
    at: str,
    span: tuple[float, float, float],
    times: tuple[float, ...],
) -> float:
    before, first, last = span
    place = choices.choose(f"{at}/at", _GRID) / _GRID
    if strategy is _Strategy.BURST and choices.choose(f"{at}/near", 4):
        return min(before + place * 0.5, last)
    if strategy is _Strategy.EDGES and choices.choose(f"{at}/near", 4):
        trip = times[-1]
        edge = _one(choices, f"{at}/edge", times[:-1])
        return min(before + edge + (choices.choose(f"{at}/beside", 7) - 3) * trip / 2, last)
    return first + place * (last - first)


def _duration(choices: Choices, at: str, times: tuple[float, ...]) -> float:
    """Draw how long something lasts: around the edges of what it may interfere with."""
    session, rebalance, heartbeat, *_ = times
    longest = (
        heartbeat / 2,
        session / 2,
        session - heartbeat,
        session * 1.1,
        session * 1.6,
        rebalance * 0.6,
        rebalance * 1.1,
        0.05,
    )
    return _one(choices, f"{at}/seconds", longest)
