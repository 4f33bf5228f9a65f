"""Rules of JoinGroup, of rounds and of static members."""

from typing import Final

from kgroup.testing.broker.releases import CoordinatorKind
from tests.testing.broker.rules.rule import Rule

_OLD: Final = CoordinatorKind.OLD
_NEW: Final = CoordinatorKind.NEW

_CUT: Final = (
    "test_groups_joining::test_the_end_of_a_pending_id_cuts_the_initial_delay_under_the_new_rules"
)
_BUCKET: Final = (
    "test_groups::test_of_assignors_in_one_bucket_the_first_member_in_hash_order_decides"
)
_NEWCOMER: Final = (
    "test_groups_static::test_a_static_newcomer_that_restarts_has_a_session_under_the_old_rules"
)
_TRIE: Final = (
    "test_java_hash::test_scalas_trie_lists_the_four_assignors_as_the_votes_of_3_9_1_went"
)

JOINS: Final = (
    Rule(
        "join.id",
        "From version 4 on, a dynamic member without an id is answered 79 and an id, `<client id>-"
        "<uuid>`; before, it joins at once.",
        "B1, R1, KIP-394",
        ("first_join", "versions"),
    ),
    Rule(
        "join.pending",
        "An id that was handed out and has not joined is no member: everything but JoinGroup and "
        "LeaveGroup is answered 25, and the group is Empty without members.",
        "B2",
        ("first_join", "delete_states"),
    ),
    Rule(
        "join.pending-expires",
        "Such an id lives for the session timeout, then it is unknown: 25.",
        "B3, R1",
        ("first_join",),
    ),
    Rule(
        "join.pending-blocks",
        "Such ids hold a round up, except the first round of a group that was empty.",
        "B4, R1",
        (
            "join_all_at_once",
            "test_groups_joining::test_a_pending_id_holds_up_a_round_of_a_group_with_members",
        ),
    ),
    Rule(
        "join.unknown",
        "An id that nobody handed out is answered 25 and echoed, also when there is no such group.",
        "B5",
        ("first_join", "heartbeat_states"),
    ),
    Rule(
        "join.protocols",
        "A member with no assignor in common with the group, another protocol type, no assignors "
        "or no type is answered 23 before anything else happens, also by a new group.",
        "B13",
        ("protocol_vote",),
    ),
    Rule(
        "join.bounds",
        "A session timeout out of bounds is answered 26 before the member is looked at, an empty "
        "group id 24 before that.",
        "B19, R17",
        ("bounds",),
    ),
    Rule(
        "join.max-size",
        "A full group answers 81; in a round only members count that wait in it, and a member "
        "that comes too late loses its place.",
        "B21, R14",
        ("max_size",),
    ),
    Rule(
        "join.max-size-completes",
        "The loss of such a place completes the round at once if it was the last one missing.",
        "B21",
        ("max_size",),
        _OLD,
    ),
    Rule(
        "join.free",
        "In Stable, a follower that joins with the same assignors and bytes has the present "
        "generation at once, without members; its timeouts may change, its session is not renewed.",
        "B15, R6",
        ("rejoin_stable", "two_join_barrier", "session_renewal"),
    ),
    Rule(
        "join.leader-rejoins",
        "In Stable, a leader that joins again starts a round, whatever it brings.",
        "B16, R6",
        ("two_join_barrier", "rejoin_stable"),
    ),
    Rule(
        "join.changed",
        "A member whose assignors or bytes have changed starts a round.",
        "B17, R6",
        ("rejoin_stable",),
    ),
    Rule(
        "join.completing",
        "While the leader's SyncGroup is awaited, an unchanged member has the present generation "
        "at once (the leader with members); a changed one or a newcomer starts another round.",
        "B18, R6",
        ("rejoin_stable",),
    ),
    Rule(
        "join.twice",
        "A second JoinGroup of a member takes the place of the parked one, which is never "
        "answered.",
        "B24",
        ("double_requests",),
    ),
    Rule(
        "join.closed",
        "A member whose connection closes while it is parked stays and counts as waiting; it "
        "goes a session timeout after the round.",
        "B25, R10",
        ("parked_connection_closes", "initial_delay"),
    ),
)

