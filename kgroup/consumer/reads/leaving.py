"""What counts as done when the application ends without an exception.

Decides: whose records those are: only of reads by the task, or thread, that closes the consumer.
Another one may be at work on its records still, or was cancelled while it was.
Never: counts a record that a loop has in hand, or anything inside `async with batch`.

Loops over single records need nothing here: all before the one in hand is done already.
"""

import asyncio
import weakref
from contextvars import ContextVar
from typing import Any, Final

from kgroup.consumer.buffer.delivery import Delivery
from kgroup.offsets.ledger import Handout
from kgroup.values import dataclass

READER: Final[ContextVar[object]] = ContextVar("kgroup_reader", default=None)
"""In whose name the present task reads and closes: a thread, None for the task itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """One read.

    Args:
        by: in whose name; dead when that one is gone, and nobody else can be taken for it.
    """

    by: weakref.ReferenceType[Any]


def note_read() -> Read:
    """Return a read in the name of whoever runs now."""
    return Read(weakref.ref(_whoever()))


def read_for_nobody() -> None:
    """Have the present task close in nobody's name: nothing counts as done."""
    READER.set(_Nobody())


def count_handled(delivery: Delivery) -> None:
    """Count what whoever runs now has read as done, as far as it has come.

    What one `getmany` returned belongs together: when one batch was left half-way, those that were
    not begun are not done.

    Args:
        delivery: knows what is in hand, and what loops that were left had in hand.
    """
    me = _whoever()
    mine = [each for each in delivery.unfinished() if _is_by(each, me)]
    broken_off = {each.read for each in mine if _is_half_way(each)}
    for handout in mine:
        if handout.left_at is not None or handout.read not in broken_off:
            delivery.done(handout, handout.left_at)


def _is_by(handout: Handout, reader: object) -> bool:
    return isinstance(handout.read, Read) and handout.read.by() is reader


def _is_half_way(handout: Handout) -> bool:
    return handout.left_at is not None and handout.left_at < handout.next_offset


class _Nobody:
    """Is nobody else."""


def _whoever() -> object:
    given = READER.get()
    if given is not None:
        return given
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    if task is not None:
        return task
    # Not asyncio; and trio is there, since it runs.
    import trio  # noqa: PLC0415 - an extra

    return trio.lowlevel.current_task()
