"""What is drawn for one run before it begins: the group, its application, and its faults.

Decides: the values that a run is made from. An `Order` makes members faster or slower for the whole
run, so that a bug which needs two or three things in a certain order is met with a likelihood that
does not shrink with the length of the run (Burckhardt et al. 2010).
Never: draws them (`drawing` does); says how a level carries them out.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kgroup.codes import ApiKey, ErrorCode
from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.types import Leave, MemberState, RebalanceProtocol


class Ploy(Enum):
    """What is done to a member; the value tells it as a sentence's predicate."""

    # -- the application
    SUBSCRIBE = "subscribes to other topics"
    UNSUBSCRIBE = "unsubscribes, and subscribes again after `seconds`"
    CLOSE = "closes"
    ENFORCE = "asks for a rebalance"
    STALL = "does not poll for `seconds`"
    # -- the coordinator
    REFUSE = "is answered `code` to `apis`, `times` times within `seconds`"
    CROSS = (
        "asks a coordinator that has moved, stands still while it answers, and hears first that "
        "JoinGroup, then that its commit is refused, with `code`"
    )
    # -- the assignor
    FAIL = "has an assignor that raises, once within `seconds`"
    LATE = "has no metadata to assign from, once within `seconds`"
    GARBLE = "gives the members bytes that none of them can read, once within `seconds`"
    AGAIN = "has an assignor that wants another round, once within `seconds`"
    MUTE = "has an assignor that cannot write user data, for `seconds`"


@dataclass(frozen=True, slots=True)
class Ambush:
    """One thing that is done to the first member that enters a state.

    Args:
        at: instant from which it lies in wait, seconds from the start of the run.
        state: that a member has to enter.
        ploy: what is done.
        after: seconds from the entrance, for what the application does.
        seconds: how long, as the ploy says.
        linger: whether the state is made to last for `seconds`, by what it waits for.
        apis: the requests that are refused, for `Ploy.REFUSE`.
        code: of the answers.
        times: how many of them.
        member: index of the one that is brought into the state then, as far as that can be.
    """

    at: float
    state: MemberState
    ploy: Ploy
    after: float
    seconds: float
    linger: bool
    apis: tuple[ApiKey, ...] = ()
    code: ErrorCode = ErrorCode.NONE
    times: int = 1
    member: int = 0

    def __str__(self) -> str:
        words = self.ploy.value.replace("`seconds`", f"{self.seconds:g} s")
        words = words.replace("`code`", self.code.name).replace("`times`", str(self.times))
        words = words.replace("`apis`", ", ".join(api.name for api in self.apis))
        lasts = ", which lasts" if self.linger else ""
        who = f"m{self.member} is lured, and a member that becomes {self.state.value}{lasts}"
        return f"{self.at:.3f} {who}: {words}"


# -- ordering --------------------------------------------------------------------------------------


_SLOWEST: Final = 2.0
"""Times the plain latency, for the last: it is so slow all the time, unlike by jitter."""
_MEMBER: Final = re.compile(r"m(\d+)")


@dataclass(frozen=True, slots=True)
class Order:
    """Priorities of members.

    Args:
        members: their numbers, each once, the one that comes first at the front.
        changes: instants, rising, at which the first one becomes the last.
    """

    members: tuple[int, ...]
    changes: tuple[float, ...] = ()

    def rank(self, number: int, now: float) -> int:
        """Return how many members come before one at an instant."""
        passed = bisect_right(self.changes, now)
        return (self.members.index(number) - passed) % len(self.members)

    def times(self, process: str, now: float) -> float:
        """Return how many times the plain latency a message takes.

        Args:
            process: name of its sender or its receiver: `m0.1`, `m0-twin`, `m0`.
            now: instant at which it leaves.
        """
        found = _MEMBER.match(process)
        last = max(len(self.members) - 1, 1)
        rank = last if found is None else self.rank(int(found[1]), now)
        return 1.0 + (_SLOWEST - 1.0) * rank / last

    def __str__(self) -> str:
        first = " before ".join(f"m{number}" for number in self.members)
        at = ", ".join(f"{change:.3f}" for change in self.changes)
        return f"{first}; the first becomes the last at {at or 'no time'}"


# -- perturbation ----------------------------------------------------------------------------------


