"""An hour of coming and going: two queries and plain consumers in one group, and broken brokers.

Decides: who comes and goes when, by chance with a seed; that one query stays, and is started again
when it has ended; that the end is judged as a cell is: each record is in a sink or was handled, no
sink has any twice, and no commit was ever ahead of both.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import anyio

from kgroup.testing.kafka import RealKafka
from tests.real.ground import describe, fresh, lay_ground
from tests.spark.matrix.judging import Case, judge
from tests.spark.matrix.ledger import Line, stamp
from tests.spark.matrix.members import Plain, Writer
from tests.spark.matrix.processes import Kind, Program
from tests.spark.matrix.program import Reading, session, start
from tests.spark.matrix.scene import SLOW, UNANSWERED
from tests.spark.matrix.sunk import Seen, Sink
from tests.spark.matrix.watch import Commits, Watch

PARTITIONS: Final = 12
_EACH: Final = 20
_TICK: Final = 0.2
_CATCH_UP: Final = 300.0
_GONE: Final = 90.0
_AWAY: Final = 10.0
_REPORT: Final = 60.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Terms:
    """How long and how hard.

    Args:
        minutes: of coming and going.
        rate: records a second.
        seed: of chance.
        guests: plain consumers that come and go.
        restart_every: minutes between two restarts of a broker, 0 for none.
    """

    minutes: float
    rate: int
    seed: int
    restart_every: float
    guests: int = 2


@dataclass(slots=True)
class Query:
    """A query with its program and its sink, and how often it was started."""

    reading: Reading
    program: Program
    sink: Sink
    starts: int = 0

    @classmethod
    def made(cls, reading: Reading, mark: str) -> "Query":
        return cls(reading, Program(reading, mark), Sink(reading.sink))

    def begin(self) -> None:
        self.program.start("local[2,4]")
        self.starts += 1


@dataclass(slots=True)
class Actor:
    """Somebody whose turn comes again and again: it returns the seconds until its next."""

    act: Callable[[], float]
    at: float = 0.0


@dataclass(slots=True)
class Guest:
    """A plain consumer that comes and goes."""

    join: Callable[[Seen], Plain]
    random: Random
    seen: Seen = field(default_factory=Seen)
    member: Plain | None = None
    visits: int = 0
    handled: int = 0
    errors: list[str] = field(default_factory=list)

    def act(self) -> float:
        if self.member is not None:
            self.go()
            return self.random.uniform(10, 40)
        self.member = self.join(self.seen)
        self.visits += 1
        return self.random.uniform(20, 90)

    def go(self) -> None:
        if self.member is not None:
            self.member.leave()
            self.handled += self.member.handled
            self.errors += self.member.errors
            self.member = None


class Soak:
    """The whole of it.

    Args:
        kafka: the brokers.
        folder: for sinks and checkpoints.
        terms: how long and how hard.
        say: takes lines for people.
    """

    def __init__(self, kafka: RealKafka, folder: Path, terms: Terms, say: Say) -> None:
        self._kafka, self._folder, self._terms, self._say = kafka, folder, terms, say
        self._random = Random(terms.seed)
        self._group = fresh("soak")
        self._ground = anyio.run(partial(lay_ground, kafka, PARTITIONS))
        every = _EACH * PARTITIONS / terms.rate
        self._writer = Writer(self._ground, each=_EACH, every=every)
        self._stays = self._query("stays")
        self._visits = self._query("visits")
        self._guests = [
            Guest(self._joined, Random(self._random.random())) for _ in range(terms.guests)
        ]
        self._committed = Commits(kafka.bootstrap, self._group)
        self._watch = Watch(self._committed, self._sides)
        self._ending = ""
        self._visited: int | None = None
        self._is_here = False
        self._away: int | None = None
        self.events: dict[str, int] = {}
        self.problems: list[str] = []

    def _query(self, name: str) -> Query:
        reading = Reading(
            self._folder / name, self._kafka.bootstrap, self._ground.topic, self._group
        )
        return Query.made(reading, f"{self._group}-{name}")

    def _joined(self, seen: Seen) -> Plain:
        plain = Plain(self._kafka.bootstrap, self._group, self._ground.topic, seen)
        plain.join()
        return plain

    def _sides(self) -> list[Seen]:
        sinks = [query.sink.seen() for query in (self._stays, self._visits)]
        return [*sinks, *(guest.seen for guest in self._guests)]

    def _note(self, what: str) -> None:
        self.events[what] = self.events.get(what, 0) + 1

    # -- the course ------------------------------------------------------------------------

    def run(self) -> Line:
        """Run it; return its line of the ledger."""
        began = time.monotonic()
        line: Line = {**stamp(), "cell": "soak", "seed": self._terms.seed}
        line |= {"kafka": self._kafka.version, "brokers": len(self._kafka.nodes)}
        line |= {"minutes": self._terms.minutes, "rate": self._terms.rate}
        try:
            self._play(began + self._terms.minutes * 60)
            self._calm_down()
            line["verdict"] = self._judge()
        finally:
            self.close()
        self.problems += self._watch.ahead + self._watch.broken
        line |= {
            "records": self._writer.records,
            "events": self.events,
            "guests' errors": [error for guest in self._guests for error in guest.errors][:10],
            "looks": self._watch.looks,
            "unanswered": self._watch.unanswered,
            "problems": self.problems[:20],
            "clean": not self.problems,
            "seconds": round(time.monotonic() - began, 1),
        }
        return line

    def close(self) -> None:
        """End whatever is left."""
        self._writer.finish()
        for guest in self._guests:
            guest.go()
        self._watch.finish()
        for query in (self._stays, self._visits):
            query.program.end()

    def _play(self, until: float) -> None:
        self._writer.start()
        self._watch.start()
        every = self._terms.restart_every * 60
        actors = [
            Actor(self._stay),
            Actor(self._visit, time.monotonic() + 30),
            *(Actor(guest.act, time.monotonic() + 40) for guest in self._guests),
            Actor(partial(self._report, time.monotonic())),
        ]
        if every:
            actors.append(Actor(partial(self._break, every), time.monotonic() + every))
        while time.monotonic() < until:
            for actor in actors:
                if time.monotonic() >= actor.at:
                    actor.at = time.monotonic() + actor.act()
            time.sleep(_TICK)

    def _stay(self) -> float:
        """Start the query that stays, again where it has ended."""
        if self._stays.program.runs:
            return 1.0
        if self._stays.starts:
            self._ended_by_itself(self._stays)
        self._stays.begin()
        return 1.0

    def _ended_by_itself(self, query: Query) -> None:
        lines = " | ".join(query.program.last_lines(2))
        if SLOW in lines:
            self._note("a start that was too slow for Spark")
        else:
            self.problems.append(f"{query.reading.folder.name} has ended by itself: {lines}")
        self._say(f"{query.reading.folder.name} has ended by itself: {lines}")
        query.program.end()

    def _visit(self) -> float:
        """Start the query that comes and goes; when it has had batches, have it go somehow."""
        program = self._visits.program
        if self._ending:
            if program.parts():
                return 1.0
            self._ending = ""
            return self._random.uniform(20, 60)
        if not program.runs:
            if self._is_here:
                self._ended_by_itself(self._visits)
            self._visits.begin()
            self._is_here, self._visited = True, self._visits.sink.last()
            self._note("visits of a query")
            return 1.0
        if self._visited is not None:
            if self._visits.sink.last() == self._visited:
                return 1.0  # it has not had anything yet
            self._visited = None
            return self._random.uniform(40, 160)
        self._is_here = False
        self._ending = self._random.choice(["stopped", "program", "driver", "reader"])
        self._note(f"visitor: {self._ending}")
        if self._ending == "stopped":
            program.ask_to_stop()
        else:
            program.strike(program.of(Kind(self._ending)))
        return 1.0

    def _break(self, every: float) -> float:
        """Have one of the brokers end, by either signal, or bring it back."""
        if self._away is not None:
            self._kafka.restart(self._away)
            self._away = None
            return every - _AWAY
        self._away = self._random.choice(self._kafka.nodes)
        way = self._random.choice(["killed", "stopped"])
        self._note(f"broker {way}")
        self._say(f"broker {self._away} is {way}")
        if way == "killed":
            self._kafka.kill(self._away)
        else:
            self._kafka.stop(self._away)
        return _AWAY

    def _report(self, began: float) -> float:
        sinks = {q.reading.folder.name: q.sink.last() for q in (self._stays, self._visits)}
        guests = [guest.member is not None for guest in self._guests]
        self._say(
            f"{(time.monotonic() - began) / 60:4.1f} min: {self._writer.records:,} records, last "
            f"batches {sinks}, guests {sum(guests)}, {self._watch.looks} looks, "
            f"{len(self._watch.ahead)} ahead, {len(self.problems)} problems"
        )
        return _REPORT

    # -- the end ---------------------------------------------------------------------------

    def _calm_down(self) -> None:
        """Have everybody go but the query that stays, and that one when it has no lag."""
        self._kafka.heal()
        self._writer.pause()
        for guest in self._guests:
            guest.go()
        self._visits.program.ask_to_stop()
        self._wait(lambda: not self._visits.program.parts(), "the visitor has gone", _GONE)
        if not self._stays.program.runs:
            self._stay()
        self._wait(self._has_no_lag, "the query that stays has no lag", _CATCH_UP)
        self._stays.program.ask_to_stop()
        self._wait(lambda: not self._stays.program.parts(), "it has gone too", _GONE)
        for guest in self._guests:
            self.events["visits of guests"] = self.events.get("visits of guests", 0) + guest.visits
        self.events["starts of the query that stays"] = self._stays.starts

    def _has_no_lag(self) -> bool:
        try:
            return self._committed() == self._ground.sent
        except UNANSWERED:
            return False

    def _is_empty(self) -> bool:
        try:
            return not describe(self._kafka, self._group).members
        except UNANSWERED:
            return False

    def _wait(self, is_so: Callable[[], object], what: str, within: float) -> None:
        until = time.monotonic() + within
        while not is_so():
            if time.monotonic() > until:
                self.problems.append(f"waited {within:g} s in vain until {what}")
                return
            time.sleep(_TICK)

    def _judge(self) -> dict[str, object]:
        """Drain both queries from their checkpoints, one after the other, and judge."""
        self._watch.finish()
        self._watch.look()
        spark = session("local[2,4]", "the judge of the soak")
        try:
            for query in (self._stays, self._visits):
                if not start(spark, query.reading, now=True).awaitTermination(_CATCH_UP):
                    self.problems.append(f"{query.reading.folder.name} was not drained")
            self._wait(self._is_empty, "the group is empty", _GONE)
            self._wait(self._has_no_lag, "everything is committed", _GONE)
            case = Case(
                spark=spark,
                bootstrap=self._kafka.bootstrap,
                topic=self._ground.topic,
                group=self._group,
                folder=self._folder,
                sinks={query.reading.sink: query.sink for query in (self._stays, self._visits)},
                handled=[guest.seen for guest in self._guests],
            )
            verdict, found = judge(case)
        finally:
            spark.stop()
        self.problems += found
        return verdict
