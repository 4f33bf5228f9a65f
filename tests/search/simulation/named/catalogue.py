"""The symptoms users of other clients report, and the classes of bugs clients really had.

Decides: the keys that named schedules stand for; the sources; and, of what is not about the order
of things, or is about more than a member and its coordinator, where it is tested instead.
Never: says what a schedule does.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Symptom:
    """One row.

    Args:
        key: what schedules call it.
        seen: what users see.
        sources: where it was reported, most telling first.
        elsewhere: tests outside the named schedules, as `path::name` below `tests`.
    """

    key: str
    seen: str
    sources: tuple[str, ...]
    elsewhere: tuple[str, ...] = ()


_BACKEND: Final = "consumer/test_classic_backend_symptoms.py::"
_READING: Final = "real/test_symptoms_reading.py::"

_SYMPTOMS: Final = (
    Symptom(
        "symptom 1",
        "the commit after a batch fails",
        ("aiokafka#929", "franz-go#587", "franz-go#924"),
        (
            (
                "real/test_symptoms.py::"
                "test_a_commit_after_a_batch_succeeds_although_a_round_began_meanwhile"
            ),
        ),
    ),
    Symptom(
        "symptom 2",
        "a large group stands still: everybody claims what it had once",
        ("aiokafka#1176",),
        (
            "assignors/test_defects.py::test_4_the_generation_that_came_with_the_claim_counts",
            "assignors/conformance/test_kept.py::test_the_built_in_assignors_keep_what_they_promise",
        ),
    ),
    Symptom(
        "symptom 3",
        "two consumers of a process disturb each other's assignor",
        ("aiokafka#1175",),
        (
            "assignors/test_peers.py::test_two_consumers_of_a_process_do_not_share_a_memory",
            (
                "real/test_symptoms.py::"
                "test_two_sticky_groups_in_one_process_do_not_disturb_each_other"
            ),
        ),
    ),
    Symptom("symptom 4", "idle for ever after a broker restarted", ("aiokafka#1154",)),
    Symptom(
        "symptom 5",
        "fetching stops without a word",
        ("aiokafka#983", "aiokafka#1037"),
        (
            (
                "consumer/test_cancellation.py::"
                "test_a_task_that_ends_is_heard_of_by_every_reader_within_a_second"
            ),
        ),
    ),
    Symptom(
        "symptom 6",
        "rebalances without end under load",
        ("aiokafka#727", "aiokafka#747"),
        (
            (
                f"{_BACKEND}"
                "test_6_an_answer_of_an_older_generation_never_changes_the_state_of_a_newer_one"
            ),
        ),
    ),
    Symptom("symptom 7", "stop() hangs with brokers down", ("aiokafka#659", "librdkafka#3740")),
    Symptom(
        "symptom 8",
        "no recovery after the whole cluster was down",
        ("aiokafka#703",),
        (
            (
                "net/test_cluster_metadata.py::"
                "test_when_no_known_broker_answers_the_bootstrap_addresses_are_asked_again"
            ),
        ),
    ),
    Symptom(
        "symptom 9",
        "a slow handler is removed, joins, gets the same batch, for ever",
        ("aiokafka#848", "aiokafka#700"),
        (
            "real/test_promises.py::test_a_member_frozen_past_its_session_delivers_nothing_on_waking",
        ),
    ),
    Symptom(
        "symptom 10",
        "a bad record raises again and again",
        ("aiokafka#744", "kafka-python#1141"),
        (
            (
                "consumer/test_bad_records.py::"
                "test_skip_moves_over_bad_records_and_commits_pass_over_them"
            ),
            "consumer/test_bad_records.py::test_raw_hands_over_the_bytes_and_the_error",
        ),
    ),
    Symptom(
        "symptom 11",
        "a listener that takes the application's lock deadlocks",
        ("aiokafka#335",),
        ("consumer/test_listener.py::test_no_lock_is_held_while_a_callback_runs",),
    ),
    Symptom(
        "symptom 12",
        "the heartbeat thread deadlocks",
        ("kafka-python#1623", "kafka-python#1985", "kafka-python#2077"),
        (
            "house/test_contracts.py::test_the_contract_covers_every_pure_room",
            (
                "consumer/test_closing.py::"
                "test_another_thread_can_end_a_loop_and_the_batch_in_hand_is_waited_for"
            ),
        ),
    ),
    Symptom(
        "symptom 13",
        "REBALANCE_IN_PROGRESS costs the generation",
        ("kafka-python#2610",),
        (f"{_BACKEND}test_13_a_rebalance_in_progress_keeps_member_id_and_generation",),
    ),
    Symptom(
        "symptom 14",
        "reading stops after one batch: a position waits to be validated",
        ("kafka-python#3106",),
        (f"{_READING}test_14_a_partition_whose_position_cannot_be_checked_stalls_no_other",),
    ),
    Symptom(
        "symptom 15",
        "some partitions are never delivered after a rebalance",
        ("kafka-python#3131",),
        (
            (
                "consumer/test_random_assignments.py::"
                "test_partitions_given_and_taken_by_a_group_go_on_where_they_were"
            ),
        ),
    ),
    Symptom(
        "symptom 16",
        "no records with fetch sessions",
        ("kafka-python#2575",),
        (
            (
                "consumer/test_whole_fetches.py::"
                "test_after_random_troubles_every_partition_has_delivered_every_record_once"
            ),
        ),
    ),
    Symptom(
        "symptom 17",
        "a commit in a cooperative round loses the whole assignment",
        ("librdkafka#4059", "librdkafka#4908"),
        (
            (
                f"{_BACKEND}"
                "test_17_a_commit_that_fails_in_a_cooperative_round_loses_nothing_and_is_retried"
            ),
        ),
    ),
    Symptom(
        "symptom 18",
        "the assignor does not end",
        ("librdkafka#4783",),
        ("assignors/conformance/test_kept.py::test_the_built_in_assignors_keep_what_they_promise",),
    ),
    Symptom(
        "symptom 19",
        "no way from eager to cooperative without stopping the group",
        ("librdkafka#4368", "librdkafka#3589", "confluent-kafka-go#605"),
        ("real/test_migration.py::test_a_group_goes_from_eager_to_cooperative_while_records_flow",),
    ),
    Symptom(
        "symptom 20",
        "partitions move without need",
        ("librdkafka#3306", "librdkafka#3891"),
        ("assignors/test_stickiness.py::test_when_a_member_joins_only_its_share_moves",),
    ),
    Symptom(
        "symptom 21",
        "dividing a large group takes longer than the session",
        ("librdkafka#4629",),
        (
            (
                "consumer/test_classic_backend_off_loop.py::"
                "test_heartbeats_are_answered_while_the_assignor_of_a_large_group_works"
            ),
            (
                "real/test_assignors.py::"
                "test_a_leader_that_divides_for_longer_than_a_session_stays_and_reads_on"
            ),
        ),
    ),
    Symptom(
        "symptom 22",
        "rebalances for nothing",
        ("librdkafka#4742",),
        (
            (
                "consumer/test_classic_backend_racks.py::"
                "test_a_move_that_changes_no_members_rack_begins_no_round"
            ),
        ),
    ),
    Symptom(
        "symptom 23",
        "a loss is reported as a revocation",
        ("librdkafka#5604",),
        (f"{_BACKEND}test_23_a_member_that_is_not_polled_loses_its_partitions_in_any_state",),
    ),
    Symptom(
        "symptom 24",
        "calls inside a callback deadlock",
        ("confluent-kafka-python#2211", "confluent-kafka-python#2322"),
        (
            "consumer/test_listener.py::test_every_call_works_inside_on_assigned",
            "consumer/test_listener.py::test_every_call_works_inside_on_revoked",
        ),
    ),
    Symptom(
        "symptom 25",
        "nothing can be awaited in on_revoke",
        ("confluent-kafka-python#939",),
        (
            (
                "consumer/test_listener_failures.py::"
                "test_a_slow_callback_that_outlasts_its_round_costs_its_claims"
            ),
        ),
    ),
    Symptom("symptom 26", "a restarted static member is fenced", ("franz-go#931", "franz-go#837")),
    Symptom(
        "symptom 27",
        "the end of a membership is acted on with the next heartbeat only",
        ("franz-go#1326",),
        (f"{_BACKEND}test_27_a_fatal_member_error_on_any_request_triggers_the_rejoin_at_once",),
    ),
    Symptom(
        "symptom 28",
        "records are skipped after an error of OffsetFetch",
        ("platformatic/kafka#267",),
        ("consumer/test_no_reset_on_errors.py::test_no_error_for_the_group_resets_a_position",),
    ),
    Symptom(
        "symptom 29",
        "a cooperative group gives a partition twice, or to nobody",
        ("KAFKA-14639", "KAFKA-13419", "KAFKA-12984"),
        (
            (
                "assignors/test_leader.py::"
                "test_of_two_claims_in_one_generation_neither_entitles_to_a_partition"
            ),
            "assignors/test_defects.py::test_two_claims_of_one_generation_void_each_other",
        ),
    ),
    Symptom(
        "symptom 30",
        "a member that is stopped amid a rebalance never leaves",
        ("scality/backbeat#2819",),
    ),
)

_CLASSES: Final = (
    Symptom(
        "class: one partition to two members from stale claims",
        "one partition is read by two",
        ("KAFKA-7026", "KAFKA-12984", "KAFKA-13406", "KAFKA-15170"),
    ),
    Symptom(
        "class: committed or start offset goes back, stale position reused",
        "records are read again, or skipped",
        ("librdkafka#2782", "librdkafka#1767"),
    ),
    Symptom(
        "class: commit or revoke deadlock, fetchers never start",
        "a rebalance never ends",
        ("librdkafka#2933", "aiokafka#335", "kafka-python#1623"),
    ),
    Symptom(
        "class: stuck after coordinator change",
        "nothing happens after the coordinator has moved",
        ("librdkafka#2944", "librdkafka#3082", "librdkafka#2791", "kafka-python#1310"),
    ),
    Symptom(
        "class: evicted but keeps consuming",
        "a member that was removed reads on",
        ("kafka-python#1547", "librdkafka#2631"),
    ),
    Symptom(
        "class: assignor never ends",
        "a round never ends",
        ("librdkafka#4783",),
        ("assignors/test_properties.py::test_rounds_end_also_where_racks_matter",),
    ),
    Symptom(
        "class: buffered records of a lost partition delivered",
        "records of a partition come after it is gone",
        ("librdkafka, test 0122",),
    ),
    Symptom(
        "class: decoder memory or crash",
        "a few bytes take all memory, or end the process",
        ("KAFKA-14063", "segmentio/kafka-go#1439", "librdkafka#5577"),
        (
            "search/fuzz/test_targets.py::test_no_frame_costs_more_than_so_many_times_its_size",
            "net/test_cluster.py::test_a_web_server_at_the_bootstrap_address_is_recognised",
            "bad_input/test_values.py::test_n06_null_in_a_place_where_none_may_be_is_outlived",
        ),
    ),
)

CATALOGUE: Final = (*_SYMPTOMS, *_CLASSES)
"""All of them, in order."""
