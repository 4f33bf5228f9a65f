"""Every excuse in one table: what looks like a breach and is none, with the steps that make it so.

Decides: the name of an excuse, the promises it belongs to, its steps, and the predicate that tells
it. An excuse is the function below its steps; oracles call it by its name.
Never: keeps anything. The oracle of a promise follows the log, and asks.
"""

from collections.abc import Callable, Collection, Container
from dataclasses import dataclass
from typing import Final, ParamSpec

from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal.events import (
    Entry,
    GenerationEntered,
    JoinIssued,
    OwnershipStep,
    PauseCause,
    Source,
)
from kgroup.journal.faults import StateCause
from kgroup.types import Cause, Claim, MemberState, RebalanceProtocol, TopicPartition

_LOSING: Final = frozenset({StateCause.LEASE_EXPIRED, StateCause.GENERATION_LOST})
_OF_COORDINATOR: Final = frozenset({ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT})
_MOVED: Final = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
"""What a broker says that does not coordinate the group, or not any more."""

_P = ParamSpec("_P")


@dataclass(frozen=True, slots=True)
class Excuse:
    """One row of the table.

    Args:
        rules: the promises that it belongs to.
        steps: what happens, in order.
        holds: tells whether this has happened.
    """

    rules: tuple[str, ...]
    steps: tuple[str, ...]
    holds: Callable[..., bool]


EXCUSES: Final[dict[str, Excuse]] = {}
"""The table: name -> excuse."""


def _excuse(rules: str, *steps: str) -> Callable[[Callable[_P, bool]], Callable[_P, bool]]:
    def named(holds: Callable[_P, bool]) -> Callable[_P, bool]:
        EXCUSES[holds.__name__] = Excuse(tuple(rules.split()), steps, holds)
        return holds

    return named


# -- ownership and membership ----------------------------------------------------------------------


@_excuse(
    "S3",
    "SyncGroup brings an assignment that cannot be read.",
    "The member gives up what it had, as lost.",
    "It is a member all the same: its lease goes on.",
)
def lost_as_a_member(cause: str | None) -> bool:
    return cause == Cause.ASSIGNED.value


@_excuse(
    "S8",
    "A heartbeat is out.",
    "The next round is joined, and its leader's assignor finds no metadata.",
    "The heartbeat is answered at that instant. It has never the cause of what follows.",
)
def assignor_tries_again(api: ApiKey, before: MemberState, cause: str) -> bool:
    tries = before is MemberState.ASSIGNING and cause == StateCause.RETRY_LATER
    return api is ApiKey.HEARTBEAT and tries


@_excuse(
    "S9 T2",
    "A coordinator has removed or replaced a member, refuses its heartbeat, and answers slowly.",
    "That coordinator dies before any of it is in its log.",
    "Its successor knows the member, which joins the next generation.",
    "The answer comes, and is not true any more. A true one is given again to the next request.",
)
def awaited_no_more(key: tuple[int, int], before: Container[tuple[int, int]]) -> bool:
    return key in before


@_excuse(
    "S9 T2",
    "JoinGroup and a heartbeat are out, on a connection each.",
    "The coordinator moves, and the process stands still.",
    "It wakes, and hears that JoinGroup went to no coordinator: it gives up both connections.",
    "The heartbeat's answer had arrived by then. Whether it is true the next coordinator knows.",
)
def coordinator_given_up(api: ApiKey, error: int | None) -> bool:
    return api in _OF_COORDINATOR and error in _MOVED


@_excuse(
    "S9 T2",
    "A commit is out.",
    "The member is removed, joins, and has another id and generation.",
    "The commit is refused, under the id and the generation that it was sent with.",
)
def commit_of_before(gone: bool, current: int | None, named: int | None) -> bool:
    return gone or (current is not None and named is not None and named != current)


@_excuse(
    "S9 T2",
    "on_revoked runs, and a commit is out.",
    "The lease ends, and the generation. on_lost is not called for that: the state tells of it.",
    "The commit is refused.",
)
def lost_while_revoked(cause: str) -> bool:
    return cause in _LOSING


