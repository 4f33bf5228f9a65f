"""aiokafka's consumer on kgroup: change one import, keep the program.

    from kgroup.compat.aiokafka import AIOKafkaConsumer

Decides: which versions of aiokafka it stands in for: another one is refused on import, once.
Never: imports aiokafka's consumer to use it; what is borrowed are errors, structures, listener and
assignor classes, so that `except`, `isinstance` and `==` of existing programs go on working.

- `assignors`: Assignors of aiokafka, as the option `assignors` takes them
- `consumer`: `AIOKafkaConsumer`, made of a native consumer
- `errors`: Our errors as those of aiokafka that callers already catch
- `faststream`: aiokafka's consumer on kgroup, for FastStream, which reads a little more than
  public calls
- `keywords`: The keywords of aiokafka's constructor: their names and their defaults
- `life`: The life of the facade object: what it is made of, starting, stopping, being dropped
- `listeners`: Listeners of aiokafka, called for changes in ours
- `offsets`: The facade's calls about offsets: commits, positions, ends of logs
- `options`: Keywords of aiokafka's consumer, as options of ours
- `partitions`: Partitions of aiokafka and of ours, which are equal and not of one class
- `reading`: The facade's calls that deliver records
- `records`: Records in aiokafka's shape
- `refusing`: Refusing a call at once without keeping the event loop
- `rounds`: Where a member stands between two assignments, as far as aiokafka's calls tell them
  apart
- `subscribing`: The facade's calls about what is read: topics, patterns, partitions, pauses
- `wishes`: What the application asks to read, before and after the consumer is started
"""

from aiokafka import __version__

from kgroup.compat.pins import AIOKAFKA

AIOKAFKA.check(__version__)

from kgroup.compat.aiokafka.consumer import AIOKafkaConsumer  # noqa: E402 - only names it knows

__all__ = ["AIOKafkaConsumer"]
