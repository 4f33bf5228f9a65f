"""What a schedule does to a group: one grammar for all levels.

Decides: the kinds, and what each argument of one means.
Never: does any of it; each level's nemesis does.
"""

from dataclasses import dataclass
from enum import Enum

from kgroup.codes import ApiKey

__all__ = ["Kind", "Perturbation"]


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
        api: whose answers or requests, for those kinds that say so.
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