@_excuse(
    "S9",
    "A heartbeat is out.",
    "The next round is joined, and then it is refused. Of that round this says nothing.",
)
def refused_in_an_earlier_round(named: int | None, current: int) -> bool:
    return named not in (None, current)


@_excuse(
    "S9",
    "JoinGroup is out, and the process stands still beyond its lease.",
    "It wakes: what it had is lost, and the answer names the next generation.",
    "SyncGroup is refused, and it joins again and names that one.",
)
def joined_and_not_entered(error: int | None) -> bool:
    return not error


@_excuse(
    "S9",
    "SyncGroup brings an assignment that cannot be read.",
    "The member gives up what it had, and joins again under the generation that it is still in.",
)
def assignment_unreadable(cause: str) -> bool:
    return cause == StateCause.ASSIGNMENT_UNREADABLE


@_excuse(
    "S4",
    "A member unsubscribes, and on_revoked does not return within the rebalance timeout.",
    "It leaves all the same, subscribes again, and joins while on_revoked still runs.",
)
def listener_not_awaited(cause: str) -> bool:
    return cause == StateCause.RELEASE_LIMIT


@_excuse(
    "T2",
    "A heartbeat is on its way.",
    "The member is removed, and joins anew, without an id.",
    "It is given another one, of which it may not have heard.",
    "The heartbeat arrives, under an id that the instance has no more.",
)
def fence_of_a_former_id(named: str | None, known: str | None) -> bool:
    return bool(named) and known is not None and named != known


# -- commits ---------------------------------------------------------------------------------------


@_excuse(
    "C1",
    "A round begins, and everybody has joined.",
    "Before its leader's SyncGroup arrives, the next begins: nothing is stored of this one.",
    "A member that has joined both commits.",
)
def joined_after_the_stored_round(named: int, stored: int) -> bool:
    return named > stored


@_excuse(
    "C3",
    "A commit is sent.",
    "The application moves the position back, and commits.",
    "Both commits arrive, in any order: each move allows one decrease.",
)
def moved_back_on_purpose(offset: int, moved_to: int | None) -> bool:
    return moved_to is not None and offset >= moved_to


@_excuse(
    "C3",
    "A commit is written, and the network keeps it (HOLD, BLACKHOLE).",
    "Its time is over, its outcome unknown.",
    "A newer one is accepted on a new connection.",
    "The first one arrives, and brokers check no order: no client can prevent it.",
)
def kept_on_the_way(explained: int, kept: int) -> bool:
    return explained < kept


@_excuse(
    "C10",
    "p@6 waits to be committed.",
    "The application seeks back, and commits p@4.",
    "One request speaks for both, with the latest: it is as if p@6 had been accepted before.",
)
def reported_with_a_later_commit(later: frozenset[int], stored: Collection[int | None]) -> bool:
    return not later.isdisjoint(stored)


# -- rebalances ------------------------------------------------------------------------------------


@_excuse(
    "K1",
    "Generation 5 takes t-0 away. Its listener runs, and a revocation cannot be taken back.",
    "The member rejoins meanwhile, and generation 6 gives t-0 back to it.",
    "The listener returns, the claim ends, and generation 7 gives t-0 to it anew.",
)
def revoked_by_an_earlier_round(revoking: Entry, generation: Entry) -> bool:
    event, entered = revoking.event, generation.event
    if revoking.seq < generation.seq or not isinstance(event, OwnershipStep):
        return True
    assert isinstance(entered, GenerationEntered)
    return event.generation_id not in (None, entered.generation_id)


@_excuse(
    "K2",
    "A member is removed, and a round begins.",
    "It hears of that, and joins.",
    "The round of step 1 is over already, so that another one is needed for it.",
)
def removed_before_its_round(event: JoinIssued, former: int, newest: int | None) -> bool:
    return event.member_id is None and newest == former


@_excuse(
    "K2",
    "A cooperative round takes partitions from two members.",
    "One has given them back, and joins.",
    "The other one must join as well, and still has its own.",
)
def holds_what_was_taken(
    owned: Collection[TopicPartition], given: Collection[TopicPartition]
) -> bool:
    return bool(set(owned) - set(given))


