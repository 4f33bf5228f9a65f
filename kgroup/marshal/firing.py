"""One row of one key, carried out.

Decides: nothing: it finds the row, moves the key, and does what the row says.
Never: fires for what cannot reach the key in its phase: that came too late.
"""

from kgroup.frozen import replace
from kgroup.marshal.guards import holds
from kgroup.marshal.key_actions import act
from kgroup.marshal.key_rows import KEY_ROWS
from kgroup.marshal.phases import POSSIBLE, KeyPhase, KeyTrigger
from kgroup.marshal.turn import Turn
from kgroup.types import TopicPartition

__all__ = ["fire"]


def fire(turn: Turn, tp: TopicPartition, trigger: KeyTrigger) -> bool:
    """Fire the row of a key for a trigger; tell whether there was one."""
    life = turn.life(tp)
    if trigger not in POSSIBLE[life.phase]:
        return False
    row = KEY_ROWS.find(
        life.phase, trigger, lambda guard: holds(turn.member, life, guard, turn.now)
    )
    turn.fired.append((tp, row))
    moved = replace(life, phase=row.to)
    for action in row.do:
        moved = act(turn, moved, action)
    # What is over may be worth another claim: the plan did not look at it while it was under way.
    turn.replan = turn.replan or (row.to is KeyPhase.IDLE and row.at is not KeyPhase.IDLE)
    turn.put(moved)
    return True
