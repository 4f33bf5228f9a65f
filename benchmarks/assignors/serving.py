"""The worker's side: one client in a process of its own, told what to do line by line.

Decides: the order of a run (begin, read, assign, encode, result) and what of it is timed.
Never: judges. A Java worker speaks the same lines: a JSON document to each, and one back.
"""

import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any, Protocol
from zlib import crc32

from benchmarks.assignors.judging import Event, Result
from benchmarks.assignors.scenarios import Scenario


class Client(Protocol):
    """What a client's leader does; each call goes on from what the last one left."""

    versions: dict[str, str]
    assignors: Sequence[str]

    def load(self, scenario: Scenario, generation_id: int) -> None:
        """Take the cluster metadata of a scenario."""
        ...

    def begin(self, assignor: str, event: Event) -> None:
        """Write what each member sends: its bytes in JoinGroup."""
        ...

    def read(self) -> None:
        """Read all members' bytes."""
        ...

    def assign(self) -> None:
        """Make the assignment."""
        ...

    def encode(self) -> Sequence[bytes]:
        """Return each member's bytes, in any order that is always the same."""
        ...

    def result(self) -> Result:
        """Return the assignment as numbers."""
        ...


def serve(client: Client) -> None:
    """Do what the lines of standard input say until it ends."""
    worker = _Worker(client)
    answers = sys.stdout
    sys.stdout = sys.stderr  # nobody's print may look like an answer
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = worker.answer(question)
        except Exception as error:  # noqa: BLE001 - a client's failure is a result too
            answer = {"failed": f"{type(error).__name__}: {str(error)[:200]}"}
        print(json.dumps(answer, separators=(",", ":")), file=answers, flush=True)


class _Worker:
    """Answers one question after another."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        match question["do"]:
            case "hello":
                return {"versions": self._client.versions, "assignors": [*self._client.assignors]}
            case "load":
                generation_id = question["scenario"].pop("generation")
                scenario = _scenario(question["scenario"])
                self._client.load(scenario, generation_id)
            case "begin":
                event = Event(question["previous"], question["leaver"])
                self._client.begin(question["assignor"], event)
            case "read":
                return _timed(self._client.read)
            case "assign":
                return _timed(self._client.assign)
            case "encode":
                return self._encode()
            case "result":
                result = self._client.result()
                held = None if result.withheld is None else [*result.withheld.items()]
                return {"given": result.given, "withheld": held}
            case "memory":
                return self._memory()
        return {}

    def _encode(self) -> dict[str, Any]:
        encoded: list[bytes] = []
        answer = _timed(lambda: encoded.extend(self._client.encode()), clear=False)
        digest = size = 0
        for each in encoded:
            digest, size = crc32(each, digest), size + len(each)
        return {**answer, "digest": digest, "bytes": size}

    def _memory(self) -> dict[str, int]:
        """Return the peak of assigning beyond the input."""
        self._client.read()
        gc.collect()
        tracemalloc.start()
        try:
            self._client.assign()
            return {"peak": tracemalloc.get_traced_memory()[1]}
        finally:
            tracemalloc.stop()


def _timed(act: Callable[[], None], *, clear: bool = True) -> dict[str, float]:
    """Time one call; what was left by the one before is cleared away first."""
    if clear:
        gc.collect()
    cpu, began = time.process_time(), time.perf_counter()
    act()
    return {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}


def _scenario(document: dict[str, Any]) -> Scenario:
    return Scenario(
        name="",
        topics=tuple((name, count) for name, count in document["topics"]),
        subscriptions=tuple(tuple(places) for places in document["subscriptions"]),
        members=tuple((member_id, kind) for member_id, kind in document["members"]),
        leaver=0,
    )
