"""The settings of a classic member: the options, read once.

Decides: the slice of the options that the membership machine reads.
Never: validates; `kgroup.config` does, before it fills this.
"""

from typing import Final

from kgroup.assignors import Assignor
from kgroup.machine.rows import Row
from kgroup.membership.triggers import Action, Guard, Trigger
from kgroup.types import MemberState
from kgroup.values import dataclass

_LONGEST_RECALL = 2.0


@dataclass(frozen=True, slots=True)
class MembershipSettings:
    """One member's timing and identity; all times in seconds.

    Args:
        group_id: name of the group, not empty.
        group_instance_id: static identity (KIP-345), None for a dynamic member.
        assignors: in order of preference, at least one.
        session_timeout: the coordinator expels a member that is silent for longer.
        heartbeat_interval: between two heartbeats.
        rebalance_timeout: the longest a round waits for this member (KIP-62).
        max_poll_interval: the longest the application may go without polling, None for
            `rebalance_timeout`, which in Java is the same.
        request_timeout: for requests that the coordinator does not park.
        retry_backoff: first pause after a failure.
        retry_backoff_max: longest pause.
        lease_margin: taken off the lease for clocks and scheduling.
        client_rack: rack of this member (KIP-881), None when not known.
        outlives_lease: whether a member that stands in no round keeps what it owns when its lease
            is over, without handing out anything, until the coordinator says what became of it.
    """

    group_id: str
    group_instance_id: str | None = None
    assignors: tuple[Assignor, ...] = ()
    session_timeout: float = 45.0
    heartbeat_interval: float = 3.0
    rebalance_timeout: float = 300.0
    max_poll_interval: float | None = None
    request_timeout: float = 30.0
    retry_backoff: float = 0.1
    retry_backoff_max: float = 1.0
    lease_margin: float = 0.5
    client_rack: str | None = None
    outlives_lease: bool = False

    @property
    def poll_interval(self) -> float:
        """The longest the application may go without polling."""
        given = self.max_poll_interval
        return self.rebalance_timeout if given is None else given

    @property
    def join_interval(self) -> float:
        """Between two JoinGroups in the long run, whatever asks for them."""
        return self.retry_backoff_max / 2

    @property
    def hand_over_patience(self) -> float:
        """How long a cooperative member hands over before it joins with what it still has.

        A round waits as long for members that have not heard of it.
        """
        return min(self.heartbeat_interval, self.rebalance_timeout / 4)

    @property
    def hand_over_pause(self) -> float:
        """How long after a round a cooperative member tells the group what it has handed over."""
        return min(0.1, self.heartbeat_interval / 10, self.rebalance_timeout / 40)

    @property
    def round_backoff_max(self) -> float:
        """Longest pause of a leader whose rounds fail.

        Each of its tries costs all members a round, so it need not be quicker than they can
        notice; but until it joins again they may not commit, and a round has an end.
        """
        longest = max(self.retry_backoff_max, self.heartbeat_interval)
        return min(longest, self.rebalance_timeout / 4)

    @property
    def parked_timeout(self) -> float:
        """Deadline of a request the coordinator may park: some are never answered."""
        return self.rebalance_timeout + 5.0

    @property
    def heartbeat_timeout(self) -> float:
        """Deadline of Heartbeat and FindCoordinator: a lost one must not cost the session."""
        return min(self.request_timeout, max(self.heartbeat_interval, self.session_timeout / 3))

    @property
    def recall_timeout(self) -> float:
        """Deadline of the question that a static member's first JoinGroup waits for."""
        return min(self.heartbeat_timeout, _LONGEST_RECALL)


# -- rules -----------------------------------------------------------------------------------------
#
# The shape of a list of rules, and the states in which a member is in, or on its way in.
#
# Decides: what `joining_rows` and `ending_rows` share.
# Never: a transition.


Rules = tuple[tuple[Row[MemberState, Trigger, Guard, Action], ...], ...]

MEMBER: Final = (
    MemberState.FINDING,
    MemberState.PREPARING,
    MemberState.JOINING,
    MemberState.ASSIGNING,
    MemberState.SYNCING,
    MemberState.STABLE,
    MemberState.BACKING_OFF,
)
