"""`kgroup spark coordination`: batch by batch from the logs to the tables.

Decides: the order in which a batch is written; that ends are kept of topics that grew, or whose
groups changed, for these groups are made anew: a group has the same gold in one batch or in many.
Gold is made once nothing more waits to be read; beside the batches, if they are to go on meanwhile.
Never: judges a record; stops for one that cannot be read.
"""

import json
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Final

from kgroup.errors import ArgumentError, ConfigError, UnauthorizedError
from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination import tables as t
from kgroup.spark.coordination.asking import Brokers, RightError
from kgroup.spark.coordination.gilding import CLAIMS, OFFSETS, Gilding
from kgroup.spark.coordination.planned import after, planned
from kgroup.spark.coordination.schema import Row, Table
from kgroup.spark.coordination.silver import NEW_TARGETS, OFFSETS_TOPIC
from kgroup.spark.coordination.store import Plan, Progress, Store
from kgroup.spark.table import functions
from kgroup.types import TopicPartition
from kgroup.values import dataclass

Say = Callable[[str], None]

RECORDS: Final = 1_000_000
"""Records of one batch, at most."""
_FILE: Final = 500_000
"""Rows of one file, about."""

_UNAUTHORIZED: Final = UnauthorizedError.__name__
"""In what Spark says of a task: that is another process, and its error comes as text."""
_LOOKS_EVERY: Final = 10.0
"""Seconds between two looks for alarms."""
_ALL: Final = 2**31 - 1
"""More batches than there are; of a folder that says nothing of any."""
_BROKERS: Final = "brokers"


