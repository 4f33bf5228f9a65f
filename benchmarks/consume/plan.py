"""How much is measured.

Decides: nothing.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured, and where chance begins.

    Args:
        runs: measured runs of each cell; one more goes before and proves what was read.
        records: that one run reads of 100 bytes, plain; a quarter where a client needs
            microseconds for each, or where the loop or the codec is another, an eighth of 1 kB.
        commits: that one run makes.
        members: of the group in one process.
        member_partitions: of that group's topic.
        idle_s: how long that group stands idle.
        seed: of the values.
        limit_s: a process that takes longer is ended.
        extras: whether loops, codecs and larger records are measured besides the defaults.
    """

    runs: int = 5
    records: int = 4_000_000
    commits: int = 1500
    members: int = 100
    member_partitions: int = 200
    idle_s: float = 15.0
    seed: int = 20_250_101
    limit_s: float = 300.0
    extras: bool = True

    @classmethod
    def quick(cls) -> "Plan":
        """Return a plan that shows within minutes whether everything works."""
        return cls(runs=1, records=80_000, commits=200, members=20, idle_s=3.0)
