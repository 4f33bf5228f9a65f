"""What the consumer's fetching reads of the options.

Decides: names and units; the values are `ConsumerConfig`'s.
Never: stands in `consumer`, which is above `config`.
"""

from kgroup.offsets.reset import ResetRule
from kgroup.types import IsolationLevel
from kgroup.values import dataclass


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
