"""Group membership: whether each feature is there, and the tests that prove it."""

from typing import Final

from tests.house.surface_row import Answer, Row

__all__ = ["GROUP"]

_YES, _NO, _LATER = Answer.YES, Answer.NO, Answer.LATER

GROUP: Final = (
    Row(
        "Eager rebalance",
        _YES,
        "with any assignor but `cooperative-sticky` alone",
        (
            (
                "real/test_consumer.py",
                "test_ten_thousand_records_survive_a_member_that_joins_and_one_that_leaves",
            ),
            ("real/test_mixed_groups.py", "test_aiokafka_and_kgroup_share_a_topic"),
            (
                "membership/test_rounds.py",
                "test_an_eager_member_hands_everything_back_before_it_joins",
            ),
        ),
    ),
    Row(
        "Cooperative rebalance (KIP-429)",
        _YES,
        'with `assignors=["cooperative-sticky"]`',
        (
            (
                "real/test_consumer.py",
                "test_nobody_waits_for_another_members_batch_but_for_its_partition",
            ),
            ("real/test_mixed_groups.py", "test_confluent_kafka_and_kgroup_share_a_topic"),
            ("real/test_mixed_groups.py", "test_a_java_client_and_two_of_ours_share_a_topic"),
            (
                "membership/test_rounds.py",
                "test_what_moves_is_drained_revoked_and_only_then_given_up_in_a_further_round",
            ),
        ),
    ),
    Row(
        "Live switch from eager to cooperative, by two rolling restarts",
        _YES,
        "first with both assignors, then with `cooperative-sticky` alone",
        (
            (
                "real/test_migration.py",
                "test_a_group_goes_from_eager_to_cooperative_while_records_flow",
            ),
            ("real/test_migration.py", "test_static_members_change_over_with_a_single_round"),
            (
                "real/test_migration.py",
                "test_a_newcomer_without_a_common_assignor_is_told_and_nothing_else_happens",
            ),
        ),
    ),
    Row(
        "Static membership (KIP-345)",
        _YES,
        "the instance id goes into every request; the older of two twins gets `FencedError`",
        (
            ("real/test_static_members.py", "test_a_restart_within_the_session_is_not_noticed"),
            (
                "real/test_static_members.py",
                "test_the_older_of_two_twins_is_fenced_and_reads_nothing_more",
            ),
            ("real/test_static_members.py", "test_26_every_request_carries_the_instance_id"),
        ),
    ),
    Row(
        "Members of other clients replaced one by one, and back",
        _YES,
        "`kgroup groups offers GROUP` [judges a plan](cli.md#groups)",
        (
            ("real/test_rolling.py", "test_members_are_replaced_by_the_drop_in_and_back"),
            ("real/test_rolling.py", "test_members_are_replaced_by_ours_and_back"),
        ),
    ),
    Row(
        "Removal of members by an operator",
        _YES,
        "`kgroup groups evict GROUP --instance ID`",
        (
            ("real/test_cli.py", "test_a_static_member_that_died_is_evicted"),
            ("net/test_admin.py", "test_a_static_member_is_evicted_by_its_instance_id"),
        ),
    ),
    Row(
        "First join in two steps (KIP-394)",
        _YES,
        "",
        (
            ("real/test_scenarios.py", "test_a_member_id_is_assigned_once"),
            ("consumer/test_classic_backend_rounds.py", "test_a_first_join_takes_two_steps"),
            ("membership/test_leaving.py", "test_a_member_that_is_only_pending_leaves_too"),
        ),
    ),
    Row(
        "Closing with or without leaving (KIP-1092)",
        _YES,
        "`close(leave=Leave.LEAVE | Leave.REMAIN)`; by default a static member remains",
        (
            (
                "real/test_static_members.py",
                "test_26_a_static_member_leaves_by_its_instance_only_when_it_is_told_to",
            ),
            (
                "real/test_static_members.py",
                "test_26_a_dynamic_member_that_remains_keeps_its_place_until_its_session_ends",
            ),
        ),
    ),
    Row("KIP-848 protocol", _LATER, "another backend behind the same consumer; not written"),
    Row(
        "Groups without a coordinator (Marshal)",
        _YES,
        '[`backend="marshal"`](marshal.md): claims in a log, of kgroup and of the original library',
        (
            (
                "real/test_marshal.py",
                "test_what_a_killed_process_had_is_taken_over_where_its_last_heartbeat_stood",
            ),
            (
                "real/test_marshal.py",
                "test_a_process_frozen_past_its_lease_hands_out_nothing_on_waking",
            ),
            (
                "consumer/marshal/test_members.py",
                "test_members_come_to_even_shares_and_who_is_alone_has_all",
            ),
        ),
    ),
    Row(
        "At most once, for batches of records",
        _YES,
        'with `backend="marshal"` and `guarantee="at_most_once"`',
        (
            (
                "real/test_marshal_crashes.py",
                "test_at_most_once_loses_what_was_published_and_doubles_nothing",
            ),
            (
                "consumer/marshal/test_crashes.py",
                "test_at_most_once_a_death_costs_what_the_table_says",
            ),
        ),
    ),
    Row("Share groups (KIP-932)", _NO, "a queue is another thing than a log; not planned"),
    Row(
        "Assignors built in",
        _YES,
        "`range`, `roundrobin`, `sticky`, `cooperative-sticky`",
        (
            ("real/test_mixed_groups.py", "test_aiokafka_and_kgroup_share_a_topic"),
            (
                "real/test_symptoms.py",
                "test_two_sticky_groups_in_one_process_do_not_disturb_each_other",
            ),
            (
                "assignors/test_vectors.py",
                "test_a_scenario_is_assigned_as_java_assigns_it_or_better",
            ),
        ),
    ),
    Row(
        "Generation in the user data of `sticky` (KIP-54, KIP-341)",
        _YES,
        "",
        (
            (
                "real/test_symptoms.py",
                "test_two_sticky_groups_in_one_process_do_not_disturb_each_other",
            ),
            ("assignors/test_defects.py", "test_4_the_generation_that_came_with_the_claim_counts"),
        ),
    ),
    Row(
        "Owned partitions and generation in the subscription (KIP-792)",
        _YES,
        "subscription version 3 is written, 0 to 3 are read",
        (
            ("real/test_mixed_groups.py", "test_confluent_kafka_and_kgroup_share_a_topic"),
            ("assignors/test_defects.py", "test_two_claims_of_one_generation_void_each_other"),
        ),
    ),
    Row(
        "Rack-aware assignment (KIP-881)",
        _YES,
        "`client_rack`; `range`, `sticky` and `cooperative-sticky` heed it",
        (
            (
                "real/test_assignors_racks.py",
                "test_partitions_go_to_members_in_the_racks_of_their_replicas",
            ),
            (
                "real/test_assignors_racks.py",
                "test_a_leader_notices_replicas_that_move_to_other_racks_and_nothing_less",
            ),
            ("assignors/test_vectors.py", "test_the_rack_switch_is_where_java_has_it"),
        ),
    ),
    Row(
        "Assignors of one's own",
        _YES,
        "[one pure function](write-an-assignor.md), given by name (entry point) or as an instance",
        (
            ("real/test_promises.py", "test_an_assignor_of_ones_own_divides_a_group"),
            ("assignors/test_plugin.py", "test_an_assignor_in_fifteen_lines_assigns_by_zone"),
            ("real/test_assignors.py", "test_an_installed_assignor_is_chosen_by_its_name"),
            (
                "real/test_assignors_of_peers.py",
                "test_another_clients_assignor_divides_a_group_of_ours",
            ),
        ),
    ),
    Row(
        "An assignor that fails costs its round, not the group",
        _YES,
        "nothing is sent, heartbeats go on, the round is repeated; `membership.trouble` says why",
        (
            (
                "real/test_assignors.py",
                "test_an_eager_group_outlives_an_assignor_that_raises_for_a_while",
            ),
            (
                "real/test_assignors.py",
                "test_a_cooperative_group_reads_on_while_its_assignor_fails",
            ),
            (
                "consumer/test_classic_backend_assigning.py",
                "test_what_cannot_be_sent_is_not_sent_and_said_by_name",
            ),
        ),
    ),
    Row(
        "Assignors that remember, withhold, and ask for another round",
        _YES,
        "user data comes back, `withheld`, `rejoin_after`, the leader's clock",
        (
            (
                "real/test_assignors.py",
                "test_what_a_member_leaves_behind_waits_for_its_successor_and_then_for_nobody",
            ),
            (
                "consumer/test_classic_backend_asked_rounds.py",
                "test_a_leader_begins_the_round_that_its_assignor_asked_for",
            ),
            (
                "membership/test_user_data.py",
                "test_a_member_that_is_lost_keeps_the_memory_and_claims_nothing",
            ),
        ),
    ),
    Row(
        "Leading a large group beside the event loop",
        _YES,
        "reading, describing, dividing, checking and writing in a thread; heartbeats go on",
        (
            (
                "real/test_assignors.py",
                "test_a_leader_that_divides_for_longer_than_a_session_stays_and_reads_on",
            ),
            (
                "consumer/test_classic_backend_off_loop.py",
                "test_heartbeats_are_answered_while_the_assignor_of_a_large_group_works",
            ),
        ),
    ),
    Row(
        "Assignors of other clients",
        _YES,
        "[aiokafka's and kafka-python's](assignors.md), classes or instances, without memory",
        (
            ("assignors/test_peers.py", "test_their_rounds_pass_the_leaders_look"),
            ("assignors/test_peers.py", "test_two_consumers_of_a_process_do_not_share_a_memory"),
        ),
        unreal="assignors see no broker; their results pass the leader's check",
    ),
    Row(
        "Listener: revoked and lost are two things",
        _YES,
        "`on_revoked` while commits still work, `on_lost` when it is too late",
        (
            (
                "real/test_commits.py",
                "test_a_commit_made_while_revoked_is_where_the_next_owner_begins",
            ),
            (
                "real/test_promises.py",
                "test_a_member_frozen_past_its_session_delivers_nothing_on_waking",
            ),
            (
                "real/test_symptoms_member.py",
                "test_23_what_moves_in_a_round_is_revoked_and_never_lost",
            ),
            ("consumer/test_ownership.py", "test_nothing_is_committed_after_lost"),
        ),
    ),
    Row(
        "Awaitable listener",
        _YES,
        "each callback is plain or async, for at most `max_poll_interval`",
        (
            (
                "real/test_commits.py",
                "test_a_commit_made_while_revoked_is_where_the_next_owner_begins",
            ),
            (
                "consumer/test_ownership.py",
                "test_a_listener_hears_plain_and_awaitable_what_comes_and_goes",
            ),
            (
                "consumer/test_ownership.py",
                "test_position_seek_pause_commit_and_close_work_inside_callbacks",
            ),
        ),
    ),
    Row(
        "`max.poll.interval.ms` (KIP-62)",
        _YES,
        "`max_poll_interval`",
        (
            (
                "real/test_consumer.py",
                "test_a_member_that_does_not_poll_leaves_and_comes_back_by_reading",
            ),
            ("membership/test_leaving.py", "test_a_static_member_that_is_not_polled_falls_silent"),
        ),
    ),
    Row(
        "Heartbeats while joining and syncing",
        _YES,
        "on a connection of their own",
        (
            (
                "consumer/test_classic_backend_rounds.py",
                "test_heartbeats_go_on_on_a_connection_of_their_own_while_a_join_is_parked",
            ),
        ),
        unreal="a broker expels nobody whose join it has parked, so there they make no difference",
    ),
    Row(
        "A round asked for by the application (KIP-568)",
        _YES,
        "`enforce_rebalance(reason)`",
        (
            ("real/test_promises.py", "test_a_round_the_application_asks_for_is_carried_out"),
            ("consumer/test_ownership.py", "test_enforce_rebalance_reaches_the_group"),
        ),
    ),
    Row(
        "Reasons told to the coordinator (KIP-800)",
        _YES,
        "with each join and leave",
        (
            (
                "consumer/test_classic_backend_rounds.py",
                "test_a_round_that_is_asked_for_is_told_why",
            ),
            (
                "consumer/test_classic_backend_leaving.py",
                "test_a_dynamic_member_says_that_it_leaves_and_why",
            ),
        ),
        unreal="a broker shows reasons in its own log only",
    ),
    Row(
        "Group metadata for transactions (KIP-447)",
        _YES,
        "`group_metadata()`",
        (
            (
                "real/test_logs.py",
                "test_a_transaction_commits_under_the_identity_of_the_member_and_no_other",
            ),
            (
                "real/test_logs.py",
                "test_the_identity_for_transactions_is_the_generation_of_the_member",
            ),
        ),
    ),
    Row(
        "Committed offsets wait for open transactions (`require_stable`)",
        _YES,
        "always",
        (
            (
                "real/test_promises.py",
                "test_an_offset_that_an_open_transaction_commits_is_waited_for",
            ),
            ("net/test_admin.py", "test_offsets_that_a_transaction_may_change_are_waited_for"),
        ),
    ),
)
