"""Rules of topics, leaders, logs and Fetch: what a consumer feels of them."""

from typing import Final

from tests.testing.broker.rules.rule import Rule

_TALKS: Final = "test_log_talks::test_a_conversation_goes_as_recorded_from_a_real_broker"
_MADE: Final = (
    "test_cluster_metadata::test_asking_for_an_unknown_topic_makes_it_when_the_client_allows_it"
)
_NOT_MADE: Final = (
    "test_cluster_metadata::test_asking_for_an_unknown_topic_makes_nothing_when_the_brokers_do_not"
    "_allow_it"
)
_MADE_ANEW: Final = (
    "test_cluster_metadata::test_a_topic_that_is_made_anew_has_another_id_and_begins_at_epoch_0"
)
_KILLED: Final = (
    "test_cluster_leaders::test_a_dead_coordinator_is_named_until_the_election_and_the_others"
    "_answer_16"
)
_ENOUGH: Final = (
    "test_fetching_waiting::test_appended_records_end_the_waiting_as_soon_as_there_are_enough"
)

TOPICS: Final = (
    Rule(
        "topic.metadata",
        "A topic is described by name or by id, with its leaders, their epochs, replicas and those "
        "in sync; without a list all topics are described.",
        "KIP-516",
        (
            "test_cluster_metadata::test_a_topic_is_described_with_id_leaders_epochs_and_replicas",
            "test_cluster_metadata::test_a_topic_is_found_by_its_id",
            "test_cluster_metadata::test_real_brokers_answered_the_same_to_the_same_requests",
        ),
    ),
    Rule(
        "topic.created",
        "Asking for an unknown topic makes it if both sides allow that.",
        "KIP-361",
        (
            _MADE,
            _NOT_MADE,
        ),
    ),
    Rule(
        "topic.recreated",
        "A topic that is deleted and made again is another one, with another id.",
        "KIP-516",
        (_MADE_ANEW,),
    ),
    Rule(
        "leader.killed",
        "A broker that is killed keeps its partitions for the election delay; one that stops hands "
        "them over at once; one that comes back follows.",
        "F1, F2",
        (
            _KILLED,
            "test_cluster_leaders::test_a_stopped_broker_hands_over_at_once_whatever_the_delay",
            "test_cluster_leaders::test_a_broker_that_comes_back_follows",
        ),
    ),
)

LOGS: Final = (
    Rule(
        "log.append",
        "Produce checks batches as the topic's settings say (size, time, format, CRC, keys of a "
        "compacted topic) and stamps offsets, leader epoch and, where asked, the time of "
        "appending.",
        "KIP-32, KIP-98",
        (_TALKS,),
    ),
    Rule(
        "log.idempotent",
        "A batch that comes twice is stored once and answered with its offset; a gap in sequence "
        "numbers and an old producer epoch are refused.",
        "KIP-98, KIP-360",
        (_TALKS,),
    ),
    Rule(
        "log.ends",
        "ListOffsets finds both ends, times and the largest timestamp; OffsetForLeaderEpoch the "
        "end of an epoch.",
        "KIP-79, KIP-734, KIP-279",
        (_TALKS,),
    ),
    Rule(
        "log.transactions",
        "A transaction ends with markers in every partition, its records are unstable until then, "
        "and a producer with a newer epoch fences the older.",
        "KIP-98, KIP-890",
        (_TALKS,),
    ),
)

FETCHES: Final = (
    Rule(
        "fetch.limits",
        "The first batch is whole however small the limits are; the last one is cut where the "
        "limit of its partition is.",
        "KIP-74",
        (
            "test_fetching::test_the_first_batch_is_whole_however_small_the_limits_are",
            "test_fetching::test_the_last_batch_is_cut_where_the_limit_of_its_partition_is",
        ),
    ),
    Rule(
        "fetch.waits",
        "It is answered as soon as there are enough bytes, and when its time is up.",
        "",
        (
            _ENOUGH,
            "test_fetching_waiting::test_a_fetch_without_records_is_answered_when_its_time_is_up",
        ),
    ),
    Rule(
        "fetch.sessions",
        "In a session only what changed is sent; sessions are a broker's own, have slots, and "
        "refuse epochs out of order.",
        "KIP-227",
        (
            "test_fetching_sessions::test_only_what_changed_is_sent_after_the_first_answer",
            "test_fetching_sessions::test_an_epoch_out_of_order_is_refused_and_changes_nothing",
            "test_fetching_sessions::test_sessions_are_a_brokers_own_and_end_with_it",
        ),
    ),
    Rule(
        "fetch.committed",
        "A reader of committed records stops before the first open transaction and learns what "
        "was aborted.",
        "KIP-98",
        (
            "test_fetching::test_read_committed_ends_before_the_first_open_transaction",
            "test_fetching::test_read_committed_lists_what_was_aborted_and_only_that",
        ),
    ),
    Rule(
        "fetch.fenced",
        "Another leader epoch is refused; the answer says where a log parted from the reader's.",
        "KIP-320, KIP-595",
        (
            "test_fetching::test_a_fetch_under_another_leader_epoch_is_fenced",
            "test_fetching::test_a_fetcher_whose_log_parts_learns_where",
        ),
    ),
    Rule(
        "fetch.follower",
        "A leader names a replica in the reader's rack, which hands out what all replicas have.",
        "KIP-392",
        (
            "test_fetching::test_the_leader_names_a_replica_in_the_rack_and_gives_no_records",
            "test_fetching::test_a_replica_hands_out_what_all_replicas_have",
        ),
    ),
)
