"""Where a query begins and ends, asked of the cluster: names and times become offsets.

Decides: which question each way to say it takes.
Never: looks at what a group has committed for a streaming query (`query` does).
"""

from collections.abc import Mapping

from kgroup.errors import ConfigError
from kgroup.net.log_offsets import OffsetSpec
from kgroup.net.metadata import ClusterView
from kgroup.spark.driver import Driver
from kgroup.spark.where import AtOffsets, AtTimes, Named, Where
from kgroup.types import TopicPartition

_EARLIEST, _LATEST = -2, -1


def partitions_in(view: ClusterView) -> set[TopicPartition]:
    """Return the partitions of all topics of a view."""
    return {tp for name in view.topics for tp in view.partitions_of(name)}


def resolved(
    driver: Driver, where: Where, partitions: set[TopicPartition], *, name: str
) -> dict[TopicPartition, int]:
    """Return an offset for each partition.

    Args:
        driver: started.
        where: what the option says; COMMITTED is the latest where nothing is committed.
        partitions: those the query reads.
        name: of the option, for errors.

    Raises:
        ConfigError: the option names a partition that the query does not read, or leaves one out.
        TimeoutError, KGroupError: the leaders could not be asked.
    """
    match where:
        case Named():
            spec = OffsetSpec.EARLIEST if where is Named.EARLIEST else OffsetSpec.LATEST
            return ends(driver, partitions, spec)
        case AtOffsets(offsets):
            _check(offsets, partitions, name)
            return _at_offsets(driver, offsets)
        case AtTimes(times, everywhere):
            if everywhere is None:
                _check(times, partitions, name)
            asked = {tp: at for tp in partitions if (at := times.get(tp, everywhere)) is not None}
            return _at_times(driver, asked)


def _check(given: Mapping[TopicPartition, int], wanted: set[TopicPartition], name: str) -> None:
    """Refuse offsets for other partitions than those that are read, as Spark's own source does."""
    missing, foreign = sorted(wanted - given.keys()), sorted(given.keys() - wanted)
    if missing or foreign:
        what = f"without {missing[0]}" if missing else f"with {foreign[0]}"
        expected = "every partition that is read, and no other; -1 for latest, -2 for earliest"
        raise ConfigError(name, what, expected)


def ends(
    driver: Driver, partitions: set[TopicPartition], spec: OffsetSpec
) -> dict[TopicPartition, int]:
    """Return where logs begin or end; nobody is asked about no partition."""
    return driver.call(lambda member: member.ends(partitions, spec)) if partitions else {}


def _at_offsets(driver: Driver, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    found = {tp: offset for tp, offset in offsets.items() if offset >= 0}
    for number, spec in ((_EARLIEST, OffsetSpec.EARLIEST), (_LATEST, OffsetSpec.LATEST)):
        found |= ends(driver, {tp for tp, offset in offsets.items() if offset == number}, spec)
    return found


def _at_times(driver: Driver, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    found = driver.call(lambda member: member.logs.at_times(times, None))
    late = {tp for tp, place in found.items() if place is None}
    places = {tp: place.offset for tp, place in found.items() if place is not None}
    return places | ends(driver, late, OffsetSpec.LATEST)
