"""What a run of the demo takes place on.

Decides: the three choices. A member's process loads this file and nothing else of the demo.
"""

from enum import Enum


class WhichKafka(Enum):
    """What a run takes place on."""

    AUTO = "auto"
    """A real Kafka if this machine can have one, else the in-process broker; it is said which."""
    REAL = "real"
    IN_PROCESS = "in-process"
