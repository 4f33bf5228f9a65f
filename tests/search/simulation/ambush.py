"""What lies in wait for members: at the entrance to a state, something drawn is done to them.

Decides: the ploys, and what each argument of an ambush means.
Never: draws (`drawing_ambushes` does), or does any of it (`world.ambushes` does).
"""

from dataclasses import dataclass
from enum import Enum

from kgroup.codes import ApiKey, ErrorCode
from kgroup.types import MemberState

__all__ = ["Ambush", "Ploy"]


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
        "asks a coordinator that has moved, stands still while it is told so, and hears first that "
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
        apis: whose answers, for `Ploy.REFUSE`.
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
        who = f"m{self.member} is lured, and who becomes {self.state.value}{lasts}"
        return f"{self.at:.3f} {who}: {words}"
