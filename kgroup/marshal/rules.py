"""By which rules a log is read, and what a record can turn out to be.

Decides: the names.
Never: applies them; `world` does.
"""

from enum import Enum
from typing import Final

from kgroup.values import dataclass
from kgroup.words import Word

_PARTITIONS: Final = 100_000


class Compat(Enum):
    """What a record without kgroup's headers can do.

    AUTO: what it does among members of the original library: its heartbeat takes a key from any
        owner. STRICT: no more than the owner's heartbeat. GO: headers do not count.
    """

    AUTO = "auto"
    GO = "go"
    STRICT = "strict"


class Verdict(Enum):
    """What a message did."""

    ACCEPTED = "accepted"
    """A claim: its sender is the owner, under the offset of this record."""

    ADOPTED = "adopted"
    """A heartbeat of a member that was not the owner, and is now."""

    RENEWED = "renewed"
    RELEASED = "released"

    PROBED = "probed"
    """A claim of messages by the owner; it changes nothing."""

    PAUSED = "paused"

    REFUSED = "refused"
    """A claim of a key that is not free."""

    VOID = "void"
    """Of a member that is not the owner, or not any more."""


@dataclass(frozen=True, slots=True)
class WorldRules:
    """How one coordination partition is read.

    Args:
        append_time: whether its records carry the broker's time.
        complete: whether nothing that it ever held is missing before the first record read.
        compat: what header-less records can do.
        partitions: a partition is below it; keeps nonsense from filling the memory.
    """

    append_time: bool
    complete: bool = False
    compat: Compat = Compat.AUTO
    partitions: int = _PARTITIONS


# -- settings --------------------------------------------------------------------------------------
#
# The settings of one member of a Marshal group.
#
# Decides: names, units and bounds.
# Never: reads a configuration; `kgroup.config` makes this from one, and checks the ids.


MARSHAL_TOPIC: Final = "__marshal"
"""The coordination topic, unless another one is named."""


class Guarantee(Word):
    """What becomes of records that are in hand when a member fails."""

    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"


class ClaimPolicy(Word):
    """How much of what is free a member claims.

    FAIR: its share among the members that show themselves. GREEDY: all. GRADUAL: all, one
        partition after the other, seconds apart, as the original library does by itself.
    """

    FAIR = "fair"
    GREEDY = "greedy"
    GRADUAL = "gradual"


@dataclass(frozen=True, slots=True)
class MarshalSettings:
    """Settings of one member; times in seconds.

    Args:
        group_id: name of the group.
        client_id: of the member; the same after a restart, if it is to resume what it had.
        instance_id: of this process, new for each.
        started: of this process, milliseconds since the epoch; the later twin wins.
        is_static: whether `client_id` is the same after a restart.
        interval: that the member announces, whole seconds, 1 to 60; it beats three times as often.
            Twice as long without a heartbeat, and its partitions are free.
        guarantee: at least once, or at most once.
        policy: how much it claims.
        max_claims: partitions it has at most, None for any number.
        whole_topics: whether partition 0 is the lock of its topic, and a topic is had whole.
        fast_reclaim: whether a static member resumes what its last process had.
        rebalance_timeout: longest time between two polls.
        shows_itself: whether others are to know of it while it owns nothing.
        write_timeout: after which a message that was not read back counts as not written. One of a
            key is under way at a time: the next one has to come while the claim lives, too.
        commit_timeout: after which a commit with the group coordinator counts as not answered.
            Claims do not expire meanwhile: heartbeats go on beside it.
    """

    group_id: str
    client_id: str
    instance_id: str
    started: int
    is_static: bool = False
    interval: int = 60
    guarantee: Guarantee = Guarantee.AT_LEAST_ONCE
    policy: ClaimPolicy = ClaimPolicy.FAIR
    max_claims: int | None = None
    whole_topics: bool = False
    fast_reclaim: bool = True
    rebalance_timeout: float = 300.0
    shows_itself: bool = True
    write_timeout: float = 30.0
    commit_timeout: float = 30.0

    @property
    def ttl(self) -> float:
        """Time to live of a claim: seconds from its last heartbeat to its end."""
        return 2.0 * self.interval

    @property
    def beat_interval(self) -> float:
        """Seconds between two heartbeats of a key: several tries while a claim lives."""
        return self.interval / 3.0
