"""What is measured, as values: cells, the records they read, and how much of everything.

Decides: what each cell is called in the results; no two have one name.
Never: holds anything that was measured.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from kgroup.values import dataclass

EVENTS: Final = ("join", "leave", "crash", "restart", "rolling", "failover")
"""What may happen to a group."""
GROUP_JOBS: Final = ("latency", *EVENTS)
"""Jobs that need a whole group, and records that are written meanwhile."""
SIZED_JOBS: Final = ("scale", "assign")
"""Jobs that are done for each of some sizes of a group."""
JOBS: Final = (
    *("read", "start", "import", "commit", "members", "instructions", "claim"),
    *SIZED_JOBS,
    *GROUP_JOBS,
)
_READING: Final = ("read", "start", "instructions")
_GETMANY: Final = ("getmany", "async for")
_POLL: Final = ("poll", "iterate")
_GUARANTEES: Final = ("at least once", "at most once")
_READ: Final[Mapping[str, tuple[str, ...]]] = {
    "kgroup": ("records", "values", "columns", "arrow", *_GETMANY),
    "drop-in aiokafka": _GETMANY,
    "drop-in kafka-python": _POLL,
    "aiokafka": _GETMANY,
    "kafka-python": _POLL,
    "confluent": ("consume", "consume, tuned", "poll"),
    "java": ("poll",),
    "marshal": _GUARANTEES,
}
"""Program -> ways to read, the usual one first."""
_COMMON: Final = ("range", "roundrobin", "sticky")
_SHARED: Final = ("range", "roundrobin", "cooperative-sticky")
_ASSIGNORS: Final[Mapping[str, tuple[str, ...]]] = {
    "kgroup": (*_COMMON, "cooperative-sticky"),
    "drop-in aiokafka": _COMMON,
    "drop-in kafka-python": (*_COMMON, "cooperative-sticky"),
    "aiokafka": _COMMON,
    "kafka-python": (*_COMMON, "cooperative-sticky"),
    "confluent": _SHARED,
    "java": _SHARED,
    "marshal": _GUARANTEES,
}
"""Program -> its assignors, the usual one first; Marshal has none, but guarantees."""
_REMOTE: Final = ("uniform", "range")
"""Assignors of a coordinator (KIP-848)."""
ON_ASYNCIO: Final = frozenset({"kgroup", "drop-in aiokafka", "aiokafka", "marshal"})
"""Clients that run on an event loop."""
ON_TRIO: Final = frozenset({"kgroup", "marshal"})
"""Those that run on trio's, too."""
KIP848: Final = "@kip848"
"""End of the name of an adapter whose groups speak the protocol of KIP-848."""


def program_of(client: str) -> str:
    """Return the adapter without what it is told of protocols."""
    return client.removesuffix(KIP848)


def protocol_of(client: str) -> str:
    """Return which group protocol an adapter speaks."""
    return "consumer" if client.endswith(KIP848) else "classic"


def levels_of(client: str, job: str) -> tuple[str, ...]:
    """Return which levels an adapter has for a job, the usual one first; none: any will do."""
    if job in _READING:
        return _READ.get(program_of(client), ())
    if job in GROUP_JOBS or job == "assign":
        known = _ASSIGNORS.get(program_of(client), ("range",))
        return _REMOTE if client.endswith(KIP848) else known
    return ()


@dataclass(frozen=True, slots=True)
class Data:
    """The records of a topic.

    Args:
        name: for people.
        value_bytes: of each value.
        codec: of each batch.
        share: by which the plan's records are divided.
    """

    name: str
    value_bytes: int
    codec: str = "none"
    share: int = 1


PLAIN: Final = Data("100 B", 100)


@dataclass(frozen=True, slots=True)
class Size:
    """How large a group is.

    Args:
        members: of the group.
        partitions: of its topic.
    """

    members: int
    partitions: int

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.members} members, {self.partitions} partitions"


@dataclass(frozen=True, slots=True)
class Cell:
    """One thing that is measured; its name is unique.

    Args:
        job: one of `JOBS`.
        client: name of its adapter.
        level: way to read; the assignor where a group is watched.
        loop: asyncio, uvloop, trio; empty where a client has none.
        data: records that are read.
        pure: whether kgroup's compiled module is switched off.
        quarter: whether a quarter of the records is read.
        size: of the group, None where the plan says it.
    """

    job: str
    client: str
    level: str = ""
    loop: str = ""
    data: Data = field(default=PLAIN)
    pure: bool = False
    quarter: bool = False
    size: Size | None = None

    @property
    def who(self) -> str:
        """Client and level, and the loop where it is not asyncio."""
        words = [self.client, "without compiler" if self.pure else "", self.level]
        words.append(f"on {self.loop}" if self.loop in {"uvloop", "trio"} else "")
        return " ".join(filter(None, words))

    @property
    def name(self) -> str:
        """What it is called in the results."""
        return f"{self.job}: {self.who}: {self.data.name if self.size is None else self.size.name}"

    def described(self) -> dict[str, Any]:
        """Return what the results say of it."""
        return {
            "name": self.name,
            "job": self.job,
            "client": self.client,
            "level": self.level,
            "loop": self.loop,
            "data": self.data.name,
            "value_bytes": self.data.value_bytes,
            "pure": self.pure,
            "size": None if self.size is None else [self.size.members, self.size.partitions],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """How a group is watched while records are written; times in seconds.

    Args:
        members: with which the group forms.
        partitions: of its topic.
        rate: records a second, of all partitions.
        batch: records that are written to a partition at once.
        session_timeout: of each member.
        heartbeat_interval: of the first member.
        heartbeat_spread: share by which that of each further member is longer; above 0, members do
            not send heartbeats in step.
        slow_revoke: how long the first member's callback takes when partitions are revoked.
        before: how long the formed group is watched before anything happens.
        after: how long it has to be steady before it counts as formed, or as formed again.
        patience: how long it may take to form.
    """

    members: int = 3
    partitions: int = 12
    rate: int = 1_200
    batch: int = 5
    session_timeout: float = 6.0
    heartbeat_interval: float = 0.5
    heartbeat_spread: float = 0.0
    slow_revoke: float = 0.0
    before: float = 2.0
    after: float = 1.0
    patience: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is measured, and where chance begins.

    Args:
        runs: measured runs of each cell; one more goes before and proves what was read.
        records: that one run reads of 100 bytes, plain; a quarter where a client needs
            microseconds for each, or where the loop or the codec is another, an eighth of 1 kB.
        commits: that one run makes.
        claims: that one run makes, in Marshal mode.
        members: of the group in one process.
        member_partitions: of that group's topic.
        idle_s: how long that group stands idle.
        seed: of the values.
        limit_s: a process that takes longer is ended.
        group: how a group is watched.
    """

    runs: int = 5
    records: int = 4_000_000
    commits: int = 1500
    claims: int = 20
    members: int = 100
    member_partitions: int = 200
    idle_s: float = 15.0
    seed: int = 20_250_101
    limit_s: float = 300.0
    group: GroupPlan = field(default_factory=GroupPlan)
