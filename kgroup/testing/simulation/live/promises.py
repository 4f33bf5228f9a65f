"""Which promises are judged at levels B and C.

Decides: which oracles fit a plan: what an application or an administrator did on purpose is no
broken promise of the consumer's.
Never: judges.
"""

from kgroup.journal.oracles import Oracle, at_least_once
from kgroup.testing.simulation.perturbation import Kind
from kgroup.testing.simulation.plan import CommitHabit, Plan

__all__ = ["promises"]


def promises(plan: Plan, *, slack: float = 0.0) -> tuple[Oracle, ...]:
    """Return fresh oracles for a plan.

    Args:
        plan: of the run.
        slack: seconds forgiven to the lease.
    """
    by_itself = all(member.habit is CommitHabit.AUTO for member in plan.members)
    return at_least_once(clean_handover=by_itself, slack=slack)
