"""aiokafka's consumer on kgroup: change one import, keep the program.

    from kgroup.compat.aiokafka import AIOKafkaConsumer

Decides: which versions of aiokafka it stands in for: another one is refused on import, once.
Never: imports aiokafka's consumer to use it; what is borrowed are errors, structures, listener and
assignor classes, so that `except`, `isinstance` and `==` of existing programs go on working.
"""

from aiokafka import __version__

from kgroup.compat.pins import AIOKAFKA

AIOKAFKA.check(__version__)

from kgroup.compat.aiokafka.consumer import AIOKafkaConsumer  # noqa: E402 - only names it knows

__all__ = ["AIOKafkaConsumer"]
