"""The promises that the searches for bugs judge, besides those of `kgroup.audit.oracles`.

Decides: what a run of a search is judged by.
Never: is part of the package.

`catalogue` has one row for each promise, with the oracle that judges it; open the file of the
oracle's class for what it asks exactly.
"""

from tests.search.oracles.catalogue import CATALOGUE, members_oracles, simulation_oracles

__all__ = ["CATALOGUE", "members_oracles", "simulation_oracles"]
