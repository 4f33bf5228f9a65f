"""Change one import: `from kgroup.compat.kafka_python import KafkaConsumer`.

Decides: that a version of kafka-python that is not known is refused when this is imported.
Never: imports kafka-python's consumer for its own use: errors, structures, listeners, assignors,
serialisers and token providers are borrowed.
"""

import warnings

with warnings.catch_warnings():
    # kafka-python 3.0 reads its schemas by calls that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)

    try:
        from kafka.version import __version__ as _version
    except ModuleNotFoundError as error:
        raise ImportError(
            "kgroup.compat.kafka_python borrows the errors and structures of kafka-python: "
            "pip install 'kgroup[kafka-python]'",
            name="kafka",
        ) from error

    from kgroup.compat.pins import KAFKA_PYTHON

    KAFKA_PYTHON.check(_version)

    from kgroup.compat.kafka_python.consumer import KafkaConsumer

__all__ = ["KafkaConsumer"]
