"""`python -m tests.bad_input.sweeps`: how many cells of the matrix were met by which reaction."""

import time
from collections import Counter

from tests.bad_input.sweeps.cells import CODES, judge
from tests.bad_input.sweeps.places import PLACES
from tests.bad_input.sweeps.workers import Workers

_SHARES = 8


def main() -> None:
    """Play the whole matrix, and print it."""
    began = time.perf_counter()
    with Workers() as workers:
        for place in PLACES:
            for times in (1, None):
                shares = [(str(place), CODES[first::_SHARES], times) for first in range(_SHARES)]
                cells = [cell for each in workers.each("asyncio", judge, shares) for cell in each]
                names = Counter("?" if c.reaction is None else c.reaction.name for c in cells)
                shown = ", ".join(f"{name} {count}" for name, count in names.most_common())
                lasts, pace = "once" if times else "10 s", max(cell.pace for cell in cells)
                print(f"{place} {lasts}: {shown}; at most {pace} requests a second")  # noqa: T201
                for fault in (fault for cell in cells for fault in cell.faults):
                    print(f"    {fault}")  # noqa: T201
    print(f"{time.perf_counter() - began:.0f} s")  # noqa: T201


if __name__ == "__main__":
    main()
