"""The verbs of the `kgroup` command."""

from collections.abc import Sequence

__all__ = ["run"]


def run(arguments: Sequence[str]) -> int:
    """Run one verb and return the exit code."""
    raise NotImplementedError(arguments)
