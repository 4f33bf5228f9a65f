"""Consuming, security, operation: whether each feature is there, and what proves it."""

from typing import Final

from tests.house.surface_row import Answer, Row

__all__ = ["CONSUMING"]

_YES, _NO, _LATER = Answer.YES, Answer.NO, Answer.LATER

CONSUMING: Final = (
    Row(
        "Fetch from followers (KIP-392)",
        _YES,
        "with `client_rack`",
        (
            ("real/test_fetching.py", "test_records_come_from_the_replica_in_the_readers_rack"),
            (
                "consumer/test_followers.py",
                "test_a_replica_that_refuses_is_left_and_nothing_is_reset",
            ),
        ),
    ),
    Row(
        "Incremental fetch sessions (KIP-227)",
        _NO,
        "each fetch names its partitions in full, so no session can be out of step",
        (("consumer/test_reading.py", "test_a_fetch_takes_no_part_in_sessions"),),
    ),
    Row(
        "`read_committed`",
        _YES,
        "off by default, as in Java",
        (
            ("real/test_logs.py", "test_an_open_transaction_bounds_what_is_stable_and_the_lag"),
            ("wire/records/test_aborted.py", "test_interleaved_transactions_are_told_apart"),
        ),
    ),
    Row(
        "seek, pause and resume per partition",
        _YES,
        "",
        (
            ("real/test_logs.py", "test_a_consumer_seeks_to_both_ends_and_to_what_is_committed"),
            (
                "real/test_logs.py",
                "test_a_paused_partition_waits_for_its_resume_and_the_others_go_on",
            ),
            ("consumer/test_positions.py", "test_a_seek_counts_at_once_and_drops_what_was_fetched"),
            (
                "consumer/test_positions.py",
                "test_a_paused_partition_is_neither_handed_out_nor_fetched",
            ),
        ),
    ),
    Row(
        "Subscription by pattern",
        _YES,
        "`subscribe(pattern=, exclude=)`, matched here against all topics",
        (
            (
                "real/test_subscriptions.py",
                "test_a_pattern_finds_new_topics_and_leaves_out_what_it_shall_not_take",
            ),
            ("real/test_subscriptions.py", "test_two_members_share_the_topics_a_pattern_takes"),
        ),
    ),
    Row(
        "Offsets by time (KIP-79)",
        _YES,
        "`offsets_for_times`",
        (("real/test_logs.py", "test_logs_tell_their_ends_and_what_was_written_when"),),
    ),
    Row(
        "Leader epochs and truncated logs (KIP-320)",
        _YES,
        "positions carry epochs; after a truncation reading goes on where the logs part",
        (
            (
                "real/test_fetching.py",
                "test_reading_goes_on_where_logs_part_after_an_unclean_election",
            ),
            (
                "consumer/test_truncation.py",
                "test_a_committed_offset_with_an_epoch_is_validated_before_it_is_fetched_from",
            ),
        ),
    ),
    Row(
        "New leaders named in errors (KIP-951)",
        _YES,
        "they are asked at once, while metadata is on its way",
        (
            (
                "real/test_leader_hints.py",
                "test_a_leader_that_is_named_is_asked_without_waiting_for_metadata",
            ),
            ("consumer/test_truncation.py", "test_a_leader_that_an_answer_names_is_asked_at_once"),
        ),
    ),
    Row(
        "SASL PLAIN, SCRAM, OAUTHBEARER",
        _YES,
        "SCRAM-SHA-256 and -512, the server's signature checked; a token comes from a function",
        (
            ("real/test_security.py", "test_a_member_reads_and_commits_by_every_way_in"),
            ("real/test_security.py", "test_a_wrong_password_is_told_at_once_and_asked_once"),
            ("net/test_sasl_scram.py", "test_the_exchange_of_the_rfc_is_spoken_to_the_byte"),
        ),
    ),
    Row("SASL GSSAPI", _NO, "needs a C library and a realm; use TLS or another mechanism"),
    Row(
        "AWS MSK IAM",
        _NO,
        "nothing of its own: it is OAUTHBEARER with a token that AWS's signer makes",
    ),
    Row(
        "SASL renewed within a connection (KIP-368)",
        _YES,
        "",
        (
            (
                "real/test_security.py",
                "test_a_session_is_renewed_until_the_credential_is_taken_away",
            ),
            (
                "net/test_sasl_sessions.py",
                "test_a_session_is_renewed_late_in_it_on_the_same_connection",
            ),
        ),
    ),
    Row(
        "TLS, with a context of one's own",
        _YES,
        "`ssl_context`, or files; client certificates; host names are checked",
        (
            ("real/test_security.py", "test_a_member_reads_and_commits_by_every_way_in"),
            ("real/test_security.py", "test_a_member_reads_by_a_context_of_its_own"),
            ("real/test_security.py", "test_a_certificate_of_another_name_is_told_with_both"),
            ("net/test_tls.py", "test_a_client_certificate_is_shown_to_who_wants_it"),
        ),
    ),
    Row(
        "gzip, snappy, lz4, zstd",
        _YES,
        "installed with kgroup",
        (("real/test_promises.py", "test_every_codec_of_another_client_is_read"),),
    ),
    Row(
        "Throttling heeded (KIP-219)",
        _YES,
        "",
        (
            (
                "net/test_connection_versions.py",
                "test_nothing_is_written_until_a_throttle_has_passed",
            ),
        ),
        unreal="how long a broker asks for silence hangs on its load",
    ),
    Row("Metrics", _LATER, "the event log (`journal=`) holds what they will be made of"),
    Row("OpenTelemetry", _LATER, "after metrics"),
    Row("Telemetry pulled by brokers (KIP-714)", _NO, "an operator's view of clients; not planned"),
    Row(
        "Interceptors, hooks",
        _NO,
        "deserialisers are functions, and `journal=` takes a sink that hears every event",
    ),
    Row(
        "Native async",
        _YES,
        "asyncio; no threads",
        (("real/test_consumer.py", "test_two_members_join_consume_commit_hand_over_and_close"),),
    ),
    Row(
        "trio",
        _YES,
        "every test of the consumer runs on both",
        (("real/test_consumer.py", "test_two_members_join_consume_commit_hand_over_and_close"),),
    ),
    Row(
        "Typed",
        _YES,
        "`Consumer[K, V]` follows the deserialisers; mypy and pyright, both strict",
        (
            ("typing/test_typing.py", "test_every_documented_use_is_taken"),
            (
                "typing/test_typing.py",
                "test_every_wrong_use_is_refused_with_the_error_written_beside_it",
            ),
            ("typing/test_typing.py", "test_no_public_name_leaves_its_type_to_be_guessed"),
        ),
        unreal="no broker has a part in it",
    ),
    Row(
        "Batches",
        _YES,
        "`batches()` and `getmany`",
        (
            ("real/test_porting.py", "test_the_first_consumer_prints_every_record"),
            ("consumer/test_reading.py", "test_values_and_columns_are_the_same_records"),
        ),
    ),
    Row(
        "Columns, Arrow",
        _LATER,
        "`batch.columns()` gives offsets, timestamps and bounds over one buffer; no Arrow yet",
        (("consumer/test_reading.py", "test_values_and_columns_are_the_same_records"),),
    ),
    Row(
        "Command line",
        _YES,
        "[`kgroup`](cli.md): consume, groups, lag, topics; each with `--json`",
        (
            ("real/test_cli.py", "test_records_are_printed_as_lines_of_json"),
            ("real/test_cli.py", "test_a_group_is_listed_and_shown_with_its_member"),
            ("real/test_cli.py", "test_lag_is_watched_while_a_group_reads"),
            ("real/test_cli.py", "test_a_topic_is_made_listed_described_and_deleted"),
        ),
    ),
    Row(
        "A test double for users",
        _LATER,
        "brokers for one's own tests are not there yet; `kgroup.testing.kafka` starts real ones",
    ),
)
