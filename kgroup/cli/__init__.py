"""The `kgroup` command.

Decides: how a missing extra is told to a person.
Never: imports typer or rich itself, so that the message can be given without them.
"""

import sys
from collections.abc import Sequence

from kgroup.errors import MissingExtraError

__all__ = ["main"]

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 2 when the extra `cli` is not installed.

    Args:
        arguments: the words after `kgroup`; None takes those of the process.
    """
    words = sys.argv[1:] if arguments is None else arguments
    try:
        from kgroup.cli.app import run  # noqa: PLC0415

        return run(words)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"typer", "rich"}:
            raise
        print(MissingExtraError("the kgroup command", "cli"), file=sys.stderr)
        return 2
