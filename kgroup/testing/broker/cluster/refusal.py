"""Why a request, or a row of it, is refused.

Decides: nothing.
"""

from typing import NamedTuple

from kgroup.codes import ErrorCode

__all__ = ["Refusal"]


class Refusal(NamedTuple):
    """An error as it goes on the wire.

    Args:
        code: what.
        message: text of a real broker, None where that sends none.
    """

    code: ErrorCode
    message: str | None