@dataclass(slots=True)
class Known:
    """What the tables say that the next batch stands on.

    Args:
        generations: group -> generation or epoch that stands now.
        topics: topic that somebody committed for -> log partitions of these groups.
        names: id of a topic -> its name.
        ends: where each log ended when it was asked last.
    """

    generations: dict[str, int] = field(default_factory=dict)
    topics: dict[str, set[int]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    ends: dict[TopicPartition, int] = field(default_factory=dict)

    def learn(self, generations: Iterable[Row], commits: Iterable[Row]) -> None:
        """Take in rows that were added, those of a group in their order."""
        for row in generations:
            self.generations.pop(row["group"], None)
            if not row["tombstone"]:
                self.generations[row["group"]] = row["generation"]
        for row in commits:
            self.topics.setdefault(row["topic"], set()).add(row["log_partition"])
            if row["topic_id"] is not None:
                self.names[row["topic_id"]] = row["topic"]

    def parts(self, topic: str) -> set[str]:
        """Return the log partitions of groups that committed for a topic."""
        return {f"{OFFSETS}-{number}" for number in self.topics.get(topic, ())}

    def read_by(self, parts: set[str]) -> set[str]:
        """Return the topics that groups of some log partitions committed for."""
        return {topic for topic in self.topics if self.parts(topic) & parts}

    def look(self, generation: t.Frame, commit_log: t.Frame) -> None:
        """Take in the rows of tables."""
        f = functions()
        last = generation.where(f.col("kind") != NEW_TARGETS).groupBy("group")
        found = last.agg(f.max_by(f.struct("generation", "tombstone"), "log_offset").alias("last"))
        places = commit_log.select("log_partition", "topic", "topic_id").distinct()
        self.learn(
            [{"group": group, **row.asDict()} for group, row in found.collect()],
            [row.asDict() for row in places.collect()],
        )


class Job:
    """Makes tables of coordination logs.

    Args:
        spark: the session.
        store: where the tables are.
        say: takes a line about how far it is.
        clock: seconds since the epoch.
        watched: topic of claims, when alarms are to be told; None for none.
        gold_every: seconds from gold to gold, which is made beside the batches then; `settle` ends
            it. None to make it with each batch.
    """

    def __init__(
        self,
        spark: Any,  # noqa: ANN401 - pyspark's session
        store: Store,
        say: Say = print,
        clock: Callable[[], float] = time.time,
        watched: str | None = None,
        gold_every: float | None = None,
    ) -> None:
        self._spark = spark
        self._store = store
        self._say = say
        self._clock = clock
        self._learned: Known | None = None
        self._watched = watched
        self._looked_at = -math.inf
        self._gold = Gilding(store, clock, gold_every)

    def step(
        self, brokers: Brokers, options: Mapping[str, str], limit: int = RECORDS
    ) -> Plan | None:
        """Make one batch, one that was begun before first; return it, None if there is nothing.

        Args:
            brokers: say where logs end.
            options: of `format("kgroup")`, without topics and places.
            limit: records it has at most.

        Raises:
            ConfigError: the folder holds tables of something else.
            KGroupError, TimeoutError: the logs cannot be read.
        """
        try:
            return self._step(brokers, options, limit)
        except BaseException as error:
            self._learned = None  # it may know of a batch that is made again
            plan = self._store.plan()
            if plan is not None and _UNAUTHORIZED in str(error):
                raise RightError("a coordination log may not be read", plan.ranges) from error
            raise

    def _step(self, brokers: Brokers, options: Mapping[str, str], limit: int) -> Plan | None:
        progress, known = self._progress(_BROKERS), self._known()
        plan, sample = self._store.plan(), None
        if plan is None or plan.batch <= progress.batch:
            now = int(self._clock() * 1000)
            plan = planned(progress, brokers.logs(), limit=limit, now=now)
            if not plan.ranges:
                sample = brokers.ends(known.topics)
                if not self._grown(sample) and not self._looks():
                    self._rest(progress)
                    return None
            self._store.put(plan)
        changed = _parts(plan)
        if plan.ranges:
            raw = t.read(self._spark, {**options, **_places(plan)})
            self._store.append(d.RAW, raw, plan.batch)
            self._silver(plan.batch, _size(plan))
        if plan.history:
            self._append(d.HISTORY, plan.history, plan.batch)
        sample = brokers.ends(known.topics) if sample is None else sample
        topics = self._grown(sample) | known.read_by(changed)
        for topic in topics:
            changed |= known.parts(topic)
        self._ends([row for row in sample if row["topic"] in topics], plan.batch)
        if self._watched is not None and self._looks():
            self._looked_at = self._clock()
            claims = brokers.ends([self._watched])
            self._append(d.LOOKS, [*sample, *claims], plan.batch)  # the last of a batch
        self._finish(progress, plan, changed)
        return plan

    def settle(self) -> None:
        """Make the gold that is not made yet: batches come to an end here."""
        progress = self._store.progress()
        if progress.stale:
            self._gold.settle(progress.stale, progress.batch, self._known().names)
            self._store.put(replace(progress, stale=()))

    def copy(self, folder: Path, alone: int = RECORDS) -> Plan:
        """Make all tables of records that another run has kept; return the one batch.

        Args:
            folder: `--out` of that run, or its `raw`.
            alone: so many records this process decodes itself, at most.

        Raises:
            ArgumentError: there are no such records.
            ConfigError: the folder of the store holds tables of something else.
        """
        source = str(folder.resolve())
        progress = self._progress(source)
        path = folder if folder.name == d.RAW.name else folder / d.RAW.name
        if not path.is_dir() or folder.resolve() == self._store.folder.resolve():
            expected = f"another folder than --out, with a table {d.RAW.name} in it"
            raise ArgumentError("from", str(folder), expected)
        self._learned = Known()  # nothing stands before the first batch, whatever was there
        plan = Plan(batch=0)
        self._store.put(plan)
        other = Store(self._spark, path.parent)
        kept = other.progress().batch
        upto = kept if kept >= 0 else _ALL
        for table in (d.RAW, *d.SAMPLED):
            self._store.append(table, other.read(table, upto), 0)
        parts = self._store.read_batch(d.RAW, 0).groupBy("src", "log_partition").count().collect()
        self._silver(0, sum(count for _, _, count in parts), alone)
        changed = {_part(src, number) for src, number, _ in parts}
        self._finish(progress, plan, changed)
        self.settle()
        return plan

    # -- one batch ---------------------------------------------------------------------------

    def _progress(self, source: str) -> Progress:
        progress = self._store.progress()
        if progress.batch >= 0 and progress.source != source:
            expected = f"a folder of its own: its tables are made from {progress.source}"
            raise ConfigError("out", str(self._store.folder), expected)
        return Progress(
            batch=progress.batch, ends=progress.ends, stale=progress.stale, source=source
        )

    def _known(self) -> Known:
        """Return what the tables say; read once, and kept up to date."""
        if self._learned is None:
            known, upto = Known(), self._store.progress().batch
            known.look(self._store.read(d.GENERATION, upto), self._store.read(d.COMMIT_LOG, upto))
            f = functions()
            seen = self._store.read(d.LOG_END, upto).groupBy("topic", "partition")
            for topic, number, high in seen.agg(f.max_by("high", "ts")).collect():
                known.ends[TopicPartition(topic, number)] = high
            self._learned = known
        return self._learned

    def _silver(self, batch: int, records: int, alone: int = RECORDS) -> None:
        make = self._silver_at_once if records <= alone else self._silver_by_spark
        counts = make(batch)
        words = [f"{count:,} of {name}" for name, count in sorted(counts.items())]
        self._say(f"batch {batch}: {records:,} records: {', '.join(words) or 'nothing'}")

    def _silver_at_once(self, batch: int) -> dict[str, int]:
        """Decode in this process, which takes less than to hand records to Spark's and back."""
        raw = self._store.arrow_batch(d.RAW, batch)
        found = t.silver_of(raw, self._known().generations)
        for table in d.SILVER:
            if table.name in found:
                self._store.append(table, found[table.name], batch)
        self._known().learn(*_standing(found))
        return {name: len(rows) for name, rows in found.items()}

    def _silver_by_spark(self, batch: int) -> dict[str, int]:
        rows = t.decoded(self._store.read_batch(d.RAW, batch), self._known().generations)
        rows = rows.persist()
        try:
            counts = t.counts(rows)
            for table in d.SILVER:
                if counts.get(table.name):
                    part = _filed(t.part(rows, table), counts[table.name])
                    self._store.append(table, part, batch)
            self._known().look(t.part(rows, d.GENERATION), t.part(rows, d.COMMIT_LOG))
        finally:
            rows.unpersist()
        return counts

    def _grown(self, sample: Sequence[Row]) -> set[str]:
        """Return the topics of which a log ends elsewhere than it did."""
        known = self._known().ends
        return {
            row["topic"]
            for row in sample
            if known.get(TopicPartition(row["topic"], row["partition"])) != row["high"]
        }

    def _looks(self) -> bool:
        """Tell whether it is time to look for alarms."""
        return self._watched is not None and self._clock() - self._looked_at >= _LOOKS_EVERY

    def _ends(self, sample: Sequence[Row], batch: int) -> None:
        if not sample:
            return
        self._append(d.LOG_END, sample, batch)
        for row in sample:
            self._known().ends[TopicPartition(row["topic"], row["partition"])] = row["high"]

    def _append(self, table: Table, rows: Iterable[Row], batch: int) -> None:
        self._store.append(table, t.arrow_of(table, list(rows)), batch)

    def _finish(self, progress: Progress, plan: Plan, changed: Collection[str]) -> None:
        """Make gold, unless more waits to be read, and say that the batch is done."""
        self._gold.changed(changed)
        stale = tuple(sorted({*progress.stale, *changed}))
        done = replace(progress, batch=plan.batch, ends=after(progress, plan), stale=stale)
        self._store.put(done if plan.more else self._gilded(done))

    def _rest(self, progress: Progress) -> None:
        """Go on with gold alone."""
        if progress.stale:
            self._store.put(self._gilded(progress))

    def _gilded(self, progress: Progress) -> Progress:
        if not progress.stale:
            return progress
        names = self._known().names
        return replace(progress, stale=self._gold.go_on(progress.stale, progress.batch, names))


def _standing(silver: Mapping[str, Any]) -> tuple[list[Row], list[Row]]:
    """Return what is to be learned of silver tables in Arrow."""
    generations, commits = silver.get(d.GENERATION.name), silver.get(d.COMMIT_LOG.name)
    rows = [] if generations is None else generations.sort_by("log_offset").to_pylist()
    places = [] if commits is None else _distinct(commits, ["log_partition", "topic", "topic_id"])
    return [row for row in rows if row["kind"] != NEW_TARGETS], places


def _distinct(rows: Any, columns: list[str]) -> list[Row]:  # noqa: ANN401 - pyarrow's
    found: list[Row] = rows.group_by(columns).aggregate([]).to_pylist()
    return found


def _filed(rows: t.Frame, count: int) -> t.Frame:
    return rows.coalesce(max(count // _FILE, 1))


def _part(src: str, number: object) -> str:
    return f"{OFFSETS if src == OFFSETS_TOPIC else CLAIMS}-{number}"


def _parts(plan: Plan) -> set[str]:
    return {_part(src, number) for src, each in plan.ranges.items() for number in each}


def _size(plan: Plan) -> int:
    """Return how many records a batch has at most."""
    return sum(end - begin for each in plan.ranges.values() for begin, end in each.values())


def _places(plan: Plan) -> dict[str, str]:
    """Return the options of the source that read what a batch has."""
    sides = [
        {src: {n: span[side] for n, span in each.items()} for src, each in plan.ranges.items()}
        for side in (0, 1)
    ]
    numbers = {src: sorted(map(int, each)) for src, each in plan.ranges.items()}
    return {
        "assign": json.dumps(numbers),
        "startingOffsets": json.dumps(sides[0]),
        "endingOffsets": json.dumps(sides[1]),
    }
