"""Which versions of aiokafka the facade can stand in for.

Decides: the pin: the releases whose own tests of their consumer it was seen to pass.
Never: looks at what is installed.
"""

from typing import Final

from kgroup.compat.pins import Pin

__all__ = ["PIN"]

PIN: Final = Pin(
    facade="kgroup.compat.aiokafka",
    client="aiokafka",
    module="aiokafka",
    first=(0, 13),
    until=(0, 15),
    instead="kgroup.Consumer",
)
