"""What the application has in its hands of partitions that are to be handed back.

Decides: when a machine hears that nobody has a record of them any more.
Never: decides what is handed back, or how long a batch is waited for; the machine does.
"""

from collections.abc import Callable

from kgroup.machine.claims import Holdings, HoldingState
from kgroup.types import Claim

__all__ = ["InHand"]


class InHand:
    """Claims of which records are in the application's hands.

    Args:
        tell: tells the machine of claims that are drained; what that changes may come back here.
    """

    def __init__(self, tell: Callable[[tuple[Claim, ...]], None]) -> None:
        self._tell = tell
        self._claims: set[Claim] = set()
        self._telling = False

    def take(self, claim: Claim) -> None:
        """Note that records of a claim are handed out."""
        self._claims.add(claim)

    def put_down(self, claim: Claim) -> None:
        """Note that no record of a claim is in hand any more."""
        self._claims.discard(claim)

    def look(self, holdings: Holdings, *, whole: bool = False) -> None:
        """Tell the machine which draining claims nobody has a record of.

        Args:
            holdings: what the member owns.
            whole: whether all that drains is told of together, or nothing.
        """
        if self._telling:
            return  # a step that we have caused: the one who caused it looks
        self._claims &= holdings.states.keys()
        draining = holdings.having(HoldingState.DRAINING)
        empty = tuple(claim for claim in draining if claim not in self._claims)
        if not empty or (whole and len(empty) < len(draining)):
            return
        self._telling = True
        try:
            self._tell(empty)
        finally:
            self._telling = False
