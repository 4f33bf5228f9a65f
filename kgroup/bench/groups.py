"""One run of a group under a stream of records: it forms, something happens, it forms again.

Decides: the order of a run; that a process which joins later is started and loaded before, so that
no figure holds its start; that a group is formed when each member delivers and each partition is
delivered by one of them; that a run in which a record is lost, is not what was written, or was
committed though it is not there, is wrong, whatever it says of speed.
Never: believes a client about what there was to deliver, or what is committed: the broker is asked;
lets a process live longer than the run.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final

from kgroup.bench.asking import committed
from kgroup.bench.brokers import Brokers
from kgroup.bench.cells import Cell, GroupPlan, protocol_of
from kgroup.bench.deliveries import Deliveries, member_of, reborn
from kgroup.bench.histogram import encoded
from kgroup.bench.leaving import between, beyond, together, told
from kgroup.bench.processes import Answer, Talk
from kgroup.testing.kafka import create_topic, read_bounds
from kgroup.values import dataclass

_STREAM: Final = ("-m", "kgroup.bench.stream")
_LOOK: Final = 0.05
_END: Final = 15.0
"""Seconds in which a member that is asked to end has to end."""
_DRAIN: Final = 20.0
"""Seconds in which what was written has to be delivered when the group is formed."""

_LATE: Final = 2.0
"""Seconds in which a record may come after later ones of its partition."""

Spawn = Callable[[Sequence[str], Mapping[str, Any]], Talk]


class _Unsettled(Exception):
    """The group did not do in time what it had to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where a run takes place.

    Args:
        bootstrap: of the brokers.
        topic: a new one.
        group: a new one.
        python: the interpreter that writes the records.
        brokers: those that may be killed.
        log: of claims, for members in Marshal mode.
    """

    bootstrap: str
    topic: str
    group: str
    python: str
    brokers: Brokers
    log: str = ""


class GroupRun:
    """Runs a group once.

    Args:
        cell: what is measured.
        plan: how.
        ground: where.
        command: starts a member.
        spawn: starts a process.
    """

    def __init__(
        self,
        cell: Cell,
        plan: GroupPlan,
        ground: Ground,
        command: Sequence[str],
        spawn: Spawn = Talk,
    ) -> None:
        self._cell = cell
        self._plan = plan
        self._ground = ground
        self._command = command
        self._spawn = spawn
        self._members: dict[str, Talk] = {}
        self._held: dict[str, Talk] = {}
        self._before: list[Talk] = []
        self._gone: list[str] = []
        self._seen = Deliveries(plan.partitions, cell.data.value_bytes)
        self._marks: list[dict[str, Any]] = []
        self._stream: Talk | None = None

    def run(self) -> Answer:
        """Run it; no process is left, whatever happens."""
        create_topic(self._ground.bootstrap, self._ground.topic, self._plan.partitions)
        with ExitStack() as stack:
            stack.callback(self._ground.brokers.heal)
            stack.callback(self._close)
            try:
                return self._run()
            except _Unsettled as error:
                return self._trouble() or Answer("failed", str(error))

    def _run(self) -> Answer:
        plan = self._plan
        self._stream = self._spawn([self._ground.python, *_STREAM], self._stream_job())
        for number in range(plan.members):
            self._members[f"m{number}"] = self._started(f"m{number}")
        for name in self._later():
            self._held[name] = self._started(name, hold=True)
        self._form("the group did not form")
        self._await_held()
        began = time.time()
        self._mark()
        self._watch(plan.before)
        event = time.time()
        if self._cell.job == "latency":
            self._mark()
        else:
            self._happen()
            self._form(f"the group did not form again after the {self._cell.job}")
        until = time.time()
        ends = self._drain()
        answers = self._end_members()
        for answer in answers.values():
            if answer.status != "result":
                return answer
        return self._judged(ends, began, event, until, answers)

    # -- what happens --------------------------------------------------------------------------

    def _later(self) -> list[str]:
        """Return the names of processes that begin when something happens."""
        names = [*self._members]
        match self._cell.job:
            case "join":
                return [f"m{len(names)}"]
            case "restart":
                return [reborn(names[-1])]
            case "rolling":
                return [*map(reborn, names)]
        return []

    def _happen(self) -> None:
        *_, name = self._members
        match self._cell.job:
            case "join":
                self._release(*self._held)
            case "leave":
                self._members[name].tell({"stop": True})
                self._gone.append(name)
            case "crash":
                self._members[name].kill()
                self._gone.append(name)
            case "failover":
                self._ground.brokers.kill_coordinator(self._ground.group)
            case "restart" | "rolling":
                for each in [*self._held]:
                    old = next(one for one in self._members if reborn(one) == each)
                    self._end_politely(old)
                    self._release(each)
                    if self._held:
                        self._form(f"the group did not form again when {each} was there")
            case other:
                raise ValueError(f"nobody knows what a {other} is")

    def _started(self, name: str, *, hold: bool = False) -> Talk:
        return self._spawn(self._command, {**self._member_job(name), "hold": hold})

    def _await_held(self) -> None:
        """Wait until the processes that begin later are loaded."""
        deadline = time.monotonic() + self._plan.patience
        while not all(talk.ready for talk in self._held.values()):
            self._watch(_LOOK)
            if time.monotonic() > deadline:
                raise _Unsettled(f"{', '.join(self._held)} did not load in {self._plan.patience} s")

    def _release(self, name: str) -> None:
        """Let a process begin that is loaded."""
        self._members[name] = self._held.pop(name)
        self._members[name].tell({"go": True})

    def _end_politely(self, name: str) -> None:
        """Have a member leave, and wait until it has."""
        member = self._members[name]
        member.tell({"stop": True})
        self._gone.append(name)
        deadline = time.monotonic() + _END
        while not member.over:
            self._watch(_LOOK)
            if time.monotonic() > deadline:
                raise _Unsettled(f"{name} did not end within {_END:.0f} s")
        self._take_lines()
        self._gone.remove(name)
        self._before.append(self._members.pop(name))

    def _member_job(self, name: str) -> dict[str, Any]:
        plan = self._plan
        member = member_of(name)
        place = int(member[1:])
        return {
            "job": "follow",
            "level": self._cell.level,
            "loop": self._cell.loop,
            "bootstrap": self._ground.bootstrap,
            "topic": self._ground.topic,
            "group": self._ground.group,
            "log": self._ground.log,
            "protocol": protocol_of(self._cell.client),
            "instance": member if self._cell.job == "restart" else None,
            "session_timeout_s": plan.session_timeout,
            "heartbeat_interval_s": plan.heartbeat_interval * (1 + place * plan.heartbeat_spread),
            "slow_revoke_s": 0.0 if place else plan.slow_revoke,
            "auto_commit_s": 1.0,
        }

    def _stream_job(self) -> dict[str, Any]:
        plan = self._plan
        return {
            "bootstrap": self._ground.bootstrap,
            "topic": self._ground.topic,
            "partitions": plan.partitions,
            "rate": plan.rate,
            "batch": plan.batch,
            "value_bytes": self._cell.data.value_bytes,
        }

    # -- watching ------------------------------------------------------------------------------

    @property
    def _live(self) -> set[str]:
        return self._members.keys() - {*self._gone}

    def _watch(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(_LOOK)
            self._hear()

    def _form(self, otherwise: str) -> None:
        """Wait until the live members, and nobody else, deliver, and still do so after a while."""
        plan = self._plan
        limit = plan.session_timeout + plan.patience
        deadline, steady = time.monotonic() + limit, 0
        while steady < 2:
            self._watch(plan.after if steady else _LOOK)
            fits = self._seen.steady(time.time() - plan.after, self._live)
            steady = steady + 1 if fits else 0
            if not fits and time.monotonic() > deadline:
                raise _Unsettled(f"{otherwise} in {limit:.0f} s")

    def _mark(self) -> None:
        for member in self._members.values():
            member.tell({"mark": True})

    def _hear(self) -> None:
        self._take_lines()
        for name, member in (self._members | self._held).items():
            if member.over and name not in self._gone:
                raise _Unsettled(f"member {name} has ended")
        if self._stream is not None:
            for line in self._stream.take():
                self._seen.wrote(line.get("sent", ()))
            if self._stream.over:
                raise _Unsettled("the stream of records has ended")

    def _take_lines(self) -> None:
        for name, member in (self._members | self._held).items():
            for line in member.take():
                if name in self._held and "got" in line:
                    raise _Unsettled(f"{name} did not wait for its go")
                try:
                    self._take_line(name, line)
                except (KeyError, TypeError, ValueError) as error:
                    text = str(line)[:80]
                    raise _Unsettled(f"{name} said {text}, which is no such line") from error

    def _take_line(self, name: str, line: Mapping[str, Any]) -> None:
        if "got" in line:
            at, rows = line["got"]
            self._seen.got(name, float(at), line["heard"], rows)
        elif "mark" in line:
            self._marks.append({"cpu_s": float(line["mark"]["cpu_s"])})

    def _drain(self) -> dict[int, int]:
        """End the stream; wait until all it has written is delivered; return what that is."""
        assert self._stream is not None
        stream, self._stream = self._stream, None
        stream.tell({"stop": True})
        answer = stream.end(_END)
        stream.close()
        for line in stream.take():
            self._seen.wrote(line.get("sent", ()))
        if answer.status != "result":
            raise _Unsettled(f"the stream of records: {answer.reason}")
        bounds = read_bounds(self._ground.bootstrap, [self._ground.topic])
        ends = {tp.partition: end for tp, (_, end) in bounds.items()}
        deadline, whole = time.monotonic() + _DRAIN, 0.0
        while self._seen.missing(ends) and time.monotonic() < deadline:
            self._watch(_LOOK)
            if not self._seen.reached(ends):
                whole = 0.0
            elif not whole:
                whole = time.monotonic()
            elif time.monotonic() - whole > _LATE:
                break  # what is missing now does not come any more
        return ends

    def _end_members(self) -> dict[str, Answer]:
        """End all members; those that crashed have nothing to answer."""
        for name in self._live:
            self._members[name].tell({"stop": True})
        crashed = {*self._gone} if self._cell.job == "crash" else set[str]()
        answers = {
            name: member.end(_END) for name, member in self._members.items() if name not in crashed
        }
        self._take_lines()
        return answers

    def _trouble(self) -> Answer | None:
        """Return why a member is absent or has failed, None when none says so."""
        all_ = (*self._members.values(), *self._held.values())
        answers = [member.end(0.1) for member in all_ if member.over]
        if self._stream is not None and self._stream.over:
            answers.append(self._stream.end(0.1))
        return next((each for each in answers if each.status != "result"), None)

    def _close(self) -> None:
        members = (*self._before, *self._members.values(), *self._held.values())
        for process in (*members, *filter(None, [self._stream])):
            process.close()

    # -- what it was ---------------------------------------------------------------------------

    def _judged(
        self,
        ends: Mapping[int, int],
        began: float,
        event: float,
        until: float,
        answers: Mapping[str, Answer],
    ) -> Answer:
        seen, latency = self._seen, self._cell.job == "latency"
        held = self._committed(ends)
        waits = seen.waits(began, event) if latency else seen.waits(event, until)
        sample = {
            "load": next(iter(answers.values())).sample["load"],
            "records": sum(ends.values()),
            "lost": sum(seen.missing(ends).values()),
            "repeated": seen.repeated(),
            "uncommitted": None if held is None else sum(ends.values()) - sum(held.values()),
            "waits": encoded(waits),
            "counted": len(waits),
            "cpu_s": between(self._marks) if latency else None,
            "usual_s": max(seen.waits(began, event), default=0.0),
            "recover_s": seen.recovered(event, until),
            "partitions": [told(each, event) for each in seen.courses(event, until)],
            "spans": [] if latency else seen.spans(event),
            "result": together(answers),
        }
        found = seen.fault(ends) or beyond(held or {}, ends)
        return Answer("wrong", found, sample) if found else Answer("result", sample=sample)

    def _committed(self, ends: Mapping[int, int]) -> dict[int, int] | None:
        """Return what the group has committed by its coordinator's word, None where it keeps none.

        Marshal's members keep offsets in their log.
        """
        if self._ground.log and self._cell.client == "marshal":
            return None
        found = committed(self._ground.bootstrap, self._ground.group, self._ground.topic)
        return {partition: found.get(partition, 0) for partition in ends}
