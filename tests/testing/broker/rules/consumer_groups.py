"""Rules of groups of KIP-848."""

from typing import Final

from tests.testing.broker.rules.rule import Rule

_HERE: Final = "test_consumer_groups::"
_MIXED: Final = "test_mixed_groups::"

CONSUMER_GROUPS: Final = (
    Rule(
        "consumers.target",
        "The first member has a target at once; later ones are made with a heartbeat, one second "
        "after the one before at the earliest.",
        "K1",
        ("kip848_flow",),
    ),
    Rule(
        "consumers.reconcile",
        "A member gives up first, in its old epoch, and has the new one when it no longer lists "
        "what it gave up; only then has another member that partition.",
        "K2",
        ("kip848_flow",),
    ),
    Rule(
        "consumers.epochs",
        "The previous epoch is accepted from a member that owns nothing but what is its own; any "
        "other epoch is refused (110), and an unknown member (25).",
        "K2",
        ("kip848_flow",),
    ),
    Rule(
        "consumers.limits",
        "A member that does not give up within its rebalance timeout is removed, and one that is "
        "silent for a session.",
        "K3",
        ("kip848_flow", f"{_HERE}test_a_session_ends_and_the_others_take_over"),
    ),
    Rule(
        "consumers.refused",
        "Requests that say too little are refused with words (42), and unknown assignors (112) "
        "and patterns that are none (128).",
        "K3",
        ("kip848_flow", f"{_HERE}test_a_pattern_that_is_none_is_refused"),
    ),
    Rule(
        "consumers.static",
        "An instance id in use is refused (111) until its member goes with epoch -2; the next one "
        "has what it had, and its old id is fenced (82).",
        "K3",
        ("kip848_flow", f"{_HERE}test_a_static_member_comes_back_to_what_it_had"),
    ),
    Rule(
        "consumers.offsets",
        "A commit of an older epoch counts for what the member had in that epoch already; else it "
        "is stale (113), as are reads with another epoch.",
        "K4",
        ("kip848_flow",),
    ),
    Rule(
        "consumers.classic",
        "Heartbeats and SyncGroups of the classic protocol are refused (25) to members of this "
        "one, LeaveGroup removes a member; an empty group turns either way.",
        "K5, K6",
        ("kip848_flow", f"{_MIXED}test_an_empty_group_turns_either_way"),
    ),
    Rule(
        "consumers.upgrade",
        "The first member of KIP-848 turns a classic group; its members keep their ids, and what "
        "they had. Refused (69) where the assignor sends its own user data, or the migration "
        "policy is `disabled`.",
        "K6",
        ("upgrade_downgrade",),
    ),
    Rule(
        "consumers.mixed",
        "A classic member joins without a round, nobody leads, and SyncGroup has its part at once; "
        "27 tells it to join again, for which it has its rebalance timeout.",
        "K6",
        (
            "upgrade_downgrade",
            f"{_MIXED}test_a_classic_member_that_waits_is_told_when_its_part_is_free",
            f"{_MIXED}test_a_classic_member_that_does_not_join_again_in_time_loses_its_place",
        ),
    ),
    Rule(
        "consumers.downgrade",
        "When the last member of KIP-848 goes, the others are a classic group in the epoch as "
        "its generation, and begin a round; a classic static member that takes its place begins "
        "none.",
        "K6",
        (
            "upgrade_downgrade",
            f"{_MIXED}test_a_static_member_that_was_the_last_of_the_next_protocol_turns_the_group_back",
        ),
    ),
    Rule(
        "consumers.uniform",
        "`uniform` shares evenly and moves no more than it must; `range` gives neighbours, topic "
        "by topic.",
        "KIP-848",
        (
            f"{_HERE}test_uniform_moves_no_more_than_it_must",
            f"{_HERE}test_range_gives_neighbours_topic_by_topic",
        ),
    ),
    Rule(
        "consumers.configs",
        "A group has a session and heartbeats of its own where its configs say so.",
        "KIP-1043",
        (f"{_HERE}test_a_group_has_its_own_session_and_heartbeats",),
    ),
    Rule(
        "consumers.moves",
        "A coordinator that takes over knows the whole group; sessions begin anew.",
        "KIP-848",
        (f"{_HERE}test_a_move_of_the_coordinator_loses_nothing_and_begins_sessions_anew",),
    ),
)
