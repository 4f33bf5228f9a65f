"""`python -m tests.bad_input.sweeps`: how many cells of the matrix were met by which reaction."""

import time
from collections import Counter
from itertools import product

from tests.bad_input.sweeps.cells import codes_at, judge
from tests.bad_input.sweeps.places import PLACES, Place
from tests.bad_input.sweeps.workers import Workers

_SHARES = 8


def main() -> None:
    """Play the whole matrix, and print it."""
    began = time.perf_counter()
    with Workers() as workers:
        for place, times in product(PLACES, (1, None)):
            _show(workers, place, times)
    print(f"{time.perf_counter() - began:.0f} s")  # noqa: T201


def _show(workers: Workers, place: Place, times: int | None) -> None:
    codes = codes_at(place)
    shares = [(str(place), codes[first::_SHARES], times) for first in range(_SHARES)]
    cells = [each for share in workers.each("asyncio", judge, shares) for each in share]
    names = Counter("?" if cell.reaction is None else cell.reaction.name for cell in cells)
    shown = ", ".join(f"{name} {count}" for name, count in names.most_common())
    lasts, pace = "once" if times else "10 s", max(cell.pace for cell in cells)
    print(f"{place} {lasts}: {shown}; at most {pace} requests a second")  # noqa: T201
    for fault in (fault for cell in cells for fault in cell.faults):
        print(f"    {fault}")  # noqa: T201


if __name__ == "__main__":
    main()