ROUNDS: Final = (
    Rule(
        "round.barrier",
        "A round ends when every member waits in it and no id is pending; the leader stays, and "
        "only the leader gets the members, in the order of the broker's hash map.",
        "B6, R3",
        ("two_join_barrier", "generation_arithmetic"),
    ),
    Rule(
        "round.timeout",
        "It ends at the latest after the longest rebalance timeout of all members, those who are "
        "away included; dynamic members that did not come are removed.",
        "B7, R3, R4",
        ("not_rejoining",),
    ),
    Rule(
        "round.loss",
        "When the last missing member leaves, or its session ends, the round ends at once.",
        "B7",
        ("test_groups::test_the_loss_of_the_last_missing_member_ends_the_round",),
    ),
    Rule(
        "round.new-leader",
        "If the leader did not come, the first that waits in hash order leads, and keeps the lead.",
        "B8, S6",
        ("not_rejoining", "static_leader_absent"),
    ),
    Rule(
        "round.nobody",
        "If nobody came, dynamic members are all removed and the group is Empty.",
        "B9, R3",
        ("nobody_rejoins",),
    ),
    Rule(
        "round.nobody-static",
        "With static members left, the round goes on for another rebalance timeout.",
        "B10, R3",
        ("test_groups::test_a_round_without_anybody_but_absent_static_members_goes_on",),
    ),
    Rule(
        "round.generation",
        "The generation rises by 1 with each round and whenever the group becomes Empty; it is "
        "kept while Empty and begins at 1 again after a deletion.",
        "B11",
        ("generation_arithmetic", "delete_states"),
    ),
    Rule(
        "round.vote",
        "Candidates are the assignors common to all; each member votes for its first candidate.",
        "B12, R5",
        ("protocol_vote",),
    ),
    Rule(
        "round.vote-tie-new",
        "A tie goes to the assignor that comes first in a hash map of Java, into which the members "
        "put their votes in hash order.",
        "A5, B12",
        ("protocol_vote", _BUCKET),
        _NEW,
    ),
    Rule(
        "round.vote-tie-old",
        "A tie goes to the assignor that comes first in an immutable hash map of Scala.",
        "A5, B12",
        ("protocol_vote", _TRIE),
        _OLD,
    ),
    Rule(
        "round.timeout-zero",
        "With a rebalance timeout of 0 or -1 the round ends and the member is removed at once.",
        "B20",
        ("bounds",),
    ),
    Rule(
        "round.initial-delay",
        "The first round of an empty group waits for the initial delay; each window in which "
        "somebody came is followed by another, up to the rebalance timeout in all.",
        "B22, R2",
        ("initial_delay", "max_size", "first_join"),
    ),
    Rule(
        "round.initial-delay-once",
        "In a group that had a generation before, newcomers do not extend the initial delay.",
        "B22, R2",
        ("test_groups::test_the_old_rules_extend_the_initial_delay_of_brand_new_groups_only",),
        _OLD,
    ),
    Rule(
        "round.initial-delay-cut",
        "The end of a pending id's life ends the initial delay if everybody else waits.",
        "B3",
        (_CUT,),
        _NEW,
    ),
    Rule(
        "round.before-first",
        "During that delay, with generation 0, a heartbeat is answered 27 and a commit is "
        "accepted.",
        "B23",
        ("initial_delay",),
    ),
    Rule(
        "round.unsynced",
        "A member without SyncGroup a rebalance timeout after the round loses its place, though it "
        "sends heartbeats and though the group is Stable; members that wait for it get 27.",
        "C4, R8",
        (
            "static_absent",
            "session_renewal",
            "test_groups::test_a_member_that_never_syncs_loses_its_place",
        ),
    ),
    Rule(
        "round.poison",
        "Subscription bytes of protocol type `consumer` that promise more than is there stop the "
        "group: the member that would complete the round is answered -1, others stay parked, the "
        "generation goes on, and neither time nor newcomers end it.",
        "B14",
        ("poison_metadata", "poison_recovery"),
    ),
    Rule(
        "round.poison-bytes",
        "Only the topics and the user data are read; what is cut inside a length, has another "
        "version or trails behind is forgiven.",
        "B14a",
        ("poison_cuts",),
    ),
    Rule(
        "round.poison-ends",
        "When the member with the bad bytes leaves, the next JoinGroup completes; everybody else's "
        "LeaveGroup is answered -1.",
        "A9, B14",
        ("poison_metadata", "poison_recovery"),
        _NEW,
    ),
    Rule(
        "round.poison-stays",
        "Not even the leave of the member with the bad bytes frees the group.",
        "A9, B14",
        ("poison_metadata", "poison_recovery"),
        _OLD,
    ),
)