@_excuse(
    "K2",
    "A member asks to join.",
    "The owner of everything is long about giving it up, for which the round waits.",
    "Another disturbance comes: one round answers both, one more follows.",
)
def a_join_is_under_way(joining: Collection[Source], group: str | None) -> bool:
    return any(source.group == group for source in joining)


@_excuse(
    "K2",
    "A member is killed.",
    "The coordinator misses it when its session is over.",
    "The others hear of the round with their next heartbeat.",
)
def not_missed_yet(at: float, until: float) -> bool:
    return at <= until


@_excuse(
    "L6",
    "A member is killed.",
    "The coordinator is away for a moment. Its successor gives the dead one a whole session anew.",
    "That session ends, and the others are rebalanced.",
)
def missed_by_the_next_coordinator(at: float, dead_until: float) -> bool:
    return at < dead_until


@_excuse(
    "L6",
    "The coordinator goes for 16 s, or another fault begins.",
    "The coordinator goes once more, for a moment, while that lasts.",
)
def not_the_only_fault(away: int, others: Collection[object]) -> bool:
    return bool(away or others)


# -- delivery and polls ----------------------------------------------------------------------------


@_excuse(
    "L5 L7",
    "The application is handed records, or closes its consumer.",
    "The whole process is stopped.",
    "It goes on after the time allowed: its timers are late, too.",
)
def stood_still_since(calm: float, since: float) -> bool:
    return calm > since


@_excuse(
    "L10",
    "A fetch is on its way.",
    "The application pauses the partition.",
    "The records arrive.",
)
def paused_meanwhile(claim: Claim, paused: Container[tuple[Claim, PauseCause]]) -> bool:
    return any((claim, cause) in paused for cause in PauseCause)


@_excuse(
    "L10",
    "The listener is slow to hear of a generation.",
    "A later one takes a partition away.",
    "on_assigned returns, or on_revoked waits for the listener: nothing is served any more.",
)
def taken_before_it_was_assigned(
    tp: TopicPartition, given: frozenset[TopicPartition] | None
) -> bool:
    return given is not None and tp not in given


# -- closing ---------------------------------------------------------------------------------------


@_excuse(
    "L7",
    "JoinGroup is on its way.",
    "The member gives it up, and leaves under the id it asked with.",
    "The answer is read all the same: that id has been told to leave.",
)
def left_before_the_answer(join: tuple[int, int], open_joins: Container[tuple[int, int]]) -> bool:
    return join not in open_joins


@_excuse(
    "L7",
    "The coordinator is lost.",
    "The application does not poll for too long.",
    "The member gives its id up, and has nobody to tell: its session ends by itself.",
)
def nobody_to_tell(before: MemberState, after: MemberState) -> bool:
    return before is MemberState.FINDING and after is MemberState.DORMANT


@_excuse(
    "L7",
    "A member closes.",
    "A fault strikes it, its connection is lost, or its listener fails.",
    "LeaveGroup is not sent, or not answered: its session ends by itself.",
)
def could_not_leave(cut: bool, reason: str | None, calm: float, since: float) -> bool:
    return cut or reason != "closed" or calm > since


# -- the listener ----------------------------------------------------------------------------------


@_excuse(
    "B1",
    "A listener runs, and a round adds t-0.",
    "A later round takes t-0 away.",
    "The listener returns. on_assigned is called for the round of step 1, and then on_lost.",
)
def added_by_an_earlier_round(event: OwnershipStep, entered: GenerationEntered) -> bool:
    named = (event.member_id, event.generation_id)
    return named != (entered.member_id, entered.generation_id)


@_excuse(
    "B1",
    "A cooperative round takes t-0 away and adds t-1.",
    "Records of t-0 are in the application's hands.",
    "t-1 does not wait for them: t-0 is given back after t-1 was assigned.",
)
def adds_at_once(protocol: RebalanceProtocol | None) -> bool:
    return protocol is not RebalanceProtocol.EAGER


@_excuse(
    "B4",
    "on_revoked commits, and raises.",
    "The coordinator is away, and the change waits for the answer.",
    "The process is killed within the rebalance timeout: nobody knows how it would have ended.",
)
def killed_before_it_had_to_end(dead: bool, raised: float, latest: float, timeout: float) -> bool:
    return dead and latest <= raised + timeout
