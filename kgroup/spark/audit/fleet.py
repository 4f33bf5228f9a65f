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
from kgroup.spark.audit.judge import Law, judge
from kgroup.spark.audit.large import LARGE, LargeGroup, judge_in_shares, too_large
from kgroup.spark.audit.logs import LOG, Files, keep, open_logs
from kgroup.spark.audit.sieve import partitions, sources
from kgroup.spark.table import arrow_function
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
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._spark = spark
        self._say = say
        self._each_folder = each_folder
        self._large = large
        self._cores = int(spark.sparkContext.defaultParallelism)
        self._logs = open_logs(logs)

    def keep(self, folder: Path) -> None:
        """Write the events as a folder of Parquet, and judge these from now on.

        Raises:
            ArgumentError: Spark does not see a file.
            ConfigError: the events are those of a folder already.
        """
        if not isinstance(self._logs, Files):
            raise ConfigError("keep", str(folder), "event logs to write; these are such a folder")
        self._logs = keep(self._spark, self._logs, folder)
        self._say(f"{len(self._logs.logs):,} logs are kept in {folder}")

    def verdict(self, law: Law) -> FleetVerdict:
        """Judge all groups.

        Raises:
            ArgumentError: Spark does not see a file.
            OSError: a file cannot be read.
        """
        if not self._logs.some:
            return FleetVerdict(empty=self._logs.empty)
        lines = self._logs.lines(self._spark)
        if not self._logs.kept:
            lines.persist()
        try:
            groups = self._gathered(lines)
            passed = {} if law.at_least_once else _sieved(lines, groups, law)
        finally:
            lines.unpersist()
        rest = [number for number in range(len(groups)) if number not in passed]
        self._say(f"{len(groups):,} groups, {len(rest):,} of them to be judged entry by entry")
        found = {**passed, **self._judged({number: groups[number] for number in rest}, law)}
        return FleetVerdict(
            groups=tuple(self._group(each, found[n], n in passed) for n, each in enumerate(groups)),
            empty=self._logs.empty,
        )

    def _gathered(self, lines: Any) -> list[Gathered]:  # noqa: ANN401 - pyspark's
        found = sources(lines)
        self._named = self._logs.named({each.path for each in found})
        self._say(f"{len(self._named):,} files are read")
        names = {path: Path(log.name) for path, log in self._named.items()}
        runs = {each: str(name.parent) if self._each_folder else "" for each, name in names.items()}
        return gather(found, names, runs)

    def _judged(self, groups: Mapping[int, Gathered], law: Law) -> dict[int, Json]:
        lines = {number: each.entries for number, each in groups.items()}
        found = {}
        for number in too_large(lines, self._cores, self._large):
            self._say(f"group {groups[number].key[1]} is judged in {self._cores} shares")
            logs = tuple(self._named[path] for path in groups[number].paths)
            group = LargeGroup(name=groups[number].key[1], logs=logs, shares=self._cores)
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


def _sieved(lines: Any, groups: Sequence[Gathered], law: Law) -> dict[int, Json]:  # noqa: ANN401
    """Return the verdicts on groups that are plain."""
    plain = [(number, each) for number, each in enumerate(groups) if each.why is None]
    if not plain:
        return {}
    rows: dict[int, list[Any]] = {}
    for row in partitions(lines, plain, law.bounds).collect():
        rows.setdefault(row["gid"], []).append(row)
    return {
        number: verdict_json(_verdict(groups[number], those, law))
        for number, those in rows.items()
        if not any(row["wrong"] for row in those) and any(row["records"] for row in those)
    }


def _verdict(gathered: Gathered, rows: Iterable[Any], law: Law) -> Verdict:
    first, last = gathered.span
    numbers = [
        PartitionVerdict(
            tp=TopicPartition(row["topic"], row["partition"]),
            start=row["start"],
            end=row["held"],
            committed=row["committed"],
            records=row["records"],
            periods=row["periods"],
            silence=row["silence"],
        )
        for row in rows
        if row["start"] is not None
    ]
    asked = {row.tp.topic for row in numbers} & {tp.topic for tp in law.bounds or ()}
    return Verdict(
        partitions=tuple(sorted(numbers, key=lambda row: row.tp)),
        entries=gathered.entries,
        members=gathered.members,
        seconds=last - first,
        broker_asked=bool(asked),
    )
