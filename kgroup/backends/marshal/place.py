"""Where a Marshal group coordinates, and what surrounds it.

Decides: names and units; the values are the consumer's options.
Never: stands with the settings of the member: that one knows of no brokers.
"""

from dataclasses import dataclass

from kgroup.marshal.rules import Compat
from kgroup.offsets.reset import ResetRule
from kgroup.types import IsolationLevel

__all__ = ["MarshalPlace"]


@dataclass(frozen=True, slots=True)
class MarshalPlace:
    """Where a group coordinates, and what surrounds it; times in seconds.

    Args:
        topic: name of the coordination topic.
        compat: how members of the original library are met.
        reset_policy: where to begin when nobody knows a position.
        isolation: whether a log ends at its last stable offset.
        exclude_internal_topics: whether a pattern leaves out topics of the brokers.
        timeout: for requests.
        retry_backoff: pause between two tries.
    """

    topic: str
    compat: Compat
    reset_policy: ResetRule
    isolation: IsolationLevel
    exclude_internal_topics: bool
    timeout: float
    retry_backoff: float
