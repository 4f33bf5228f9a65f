"""What a reader of the log of claims is told once.

Decides: names, units and defaults.
Never: reads a configuration.
"""

from dataclasses import dataclass

from kgroup.marshal.rules import Compat
from kgroup.marshal.settings import MARSHAL_TOPIC

__all__ = ["ReaderSettings"]


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """What a reader is told once; times in seconds.

    Args:
        group_id: whose keys are told of.
        topic: name of the coordination topic.
        interval: between heartbeats of this member.
        compat: what records without headers can do.
        append_time: whether the topic's timestamps are the broker's; records correct it.
        whole: whether logs are read from their first record instead of the window.
        writes: whether its owner writes by this machine's clock, which then is compared.
        max_wait: longest wait of a broker for records.
        max_bytes: of one partition in one answer.
        sign_interval: so often a reader that finds nothing new says so.
    """

    group_id: str
    topic: str = MARSHAL_TOPIC
    interval: float = 60.0
    compat: Compat = Compat.AUTO
    append_time: bool = True
    whole: bool = False
    writes: bool = False
    max_wait: float = 0.5
    max_bytes: int = 1024 * 1024
    sign_interval: float = 5.0
