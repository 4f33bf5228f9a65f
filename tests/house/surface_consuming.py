"""Consuming, security, operation: whether each feature is there, and what proves it."""

from typing import Final

from tests.house.surface_row import Answer, Row

__all__ = ["CONSUMING"]

_YES, _NO, _LATER = Answer.YES, Answer.NO, Answer.LATER

CONSUMING: Final = (
    Row("Fetch from followers (KIP-392)", _LATER, "not tried on a real broker yet"),
    Row(
        "Incremental fetch sessions (KIP-227)",
        _NO,
        "each fetch names its partitions in full, so no session can be out of step",
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
        "`subscribe(pattern=, exclude=)`, matched here",
        (
            (
                "real/test_subscriptions.py",
                "test_a_pattern_finds_new_topics_and_leaves_out_what_it_shall_not_take",
            ),
            (
                "consumer/test_classic_backend_topics.py",
                "test_two_members_with_one_pattern_share_a_new_topic",
            ),
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
        _LATER,
        "positions carry epochs and are checked; not tried on a real broker yet",
        (("offsets/test_reset.py", "test_after_a_truncation_reading_goes_on_where_the_logs_part"),),
    ),
    Row("New leaders named in errors (KIP-951)", _LATER, "not tried on a real broker yet"),
    Row(
        "SASL PLAIN, SCRAM, OAUTHBEARER",
        _LATER,
        "not tried on a real broker yet",
        (("net/test_sasl_scram.py", "test_the_exchange_of_the_rfc_is_spoken_to_the_byte"),),
    ),
    Row("SASL GSSAPI", _NO, "needs a C library and a realm; use TLS or another mechanism"),
    Row(
        "AWS MSK IAM",
        _NO,
        "nothing of its own: it is OAUTHBEARER with a token that AWS's signer makes",
    ),
    Row(
        "SASL renewed within a connection (KIP-368)",
        _LATER,
        "not tried on a real broker yet",
        (("net/test_sasl.py", "test_a_session_is_renewed_late_in_it_on_the_same_connection"),),
    ),
    Row("TLS, with a context of one's own", _LATER, "not tried on a real broker yet"),
    Row("gzip, snappy, lz4, zstd", _LATER, "not tried on a real broker yet"),
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
        (("real/test_versions.py", "test_two_members_join_consume_commit_hand_over_and_close"),),
    ),
    Row(
        "trio",
        _YES,
        "every test of the consumer runs on both",
        (("real/test_versions.py", "test_two_members_join_consume_commit_hand_over_and_close"),),
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
            ("real/test_readme.py", "test_the_first_consumer_prints_every_record"),
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
