"""Which versions of kafka-python the facade can stand in for.

Decides: the pin.
Never: looks at what is installed.
"""

from typing import Final

from kgroup.compat.pins import Pin

__all__ = ["PIN"]

PIN: Final = Pin(
    facade="kgroup.compat.kafka_python",
    client="kafka-python",
    module="kafka",
    first=(3, 0),
    until=(3, 1),
    instead="kgroup.sync.Consumer",
)
