"""Which assignors the members of a live group offer, and how they rebalance, as far as it is known.

Decides: what follows for each member from what a coordinator tells, and nothing beyond.
Never: joins the group, or changes anything about it.
KIPs: 429 (rebalance protocols), 792 and 881 (versions of a subscription).

A coordinator tells little. DescribeGroups shows of a Stable group the assignor in use and, per
member, the subscription it sent for that one assignor; in every other state it shows no
subscriptions. The other names in a member's list are shown to nobody, the group's leader included.

But it can be asked which names *all* members have in common. A JoinGroup is refused with
INCONSISTENT_GROUP_PROTOCOL when its list and the lists of the members have no name in common, and
that is looked at before its member id. So a JoinGroup with a member id that nobody has ends in
one of two errors, and leaves nothing behind:

1. INCONSISTENT_GROUP_PROTOCOL: some member does not list the name that was asked about.
2. UNKNOWN_MEMBER_ID: every member does.

A client that may only describe the group is refused (a JoinGroup needs READ), and so is every
client while the group is full. Then only the description is known, and the offers give the reason.

Of a group with one member its whole list is known that way, among the names that were asked.
"""

from collections.abc import Collection, Iterable
from functools import partial
from typing import Final

import anyio

from kgroup.assignors import BUILT_IN
from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError
from kgroup.net.cluster import Cluster
from kgroup.net.coordinator import ask_node, with_coordinator
from kgroup.net.group_description import (
    GroupDescription,
    GroupMember,
    GroupType,
    describe_known_group,
)
from kgroup.net.verdict import refusal
from kgroup.types import RebalanceProtocol
from kgroup.values import dataclass
from kgroup.wire.consumer_protocol import MemberSubscription, encode_subscription
from kgroup.wire.messages import JoinGroupRequest, JoinGroupRequestProtocol

_CONSUMERS: Final = "consumer"
_NOBODY: Final = "kgroup-asks-which-assignors-are-common"
"""A member id that no coordinator gives: theirs end with a UUID."""

_SESSION_TIMEOUT_MS: Final = 45_000
"""Java's default, which every broker takes; nothing comes of it."""

_LOOK_AGAIN: Final = 0.25
_REBALANCING: Final = frozenset({"PreparingRebalance", "CompletingRebalance"})


@dataclass(frozen=True, slots=True)
class MemberOffers:
    """What is known of the assignors of one member.

    Args:
        member: as its coordinator describes it.
        offers: names that are in its list.
        lacks: names that are not; empty unless it is the only member.
        protocol: how it rebalances, None when that is not known.
    """

    member: GroupMember
    offers: frozenset[str]
    lacks: frozenset[str]
    protocol: RebalanceProtocol | None

    @property
    def version(self) -> int | None:
        """Version of the subscription it sent, None when that was not shown, or cannot be read.

        It has owned partitions from 1 on, their generation from 2, the rack from 3.
        """
        subscription = self.member.subscription
        return None if subscription is None else subscription.version

    @property
    def kept(self) -> int:
        """Partitions it kept over the last round, as its JoinGroup said."""
        subscription = self.member.subscription
        return 0 if subscription is None else len(subscription.owned)


@dataclass(frozen=True, slots=True)
class GroupOffers:
    """What is known of the assignors of a group.

    Args:
        group: as its coordinator describes it.
        members: in order of their ids; empty when there are none, or none are known.
        common: names that every member lists; the assignor in use is one of them.
        not_common: names that were asked about, and that some member does not list. Which member
            is not known, unless there is only one.
        refusal: why the coordinator could not be asked what else is common, None when it was
            asked, or has nothing to tell.
    """

    group: GroupDescription
    members: tuple[MemberOffers, ...]
    common: frozenset[str]
    not_common: frozenset[str]
    refusal: BrokerError | None = None

    @property
    def protocol(self) -> RebalanceProtocol | None:
        """How all members rebalance, None when they differ, or one is not known."""
        found = {member.protocol for member in self.members}
        return found.pop() if len(found) == 1 else None

    @property
    def has_lists(self) -> bool:
        """Whether there are members, and they have lists of assignors."""
        return _has_lists(self.group)

    @property
    def is_shown(self) -> bool:
        """Whether a coordinator shows what the members sent: only while the group is Stable."""
        return self.has_lists and self.group.state == "Stable"


def is_eager_only(name: str) -> bool:
    """Tell whether a built-in assignor makes each member that lists it eager (KIP-429).

    A member follows the highest protocol that all assignors of its list support. What another
    library calls by the same name is taken for the same.
    """
    known = BUILT_IN.get(name)
    return known is not None and RebalanceProtocol.COOPERATIVE not in known.supported_protocols