class Kind(Enum):
    """What happens; the value tells it as a sentence's predicate."""

    # -- members
    JOIN = "starts"
    LEAVE = "closes"
    KILL = "dies without a word"
    RESTART = "dies, and starts again after `seconds`, as the same instance"
    TWIN = "is started a second time: another process with its instance id"
    SUBSCRIBE = "subscribes to other topics (`number` chooses them)"
    RESUBSCRIBE = "unsubscribes, and subscribes again after `seconds`"
    ENFORCE = "asks for a rebalance"
    # -- the application
    FREEZE = "stands still for `seconds`, as by SIGSTOP"
    STALL = "does not poll for `seconds`"
    SLOW_LISTENER = "has a listener that takes `seconds`, once"
    RAISING_LISTENER = "has a listener that raises, once"
    COMMIT = "commits what is done"
    SEEK = "seeks back by `number` records on one of its partitions"
    PAUSE = "pauses its partitions for `seconds`"
    # -- the network
    CUT = "has its connections reset"
    LOSE = "does not get the next `number` answers to `api`: they are lost after their effect"
    DELAY = "gets the next answers to `api` `seconds` late"
    HOLD = "has its next request of `api` arrive `seconds` late"
    BLACKHOLE = "exchanges nothing with any broker for `seconds`"
    DEAF = "is heard, but hears nothing for `seconds`"
    # -- the coordinator
    COORDINATOR_KILLED = "the coordinator dies, and comes back after `seconds`"
    COORDINATOR_MOVED = "the coordinator hands over to another broker"
    COORDINATOR_LOADS = "the coordinator reads its log anew for `seconds`"
    EVICT = "is removed from the group by an administrator"
    # -- topics
    ADD_PARTITIONS = "a topic gets `number` more partitions"
    DELETE_TOPIC = "a topic is deleted"
    DELETE_OFFSETS = "the group's committed offsets are deleted"
    PRODUCE = "`number` * 3 records are written to every partition at once"


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One thing that happens.

    Args:
        at: instant, seconds from the start of the run.
        kind: what.
        member: index of the member it is about; of no meaning for coordinator and topics.
        seconds: how long, as the kind says.
        api: of the answers or requests, for those kinds that say so.
        number: how many or which, as the kind says.
    """

    at: float
    kind: Kind
    member: int = 0
    seconds: float = 0.0
    api: ApiKey | None = None
    number: int = 0

    def __str__(self) -> str:
        api = "" if self.api is None else self.api.name
        words = self.kind.value.replace("`seconds`", f"{self.seconds:g} s")
        words = words.replace("`number`", str(self.number)).replace("`api`", api)
        about = "" if words.startswith(("the ", "a ", str(self.number))) else f"m{self.member} "
        return f"{self.at:.3f} {about}{words}"


# -- plan ------------------------------------------------------------------------------------------


_SETTLING: Final = 5.0


class CommitHabit(Enum):
    """When an application commits."""

    AUTO = "every `commit_interval`, and before it gives something up"
    EACH_BATCH = "after each batch"


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """One member and its application; times in seconds.

    Args:
        index: its number; its label is `m` and the number.
        instance: group.instance.id, None for a dynamic member.
        starts_at: instant; None when a `Kind.JOIN` starts it.
        topics: it subscribes to.
        poll_every: between two reads that found nothing.
        handling: that a batch is in the application's hands.
        listener: that each call of the listener takes.
        habit: when it commits.
        commit_interval: for `CommitHabit.AUTO`.
        luck: spreads its retries, in [0, 1).
        leave: what it tells the coordinator when it closes (KIP-1092).
    """

    index: int
    instance: str | None
    starts_at: float | None
    topics: tuple[str, ...]
    poll_every: float = 0.5
    handling: float = 0.0
    listener: float = 0.0
    habit: CommitHabit = CommitHabit.AUTO
    commit_interval: float = 5.0
    luck: float = 0.5
    leave: Leave = Leave.DEFAULT

    @property
    def label(self) -> str:
        """What it is called in the journal."""
        return f"m{self.index}"

    def __str__(self) -> str:
        starts = "later" if self.starts_at is None else f"{self.starts_at:.3f}"
        static = "" if self.instance is None else f" static {self.instance}"
        leaves = ", leaves when it closes" if self.leave is Leave.LEAVE else ""
        return (
            f"{starts} {self.label}{static} reads {', '.join(self.topics)}; in hand "
            f"{self.handling:g} s, listener {self.listener:g} s, commits {self.habit.value}{leaves}"
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """One run; times in seconds.

    Args:
        protocol: eager or cooperative.
        assignors: names, the same for all members.
        coordinator: old or new rules.
        brokers: how many.
        topics: name -> partitions.
        members: those that start by themselves or by `Kind.JOIN`.
        session_timeout: of all members.
        heartbeat_interval: of all members.
        rebalance_timeout: of all members; also how long they may go without polling.
        latency: of one way, the plain one; jitter comes on top.
        produce_every: between two times that every partition is written to, until `quiet_at`:
            three records each at levels A and A', one at B and C.
        perturbations: in order of time.
        quiet_at: nothing is perturbed any more from here on.
        ends_at: by then the group must have come to rest.
        order: of members, by which messages are faster or slower; None = jitter decides. Level C
            has the network's own.
        ambushes: in order of the time at which they are laid; levels A and A'.
    """

    protocol: RebalanceProtocol
    assignors: tuple[str, ...]
    coordinator: CoordinatorKind
    brokers: int
    topics: Mapping[str, int]
    members: tuple[MemberPlan, ...]
    session_timeout: float
    heartbeat_interval: float
    rebalance_timeout: float
    latency: float
    produce_every: float
    perturbations: tuple[Perturbation, ...]
    quiet_at: float
    ends_at: float
    order: Order | None = None
    ambushes: tuple[Ambush, ...] = ()

    def __str__(self) -> str:
        times = (
            f"session {self.session_timeout:g} s, heartbeat {self.heartbeat_interval:g} s, "
            f"rebalance {self.rebalance_timeout:g} s, one way {self.latency:g} s"
        )
        lines = [
            f"{self.protocol.value}, {', '.join(self.assignors)}",
            f"{self.coordinator.name.lower()} coordinator, {self.brokers} broker(s); {times}",
            ", ".join(f"{topic}: {count}" for topic, count in self.topics.items()),
            *map(str, self.members),
            *([] if self.order is None else [str(self.order)]),
            *map(str, self.perturbations),
            *map(str, self.ambushes),
            f"quiet from {self.quiet_at:.3f} to {self.ends_at:.3f}",
        ]
        return "\n".join(lines)


def end_of_tail(quiet_at: float, session_timeout: float, rebalance_timeout: float) -> float:
    """Return when a group must have come to rest; seconds.

    Args:
        quiet_at: when the last perturbation is over.
        session_timeout: of its members; a member that is gone is noticed.
        rebalance_timeout: of its members; a round that waits for somebody, and part of the next.
    """
    return quiet_at + session_timeout + 1.5 * rebalance_timeout + _SETTLING
