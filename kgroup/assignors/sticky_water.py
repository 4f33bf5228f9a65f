"""Water finds its level: an amount is poured over vessels so that the lowest are filled first.

Decides: how much each vessel gets when partitions go, one by one, to whoever has least.
Never: goes one by one; a million partitions cost as much as ten.
KIPs: none.
"""

from collections.abc import Sequence

__all__ = ["pour"]


def pour(amount: int, loads: Sequence[int], widths: Sequence[int] | None = None) -> list[int]:
    """Return how much each vessel gets.

    Args:
        amount: how much to pour, not negative.
        loads: what each vessel holds already; may be negative; at least one vessel.
        widths: how much raises each vessel by one, at least 1; None when that is 1 for all.

    Returns:
        Per vessel its part of the amount. Afterwards no vessel that got something stands higher
        by more than one than any other; what does not make a whole layer goes to the first ones.
    """
    wide = widths or [1] * len(loads)
    floors = [load // width for load, width in zip(loads, wide, strict=True)]
    order = sorted(range(len(loads)), key=floors.__getitem__)
    width, below = 0, 0  # of the vessels that the water has reached
    for vessel in order:
        if width and width * floors[vessel] - below >= amount:
            break
        width += wide[vessel]
        below += loads[vessel]
    top = (amount + below) // width
    parts = [max(0, top * each - load) for load, each in zip(loads, wide, strict=True)]
    rest = amount - sum(parts)
    for vessel, (load, each) in enumerate(zip(loads, wide, strict=True)):
        if rest <= 0:
            break
        more = min(rest, max(0, (top + 1) * each - load - parts[vessel]))
        parts[vessel] += more
        rest -= more
    return parts
