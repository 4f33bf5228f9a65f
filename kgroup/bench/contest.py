"""The rounds: every cell once in each, so that clients take turns while the machine changes.

Decides: that round 0 proves what is read, by the contents of every value, and is not measured; and
what becomes of a cell that is absent, fails, or finds anything else than what was written.
Never: runs two clients at once; keeps a figure of a cell that was wrong once.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Any, Final

from kgroup.bench.adapters import Adapters
from kgroup.bench.asking import committed, shares, tidy
from kgroup.bench.brokers import Brokers
from kgroup.bench.cells import GROUP_JOBS, PLAIN, Cell, Plan, program_of, protocol_of
from kgroup.bench.figures import of_sample
from kgroup.bench.filling import PARTITIONS, Topic, rounded
from kgroup.bench.groups import Ground, GroupRun
from kgroup.bench.judging import WARM_UP, fault, group_size, warm_up_of
from kgroup.bench.processes import ROOT, Answer, Talk, work
from kgroup.bench.rounds import commits, rounds
from kgroup.errors import KGroupError
from kgroup.testing.kafka import create_topic
from kgroup.values import dataclass

COUNTED: Final = (20_000, 60_000)
"""Records of the two readings whose instructions are subtracted from each other."""
MARSHAL: Final = "marshal"
_LOOK: Final = 0.05
_SHARE: Final = 0.5
"""Of the time until a process is ended: a reader that still waits then tells what it has read."""
LOG_SETTINGS: Final = {"message.timestamp.type": "LogAppendTime"}
"""Of the log of claims: its times are the broker's."""
_IMPORTS: Final = {
    "kgroup": "from kgroup import Consumer",
    "marshal": "from kgroup import Consumer",
    "drop-in aiokafka": "from kgroup.compat.aiokafka import AIOKafkaConsumer",
    "drop-in kafka-python": "from kgroup.compat.kafka_python import KafkaConsumer",
    "aiokafka": "from aiokafka import AIOKafkaConsumer",
    "kafka-python": "from kafka import KafkaConsumer",
    "confluent": "from confluent_kafka import Consumer",
}
_TIMED: Final = """\
import time; began = time.perf_counter()
{line}
print('{{"result":{{"import_s":%r}}}}' % (time.perf_counter() - began))"""

Process = Callable[[Sequence[str], Mapping[str, Any], float, Mapping[str, str]], Answer]


