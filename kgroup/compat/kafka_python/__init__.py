"""Change one import: `from kgroup.compat.kafka_python import KafkaConsumer`.

Decides: that a version of kafka-python that is not known is refused when this is imported.
Never: imports kafka-python's consumer for its own use: errors, structures, listeners, assignors,
serialisers and token providers are borrowed.

- `assignors`: Assignors of kafka-python, as the option `assignors` takes them
- `consumer`: A consumer with kafka-python's name, keys, calls, records and errors
- `errors`: Our errors as those of kafka-python that callers already catch
- `keywords`: The configuration keys of kafka-python's consumer, their defaults, and which cannot
  be honoured
- `life`: The life of a KafkaConsumer: what it is made of, entering, closing
- `listeners`: Listeners of kafka-python, called for changes in ours
- `offsets`: kafka-python's calls about offsets: commits, positions, seeks, and what the logs hold
- `options`: Keys of kafka-python's consumer, as options of ours
- `reading`: kafka-python's ways to read: `poll`, and iteration
- `records`: Records in kafka-python's shape
- `subscribing`: kafka-python's calls about what is read, and what the consumer is in its group
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
