"""Rules of SyncGroup, Heartbeat and LeaveGroup."""

from typing import Final

from kgroup.testing.broker.releases import CoordinatorKind
from tests.testing.broker.rules.rule import Rule

_OLD: Final = CoordinatorKind.OLD
_NEW: Final = CoordinatorKind.NEW

_PENDING: Final = (
    "test_groups_joining::test_a_pending_id_of_a_member_that_left_begins_a_round_under_the_new"
    "_rules_only"
)
_TOGETHER: Final = (
    "test_groups::test_of_members_that_leave_together_the_old_rules_let_each_count_at_once"
)

SYNCS: Final = (
    Rule(
        "sync.order",
        "Refusals come in this order: no protocol in version 5 (23), instance (82), member (25), "
        "generation (22), protocol (23), state.",
        "C1, R7",
        ("sync_errors", "fencing_order"),
    ),
    Rule(
        "sync.states",
        "While a round runs 27; until the leader's SyncGroup it is parked; in Stable it has the "
        "stored bytes at once, the leader too; in an empty or unknown group 25.",
        "C2, R7",
        ("sync_errors", "two_join_barrier"),
    ),
    Rule(
        "sync.leader",
        "Only the leader's assignments count; parts for strangers are dropped, and a member "
        "without a part has empty bytes.",
        "C3, R7",
        ("sync_errors", "two_join_barrier"),
    ),
    Rule(
        "sync.twice",
        "A second SyncGroup of a member takes the place of the parked one, which is never "
        "answered.",
        "C6",
        ("double_requests",),
    ),
    Rule(
        "sync.left",
        "The parked SyncGroup of a member that leaves is never answered.",
        "C5",
        ("leave_versions",),
    ),
    Rule(
        "sync.new-round",
        "A round that begins answers parked SyncGroups 27, also when a session's end begins it.",
        "B18, C7",
        ("rejoin_stable", "parked_longer_than_session"),
    ),
    Rule(
        "sync.during-delay-old",
        "During the initial delay it is answered 23, since no assignor is chosen yet.",
        "A10",
        ("initial_delay",),
        _OLD,
    ),
    Rule(
        "sync.during-delay-new",
        "During the initial delay it is answered 27.",
        "A10",
        ("initial_delay",),
        _NEW,
    ),
)

HEARTBEATS: Final = (
    Rule(
        "heartbeat.order",
        "Refusals come in this order: instance (82), member (25), generation (22), state.",
        "D1, R9, R12",
        ("heartbeat_states", "fencing_order"),
    ),
    Rule(
        "heartbeat.states",
        "While a round runs, 27 under the generation that ends and 22 under any other; 0 in Stable "
        "and while the leader's SyncGroup is awaited; 25 in an empty or unknown group.",
        "D1, R9",
        ("heartbeat_states", "nobody_rejoins"),
    ),
    Rule(
        "heartbeat.static",
        "A static member may leave its instance id out; an instance id that is unknown is 25.",
        "D2",
        ("heartbeat_states", "fencing_order"),
    ),
    Rule(
        "session.renewed",
        "A heartbeat answered 0 or 27 and an accepted commit renew the session; 22, 3, and a "
        "commit answered 22 or 27 do not.",
        "D3, R9",
        ("session_renewal",),
    ),
    Rule(
        "session.sync-old",
        "A SyncGroup in Stable renews the session.",
        "A1, R7",
        ("session_renewal",),
        _OLD,
    ),
    Rule(
        "session.sync-new",
        "A SyncGroup in Stable does not renew the session.",
        "A1, R7",
        ("session_renewal",),
        _NEW,
    ),
    Rule(
        "session.silent",
        "A member that is silent for its session timeout is removed at that very instant, during a "
        "round and before its SyncGroup too.",
        "D4, D5, R10",
        ("expiry_granularity", "session_renewal", "generation_arithmetic"),
    ),
    Rule(
        "session.parked",
        "A member that waits in JoinGroup or SyncGroup does not lose its session.",
        "D4, R10",
        ("parked_longer_than_session",),
    ),
    Rule(
        "session.newcomer",
        "A newcomer has five minutes in its first JoinGroup.",
        "D4, R10",
        ("test_groups::test_a_newcomer_waits_no_longer_than_five_minutes",),
    ),
)

LEAVES: Final = (
    Rule(
        "leave.versions",
        "Up to version 2 the error stands at the top; from version 3 on each member has its own, "
        "and a batch may be mixed or empty.",
        "D6, R15",
        ("leave_versions",),
    ),
    Rule(
        "leave.named",
        "A static member may be named by instance id or by member id alone; a wrong id with a "
        "known instance is 82, an unknown instance or member 25.",
        "D6, R15",
        ("leave_versions", "fencing_order"),
    ),
    Rule(
        "leave.pending",
        "A pending id may leave: 0, and it is unknown from then on.",
        "B2",
        ("first_join",),
    ),
    Rule(
        "leave.pending-round",
        "The leave of a mere pending id starts a round in Stable.",
        "B2",
        (_PENDING,),
        _NEW,
    ),
    Rule(
        "leave.together",
        "Members that leave in one batch leave one after the other: the parked SyncGroup of a "
        "later one is answered 27 first.",
        "D6",
        (_TOGETHER,),
        _OLD,
    ),
    Rule(
        "leave.round",
        "The others are in a round at once; the last one leaves an empty group.",
        "D7",
        ("generation_arithmetic", "nobody_rejoins"),
    ),
    Rule(
        "leave.parked-join",
        "The parked JoinGroup of a member that leaves is answered 25 at once.",
        "C5",
        ("leave_versions",),
    ),
)