@dataclass(slots=True)
class Entry:
    """A cell and what became of it.

    Args:
        cell: what is measured.
        status: `measured`, `absent`, `failed` or `wrong`.
        reason: why there are no figures.
        samples: raw, one of each run.
        records: that one run reads.
    """

    cell: Cell
    status: str = "measured"
    reason: str = ""
    samples: list[dict[str, Any]] = field(default_factory=list)
    records: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a contest uses to start clients.

    Args:
        adapters: whose processes they are.
        process: runs one that does its job alone.
        spawn: starts one of a group.
        brokers: those that may be killed.
        prefix: of the names of topics and groups.
    """

    adapters: Adapters = field(default_factory=Adapters)
    process: Process = work
    spawn: Callable[..., Talk] = Talk
    brokers: Brokers = field(default_factory=lambda: Brokers(None))
    prefix: str = ""


class Contest:
    """Measures cells on one broker.

    Args:
        bootstrap: its address.
        plan: how much.
        say: takes a line for people.
        means: how clients are started.
    """

    def __init__(
        self,
        bootstrap: str,
        plan: Plan,
        say: Callable[[str], None],
        means: Means | None = None,
    ) -> None:
        self._bootstrap = bootstrap
        self._plan = plan
        self._say = say
        self._means = means or Means()
        self._topics: dict[str, Topic] = {}
        self._expected: dict[str, dict[str, int]] = {}
        self._made: list[str] = []
        self._number = 0
        self._log = ""

    def run(
        self, entries: Sequence[Entry], step: Callable[[str], None] = lambda _name: None
    ) -> None:
        """Measure, round by round; what is finished stays in the entries when it is interrupted.

        Args:
            entries: what is measured; those that hold samples have them already.
            step: called before each measurement with its name; see `steps`.
        """
        for entry in entries:
            if entry.cell.job not in GROUP_JOBS:
                entry.records = self._topic_of(entry.cell).records
        for topic in self._topics.values():
            self._say(f"filling {topic.name}: {topic.records:,} records")
            self._made.append(topic.name)
            topic.fill(self._bootstrap)
            self._expected[topic.name] = topic.expected()
        if any(entry.cell.client == MARSHAL for entry in entries):
            self._make_log()
        for number in range(self._plan.runs + 1):
            self._round(number, entries, step)

    def _make_log(self) -> None:
        """Make the log in which members in Marshal mode claim partitions."""
        self._log = f"{self._means.prefix}claims"
        self._made.append(self._log)
        create_topic(self._bootstrap, self._log, 1, settings=LOG_SETTINGS)

    def tidy(self) -> None:
        """Delete the topics and groups that were made, and say what could not be."""
        for line in tidy(self._bootstrap, self._means.prefix or "bench-", self._made):
            self._say(f"left behind: {line}")

    def profile(self, cell: Cell) -> list[dict[str, Any]] | str:
        """Do the job once more under a profiler; return its rows, or why there are none."""
        if cell.job == "import":
            words = [sys.executable, "-X", "importtime", "-c", _IMPORTS[program_of(cell.client)]]
            done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
            return import_shares(done.stderr)
        # A profiler slows down what it looks at, so a quarter will do where there is one.
        less = self._topic_of(replace(cell, quarter=True))
        job = self._job(cell, proof=False)
        if cell.job == "read" and less.name in self._expected:
            job |= {"topic": less.name, "records": less.records}
        answer = self._ask(cell, {**job, "profile": True, "passes": 1})
        found: list[dict[str, Any]] | None = answer.sample.get("result", {}).get("profile")
        return answer.reason if found is None else found

    # -- rounds ----------------------------------------------------------------------------

    def _round(self, number: int, entries: Iterable[Entry], step: Callable[[str], None]) -> None:
        for entry in entries:
            if not _is_due(number, entry):
                continue
            step(entry.cell.name)
            answer = self._measure(entry.cell, proof=not number)
            self._take(entry, answer, proof=not number)
            how = "" if entry.status == "measured" else f": {entry.status}, {entry.reason}"
            name = "proof" if not number else f"run {number}"
            self._say(f"{name}: {entry.cell.name}{how}")

    def _measure(self, cell: Cell, *, proof: bool) -> Answer:
        if cell.job in GROUP_JOBS:
            return self._watch(cell)
        if cell.job == "instructions":
            return self._count_instructions(cell)
        if cell.job == "import":
            if program_of(cell.client) not in _IMPORTS:
                return Answer("absent", "it is not imported by Python")
            line = _TIMED.format(line=_IMPORTS[program_of(cell.client)])
            return self._work([sys.executable, "-c", line], {}, cell)
        job = self._job(cell, proof=proof)
        if job["job"] == "members":
            return self._stand(cell, job)
        began = time.time()
        answer = self._ask(cell, job)
        if cell.job == "commit" and answer.status == "result":
            topic, group = job["topic"], job["group"]
            answer.sample["committed"] = committed(self._bootstrap, group, topic).get(0, 0)
            answer.sample["commits"] = commits(self._bootstrap, group, began)
        return answer

    def _stand(self, cell: Cell, job: Mapping[str, Any]) -> Answer:
        """Have a group form and stand; ask its coordinator meanwhile who holds what."""
        command = self._means.adapters.command(cell.client)
        if isinstance(command, str):
            return Answer("absent", command)
        deadline, held = time.monotonic() + self._plan.limit_s, None
        try:
            talk = self._means.spawn(command, job)
        except FileNotFoundError as error:
            return Answer("absent", f"{error.filename}: {error.strerror}")
        try:
            while held is None and not talk.over and time.monotonic() < deadline:
                time.sleep(_LOOK)
                if any("formed" in line for line in talk.take()):
                    held = shares(self._bootstrap, job["group"])
            answer = talk.end(max(0.1, deadline - time.monotonic()))
        finally:
            talk.close()
        answer.sample["shares"] = [[tp.partition for tp in share] for share in held or ()]
        wall = answer.sample.get("result", {}).get("wall")
        if wall and protocol_of(cell.client) == "classic":
            answer.sample["rounds"] = rounds(self._bootstrap, job["group"], *wall)
        return answer

    def _take(self, entry: Entry, answer: Answer, *, proof: bool) -> None:
        if answer.status != "result":
            entry.status, entry.reason = answer.status, answer.reason
            entry.samples.clear()
            return
        try:
            expected = self._expected.get(self._topic_of(entry.cell).name, {})
            found = fault(entry.cell, self._plan, answer.sample, expected, proof=proof)
            size = group_size(entry.cell, self._plan)
            measures = {"value_bytes": entry.cell.data.value_bytes, "members": size.members}
            of_sample(entry.cell.job, answer.sample, measures)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            entry.status, entry.reason = "failed", f"its result cannot be used: {error!r}"
            entry.samples.clear()
            return
        if found:
            entry.status, entry.reason = "wrong", found
            entry.samples.clear()
        elif not proof:
            entry.samples.append(answer.sample)
            entry.records = answer.sample.get("records", entry.records)

    # -- one process -----------------------------------------------------------------------

    def _ask(self, cell: Cell, job: Mapping[str, Any], prefix: Sequence[str] = ()) -> Answer:
        command = self._means.adapters.command(cell.client)
        if isinstance(command, str):
            return Answer("absent", command)
        return self._work([*prefix, *command], job, cell)

    def _work(self, command: Sequence[str], job: Mapping[str, Any], cell: Cell) -> Answer:
        environ = {"KGROUP_PURE": "1"} if cell.pure else {}
        return self._means.process(command, job, self._plan.limit_s, environ)

    def _watch(self, cell: Cell) -> Answer:
        """Run a group once, on a topic and under a name of its own."""
        command = self._means.adapters.command(cell.client)
        if isinstance(command, str):
            return Answer("absent", command)
        if cell.job == "failover" and self._means.brokers.absent:
            return Answer("absent", self._means.brokers.absent)
        self._number += 1
        name = f"{self._means.prefix}bench-{cell.job}-{self._number}"
        ground = Ground(
            bootstrap=self._bootstrap,
            topic=name,
            group=name,
            python=sys.executable,
            brokers=self._means.brokers,
            log=self._log,
        )
        self._made.append(name)
        try:
            run = GroupRun(cell, self._plan.group, ground, command, self._means.spawn)
            return run.run()
        except FileNotFoundError as error:
            return Answer("absent", f"{error.filename}: {error.strerror}")
        except (KGroupError, TimeoutError, OSError) as error:
            return Answer("failed", str(error) or type(error).__name__)

    def _job(self, cell: Cell, *, proof: bool) -> dict[str, Any]:
        self._number += 1
        topic = self._topic_of(cell)
        common = {
            "job": "read" if cell.job in {"start", "instructions"} else cell.job,
            "level": cell.level,
            "loop": cell.loop,
            "bootstrap": self._bootstrap,
            "topic": topic.name,
            "group": f"{self._means.prefix}bench-{self._number}",
            "protocol": protocol_of(cell.client),
            "limit_s": self._plan.limit_s * _SHARE,
            "log": self._log,
        }
        match cell.job:
            case "commit":
                warm_up = warm_up_of(cell.client)
                return {**common, "commits": self._plan.commits, "warm_up": warm_up}
            case "claim":
                return {**common, "claims": self._plan.claims}
            case "assign" | "members" | "scale":
                size = asdict(group_size(cell, self._plan))
                job = "assign" if cell.job == "assign" else "members"
                return {**common, **size, "job": job, "idle_s": self._plan.idle_s}
        # A JVM compiles while it reads: the second time shows what that is good for.
        passes = 2 if cell.client == "java" and cell.job == "read" and not proof else 1
        return {**common, "records": topic.records, "proof": proof, "passes": passes}

    def _count_instructions(self, cell: Cell) -> Answer:
        """Read twice under Callgrind; what more records cost more is the loop's alone."""
        if shutil.which("valgrind") is None:
            return Answer("absent", "valgrind is not installed")
        counts = []
        for records in COUNTED:
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder) / "callgrind"
                prefix = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
                job = self._job(cell, proof=False)
                job = {**job, "records": records, "topic": self._counted(records).name}
                answer = self._ask(cell, job, prefix)
                if answer.status != "result":
                    return answer
                found = re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.MULTILINE)
                counts.append(int(found[1]) if found else 0)
        return replace(answer, sample={"result": {"records": COUNTED, "instructions": counts}})

    # -- topics ----------------------------------------------------------------------------

    def _topic_of(self, cell: Cell) -> Topic:
        match cell.job:
            case "start" | "import" | "claim" | "assign":
                return self._known("one", 1, 1)
            case "commit":
                return self._known("commits", self._plan.commits + max(WARM_UP.values()), 1)
            case "members" | "scale":
                partitions = group_size(cell, self._plan).partitions
                return self._known(f"members-{partitions}", 0, partitions)
            case "instructions":
                return [self._counted(records) for records in COUNTED][-1]
        wanted = self._plan.records // cell.data.share // (4 if cell.quarter else 1)
        records = rounded(wanted)
        name = f"{cell.data.name.replace(' ', '-')}-{records}"
        return self._known(name, records, PARTITIONS, cell)

    def _counted(self, records: int) -> Topic:
        return self._known(f"counted-{records}", records, PARTITIONS)

    def _known(self, name: str, records: int, partitions: int, cell: Cell | None = None) -> Topic:
        data = PLAIN if cell is None else cell.data
        full = f"{self._means.prefix}{name}"
        topic = Topic(full, data, records, partitions, self._plan.seed)
        return self._topics.setdefault(full, topic)


def steps(plan: Plan, entries: Sequence[Entry]) -> int:
    """Return how many measurements there are at most.

    Args:
        plan: says how many rounds there are.
        entries: what is measured, with the samples they have already.
    """
    return sum(_is_due(number, entry) for number in range(plan.runs + 1) for entry in entries)


def _is_due(number: int, entry: Entry) -> bool:
    """Return whether a round has a measurement of a cell."""
    job = entry.cell.job
    if entry.status != "measured" or len(entry.samples) >= max(number, 1):
        return False
    if job == "instructions":
        return number == 1
    return number > 0 or job in {"read", "start", "import", "commit", "claim"}


def import_shares(printed: str) -> list[dict[str, Any]]:
    """Return the modules that took the longest themselves, of what `-X importtime` prints."""
    rows = re.findall(r"^import time: +(\d+) \| +\d+ \| +(\S+)$", printed, re.MULTILINE)
    whole = sum(int(own) for own, _ in rows)
    slowest = sorted(rows, key=lambda row: -int(row[0]))[:15]
    return [
        {"function": f"import {module}", "calls": 1, "share": round(int(own) / whole, 4)}
        for own, module in slowest
    ]
