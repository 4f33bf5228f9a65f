"""What somebody does next.

Decides: the weights. They follow where the group stands, so that groups really form and go round:
members without an id join, members that are asked to rejoin do, members that owe a SyncGroup send
it; and now and then one does anything else, or names something wrong.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Final, TypeAlias

from kgroup.testing.broker.groups.group import Phase
from kgroup.testing.broker.groups.member import Member
from tests.testing.differential.planning import REBALANCES, SESSIONS, Part, draw_offers
from tests.testing.differential.script import (
    TOPICS,
    Ask,
    Close,
    Commit,
    DeleteGroup,
    Fetch,
    Heartbeat,
    Join,
    Leave,
    Leaving,
    OffsetDelete,
    Sync,
)

if TYPE_CHECKING:
    from tests.testing.differential.generator import World

Chosen: TypeAlias = tuple[Part, int, Ask]
Make: TypeAlias = Callable[[Random, "World", Part], Ask | None]

_RENEW_BEFORE = 0.6
_STATIC_JOIN, _STATIC_BEAT, _STATIC_COMMIT = 5, 3, 7


def tend(dice: Random, world: "World") -> Chosen | None:
    """Let a member that is about to lose its session keep it, if the script is a careful one."""
    group = world.stage.group
    if group is None or dice.random() >= world.plan.care:
        return None
    due = []
    for part in world.plan.parts:
        member = _member(world, part)
        if member is None or member.outlives_session or member.session is None:
            continue
        left = member.session.at - world.stage.now
        if left < _RENEW_BEFORE:
            due.append((left, part))
    if not due:
        return None
    _, part = min(due, key=lambda each: each[0])
    right = Heartbeat(
        version=_version(dice, part, 0, 4, _STATIC_BEAT),
        member="own",
        generation="own" if world.cast.known[part.actor].generation >= 0 else "group",
        instance=part.instance,
    )
    return part, world.free_connection(part), right


def choose(dice: Random, world: "World") -> Chosen | None:
    """Draw a member and its act; None = nobody does anything for now."""
    cells = [
        (part, make, weight)
        for part in world.plan.parts
        for make, weight in _weights(world, part).items()
    ]
    part, make, _ = dice.choices(cells, [weight for _, _, weight in cells])[0]
    if make is _close:
        # The one that waits: what closing a parked connection does is the question (B25).
        return part, 0, Close()
    ask = make(dice, world, part)
    if ask is None:
        return None
    blocked = part.connections - 1
    behind = world.stage.busy(f"{part.actor}{blocked}") and dice.random() < 0.03
    if behind and not world.stage.queues:
        # It waits behind the parked one (G1). Two that do may both be read at one instant, and
        # nobody can foretell which is served first.
        return part, blocked, ask
    return part, world.free_connection(part), ask


def _member(world: "World", part: Part) -> Member | None:
    group = world.stage.group
    known = world.cast.known[part.actor].member_id
    return None if group is None else group.members.get(known)


def _weights(world: "World", part: Part) -> dict[Make, float]:
    group, member = world.stage.group, _member(world, part)
    known = world.cast.known[part.actor].member_id
    rest: dict[Make, float] = {_fetch: 0.15, _delete: 0.06, _offset_delete: 0.1, _simple: 0.05}
    parked = world.stage.busy(f"{part.actor}0")
    if group is None or (member is None and known not in group.pending):
        return {**_outside(part, parked=parked), **rest, _delete: 0.06 if parked else 0.15}
    if member is None:
        return {_enter: 6.0, _heartbeat: 0.2, _leave: 0.25, _commit: 0.15, _join: 0.2, **rest}
    if parked:
        return {**_PARKED, **rest}
    match group.phase:
        case Phase.PREPARING:
            asked: dict[Make, float] = {_rejoin: 5.0, _change: 2.0, _heartbeat: 0.8, _commit: 0.7}
            return {**_INSIDE, **asked, **rest}
        case Phase.COMPLETING:
            return {**_INSIDE, _sync: 6.0, _heartbeat: 0.5, _commit: 0.5, **rest}
        case _:
            owes = member.member_id in group.unsynced
            stable: dict[Make, float] = {_sync: 5.0 if owes else 0.4, _heartbeat: 1.0, _commit: 0.8}
            return {**_INSIDE, **rest, **stable, _offset_delete: 0.3}


def _outside(part: Part, *, parked: bool) -> dict[Make, float]:
    """Weights of a client that the group does not know."""
    if parked:
        return {_close: 0.15, _heartbeat: 0.1}
    coming = 0.6 if part.has_left else 4.0
    odd: dict[Make, float] = {_heartbeat: 0.15, _sync: 0.15, _commit: 0.2, _leave: 0.1}
    return {_join: coming, **odd, _rejoin: 0.1}


# -- requests ------------------------------------------------------------------------------------


def _version(dice: Random, part: Part, low: int, high: int, static_since: int) -> int:
    return dice.randint(static_since if part.instance is not None else low, high)


def _names(dice: Random, world: "World", part: Part) -> str:
    """Name oneself, or now and then somebody else."""
    if dice.random() >= world.plan.mischief:
        return "own"
    other = dice.choice(world.plan.parts).actor
    return dice.choice(("", "old", "ghost", f"of {other}"))


def _generation(dice: Random, world: "World", part: Part) -> str:
    known = world.cast.known[part.actor].generation
    if dice.random() < world.plan.mischief:
        return dice.choice(("own+1", "own-1", "-1", "0", "group"))
    return "own" if known >= 0 else "group"


def _instance(dice: Random, world: "World", part: Part, version: int, since: int) -> str | None:
    if version < since:
        return None
    if dice.random() < world.plan.mischief / 2:
        return dice.choice((None, "nobody", *(each.instance for each in world.plan.parts)))
    return part.instance


def _joining(part: Part, member: str, version: int | None = None) -> Join:
    return Join(
        version=part.version if version is None else version,
        member=member,
        instance=part.instance,
        protocol_type=part.protocol_type,
        offers=part.offers,
        session=part.session,
        rebalance=part.rebalance,
    )


def _join(dice: Random, world: "World", part: Part) -> Join:
    """Come in without an id."""
    part.has_left = False
    joining = _joining(part, "")
    if dice.random() < 0.3:
        others = [each for each in world.plan.parts if _member(world, each) is not None]
        names = _names_of(dice.choice(others or [part]))
        part.offers = draw_offers(dice, world.plan, names)
        joining = _joining(part, "")
    if dice.random() >= world.plan.mischief / 3:
        return joining
    return dice.choice(
        (
            replace(joining, session=0.5),
            replace(joining, session=1801.0),
            replace(joining, offers=()),
            replace(joining, protocol_type="connect"),
            replace(joining, protocol_type=""),
            replace(joining, rebalance=0.0),
            replace(joining, member="ghost"),
        )
    )


def _enter(_dice: Random, _world: "World", part: Part) -> Join:
    """Join with the id one was handed."""
    return _joining(part, "own")


def _rejoin(dice: Random, world: "World", part: Part) -> Join:
    """Join again with the same subscription."""
    joining = _joining(part, _names(dice, world, part))
    if dice.random() < 0.1:
        part.session, part.rebalance = dice.choice(SESSIONS), dice.choice(REBALANCES)
        joining = _joining(part, joining.member)
    named = _instance(dice, world, part, joining.version, _STATIC_JOIN)
    return replace(joining, instance=named)


def _change(dice: Random, world: "World", part: Part) -> Join:
    """Join again with another subscription, or another list of assignors."""
    names = _names_of(part) if dice.random() < 0.8 else None
    part.offers = draw_offers(dice, world.plan, names)
    return _joining(part, "own")


def _names_of(part: Part) -> tuple[str, ...]:
    return tuple(offer.name for offer in part.offers)


def _restart(dice: Random, world: "World", part: Part) -> Join | None:
    """A static member comes back and has forgotten its id; a dynamic one forgets it."""
    if part.instance is None and dice.random() < 0.8:
        return None
    if dice.random() < 0.4:
        part.offers = draw_offers(dice, world.plan, _names_of(part))
    return _joining(part, "")


def _twin(dice: Random, world: "World", part: Part) -> Join | None:
    """Join under the instance id of another member."""
    statics = [each for each in world.plan.parts if each.instance is not None and each is not part]
    if not statics:
        return None
    other = dice.choice(statics)
    member = dice.choice(("", "", "", "own", f"of {other.actor}"))
    version = max(part.version, _STATIC_JOIN)
    return replace(_joining(part, member, version), instance=other.instance)


def _sync(dice: Random, world: "World", part: Part) -> Sync:
    version = _version(dice, part, 0, 5, _STATIC_BEAT)
    odd = dice.random() < 0.08 + world.plan.mischief
    parts = dice.choice(("none", "half", "strangers", "forged")) if odd else "due"
    wrong = dice.random() < world.plan.mischief
    return Sync(
        version=version,
        member=_names(dice, world, part),
        generation=_generation(dice, world, part),
        instance=_instance(dice, world, part, version, _STATIC_BEAT),
        names=dice.choice(("null", "type", "name")) if wrong else "right",
        parts=parts,
    )


def _heartbeat(dice: Random, world: "World", part: Part) -> Heartbeat:
    version = _version(dice, part, 0, 4, _STATIC_BEAT)
    return Heartbeat(
        version=version,
        member=_names(dice, world, part),
        generation=_generation(dice, world, part),
        instance=_instance(dice, world, part, version, _STATIC_BEAT),
    )


def _commit(dice: Random, world: "World", part: Part) -> Commit:
    version = _version(dice, part, 2, 9, _STATIC_COMMIT)
    odd = dice.random() < 0.15
    topics = dice.choice((("nosuch",), (), (*TOPICS, "nosuch"))) if odd else TOPICS[:1]
    return Commit(
        version=version,
        member=_names(dice, world, part),
        generation=_generation(dice, world, part),
        instance=_instance(dice, world, part, version, _STATIC_COMMIT),
        topics=topics,
        offset=dice.choice((0, 1, 7, 100, 2**40, -1, -5)),
        metadata=dice.choice((0, 0, 3, None, 4096, 4097)),
    )


def _simple(dice: Random, world: "World", part: Part) -> Commit:
    """Commit without being a member."""
    member = dice.choice(("", "", "own", "ghost"))
    ask = _commit(dice, world, part)
    return replace(ask, member=member, generation="-1", instance=None, topics=TOPICS)


def _fetch(dice: Random, _world: "World", _part: Part) -> Fetch:
    topics = dice.choice((None, TOPICS, TOPICS[:1], ("nosuch",), ()))
    return Fetch(version=dice.randint(2, 9), topics=topics)


def _leave(dice: Random, world: "World", part: Part) -> Leave:
    part.has_left = True
    if dice.random() < 0.4 and part.instance is None:
        return Leave(
            version=dice.randint(0, 2), members=(Leaving(_names(dice, world, part), None),)
        )
    own = Leaving(_names(dice, world, part), part.instance)
    if part.instance is not None:
        own = dice.choice((own, own, Leaving("", part.instance), Leaving("own", None)))
    version = dice.randint(3, 5)
    if dice.random() < 0.75:
        return Leave(version=version, members=(own,))
    other = dice.choice(world.plan.parts)
    more = (
        own,
        Leaving("ghost", None),
        Leaving(f"of {other.actor}", other.instance),
        Leaving("", "nobody"),
        Leaving("ghost", other.instance),
    )
    return Leave(version=version, members=tuple(dice.sample(more, dice.randint(0, 3))))


def _delete(dice: Random, _world: "World", _part: Part) -> DeleteGroup:
    return DeleteGroup(version=dice.randint(0, 2))


def _offset_delete(dice: Random, _world: "World", _part: Part) -> OffsetDelete:
    return OffsetDelete(topics=dice.choice((TOPICS, TOPICS[:1], TOPICS[1:])))


def _close(_dice: Random, _world: "World", _part: Part) -> Ask:
    return Close()


# -- weights -------------------------------------------------------------------------------------

_PARKED: Final[dict[Make, float]] = {
    _heartbeat: 0.6,
    _commit: 0.4,
    _close: 0.35,
    _leave: 0.2,
    _rejoin: 0.35,
    _restart: 0.3,
    _twin: 0.15,
    _sync: 0.2,
}
"""Of a member that waits for an answer."""

_INSIDE: Final[dict[Make, float]] = {
    _leave: 0.25,
    _restart: 0.4,
    _twin: 0.2,
    _rejoin: 0.3,
    _change: 0.2,
}
"""Of a member in any phase."""
