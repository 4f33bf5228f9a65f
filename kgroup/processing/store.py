"""A store that keeps how far a partition is processed, and who may write: the ordered fence.

Decides: what every store promises.
Never: opens a database; `sqlite` and `postgres` do.

A generation orders nothing: a static member restarts within it, a coordinator that dies gives the
same number out twice, and a group that was deleted begins at 1 again. So the store counts owners
itself, per group and partition:

1. The new owner takes `epoch + 1` with its token: one statement that fails if the epoch has moved
   meanwhile (compare and swap). In a Marshal group the number is the offset of the claim, and the
   store refuses one that is not higher.
2. Each transaction begins with a check that epoch and token are still those, and sets the offset.
   A store holds the row until the transaction ends, so nobody takes the epoch in between.
3. A zombie's transaction is refused with `FencedWriteError`, and leaves nothing behind.

A member that was frozen between its read and step 1 takes the epoch although it owns nothing any
more. The owner's next write is refused then; since the group still says that it owns the partition,
it takes the next epoch. Both see how far the partition is processed, so no record counts twice.
"""

from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from kgroup.types import Generation, TopicPartition
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True)
class Hold:
    """A partition, as the store gave it to one owner.

    Args:
        group_id: name of the group.
        tp: the partition.
        epoch: number of this owner; higher than those of all before.
        owner: its token.
        offset: first offset that is not processed, None when nothing is.
    """

    group_id: str
    tp: TopicPartition
    epoch: int
    owner: str
    offset: int | None


class Store(Protocol):
    """Where a handler writes, and where offsets are kept with what it writes."""

    async def acquire(
        self, group_id: str, tp: TopicPartition, owner: str, number: int | None = None
    ) -> Hold:
        """Make `owner` the one that may write for a partition.

        Args:
            group_id: name of the group.
            tp: the partition.
            owner: its token, new for each period of ownership.
            number: the epoch it must get, None for the next.

        Raises:
            FencedWriteError: `number` is not higher than the present owner's.
        """
        ...

    def transaction(
        self, hold: Hold, first: int, next_offset: int
    ) -> AbstractAsyncContextManager[Any]:
        """Open a transaction that counts records as processed; an exception undoes all of it.

        Args:
            hold: from `acquire`.
            first: offset of the first record.
            next_offset: first offset that is not processed when it ends well.

        Raises:
            FencedWriteError: another owner has the partition.
        """
        ...


def token_text(token: Generation | None, serial: int, nonce: str) -> str:
    """Return the token of one period of ownership.

    Args:
        token: the member's identity.
        serial: of the claim, rising within the member.
        nonce: of the process: ids and generations may come again after a coordinator's death.
    """
    if token is None:
        return f"{nonce}/{serial}"
    return f"{token.member_id}/{token.generation_id}/{serial}/{nonce}"