STATIC: Final = (
    Rule(
        "static.id",
        "A static member has no 79; its id is `<instance id>-<uuid>`.",
        "B1, R11, KIP-345",
        ("initial_delay", "static_restart_stable"),
    ),
    Rule(
        "static.restart",
        "A static member that comes back without its id has a new one; in Stable there is no round "
        "as long as the chosen assignor stays the same, whatever else has changed.",
        "S1, R11",
        (
            "static_restart_stable",
            "test_groups_static::test_a_restart_that_changes_the_vote_starts_a_round",
        ),
    ),
    Rule(
        "static.restart-answer",
        "A follower gets the leader's id. A leader gets, from version 9 on, the members, and is to "
        "skip the assignment; before, its own old id as the leader.",
        "S2, R11, KIP-814",
        ("static_restart_stable",),
    ),
    Rule(
        "static.assignment",
        "The stored assignment stays bound to the member over restarts.",
        "S2",
        ("static_restart_stable",),
    ),
    Rule(
        "static.restart-round",
        "A restart during a round is parked, the older parked JoinGroup is answered 82, and a "
        "leader keeps the lead under its new id.",
        "S3, B24",
        ("static_restart_preparing", "double_requests", "initial_delay"),
    ),
    Rule(
        "static.restart-completing",
        "A restart while the leader's SyncGroup is awaited starts a round; its old SyncGroup is "
        "answered 82, those of others 27.",
        "S3, C6",
        ("test_groups_static::test_a_static_restart_while_syncs_wait_starts_a_round",),
    ),
    Rule(
        "static.newcomer-old",
        "One that restarts while it waits in its first JoinGroup is removed when its session ends.",
        "S3, R10",
        (_NEWCOMER,),
        _OLD,
    ),
    Rule(
        "static.newcomer-new",
        "One that restarts while it waits in its first JoinGroup waits as long as the round.",
        "S3, R10",
        (_NEWCOMER,),
        _NEW,
    ),
    Rule(
        "static.unsynced",
        "One that restarts before it has sent SyncGroup costs a round a rebalance timeout later.",
        "C4, S2",
        (
            "test_groups_static::test_a_static_member_that_restarts_before_it_has_synced_costs_a_round",
        ),
    ),
    Rule(
        "static.fenced",
        "The old id with the instance id is answered 82 on every API, before 25 and 22; without "
        "the instance id, or when the instance is gone, 25.",
        "S4, R12",
        ("fencing_order", "static_restart_stable"),
    ),
    Rule(
        "static.silent",
        "A static member is removed when its session ends.",
        "S5",
        ("static_absent",),
    ),
    Rule(
        "static.absent",
        "One that is away when a round ends stays in it, but loses its place a rebalance timeout "
        "later because it does not sync.",
        "S5, R3",
        ("static_absent",),
    ),
    Rule(
        "static.leader-absent",
        "A static leader that was away comes back as a follower, without a round.",
        "S6",
        ("static_leader_absent",),
    ),
)
