"""Mutants that only a look at the living world finds: no oracle over the journal, no other look.

The looks judge what is no event: a timer that does not run, a task that does not end.
"""

from tests.search.mutants.mutant import Change, Mutant
from tests.search.simulation.schedule import Level, Mode

__all__ = ["LOOKS"]

LOOKS = (
    Mutant(
        name="no timer runs while a member waits to join again",
        module="kgroup.membership.timers",
        changes=(
            Change(
                "for each in sorted(facts.timers, key=lambda one: one.value)),\n",
                "for each in sorted(facts.timers, key=lambda one: one.value)\n"
                "                  if state is not MemberState.BACKING_OFF),\n",
            ),
        ),
        rule="L2",
        mode=Mode.EAGER,
        plan="one joins while the coordinator loads, and goes",
    ),
    Mutant(
        name="what runs in the background goes on for long after a close",
        module="kgroup.consumer.root",
        changes=(
            Change(
                "                    await self._close()\n",
                "                    await self._close()\n"
                "                    await anyio.sleep(20.0)\n",
            ),
        ),
        rule="L7",
        mode=Mode.EAGER,
        level=Level.B,
        plan="nothing happens",
    ),
    Mutant(
        name="the task that watches metadata ends with the first news",
        module="kgroup.consumer.root",
        changes=(
            Change(
                "            view = await self._parts.cluster.changed(view)\n",
                "            await self._parts.cluster.changed(view)\n            return\n",
            ),
        ),
        rule="L9",
        mode=Mode.EAGER,
        level=Level.B,
        plan="nothing happens",
    ),
    Mutant(
        name="an answer that tells of no partition is read as if it told of some",
        module="kgroup.backends.offset_reading",
        changes=(
            Change(
                "        if found is None or (whole and any(tp not in found "
                "for tp in partitions)):\n",
                "        if whole and any(tp not in found for tp in partitions):\n",
            ),
        ),
        rule="crash",
        mode=Mode.EAGER,
        level=Level.B,
        plan="the coordinator loads when one asks where to begin",
    ),
    Mutant(
        name="a read begins without a turn of the event loop",
        module="kgroup.consumer.reads.reading",
        changes=(
            Change(
                "        await anyio.lowlevel.checkpoint()\n        while True:\n",
                "        anyio.lowlevel.checkpoint()\n        while True:\n",
            ),
        ),
        rule="warning",
        mode=Mode.EAGER,
        level=Level.B,
        plan="nothing happens",
    ),
)
"""One for each look that has one."""