def read_offers(
    group: GroupDescription,
    common: Iterable[str] = (),
    not_common: Iterable[str] = (),
    *,
    refusal: BrokerError | None = None,
) -> GroupOffers:
    """Say what follows from a description, and from what the members were found to have in common.

    Args:
        group: as its coordinator describes it.
        common: names every member lists, beside the assignor in use.
        not_common: names that some member does not list.
        refusal: what came instead of an answer about the rest.
    """
    in_use = {group.assignor} if group.assignor is not None and _has_lists(group) else set()
    shared = frozenset(common) | in_use
    missing = frozenset(not_common) - shared
    lone = len(group.members or ()) == 1
    members = (
        MemberOffers(
            member=member,
            offers=shared,
            lacks=missing if lone else frozenset(),
            protocol=_protocol(member, shared),
        )
        for member in group.members or ()
    )
    return GroupOffers(group, tuple(members), shared, missing, refusal)


def _protocol(member: GroupMember, listed: Collection[str]) -> RebalanceProtocol | None:
    """Tell how a member rebalances.

    A member that lists an assignor that is eager only is eager, whatever is in use. A member that
    kept partitions over a round is cooperative. Of others it cannot be known: a member that kept
    none may be new.
    """
    if any(is_eager_only(name) for name in listed):
        return RebalanceProtocol.EAGER
    if member.subscription is not None and member.subscription.owned:
        return RebalanceProtocol.COOPERATIVE
    return None


# -- asking --------------------------------------------------------------------------------


async def describe_offers(
    cluster: Cluster, group_id: str, *, ask: Collection[str] = (), timeout: float
) -> GroupOffers:
    """Return what can be known of the assignors of a live group.

    A group that rebalances is waited for; when it does not settle in time it is described as it is.
    When the coordinator refuses to be asked, the description is returned with the refusal.

    Args:
        cluster: running.
        group_id: name of the group.
        ask: names of assignors to ask about, beside the built-in ones.
        timeout: seconds that each question, and a rebalance of the group, may take.

    Raises:
        BrokerError: GROUP_ID_NOT_FOUND, or the group may not be described (UnauthorizedError).
        TimeoutError: no answer in time.
    """
    deadline = cluster.ports.clock() + timeout
    while True:
        group = await describe_known_group(cluster, group_id, timeout=timeout)
        late = cluster.ports.clock() >= deadline
        if group.state in _REBALANCING and not late:
            await anyio.sleep(_LOOK_AGAIN)
            continue
        if not _has_lists(group):
            return read_offers(group)
        asked, refused = await _ask(cluster, group_id, _names(ask), timeout)
        if late or _same(group, await describe_known_group(cluster, group_id, timeout=timeout)):
            common = (name for name, found in asked.items() if found)
            return read_offers(group, common, asked.keys(), refusal=refused)


async def _ask(
    cluster: Cluster, group_id: str, names: Iterable[str], timeout: float
) -> tuple[dict[str, bool], BrokerError | None]:
    """Ask about names one by one, up to a refusal: the next one would be answered the same."""
    asked: dict[str, bool] = {}
    for name in names:
        try:
            asked[name] = await _is_common(cluster, group_id, name, timeout)
        except BrokerError as error:
            return asked, error
    return asked, None


def _names(more: Collection[str]) -> Iterable[str]:
    return dict.fromkeys((*BUILT_IN, *more))


def _has_lists(group: GroupDescription) -> bool:
    """Tell whether a group has members, and they have lists of assignors.

    Members of KIP-848 have none, and what those of another type list are no assignors.
    """
    classic = group.group_type is GroupType.CLASSIC and group.protocol_type == _CONSUMERS
    return classic and bool(group.members)


def _same(before: GroupDescription, after: GroupDescription) -> bool:
    """Tell whether the answers in between were about one and the same set of members."""
    return _identity(before) == _identity(after)


def _identity(group: GroupDescription) -> tuple[object, ...]:
    return group.state, group.assignor, tuple(member.member_id for member in group.members or ())


async def _is_common(cluster: Cluster, group_id: str, name: str, timeout: float) -> bool:
    """Ask whether all members of a group list an assignor; see the top of this module."""
    subscription = encode_subscription(MemberSubscription(topics=()))
    request = JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=_SESSION_TIMEOUT_MS,
        rebalance_timeout_ms=_SESSION_TIMEOUT_MS,
        member_id=_NOBODY,
        protocol_type=_CONSUMERS,
        protocols=(JoinGroupRequestProtocol(name=name, metadata=subscription),),
        reason="asks which assignors all members have in common",
    )
    attempt = partial(_ask_join, cluster, request)
    return await with_coordinator(cluster, group_id, attempt, timeout=timeout)


async def _ask_join(cluster: Cluster, request: JoinGroupRequest, node_id: int) -> bool:
    answer = await ask_node(cluster, node_id, request)
    match answer.error_code:
        case ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
            return False
        case ErrorCode.UNKNOWN_MEMBER_ID:
            return True
        case code:
            raise refusal(ApiKey.JOIN_GROUP, code, (request.group_id,))
