"""The table of the classic protocol: every transition of a member.

Decides: what a member does about everything that can happen to it.
Never: how an action is carried out (`actions`), or which trigger an answer is (`translate`).
KIPs: 62, 345, 394, 429, 568, 800, 814. `docs/rebalance.md` is generated from these rows.

How to read it: a round goes FINDING, JOINING, (ASSIGNING,) SYNCING, STABLE. Whatever asks for a
round leads to PREPARING when something must be handed back first, else to FINDING, which passes
on at once when the coordinator is known. Lost partitions end at once; revoked ones are drained.
"""

from kgroup.machine.rows import Table
from kgroup.membership.ending_rows import ENDING_ROWS
from kgroup.membership.joining_rows import JOINING_ROWS

__all__ = ["ROWS"]

ROWS = Table((*JOINING_ROWS, *ENDING_ROWS))
"""Every transition of a classic member."""
