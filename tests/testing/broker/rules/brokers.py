"""Rules of coordinators that die, stop and load, and of connections."""

from typing import Final

from kgroup.testing.broker.releases import CoordinatorKind
from tests.testing.broker.rules.rule import Rule

_OLD: Final = CoordinatorKind.OLD
_NEW: Final = CoordinatorKind.NEW

_KILLED: Final = (
    "test_cluster_leaders::test_a_dead_coordinator_is_named_until_the_election_and_the_others"
    "_answer_16"
)
_NEW_CLUSTER: Final = (
    "test_cluster_leaders::test_the_coordinator_of_a_new_cluster_is_not_available_until_its_topic"
    "_is_made"
)
_NEVER_STORED: Final = (
    "test_groups::test_a_group_that_was_never_stored_is_known_to_the_new_coordinator_only"
)
_FALLBACK: Final = (
    "test_releases::test_a_version_of_api_versions_that_is_not_spoken_gets_the_bytes_of_a_real"
    "_broker"
)

_CLOSED: Final = (
    "test_switchboard::test_of_what_waits_behind_a_parked_request_one_is_served_after_the_client"
    "_has_closed"
)
_CLOSED_UNREAD: Final = (
    "test_switchboard::test_nothing_is_served_after_a_client_that_had_not_read_all_has_closed"
)

MOVES: Final = (
    Rule(
        "move.killed",
        "A coordinator that is killed answers nobody; it is named for the election delay, and the "
        "others answer 16.",
        "F1, R16",
        (
            "coordinator_sigkill",
            _KILLED,
        ),
    ),
    Rule(
        "move.stopped",
        "One that gives its groups up in good order answers parked requests 16.",
        "F2",
        ("coordinator_sigterm",),
    ),
    Rule(
        "move.loading",
        "While a coordinator loads, everything is answered 14, except a heartbeat: 0 for "
        "everybody.",
        "F3, R16",
        ("coordinator_sigkill", "coordinator_sigterm", "broker_restart"),
    ),
    Rule(
        "move.loading-sync-old",
        "While it loads, SyncGroup is answered 27.",
        "A4",
        ("coordinator_sigkill", "broker_restart"),
        _OLD,
    ),
    Rule(
        "move.loading-sync-new",
        "While it loads, SyncGroup is answered 14.",
        "A4",
        ("coordinator_sigkill", "broker_restart"),
        _NEW,
    ),
    Rule(
        "move.survives",
        "What survives is the last round whose assignment was stored, and commits: members, ids, "
        "generation.",
        "F4, R16",
        ("coordinator_sigkill", "coordinator_sigterm"),
    ),
    Rule(
        "move.rolls-back",
        "A round that was running is forgotten: the group is Stable under the generation before, "
        "a member with the newer one is answered 22, newcomers 25; the number is given out again.",
        "F4, R16",
        ("broker_restart", "coordinator_sigkill"),
    ),
    Rule(
        "move.sessions",
        "All sessions begin anew when the group is loaded.",
        "F5",
        ("coordinator_sigkill", "test_groups::test_while_nobody_coordinates_no_session_ends"),
    ),
    Rule(
        "move.never-stored-old",
        "A group of pending ids alone is gone after a move.",
        "A11",
        (_NEVER_STORED,),
        _OLD,
    ),
    Rule(
        "move.never-stored-new",
        "A group of pending ids alone is Empty after a move: it was stored when it was made.",
        "A11",
        (_NEVER_STORED,),
        _NEW,
    ),
    Rule(
        "move.comes-back",
        "A broker that comes back does not take its groups back.",
        "F5",
        ("coordinator_sigkill", "coordinator_sigterm"),
    ),
    Rule(
        "move.new-cluster",
        "In a new cluster there is no coordinator (15) until the offsets topic is made.",
        "F6",
        (_NEW_CLUSTER,),
    ),
    Rule(
        "move.partition",
        "A group belongs to the partition of its id's Java hash, its absolute value modulo the "
        "number of partitions.",
        "F7",
        ("coordinator_sigkill", "test_java_hash::test_a_group_has_the_partition_of_its_hash"),
    ),
)

CONNECTIONS: Final = (
    Rule(
        "connection.one-at-a-time",
        "A connection's requests are looked at one at a time, so that all behind a parked one "
        "wait.",
        "G1, R18",
        (
            "one_connection",
            "test_server_memory::test_a_heartbeat_behind_a_parked_join_waits_for_its_answer",
        ),
    ),
    Rule(
        "connection.closed",
        "Of what waits behind a parked request when the client closes its connection, one request "
        "is still served: the answer before it goes out into nothing. None is when the client had "
        "not read all.",
        "Linux and Kafka 3.9.1, 4.3.1: tests/real/test_inprocess.py",
        (_CLOSED, _CLOSED_UNREAD),
    ),
    Rule(
        "connection.versions",
        "Each version of each group API has its own layout, errors included.",
        "G2",
        ("versions",),
    ),
    Rule(
        "connection.unspoken",
        "A request of a version that the release does not speak ends the connection; ApiVersions "
        "alone is answered 35 in version 0.",
        "G2",
        (
            "versions",
            _FALLBACK,
        ),
    ),
    Rule(
        "connection.releases",
        "ApiVersions lists the ranges of the chosen release, and what is listed is served.",
        "A8",
        (
            "test_releases::test_the_ranges_of_a_measured_release_are_those_of_the_real_broker",
            "test_releases::test_every_api_of_a_release_has_a_handler",
        ),
    ),
    Rule(
        "connection.find",
        "FindCoordinator answers 0 to an empty group id and 42 to an unknown kind of key.",
        "G4",
        ("txn_commit_states",),
    ),
)
