"""Put the four classes through the same outages, and print what each program does.

`python -m tests.dropin.outages [--json FILE] [--only WORD]`; twelve minutes on a real Kafka 4.3.1.

Decides: the outages, and the words of the table in `docs/drop-in.md`.
Never: judges: a reader compares the columns.
"""

import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, Final

from kgroup.codes import ErrorCode
from kgroup.testing import InProcessBroker
from kgroup.testing.kafka.local import LocalKafka, start_local
from kgroup.testing.kafka.supply import find_program
from kgroup.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
)
from kgroup.wire.schema import Request
from tests.dropin.outages.program import CLASSES, STYLES

_VERSION = "4.3.1"
_FROZEN = (3, 6, 15, 40, 70)
_AWAY = 12.0
"""Seconds between a broker's end and its new start: more than aiokafka's session."""
_AFTER = 25.0
"""Seconds in which a program has to read again once an outage is over."""

_CODES = (14, 15, 16, 22, 25, 27, 82, 112)
_REQUESTS: Final[dict[str, type[Request[Any]]]] = {
    "commit": OffsetCommitRequest,
    "join": JoinGroupRequest,
    "heartbeat": HeartbeatRequest,
}


@dataclass(slots=True)
class Running:
    """One program under way, and what it has printed."""

    client: str
    style: str
    process: subprocess.Popen[str]
    lines: list[dict[str, object]] = field(default_factory=list)
    listener: Thread = field(default_factory=Thread)

    @classmethod
    def begin(cls, client: str, style: str, bootstrap: str, topic: str) -> "Running":
        group = f"outage-{secrets.token_hex(4)}"
        words = [sys.executable, "-m", "tests.dropin.outages.program"]
        process = subprocess.Popen(
            [*words, client, style, bootstrap, topic, group],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        running = cls(client, style, process)
        running.listener = Thread(target=running._listen, daemon=True)
        running.listener.start()
        return running

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.lines.append(json.loads(line))

    def reads_after(self, at: float) -> float | None:
        """Return the seconds from an instant to the first record read after it."""
        times = [float(str(line["at"])) for line in self.lines if "read" in line]
        return next((time - at for time in times if time > at), None)

    def died(self) -> dict[str, object] | None:
        return next((line for line in self.lines if "died" in line), None)

    def verdict(self, began: float, over: float) -> str:
        """Say in a few words what became of it."""
        died = self.died()
        if died is not None:
            return f"dies of `{died['died']}` after {float(str(died['at'])) - began:.0f} s"
        after = self.reads_after(over)
        return "reads nothing more" if after is None else f"reads on after {after:.0f} s"

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.listener.join()


def everybody() -> Iterator[tuple[str, str]]:
    """Return each client with each of its programs."""
    for client in CLASSES:
        original = "kafka-python" if client.endswith("kafka-python") else "aiokafka"
        for style in STYLES[original]:
            yield client, style


def wait_for(is_so: Callable[[], object], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if is_so():
            return True
        time.sleep(0.1)
    return False


def fill(bootstrap: str, topic: str) -> None:
    """Write more records than any program reads, so that each has some in hand all the time."""
    words = [sys.executable, "-m", "kgroup.cli", "produce", topic, "--bootstrap", bootstrap]
    lines = "\n".join(map(str, range(100_000)))
    subprocess.run(words, input=lines, text=True, check=True, stderr=subprocess.DEVNULL)


def through(
    name: str, kafka: LocalKafka, outage: Callable[[LocalKafka], None], after: float = _AFTER
) -> dict[str, str]:
    """Put every program through one outage, and return what became of each.

    Args:
        name: of the outage.
        kafka: that fails.
        outage: returns when it is over.
        after: seconds in which a program has to read again then.
    """
    topic = f"outages-{secrets.token_hex(4)}"
    fill(kafka.bootstrap, topic)
    programs: list[Running] = []
    try:
        programs += [Running.begin(*each, kafka.bootstrap, topic) for each in everybody()]
        if not wait_for(lambda: all(each.lines for each in programs), 60.0):
            silent = [f"{each.client}, {each.style}" for each in programs if not each.lines]
            print(f"{name}: never began: {silent}", file=sys.stderr)
        time.sleep(3.0)
        began = time.monotonic()
        outage(kafka)
        over = time.monotonic()
        time.sleep(after)
        return {f"{each.client}, {each.style}": each.verdict(began, over) for each in programs}
    finally:
        for each in programs:
            each.end()


def frozen(seconds: float) -> Callable[[LocalKafka], None]:
    def outage(kafka: LocalKafka) -> None:
        for pid in kafka.pids.values():
            os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        for pid in kafka.pids.values():
            os.kill(pid, signal.SIGCONT)

    return outage


def restarted(kafka: LocalKafka, away: float = 0.0) -> None:
    """Have the only broker go and come back, after so many seconds and as long as it starts."""
    (node,) = kafka.nodes
    kafka.stop(node)
    time.sleep(away)
    kafka.restart(node)


def coordinator_moved(kafka: LocalKafka) -> None:
    """Have each broker of three go and come back, so that every coordinator has moved once."""
    for node in kafka.nodes:
        if node != 100:
            kafka.stop(node)
            kafka.restart(node)


def _answer_once(broker: InProcessBroker, kind: type[Request[Any]], code: int) -> None:
    broker.answers.error(kind, code)


def cut(broker: InProcessBroker) -> None:
    broker.node(1).disconnect()


def served(meanwhile: Callable[[InProcessBroker], None], *, first: bool = False) -> dict[str, str]:
    """Have something happen to one program of each class, on brokers in the process."""
    with ThreadPoolExecutor(len(CLASSES)) as threads:
        outcomes = threads.map(partial(served_to, meanwhile=meanwhile, first=first), CLASSES)
        return dict(zip(CLASSES, outcomes, strict=True))


def served_to(client: str, meanwhile: Callable[[InProcessBroker], None], *, first: bool) -> str:
    """Have something happen to one program before it joins, or later; say what became of it."""
    style = "poll" if client.endswith("kafka-python") else "async for"
    broker = InProcessBroker(topics={"t": 2})
    for number in (0, 1):
        broker.partition("t", number).append(*["first"] * 1000)
    with broker.serve() as address:
        if first:
            meanwhile(broker)
        program = Running.begin(client, style, address.bootstrap, "t")
        try:
            wait_for(lambda: program.lines, 20.0)
            if not first:
                meanwhile(broker)
            began = time.monotonic()
            feed(broker, program)
            died = program.died()
            if died is not None:
                return f"dies of `{died['died']}`"
            late = program.reads_after(began + 15.0) is not None
            return "reads on" if late else "stands still"
        finally:
            program.end()


def feed(broker: InProcessBroker, program: Running) -> None:
    """Write on for 18 seconds, or until the program dies."""
    for number in range(120):
        if program.died():
            return
        broker.partition("t", number % 2).append(*["more"] * 20)
        time.sleep(0.15)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.dropin.outages")
    parser.add_argument("--json", type=Path, help="write the outcomes there, too")
    parser.add_argument("--only", default="", help="only outages whose name holds this word")
    wanted = parser.parse_args()
    rows: dict[str, dict[str, str]] = {}

    def note(name: str, made: Callable[[], dict[str, str]]) -> None:
        if wanted.only in name:
            rows[name] = made()
            print(json.dumps({name: rows[name]}, indent=1), file=sys.stderr, flush=True)
            if wanted.json is not None:
                wanted.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")

    program = find_program(_VERSION)
    kafka = start_local(program, _VERSION, 1)
    try:
        for seconds in _FROZEN:
            name = f"broker frozen for {seconds} s"
            note(name, lambda name=name, s=seconds: through(name, kafka, frozen(s)))  # type: ignore[misc]
        note("broker restarted", lambda: through("broker restarted", kafka, restarted))
        late = partial(restarted, away=_AWAY)
        name = f"broker restarted after {_AWAY:g} s"
        note(name, lambda: through(name, kafka, late))
    finally:
        kafka.close()
    if wanted.only in "coordinator moved":
        three = start_local(program, _VERSION, 3)
        try:
            note("coordinator moved", lambda: through("moved", three, coordinator_moved))
        finally:
            three.close()
    note("connections cut", lambda: served(cut))
    for request, kind in _REQUESTS.items():
        for code in _CODES:
            name = f"{request} answered {code} {ErrorCode(code).name}"
            error = partial(_answer_once, kind=kind, code=code)
            note(name, partial(served, error, first=request == "join"))


if __name__ == "__main__":
    main()
