"""`AIOKafkaConsumer` of aiokafka 0.14, on kgroup.

Decides: that the version of aiokafka is checked once, before anything else is imported.
Never: imports or builds aiokafka's own consumer.
"""

from aiokafka import __version__

from kgroup.compat.aiokafka.versions import check

check(__version__)
