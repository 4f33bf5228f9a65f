"""A batch read: the ranges of its partitions, found once.

Decides: where each partition begins and ends for one batch read, and how tasks share that.
Never: joins a group; reads records.
"""

from typing import Final

from kgroup.spark.connecting import driver_config
from kgroup.spark.driver import Driver
from kgroup.spark.filters import NOTHING, Narrowing
from kgroup.spark.options import SourceOptions
from kgroup.spark.places import partitions_in, resolved
from kgroup.spark.planning import Range, tasks
from kgroup.spark.where import AtTimes, Named
from kgroup.types import TopicPartition

_ASKING: Final = 30.0


def ranges(options: SourceOptions, narrowing: Narrowing = NOTHING) -> list[tuple[Range, ...]]:
    """Return what each task of a batch read reads.

    Args:
        options: of the read.
        narrowing: which rows can pass the read's filters.

    Raises:
        ConfigError, TimeoutError, KGroupError: the cluster could not be asked.
    """
    committed = options.starting is Named.COMMITTED
    driver = Driver(driver_config(options, member=committed))
    driver.start()
    try:
        partitions = _partitions(driver, options)
        starts = _starts(driver, options, partitions)
        ends = resolved(driver, options.ending, partitions, name="endingOffsets")
        if narrowing.since is not None:
            times = AtTimes({}, narrowing.since)
            young = resolved(driver, times, partitions, name="startingOffsets")
            starts = {tp: max(starts[tp], young[tp]) for tp in partitions}
    finally:
        driver.close()
    spans = {tp: narrowing.span(tp, (starts[tp], max(starts[tp], ends[tp]))) for tp in partitions}
    return tasks(spans, options.partitions_at_least)


def _partitions(driver: Driver, options: SourceOptions) -> set[TopicPartition]:
    if options.topics.partitions is not None:
        return set(options.topics.partitions)
    view = driver.call(lambda member: member.topics(options.topics, _ASKING))
    return partitions_in(view)


def _starts(
    driver: Driver, options: SourceOptions, partitions: set[TopicPartition]
) -> dict[TopicPartition, int]:
    if options.starting is not Named.COMMITTED:
        where = options.starting or Named.EARLIEST
        return resolved(driver, where, partitions, name="startingOffsets")
    found = driver.call(lambda member: member.committed(partitions))
    places = {tp: place.offset for tp, place in found.items() if place is not None}
    rest = partitions - places.keys()
    return places | resolved(driver, Named.EARLIEST, rest, name="startingOffsets")
