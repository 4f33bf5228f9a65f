"""The options of a consumer as keyword arguments, for type checkers and editors.

Decides: which spellings of a value are taken; a test compares the names with `ConsumerConfig`.
Never: checks anything at run time; `rules` does.
"""

import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, TypedDict

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
from kgroup.types import Backend, DeserializeErrorPolicy, DoneAt, IsolationLevel

__all__ = ["ConsumerOptions", "Duration", "FetchSettings", "doubts_about_instance_id", "seconds_of"]

Duration: TypeAlias = float | timedelta
"""Seconds, or a timedelta."""


class ConsumerOptions(TypedDict, total=False):
    """Every option of `kgroup.Consumer`; `ConsumerConfig` says what each one means."""

    bootstrap_servers: str | Sequence[str]
    bootstrap_timeout: Duration
    group_id: str | None
    group_instance_id: str | None
    client_id: str
    client_rack: str | None
    session_timeout: Duration
    heartbeat_interval: Duration
    max_poll_interval: Duration
    rebalance_timeout: Duration | None
    lease_margin: Duration
    assignors: Sequence[AssignorChoice]
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


# -- durations -------------------------------------------------------------------------------------
#
# Lengths of time in ISO 8601's notation, as Kafka's own options spell them.
#
# Decides: which part of the notation is taken: days, hours, minutes, seconds (`P1DT2H30M0.5S`).
# Never: takes months or years, whose length nobody can tell, or a negative length.


_NOTATION: Final = re.compile(
    r"P(?:(\d{1,6})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12}(?:\.\d{1,9})?)S)?)?",
    re.IGNORECASE | re.ASCII,
)
_SECONDS: Final = (86_400, 3_600, 60, 1)


def seconds_of(text: str) -> float | None:
    """Return the seconds a text like `PT1H30M` stands for, None when it is no such text."""
    found = _NOTATION.fullmatch(text)
    if found is None or not any(found.groups()) or text[-1] in "tT":
        return None
    parts = zip(found.groups(), _SECONDS, strict=True)
    return sum((float(count) * unit for count, unit in parts if count), 0.0)


# -- instance ids ----------------------------------------------------------------------------------
#
# Whether a group instance id is one that a restart would change.
#
# Decides: which ids look made up anew for each process: UUIDs, hashes, times, process ids.
# Never: refuses one; a doubt is logged when the consumer is entered.
# KIPs: 345. An id that changes makes each restart a newcomer beside a dead member: two rebalances
# where there should be none, and nobody reads the dead one's partitions until its session ends.


_SAFE: Final = "[bcdfghjklmnpqrstvwxz2456789]"
"""The letters and digits Kubernetes makes names of: without vowels, 0, 1 and 3."""

_UUID: Final = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}(?![0-9a-f])",
    re.IGNORECASE,
)
_DEPLOYMENT: Final = re.compile(rf"-{_SAFE}{{6,10}}-{_SAFE}{{5}}$")
_POD: Final = re.compile(rf"-({_SAFE}{{5}})$")
_HEX: Final = re.compile(r"(?:^|[-_.:@])([0-9a-f]{8,})$", re.IGNORECASE)
_DATE: Final = re.compile(r"(?<!\d)20\d\d-?[01]\d-?[0-3]\d[T_. -]?[0-2]\d[-:]?[0-5]\d")
_EPOCH: Final = re.compile(r"(?<!\d)1[5-9]\d{8}(?:\.?\d{3}|\.?\d{6}|\.?\d{9})?(?!\d)")
_PID_WORD: Final = re.compile(r"(?:^|[-_.:@])pid[-_.:=]?\d+", re.IGNORECASE)
_LOW_PID: Final = 1000
"""In a container the process ids are low and the same at each start, like an ordinal."""


def _pod(text: str) -> bool:
    """Tell whether it ends like a pod of a DaemonSet or a Job, and unlike `-rack2` or `-plant`."""
    found = _POD.search(text)
    return found is not None and re.search(r"\d[a-z]", found[1]) is not None


def _hex(text: str) -> bool:
    """Tell whether it ends in a hash: letters and digits mixed, so no word and no number."""
    found = _HEX.search(text)
    return found is not None and re.search(r"\d", found[1]) is not None and not found[1].isdigit()


_KINDS: Final[Mapping[str, Callable[[str], object]]] = MappingProxyType(
    {
        "a UUID": _UUID.search,
        "the hash of a Kubernetes Deployment's pod": _DEPLOYMENT.search,
        "the suffix of a Kubernetes pod": _pod,
        "a hash": _hex,
        "a time": lambda text: _DATE.search(text) or _EPOCH.search(text),
        "a process id": _PID_WORD.search,
    }
)


def doubts_about_instance_id(instance_id: str | None, pid: int) -> tuple[str, ...]:
    """Return why an instance id probably is not the same after a restart; nothing without a doubt.

    Args:
        instance_id: None for a dynamic member.
        pid: of this process.
    """
    if instance_id is None:
        return ()
    kind = next((name for name, looks in _KINDS.items() if looks(instance_id)), None)
    numbers = re.findall(r"\d+", instance_id)
    if kind is None and pid >= _LOW_PID and str(pid) in numbers:
        kind = "this process's id"
    if kind is None:
        return ()
    doubt = (
        f"group_instance_id ({instance_id!r}) holds what looks like {kind}, so a restart would "
        "change it: each one leaves a dead member behind, whose partitions nobody reads until its "
        "session ends. Take a name that stays, such as the ordinal of a StatefulSet, or none"
    )
    return (doubt,)


# -- fetch settings --------------------------------------------------------------------------------
#
# What fetching is told once.
#
# Decides: names and units; the values are `ConsumerConfig`'s.
# Never: stands in `consumer`, which is above `config`.


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    """What fetching reads; times in seconds.

    Args:
        min_bytes: a broker waits until it has this much, or `max_wait` is over.
        max_bytes: most bytes of one answer.
        max_wait: longest wait of the broker.
        partition_max_bytes: most bytes of one partition in one answer.
        prefetch_max_bytes: most bytes held ready for the application, over all partitions.
        isolation_level: whether open and aborted transactions are seen.
        reset_policy: where to begin without a committed offset.
        check_crcs: whether checksums of batches are verified.
        max_decompressed_bytes: most bytes one batch may inflate to.
        request_timeout: for requests, on top of what they wait for by themselves.
        retry_backoff: first pause after a failure.
        retry_backoff_max: longest pause.
        metadata_max_age: a replica that was named instead of a leader serves no longer than this.
        client_rack: rack of this client; brokers name a replica in it (KIP-392), None for leaders.
        new_partitions_from_start: whether a partition that was added after its topic was first
            seen is read from its beginning when nothing is committed, whatever the policy.
        forward_only: whether no reset may bring back what was handed out: at most once.
    """

    min_bytes: int
    max_bytes: int
    max_wait: float
    partition_max_bytes: int
    prefetch_max_bytes: int
    isolation_level: IsolationLevel
    reset_policy: ResetRule
    check_crcs: bool
    max_decompressed_bytes: int
    request_timeout: float
    retry_backoff: float
    retry_backoff_max: float
    metadata_max_age: float
    client_rack: str | None = None
    new_partitions_from_start: bool = True
    forward_only: bool = False
