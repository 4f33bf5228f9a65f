"""Written plans for mutants that drawn schedules find too seldom, or never alone.

Decides: what happens when; a seed still draws the jitter of the network.
Never: knows of mutants.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kgroup.codes import ApiKey
from tests.search.simulation.named.case import COOPERATIVE, EAGER, STATIC, group, member
from tests.search.simulation.plan import CommitHabit, Kind, Perturbation, Plan

_EACH: Final = CommitHabit.EACH_BATCH
_COMMIT: Final = ApiKey.OFFSET_COMMIT

_LATE: Final = ((0, 0.0), (1, None))
_TWO_TOPICS: Final = {"t0": 2, "t1": 2}


def _slow_leaver() -> Plan:
    """The LeaveGroup of one that closes is answered late, and its listener is slow before it."""
    return group(
        EAGER,
        (member(EAGER, 0), member(EAGER, 1)),
        Perturbation(8.9, Kind.DELAY, 0, seconds=4.0, api=ApiKey.LEAVE_GROUP),
        Perturbation(8.95, Kind.SLOW_LISTENER, 0, seconds=3.5),
        Perturbation(9.0, Kind.LEAVE, 0),
    )


def _asks_for_less() -> Plan:
    """One subscribes to less than it had; then there is another round."""
    reader = member(EAGER, 0, topics=("t0", "t1"))
    return group(
        EAGER,
        (reader,),
        Perturbation(9.0, Kind.SUBSCRIBE, 0, number=2),
        Perturbation(13.0, Kind.ENFORCE, 0),
        topics=_TWO_TOPICS,
    )


def _never_commits() -> Plan:
    """One reads, commits nothing and dies; the next one commits nothing either."""
    first = member(EAGER, 0, commit_interval=1000.0)
    second = member(EAGER, 1, None, commit_interval=1000.0)
    return group(
        EAGER,
        (first, second),
        Perturbation(6.2, Kind.KILL, 0),
        Perturbation(6.4, Kind.JOIN, 1),
        Perturbation(39.5, Kind.BLACKHOLE, 1, seconds=30.0),
        quiet_at=16.0,
        ends_at=40.0,
    )


PLANS: Final[Mapping[str, Plan]] = MappingProxyType(
    {
        "nothing happens": group(EAGER, (member(EAGER, 0), member(EAGER, 1)), quiet_at=12.0),
        "nobody takes over": group(EAGER, (member(EAGER, 0),), quiet_at=12.0),
        "records stay in hand": group(
            EAGER, (member(EAGER, 0, handling=0.9, commit_interval=1.0),), quiet_at=12.0
        ),
        "one joins later": group(
            COOPERATIVE,
            tuple(member(COOPERATIVE, n, at, commit_interval=1.0) for n, at in _LATE),
            Perturbation(9.1, Kind.JOIN, 1),
        ),
        "one joins later, eager": group(
            EAGER,
            tuple(member(EAGER, n, at, commit_interval=1.0) for n, at in _LATE),
            Perturbation(9.1, Kind.JOIN, 1),
        ),
        "one leaves slowly": _slow_leaver(),
        "one asks for less": _asks_for_less(),
        "nobody commits": _never_commits(),
        "one seeks back": group(
            EAGER,
            (member(EAGER, 0),),
            Perturbation(8.2, Kind.SEEK, 0, number=2),
            Perturbation(8.201, Kind.COMMIT, 0),
        ),
        "no commit is answered, and its member dies": group(
            EAGER,
            (member(EAGER, 0, habit=_EACH), member(EAGER, 1, None)),
            Perturbation(0.1, Kind.LOSE, 0, api=_COMMIT, number=99),
            Perturbation(9.0, Kind.KILL, 0),
            Perturbation(9.1, Kind.JOIN, 1),
        ),
        "one is evicted": group(
            EAGER, (member(EAGER, 0), member(EAGER, 1)), Perturbation(9.0, Kind.EVICT, 0)
        ),
        "one does not poll, with records in hand": group(
            EAGER,
            (member(EAGER, 0, handling=0.9), member(EAGER, 1)),
            Perturbation(8.2, Kind.STALL, 0, seconds=14.0),
        ),
        "the coordinator is away for a second": group(
            EAGER,
            (member(EAGER, 0), member(EAGER, 1)),
            Perturbation(12.1, Kind.COORDINATOR_KILLED, seconds=1.0),
            quiet_at=22.0,
        ),
        "a twin starts while the first commits": group(
            STATIC,
            (member(STATIC, 0, habit=_EACH), member(STATIC, 1)),
            Perturbation(9.1, Kind.TWIN, 0),
        ),
        "one pauses": group(
            EAGER, (member(EAGER, 0),), Perturbation(7.2, Kind.PAUSE, 0, seconds=5.0)
        ),
        "one asks for two rounds": group(
            EAGER,
            (member(EAGER, 0),),
            Perturbation(6.5, Kind.ENFORCE, 0),
            Perturbation(9.5, Kind.ENFORCE, 0),
            produce_every=4.0,
            quiet_at=16.0,
        ),
        "a twin starts while one commit waits for another": group(
            STATIC,
            (member(STATIC, 0, habit=_EACH), member(STATIC, 1)),
            Perturbation(9.09, Kind.DELAY, 0, seconds=1.5, api=_COMMIT),
            Perturbation(9.1, Kind.TWIN, 0),
        ),
        "one record more is done when one joins": group(
            COOPERATIVE,
            tuple(member(COOPERATIVE, n, at, commit_interval=1.0, handling=0.6) for n, at in _LATE),
            Perturbation(8.3, Kind.PRODUCE, number=3),
            Perturbation(9.7, Kind.JOIN, 1),
            produce_every=100.0,
        ),
        "a listener raises when one joins": group(
            EAGER,
            (member(EAGER, 0), member(EAGER, 1, None)),
            Perturbation(8.0, Kind.RAISING_LISTENER, 0),
            Perturbation(9.1, Kind.JOIN, 1),
        ),
        "one joins while the coordinator loads": group(
            EAGER,
            (member(EAGER, 0), member(EAGER, 1, None)),
            Perturbation(9.0, Kind.COORDINATOR_LOADS, seconds=5.0),
            Perturbation(9.1, Kind.JOIN, 1),
        ),
        "one joins while the coordinator loads, and goes": group(
            EAGER,
            (member(EAGER, 0), member(EAGER, 1, None)),
            Perturbation(9.0, Kind.COORDINATOR_LOADS, seconds=5.0),
            Perturbation(9.1, Kind.JOIN, 1),
            Perturbation(12.0, Kind.LEAVE, 1),
        ),
        "the SyncGroup of the leader is late": group(
            EAGER,
            (member(EAGER, 0), member(EAGER, 1, 1.0)),
            Perturbation(9.0, Kind.HOLD, 0, seconds=8.0, api=ApiKey.SYNC_GROUP),
            Perturbation(9.1, Kind.ENFORCE, 0),
        ),
        "a commit arrives after a round": group(
            COOPERATIVE,
            (member(COOPERATIVE, 0, habit=_EACH), member(COOPERATIVE, 1)),
            Perturbation(9.05, Kind.HOLD, 0, seconds=1.5, api=_COMMIT),
            Perturbation(10.2, Kind.ENFORCE, 0),
        ),
        "the coordinator loads when one asks where to begin": group(
            EAGER,
            (member(EAGER, 0, habit=_EACH), member(EAGER, 1, None, habit=_EACH)),
            Perturbation(9.0, Kind.HOLD, 0, seconds=3.0, api=ApiKey.OFFSET_FETCH),
            Perturbation(9.1, Kind.JOIN, 1),
            Perturbation(11.5, Kind.COORDINATOR_LOADS, seconds=1.5),
        ),
        "one unsubscribes while its JoinGroup is answered": group(
            EAGER,
            (member(EAGER, 0), member(EAGER, 1)),
            Perturbation(8.9, Kind.DELAY, 1, seconds=4.0, api=ApiKey.JOIN_GROUP),
            Perturbation(9.0, Kind.ENFORCE, 1),
            Perturbation(10.0, Kind.RESUBSCRIBE, 1, seconds=100.0),
            quiet_at=16.0,
        ),
        "one reads slowly": group(
            EAGER, (member(EAGER, 0, handling=0.9),), produce_every=1.8, quiet_at=16.0, ends_at=70.0
        ),
        "one closes amid its listener": group(
            EAGER,
            (member(EAGER, 0), member(EAGER, 1)),
            Perturbation(8.0, Kind.SLOW_LISTENER, 0, seconds=20.0),
            Perturbation(9.0, Kind.LEAVE, 0),
        ),
    }
)
"""Name -> plan; sessions of 6 s, heartbeats every 2 s, 9 s to rebalance."""
