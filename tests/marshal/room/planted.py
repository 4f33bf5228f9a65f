"""Faults planted in the member, one at a time: `python -m tests.marshal.room.planted NUMBER SEED`.

Decides: which faults the drawn rooms must find.
Never: changes a file; the changed module is loaded in place of it, in a process of its own.
"""

import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

from tests.mutants.patching import install

__all__ = ["PLANTED", "Planted", "main"]


class Planted(NamedTuple):
    """One fault.

    Args:
        name: what is wrong.
        module: of `kgroup.marshal`.
        old: occurs once.
        new: stands there instead.
        seed: of a run that finds it.
    """

    name: str
    module: str
    old: str
    new: str
    seed: int


PLANTED: Final = (
    Planted(
        "records are handed out after the lease",
        "member",
        "in_time = life.lease_end is not None and now < life.lease_end",
        "in_time = life.lease_end is not None",
        3,
    ),
    Planted(
        "a release says the position of the last record handed out, not of the next to commit",
        "key_actions",
        "    return turn.write(life, Kind.RELEASING_PARTITION, life.position)\n",
        "    return turn.write(life, Kind.RELEASING_PARTITION, life.position + 5)\n",
        0,
    ),
    Planted(
        "who was refused once never tries again",
        "key_actions",
        "retry_at=turn.now + pause)",
        "retry_at=turn.now + 86_400.0)",
        3,
    ),
)


def main(arguments: Sequence[str]) -> int:
    """Plant a fault, play seeds; return 0 when one of them found it, and print which."""
    number, first, count = (int(each) for each in arguments)
    planted = PLANTED[number]
    install(f"kgroup.marshal.{planted.module}", [(planted.old, planted.new)])
    # Only now: what it imports is to be the changed module.
    from tests.marshal.room.play import play  # noqa: PLC0415

    for seed in range(first, first + count):
        broken = play(seed).broken
        if broken:
            sys.stdout.write(f"{seed}: {broken[0]}\n")
            return 0
    return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
