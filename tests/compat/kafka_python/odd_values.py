"""Each key of kafka-python's consumer with odd values, and what its constructor does with them.

Decides: which values are looked at, and which of both constructors takes each.
Never: judges; run as a program, it asks kafka-python, in a process of its own: what a constructor
leaves behind that is refused half way is its own. A release is given, so that no broker is asked.
"""

import json
import logging
import selectors
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor

Table = dict[str, tuple[object, ...]]

INF, NAN = float("inf"), float("nan")

TIMES: Final[tuple[object, ...]] = (0, -1, 1.5, True, 2**40, INF, None)
"""In milliseconds: all of it works there, where no other key contradicts."""
FLAGS: Final[tuple[object, ...]] = (True, False, 0, 1, None, "", "no", [])
NAMES: Final[tuple[object, ...]] = ("x", "a b", 5, True, b"x", "\u00fc")
"""Sent as the text of whatever it is."""

BOTH_TAKE: Final[Table] = {
    "allow_auto_create_topics": FLAGS,
    "api_version": ((4, 3), (4, 3, 1), (2, 0), "2.6"),
    "auto_commit_interval_ms": TIMES[:-1],
    "auto_offset_reset": ("Earliest", "LATEST", "smallest", "largest", "none", "x", "", None, 5),
    "bootstrap_servers": (
        "localhost",
        "::1",
        "[::1]",
        "[::1]:9092",
        " a:1 , b:2 ",
        "a:1,",
        "PLAINTEXT://a:1",
        ("a",),
        {"a:1"},
        ["a", "::1", ""],
        iter(["a:1"]),
    ),
    "bootstrap_timeout_ms": (*TIMES[2:], 1000),
    "check_crcs": FLAGS,
    "client_id": (*NAMES, "", None),
    "client_rack": (*NAMES, "", None),
    "connections_max_idle_ms": (2**40, INF),
    "consumer_timeout_ms": TIMES,
    "default_offset_commit_callback": (None,),
    "enable_auto_commit": FLAGS,
    "enable_incremental_fetch_sessions": FLAGS,
    "exclude_internal_topics": FLAGS,
    "fetch_max_bytes": (0, -1, True, 2**31 - 1, 2**31, 2**63),
    "fetch_max_wait_ms": (0, -1, 1.5, True, False),
    "fetch_min_bytes": (0, -1, True, False, 2**31, 2**63),
    "group_id": NAMES,
    "group_instance_id": ("x", "a.b", 5, True),
    "heartbeat_interval_ms": (0, -1, 1.5, True, 3000),
    "isolation_level": ("READ_COMMITTED", " read-committed ", 0, 1, True),
    "kafka_client": (),
    "key_deserializer": (None, int, 5),
    "max_in_flight_requests_per_connection": (0, 1, 5, "x", None),
    "max_partition_fetch_bytes": (0, -1, True, 2**31, 2**63),
    "max_poll_interval_ms": TIMES,
    "max_poll_records": (1, True, 2**31, 2**63, 0, -1, 1.5, "x", None),
    "metadata_max_age_ms": TIMES,
    "metric_group_prefix": ("", "x"),
    "metric_reporters": ([], ()),
    "metrics_enabled": FLAGS,
    "metrics_num_samples": (2,),
    "metrics_sample_window_ms": (30000,),
    "partition_assignment_strategy": (
        [RangePartitionAssignor],
        [RangePartitionAssignor(), RangePartitionAssignor],
        {RangePartitionAssignor},
        iter([RangePartitionAssignor]),
        [CooperativeStickyAssignor],
        [],
    ),
    "proxy_url": (None, ""),
    "receive_buffer_bytes": (None,),
    "receive_message_max_bytes": (100_000_000,),
    "reconnect_backoff_max_ms": TIMES,
    "reconnect_backoff_ms": TIMES,
    "request_timeout_ms": (501, 501.5, 539999),
    "retry_backoff_ms": TIMES,
    "sasl_kerberos_domain_name": (None, "x", 5),
    "sasl_kerberos_name": (None, "x", 5),
    "sasl_kerberos_service_name": (None, "x", 5),
    "sasl_mechanism": (None, "x", 5),
    "sasl_oauth_token_provider": (None, 5),
    "sasl_plain_password": (None, "x", 5),
    "sasl_plain_username": (None, "x", 5),
    "security_protocol": ("PLAINTEXT",),
    "selector": (selectors.DefaultSelector,),
    "send_buffer_bytes": (None,),
    "session_timeout_ms": (3001, 3001.5, 2**40, INF),
    "client_dns_lookup": ("use_all_dns_ips",),
    "socket_options": ([(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],),
    "socks5_proxy": (None, ""),
    "ssl_cafile": (None, "x", 5),
    "ssl_certfile": (None, "x", 5),
    "ssl_check_hostname": FLAGS,
    "ssl_ciphers": (None, "x", 5),
    "ssl_context": (None, 5),
    "ssl_crlfile": (None, "x", 5),
    "ssl_keyfile": (None, "x", 5),
    "ssl_password": (None, "x", 5),
    "value_deserializer": (None, int, 5),
}
"""Every key -> what both take."""

NEITHER_TAKES: Final[Table] = {
    "api_version": (5, "x", (2, "x")),
    "auto_commit_interval_ms": ("5", b"1", []),
    "auto_offset_reset": (b"x", []),
    "bootstrap_servers": (None, 5, [5], b"a:1", "a:b"),
    "client_dns_lookup": ("x", None),
    "connections_max_idle_ms": (1, 30000, "x", None, NAN),
    "fetch_max_bytes": ("5", None, b"1", []),
    "fetch_max_wait_ms": ("5", None, 30000, INF, NAN),
    "heartbeat_interval_ms": (45000, "x", None),
    "isolation_level": ("read", "", None, 2),
    "kafka_client": (5,),
    "max_partition_fetch_bytes": ("5", None, []),
    "metric_reporters": (5,),
    "partition_assignment_strategy": (None, RangePartitionAssignor, ["range"], 5, [5]),
    "request_timeout_ms": (500, 0, "x", None, INF, NAN),
    "selector": (5,),
    "session_timeout_ms": (0, -1, 200, 3000, True, "x", None),
}

CANNOT_BE_USED: Final[Table] = {
    "auto_commit_interval_ms": (NAN,),
    "bootstrap_servers": ("", [], [""], ":9092", "a:0", "a:70000", ["a:1,b:2"]),
    "bootstrap_timeout_ms": ("x",),
    "fetch_max_bytes": (1.5, INF, NAN),
    "fetch_min_bytes": (1.5, INF, NAN, "5", None, b"1", []),
    "group_id": ("",),
    "group_instance_id": ("", "a b", "x" * 250),
    "max_partition_fetch_bytes": (1.5, INF),
    "max_poll_interval_ms": (NAN, "x", b"1", []),
    "metadata_max_age_ms": (NAN, "x"),
    "reconnect_backoff_max_ms": (NAN, "x"),
    "reconnect_backoff_ms": (NAN, "x"),
    "retry_backoff_ms": (NAN, "x"),
    "session_timeout_ms": (NAN,),
}
"""Taken there, where it ends in an error later, in the background too, or in none at all: a broker
refuses it, or nothing is ever read. Refused here."""

NOT_HONOURED: Final[Table] = {
    "client_dns_lookup": ("resolve_canonical_bootstrap_servers_only",),
    "default_offset_commit_callback": (print,),
    "metrics_num_samples": (1,),
    "metrics_sample_window_ms": (1000,),
    "proxy_url": ("http://a:1",),
    "receive_buffer_bytes": (0, 32768),
    "receive_message_max_bytes": (1, 2**31),
    "security_protocol": ("ssl", "x", "", None),
    "selector": (selectors.SelectSelector,),
    "send_buffer_bytes": (0, 32768),
    "socket_options": ([], None),
    "socks5_proxy": ("socks5://a:1",),
}
"""Works there, and is refused here, for the reasons that docs/drop-in.md tells."""

ONLY_HERE: Final[Table] = {
    "auto_commit_interval_ms": (None,),
    "client_id": ([],),
    "metric_group_prefix": (None, 5),
    "metric_reporters": (None,),
    "partition_assignment_strategy": ([RangePartitionAssignor, CooperativeStickyAssignor],),
}
"""Refused there, and taken here."""

TABLES: Final = (BOTH_TAKE, NEITHER_TAKES, CANNOT_BE_USED, NOT_HONOURED, ONLY_HERE)


def rows(table: Table) -> Iterator[tuple[str, str, object]]:
    """Iterate over the values of a table: how each is called, its key, and itself."""
    for name, values in table.items():
        for number, value in enumerate(values):
            yield f"{name}-{number}={_shown(value)}", name, value


def _shown(value: object) -> str:
    text = type(value).__name__ if " at 0x" in repr(value) else repr(value)
    return text[:20]


def configs_of(name: str, value: object) -> dict[str, Any]:
    """Return the keys with which a value says something: in a group, as most consumers are."""
    alone = name == "partition_assignment_strategy" and value == []
    group = {} if alone else {"group_id": "g"}
    quick = {"bootstrap_timeout_ms": 5000, "api_version": (4, 3)}
    return {**quick, **group, name: value}


def ask_the_original() -> dict[str, bool]:
    """Return how each value is called -> whether kafka-python's constructor takes it."""
    program = [sys.executable, "-W", "ignore", "-m", __name__]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=120, check=True)
    found: dict[str, bool] = json.loads(ran.stdout.splitlines()[-1])
    return found


def _taken(configs: dict[str, Any]) -> bool:
    from kafka import KafkaConsumer  # noqa: PLC0415 - it warns when it is imported

    try:
        made = KafkaConsumer(**{"bootstrap_servers": "127.0.0.1:1", **configs})
    except Exception:  # noqa: BLE001 - whatever it is, it is refused
        return False
    with suppress(Exception):  # with some values it cannot be closed either
        made.close(autocommit=False, timeout_ms=0)
    return True


if __name__ == "__main__":
    logging.disable()
    answers = {
        each: _taken(configs_of(name, value))
        for table in TABLES
        for each, name, value in rows(table)
    }
    sys.stdout.write(json.dumps(answers))
