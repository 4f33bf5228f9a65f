"""What is asked of a member whose commits wait, whichever machine makes it.

Decides: the shape; members of classic groups and of KIP-848's fit it as they are.
Never: commits.
"""

from typing import Protocol

from kgroup.machine.coordinator import Coordinator
from kgroup.types import Claim, Generation


class Named(Protocol):
    """How the coordinator knows a member."""

    @property
    def generation(self) -> Generation | None:
        """The identity that commits are stamped with, None without one."""
        ...


class Committer(Protocol):
    """What is asked of the member whose commits wait, whichever machine makes it."""

    @property
    def identity(self) -> Named:
        """What the coordinator knows it as."""
        ...

    @property
    def coordinator(self) -> Coordinator:
        """What is known of the coordinator."""
        ...

    @property
    def eager(self) -> bool:
        """Whether everything is handed back before a round."""
        ...

    def owns(self, claim: Claim) -> bool:
        """Tell whether a claim is not over."""
        ...

    def may_commit(self) -> bool:
        """Tell whether a commit sent now can be accepted."""
        ...
