"""The settings of a member of a KIP-848 group: the options, read once.

Decides: the slice of the options that this machine reads, and what is assumed of a coordinator
that does not say how long a session is.
Never: validates; `kgroup.config` does, before it fills this.
"""

from typing import Final

from kgroup.values import dataclass

ASSUMED_SESSION: Final = 45.0
"""`group.consumer.session.timeout.ms` of a broker where nobody has set it, in seconds."""


@dataclass(frozen=True, slots=True)
class ConsumerGroupSettings:
    """One member's timing and identity; all times in seconds.

    Args:
        group_id: name of the group, not empty.
        member_id: what this client calls the member, for the member's whole life (KIP-1082).
        group_instance_id: static identity (KIP-345), None for a dynamic member.
        server_assignor: name of the coordinator's assignor that is asked for, None for its choice.
        client_rack: rack of this member (KIP-881), None when not known.
        session_timeout: what the coordinator's session time-out is taken for, None to ask for it.
        rebalance_timeout: the longest a revocation may take.
        max_poll_interval: the longest the application may go without polling, None for
            `rebalance_timeout`, which in Java is the same.
        request_timeout: for requests.
        retry_backoff: first pause after a failure.
        retry_backoff_max: longest pause.
        lease_margin: taken off the lease for clocks and scheduling.
    """

    group_id: str
    member_id: str
    group_instance_id: str | None = None
    server_assignor: str | None = None
    client_rack: str | None = None
    session_timeout: float | None = None
    rebalance_timeout: float = 300.0
    max_poll_interval: float | None = None
    request_timeout: float = 30.0
    retry_backoff: float = 0.1
    retry_backoff_max: float = 1.0
    lease_margin: float = 0.5

    @property
    def poll_interval(self) -> float:
        """The longest the application may go without polling."""
        given = self.max_poll_interval
        return self.rebalance_timeout if given is None else given

    @property
    def turn_interval(self) -> float:
        """Between two joins, or heartbeats ahead of their time, in the long run."""
        return self.retry_backoff_max / 2
