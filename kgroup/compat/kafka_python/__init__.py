"""Change one import: `from kgroup.compat.kafka_python import KafkaConsumer`.

Decides: that a version of kafka-python that is not known is refused when this is imported.
Never: imports kafka-python's consumer for its own use: errors, structures, listeners, assignors,
serialisers and token providers are borrowed.
"""

from kafka.version import __version__ as _version

from kgroup.compat.kafka_python import versions

versions.check(_version)

from kgroup.compat.kafka_python.consumer import KafkaConsumer  # noqa: E402 - the version first

__all__ = ["KafkaConsumer"]
