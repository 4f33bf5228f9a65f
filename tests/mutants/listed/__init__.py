"""All planted mutants, by what they are about."""

from tests.mutants.listed.commits import COMMITS
from tests.mutants.listed.identity import IDENTITY
from tests.mutants.listed.ownership import OWNERSHIP
from tests.mutants.listed.proof import PROOF
from tests.mutants.listed.rounds import ROUNDS
from tests.mutants.listed.shell import SHELL

__all__ = ["MUTANTS"]

MUTANTS = (*ROUNDS, *IDENTITY, *PROOF, *OWNERSHIP, *COMMITS, *SHELL)
"""Each with a name of its own."""
