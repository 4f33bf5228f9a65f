"""The options of a consumer as keyword arguments, for type checkers and editors.

Decides: which spellings of a value are taken; a test compares the names with `ConsumerConfig`.
Never: checks anything at run time; `rules` does.
"""

import ssl
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Literal, TypeAlias, TypedDict

from kgroup.assignors import AssignorChoice
from kgroup.journal import Sink
from kgroup.marshal.rules import ClaimPolicy, Compat, Guarantee
from kgroup.net.ports import Ports
from kgroup.net.security import (
    ExtensionSource,
    SaslMechanism,
    Secret,
    SecurityProtocol,
    TokenSource,
)
from kgroup.offsets.reset import ResetRule
from kgroup.types import (
    Backend,
    DeserializeErrorPolicy,
    DoneAt,
    GroupProtocol,
    IsolationLevel,
    PatternOn,
)

Duration: TypeAlias = float | timedelta
"""Seconds, or a timedelta."""


class ConsumerOptions(TypedDict, total=False):
    """Every option of `kgroup.Consumer`; `ConsumerConfig` says what each one means."""

    bootstrap_servers: str | Sequence[str]
    bootstrap_timeout: Duration | None
    group_id: str | None
    group_instance_id: str | None
    client_id: str
    client_rack: str | None
    session_timeout: Duration
    heartbeat_interval: Duration
    max_poll_interval: Duration
    rebalance_timeout: Duration | None
    lease_margin: Duration
    isolated_heartbeats: bool
    assignors: Sequence[AssignorChoice]
    group_protocol: Literal["classic", "consumer", "auto"] | GroupProtocol
    server_assignor: str | None
    pattern_on: Literal["client", "broker"] | PatternOn
    auto_offset_reset: Literal["earliest", "latest", "none"] | ResetRule | timedelta
    enable_auto_commit: bool
    auto_commit_interval: Duration
    isolation_level: Literal["read_uncommitted", "read_committed"] | IsolationLevel
    on_deserialize_error: Literal["raise", "skip", "raw"] | DeserializeErrorPolicy
    fetch_min_bytes: int
    fetch_max_bytes: int
    fetch_max_wait: Duration
    max_partition_fetch_bytes: int
    prefetch_max_bytes: int
    max_poll_records: int | None
    stay_with_partition: bool
    done_at: Literal["next_read", "delivery"] | DoneAt
    request_timeout: Duration
    retry_backoff: Duration
    retry_backoff_max: Duration
    reconnect_backoff: Duration
    reconnect_backoff_max: Duration
    connections_max_idle: Duration
    metadata_max_age: Duration
    allow_auto_create_topics: bool
    check_crcs: bool
    max_decompressed_bytes: int
    exclude_internal_topics: bool
    backend: Literal["classic", "marshal"] | Backend
    guarantee: Literal["at_least_once", "at_most_once"] | Guarantee
    coordination_topic: str
    marshal_heartbeat_interval: Duration
    compat: Literal["auto", "go", "strict"] | Compat
    claim_policy: Literal["fair", "greedy", "gradual"] | ClaimPolicy
    max_claims: int | None
    claim_entire_topic: bool
    fast_reclaim: bool
    at_most_once_records: int
    max_uncommitted: int | None
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] | SecurityProtocol
    ssl_context: ssl.SSLContext | None
    ssl_cafile: str | Path | None
    ssl_certfile: str | Path | None
    ssl_keyfile: str | Path | None
    ssl_password: str | Secret | None
    ssl_check_hostname: bool
    sasl_mechanism: (
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] | SaslMechanism | None
    )
    sasl_username: str | None
    sasl_password: str | Secret | None
    sasl_oauth_token: TokenSource | None
    sasl_oauth_extensions: Mapping[str, str] | ExtensionSource | None
    journal: Sink | str | Path | None
    ports: Ports | None
