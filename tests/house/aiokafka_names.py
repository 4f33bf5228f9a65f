"""Names of aiokafka's consumer and what stands for each here: two tables, and their tests' data.

Decides: which option and which call replaces which.
Never: repeats a default: both are read off the two libraries.
"""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields
from enum import Enum
from types import MappingProxyType
from typing import Final

from aiokafka import AIOKafkaConsumer

from kgroup.config import ConsumerConfig
from tests.house.reference import table

OPTIONS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "loop": ("", "the running loop, of asyncio or trio"),
        "bootstrap_servers": ("bootstrap_servers", ""),
        "client_id": ("client_id", ""),
        "group_id": ("group_id", ""),
        "group_instance_id": ("group_instance_id", ""),
        "key_deserializer": ("key", "an argument, not an option; gives the type of `record.key`"),
        "value_deserializer": ("value", "as `key`"),
        "fetch_max_wait_ms": ("fetch_max_wait", ""),
        "fetch_max_bytes": ("fetch_max_bytes", ""),
        "fetch_min_bytes": ("fetch_min_bytes", ""),
        "max_partition_fetch_bytes": ("max_partition_fetch_bytes", ""),
        "request_timeout_ms": ("request_timeout", ""),
        "retry_backoff_ms": ("retry_backoff", "grows up to `retry_backoff_max`"),
        "auto_offset_reset": ("auto_offset_reset", "a `timedelta` too; never after an error"),
        "enable_auto_commit": ("enable_auto_commit", "commits what is done, not what was read"),
        "auto_commit_interval_ms": ("auto_commit_interval", ""),
        "check_crcs": ("check_crcs", ""),
        "metadata_max_age_ms": ("metadata_max_age", ""),
        "partition_assignment_strategy": (
            "assignors",
            "names, instances, or aiokafka's own classes ([what differs](assignors.md))",
        ),
        "max_poll_interval_ms": ("max_poll_interval", ""),
        "rebalance_timeout_ms": (
            "rebalance_timeout",
            "without one `max_poll_interval`, as in Java",
        ),
        "session_timeout_ms": ("session_timeout", ""),
        "heartbeat_interval_ms": ("heartbeat_interval", ""),
        "consumer_timeout_ms": ("", "nothing polls in the background"),
        "max_poll_records": ("max_poll_records", ""),
        "ssl_context": ("ssl_context", "or `ssl_cafile`, `ssl_certfile`, `ssl_keyfile`"),
        "security_protocol": ("security_protocol", ""),
        "api_version": ("", "asked of each broker"),
        "exclude_internal_topics": ("exclude_internal_topics", ""),
        "connections_max_idle_ms": ("connections_max_idle", ""),
        "isolation_level": ("isolation_level", ""),
        "sasl_mechanism": ("sasl_mechanism", "has no default; GSSAPI is not there"),
        "sasl_plain_username": ("sasl_username", "of SCRAM too"),
        "sasl_plain_password": ("sasl_password", "of SCRAM too"),
        "sasl_kerberos_service_name": ("", "no GSSAPI"),
        "sasl_kerberos_domain_name": ("", "no GSSAPI"),
        "sasl_oauth_token_provider": ("sasl_oauth_token", "a function, plain or async"),
        "client_rack": ("client_rack", ""),
    }
)
"""Parameter of `AIOKafkaConsumer` -> name here ("" for none), and a remark."""

METHODS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "start()": ("async with consumer:", "waits for a broker, not for an assignment"),
        "stop()": ("close()", "also the end of `async with`; the listener is called"),
        "getone(*tps)": ("getone(*tps, timeout=None)", ""),
        "getmany(*tps, timeout_ms=0, max_records=None)": (
            "getmany(*tps, max_records=None, timeout=0.0)",
            "seconds; batches instead of lists",
        ),
        "commit(offsets=None)": ("commit(what=None)", "returns a `CommitOutcome`"),
        "committed(tp)": ("committed(*tps)", "a mapping, with metadata and epoch"),
        "position(tp)": ("position(tp, timeout=None)", ""),
        "seek(tp, offset)": ("seek(tp, offset)", ""),
        "seek_to_beginning(*tps)": ("seek_to_beginning(*tps)", "returns the offsets"),
        "seek_to_end(*tps)": ("seek_to_end(*tps)", "returns the offsets"),
        "seek_to_committed(*tps)": ("seek_to_committed(*tps)", "with metadata and epoch"),
        "offsets_for_times(timestamps)": ("offsets_for_times(times)", "datetimes too"),
        "beginning_offsets(partitions)": ("beginning_offsets(*tps)", "partitions one by one"),
        "end_offsets(partitions)": ("end_offsets(*tps)", "partitions one by one"),
        "topics()": ("topics()", "a frozenset"),
        "partitions_for_topic(topic)": (
            "partitions_for_topic(topic)",
            "a frozenset; None for a topic that is not read, until `topics()` returned it",
        ),
        "subscribe(topics=(), pattern=None, listener=None)": (
            "subscribe(*topics, pattern=None, exclude=None, listener=None)",
            "topics one by one",
        ),
        "unsubscribe()": ("unsubscribe()", ""),
        "subscription()": ("subscription()", "a `Subscription`, None for nothing"),
        "assign(partitions)": ("assign(partitions)", ""),
        "assignment()": ("assignment()", "a frozenset, never None"),
        "pause(*tps)": ("pause(*tps)", ""),
        "resume(*tps)": ("resume(*tps)", ""),
        "paused()": ("paused()", "a frozenset"),
        "highwater(tp)": ("highwater(tp)", ""),
        "last_stable_offset(tp)": ("last_stable_offset(tp)", ""),
        "last_poll_timestamp(tp)": ("last_fetch_at(tp)", "seconds"),
        "async for record in consumer": ("async for record in consumer", "done at the next one"),
    }
)
"""Call of `AIOKafkaConsumer` -> call here ("" for none), and a remark."""


def options_table() -> str:
    """Return the table of options, with both defaults as each library has them."""
    heads = ("aiokafka", "default", "kgroup", "default", "what to heed")
    return table(heads, _option_rows())


def methods_table() -> str:
    """Return the table of calls."""
    rows = (
        (f"`{theirs}`", f"`{ours}`" if ours else "none", remark)
        for theirs, (ours, remark) in METHODS.items()
    )
    return table(("aiokafka", "kgroup", "what changes"), rows)


def _option_rows() -> Iterator[tuple[str, str, str, str, str]]:
    given = inspect.signature(AIOKafkaConsumer.__init__).parameters
    defaults = {option.name: option.default for option in fields(ConsumerConfig)}
    for theirs, (ours, remark) in OPTIONS.items():
        default = _text(theirs, given[theirs].default)
        here = f"`{_text(ours, defaults[ours])}`" if ours in defaults else ""
        yield f"`{theirs}`", f"`{default}`", f"`{ours}`" if ours else "none", here, remark


def _text(name: str, value: object) -> str:
    """Return a default as one would write it; its own client id changes with each version."""
    if name == "client_id" and isinstance(value, str) and value.startswith("aiokafka-"):
        return "'aiokafka-' + version"
    if isinstance(value, Enum):
        return repr(value.value if isinstance(value.value, str) else value.name.lower())
    if isinstance(value, tuple):
        return f"({', '.join(getattr(each, '__name__', repr(each)) for each in value)})"
    return repr(value)
