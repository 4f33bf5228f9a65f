"""Where the coordinator is: a small table beside the round.

Decides: when FindCoordinator is sent, and how long to wait after a coordinator was lost.
Never: moves the round; it raises COORDINATOR_READY and COORDINATOR_LOST there.

A lost coordinator leaves a member STABLE: records go on while the lease holds. After a loss the
next search waits, longer each time until the coordinator has served for as long: a new cluster
answers NOT_COORDINATOR right after a good FindCoordinator, and names a dead node for seconds; one
whose log of offsets lacks replicas answers heartbeats, and refuses each commit.
"""

from kgroup.machine.rows import Table, fan
from kgroup.machine.wishes import Ticket
from kgroup.values import dataclass
from kgroup.words import Word


class CoordinatorState(Word):
    """What is known of the coordinator."""

    UNKNOWN = "unknown"
    SEARCHING = "searching"
    WAITING = "waiting"
    KNOWN = "known"


class CoordinatorTrigger(Word):
    """What can happen to that knowledge."""

    NEEDED = "needed"
    FOUND = "found"
    NOT_FOUND = "not found"
    NOT_PERMITTED = "not permitted"
    LOST = "lost"
    SEARCH_DUE = "search due"


class CoordinatorAction(Word):
    """What a row does."""

    SEND_FIND = "send FindCoordinator"
    TAKE_NODE = "keep the node"
    DROP_NODE = "forget the node and its connections"
    WAIT = "wait, longer each time"
    WAIT_LONGEST = "wait as long as it ever waits"
    ANNOUNCE = "tell the round"


class CoordinatorGuard(Word):
    """This table needs no guards."""


_S = CoordinatorState
_T = CoordinatorTrigger
_A = CoordinatorAction

COORDINATOR_ROWS: Table[
    CoordinatorState, CoordinatorTrigger, CoordinatorGuard, CoordinatorAction
] = Table(
    (
        fan(_S.UNKNOWN, _T.NEEDED, to=_S.SEARCHING, do=(_A.SEND_FIND,)),
        fan((_S.SEARCHING, _S.WAITING), _T.NEEDED, why="on its way"),
        fan(_S.KNOWN, _T.NEEDED, do=(_A.ANNOUNCE,)),
        fan(_S.SEARCHING, _T.FOUND, to=_S.KNOWN, do=(_A.TAKE_NODE, _A.ANNOUNCE)),
        fan(_S.SEARCHING, _T.NOT_FOUND, to=_S.WAITING, do=(_A.WAIT,)),
        fan(
            _S.SEARCHING,
            _T.NOT_PERMITTED,
            to=_S.WAITING,
            do=(_A.WAIT_LONGEST,),
            why="the right may be granted; until then every read says what is missing",
        ),
        fan(_S.KNOWN, _T.LOST, to=_S.WAITING, do=(_A.DROP_NODE, _A.WAIT)),
        fan(_S.WAITING, _T.SEARCH_DUE, to=_S.SEARCHING, do=(_A.SEND_FIND,)),
    )
)

POSSIBLE = {
    _S.UNKNOWN: frozenset({_T.NEEDED}),
    _S.SEARCHING: frozenset({_T.NEEDED, _T.FOUND, _T.NOT_FOUND, _T.NOT_PERMITTED}),
    _S.WAITING: frozenset({_T.NEEDED, _T.SEARCH_DUE}),
    _S.KNOWN: frozenset({_T.NEEDED, _T.LOST}),
}


@dataclass(frozen=True, slots=True)
class Coordinator:
    """What is known of the coordinator.

    Args:
        state: see the table.
        node_id: broker that coordinates the group, None unless KNOWN.
        ticket: the awaited FindCoordinator.
        attempts: searches in a row without having been served for long.
        search_at: when the next search is due, or the latest was.
    """

    state: CoordinatorState = CoordinatorState.UNKNOWN
    node_id: int | None = None
    ticket: Ticket | None = None
    attempts: int = 0
    search_at: float = 0.0
