"""Mutants of ownership: what is held, given up, lost, and who is told."""

from tests.search.mutants.mutant import Change, Mutant
from tests.search.simulation.schedule import Mode

__all__ = ["OWNERSHIP"]

OWNERSHIP = (
    Mutant(
        name="a cooperative JoinGroup leaves out one of the partitions that its sender has",
        module="kgroup.membership.requests",
        changes=(
            Change(
                "        owned=() if member.eager "
                "else tuple(sorted(member.holdings.partitions)),\n",
                "        owned=() if member.eager "
                "else tuple(sorted(member.holdings.partitions))[1:],\n",
            ),
        ),
        rule="S4",
    ),
    Mutant(
        name="a member keeps what its assignment lacks",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "    gone = tuple(claim for claim in member.holdings.claims "
                "if claim.tp not in usable)\n",
                "    gone = ()\n",
            ),
        ),
        rule="K3",
        mode=Mode.COOPERATIVE,
    ),
    Mutant(
        name="a loss is not told",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "    if lost:\n        turn.call_listener(ChangeKind.LOST, removed=lost)\n",
                "    if not lost:\n        turn.call_listener(ChangeKind.LOST, removed=lost)\n",
            ),
        ),
        rule="B2",
    ),
    Mutant(
        name="a leader does not read what members hold",
        module="kgroup.assignors.leader",
        changes=(Change("        owned=read.owned,\n", "        owned=(),\n"),),
        rule="S2",
        mode=Mode.COOPERATIVE,
    ),
    Mutant(
        name="a round takes away and gives again what a member keeps",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "    kept = tuple(claim for claim in member.holdings.claims "
                "if claim.tp in usable)\n"
                "    gone = tuple(claim for claim in member.holdings.claims "
                "if claim.tp not in usable)\n",
                "    kept = ()\n    gone = member.holdings.claims\n",
            ),
        ),
        rule="K1",
        mode=Mode.COOPERATIVE,
    ),
    Mutant(
        name="an assignment counts together with the one before",
        module="kgroup.membership.actions",
        changes=(
            Change(
                "            assigned=usable,\n",
                "            assigned=usable | member.round.assigned,\n",
            ),
        ),
        rule="S1",
        mode=Mode.EAGER,
    ),
    Mutant(
        name="a JoinGroup does not list what is still being given up",
        module="kgroup.membership.requests",
        changes=(
            Change(
                "from kgroup.frozen import replace\n",
                "from kgroup.frozen import replace\n"
                "from kgroup.machine.claims import HoldingState as _H\n",
            ),
            Change(
                "tuple(sorted(member.holdings.partitions)),\n",
                "tuple(\n"
                "            c.tp for c in member.holdings.having(_H.HELD, _H.DRAINING)\n"
                "        ),\n",
            ),
        ),
        rule="S2",
        mode=Mode.COOPERATIVE,
    ),
)
"""Who has what, and who knows."""
