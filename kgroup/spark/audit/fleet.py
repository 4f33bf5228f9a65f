"""The sieve, the judge, and one verdict for each group.

Decides: that a group which is plain has its numbers from the sieve, and any other from the judge;
groups are judged side by side.
Never: judges.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Any, Final

from kgroup.audit import verdict_json
from kgroup.audit.verdict import PartitionVerdict, Verdict
from kgroup.errors import ConfigError
from kgroup.spark.audit.belonging import Gathered, gather
from kgroup.spark.audit.judge import Bounds, Law, judge, of_topics
from kgroup.spark.audit.large import LARGE, LargeGroup, judge_in_shares, too_large
from kgroup.spark.audit.logs import LOG, Files, Frame, Log, keep, open_logs
from kgroup.spark.audit.passing import passes
from kgroup.spark.audit.sifting import claims_of, lines_of
from kgroup.spark.table import arrow_function, functions, told_plainly
from kgroup.types import TopicPartition
from kgroup.values import dataclass

Json = Mapping[str, Any]

_AT_ONCE: Final = 16
"""Tasks for each core, at most: groups are of different sizes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupVerdict:
    """The verdict on one group.

    Args:
        run: the folder of its logs, "" when all logs are one run.
        group: its name, None for members without one, and for files that nobody's line is in.
        why: why it was judged entry by entry, None when the sieve let it pass.
        files: the logs that hold it.
        verdict: as `kgroup.audit.verdict_json` has it. The sieve tells of rebalances nothing, and
            of silences only the longest of each partition.
    """

    run: str
    group: str | None
    why: str | None
    files: tuple[str, ...]
    verdict: Json

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return bool(self.verdict["clean"])


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetVerdict:
    """The verdict on many groups.

    Args:
        groups: each, in order of run and name.
        empty: files without a line.
    """

    groups: tuple[GroupVerdict, ...] = ()
    empty: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether there are groups, and nothing is wrong with any."""
        return bool(self.groups) and all(group.clean for group in self.groups)

    @property
    def topics(self) -> frozenset[str]:
        """The topics that were read."""
        return frozenset(row["topic"] for each in self.groups for row in each.verdict["partitions"])


class Fleet:
    """Event logs of many groups.

    Args:
        spark: the session; its workers see the files under the same paths.
        logs: paths and patterns, as `kgroup.audit.audit` takes them; or a folder that `keep` wrote.
        each_folder: whether each folder is a run of its own; else all logs are one.
        large: a group with fewer lines is never judged in shares.
        cores: how many workers there are, None for as many as Spark says.
        say: takes a line about how far it is.

    Raises:
        ConfigError: a folder cannot be read as one of events.
        FileNotFoundError: a path or a pattern names no file.
    """

    def __init__(
        self,
        spark: Any,  # noqa: ANN401 - pyspark's session
        logs: Iterable[str | Path],
        *,
        each_folder: bool = False,
        large: int = LARGE,
        cores: int | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._spark = spark
        self._say = say
        self._each_folder = each_folder
        self._large = large
        self._cores = cores or int(spark.sparkContext.defaultParallelism)
        self._logs = open_logs(logs)

    def keep(self, folder: Path) -> None:
        """Write the events as a folder of Parquet, and judge these from now on.

        Raises:
            ConfigError: the events are those of a folder already, or lie where they would be
                written.
            TableError: a log cannot be read, or Spark failed.
        """
        if not isinstance(self._logs, Files):
            raise ConfigError("keep", str(folder), "event logs to write; these are such a folder")
        count = len(self._logs.paths)
        with told_plainly():
            self._logs = keep(self._spark, self._logs, folder)
        self._say(f"{count:,} logs are kept in {folder}")

    def verdict(self, law: Law) -> FleetVerdict:
        """Judge all groups.

        Raises:
            TableError: a log cannot be read, or Spark failed.
        """
        with told_plainly():
            return self._verdict(law)

    def _verdict(self, law: Law) -> FleetVerdict:
        sifted = self._logs.sifted(self._spark)
        if isinstance(self._logs, Files):
            sifted.persist()
        try:
            rows = sifted.select("name", "part", "cut", "lines", "sources").collect()
            self._say(f"{sum(row['lines'] > 0 for row in rows):,} files are read")
            self._named = {row["name"]: Log(row["name"], row["part"], row["cut"]) for row in rows}
            groups = self._gathered(rows)
            passed = {} if law.at_least_once else _sieved(sifted, groups, law)
        finally:
            sifted.unpersist()
        rest = [number for number in range(len(groups)) if number not in passed]
        self._say(f"{len(groups):,} groups, {len(rest):,} of them to be judged entry by entry")
        found = {**passed, **self._judged({number: groups[number] for number in rest}, law)}
        return FleetVerdict(
            groups=tuple(self._group(each, found[n], n in passed) for n, each in enumerate(groups)),
            empty=tuple(sorted((row["name"] for row in rows if not row["lines"]), key=Path)),
        )

    def _gathered(self, rows: Iterable[Any]) -> list[Gathered]:
        found = [each for row in rows for each in lines_of(row["name"], row["sources"])]
        names = {name: Path(name) for name in self._named}
        runs = {each: str(name.parent) if self._each_folder else "" for each, name in names.items()}
        return gather(found, names, runs)

    def _judged(self, groups: Mapping[int, Gathered], law: Law) -> dict[int, Json]:
        lines = {number: each.entries for number, each in groups.items()}
        found, shares = {}, self._cores - 1
        for number in too_large(lines, self._cores, self._large):
            self._say(f"group {groups[number].key[1]} is judged in {shares} shares")
            logs = tuple(self._named[path] for path in groups[number].paths)
            group = LargeGroup(name=groups[number].key[1], logs=logs, shares=shares)
            verdict = judge_in_shares(self._spark, self._logs, group, law)
            if verdict is not None:
                found[number] = json.loads(json.dumps(verdict_json(verdict)))
        whole = {number: each for number, each in groups.items() if number not in found}
        return {**found, **self._judged_whole(whole, law)}

    def _judged_whole(self, groups: Mapping[int, Gathered], law: Law) -> dict[int, Json]:
        if not groups:
            return {}
        rows = [
            (number, each.key[1], [astuple(self._named[path]) for path in each.paths])
            for number, each in groups.items()
        ]
        tasks = min(len(rows), self._cores * _AT_ONCE)
        form = f"number bigint, name string, logs array<struct<{LOG}>>"
        frame = self._spark.createDataFrame(rows, form)
        judges = arrow_function(partial(judge, law, self._logs), "string").asNondeterministic()
        found = (
            frame.repartition(tasks)
            .select("number", judges("name", "logs").alias("found"))
            .collect()
        )
        return {number: json.loads(text) for number, text in found}

    def _group(self, gathered: Gathered, verdict: Json, passed: bool) -> GroupVerdict:  # noqa: FBT001
        run, group = gathered.key
        why = None if passed else gathered.why or "a partition is not plain"
        files = tuple(self._named[path].name for path in gathered.paths)
        return GroupVerdict(run=run, group=group, why=why, files=files, verdict=verdict)


def _sieved(sifted: Frame, groups: Sequence[Gathered], law: Law) -> dict[int, Json]:
    """Return the verdicts on groups that pass the sieve."""
    f = functions()
    places = [
        (path, each.key[1] or "", number, each.shifts[path])
        for number, each in enumerate(groups)
        if each.why is None
        for path in each.paths
    ]
    if not places:
        return {}
    form = "name string, whose string, number bigint, shift double"
    where = sifted.sparkSession.createDataFrame(places, form)
    claims = sifted.select("name", f.explode("groups").alias("one")).select("name", "one.*")
    found = (
        claims.join(f.broadcast(where), ["name", "whose"])
        .groupBy("number")
        .agg(arrow_function(_passes, "string", by_group=True)("shift", "claims").alias("rows"))
        .where("rows is not null")
        .collect()
    )
    read = {number: [_partition(*row) for row in json.loads(rows)] for number, rows in found}
    return {
        number: verdict_json(_verdict(groups[number], rows, law))
        for number, rows in read.items()
        if _is_whole(rows, law.bounds or {})
    }


def _is_whole(rows: Iterable[PartitionVerdict], bounds: Bounds) -> bool:
    """Tell whether all partitions of the topics that a group read were read to their ends."""
    ends = {row.tp: row.end for row in rows}
    asked = of_topics(bounds, (tp.topic for tp in ends))
    return all(ends.get(tp) == end for tp, (_, end) in asked.items())


def _verdict(gathered: Gathered, rows: Sequence[PartitionVerdict], law: Law) -> Verdict:
    first, last = gathered.span
    return Verdict(
        partitions=tuple(sorted(rows, key=lambda row: row.tp)),
        entries=gathered.entries,
        members=gathered.members,
        seconds=last - first,
        broker_asked=bool(of_topics(law.bounds or {}, (row.tp.topic for row in rows))),
    )


# -- as Spark calls it -----------------------------------------------------------------------------


def _passes(shifts: Any, claims: Any) -> str | None:  # noqa: ANN401 - pyarrow's
    """Return the numbers of a group's partitions as JSON, None when it does not pass."""
    both = zip(shifts.to_pylist(), map(claims_of, claims.to_pylist()), strict=True)
    rows = passes(both)
    return None if rows is None else json.dumps([_row(row) for row in rows])


def _row(row: PartitionVerdict) -> list[Any]:
    numbers = (row.start, row.end, row.committed, row.records, row.periods, row.silence)
    return [row.tp.topic, row.tp.partition, *numbers]


def _partition(topic: str, number: int, *numbers: Any) -> PartitionVerdict:  # noqa: ANN401
    start, end, committed, records, periods, silence = numbers
    return PartitionVerdict(
        tp=TopicPartition(topic, number),
        start=start,
        end=end,
        committed=committed,
        records=records,
        periods=periods,
        silence=silence,
    )
