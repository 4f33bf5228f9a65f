"""Time to read and write large messages, next to aiokafka's own structs, and time to import.

Decides: nothing; it measures. `python -m benchmarks.codec` prints JSON: raw samples, medians,
versions, machine, seed; with `--save` it also goes to `benchmarks/results/codec.json`.
Never: times a codec before both have been seen to read the same content.

Method: both codecs take turns within a round, the first round is warm-up and is not kept, the
garbage collector runs as it does in a client, several processes. aiokafka defines JoinGroup and
Metadata up to version 5; kgroup is measured in that version and in its newest one.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from aiokafka.protocol.group import JoinGroupResponse_v5
from aiokafka.protocol.metadata import MetadataResponse_v5

from kgroup.bench.machine import environment
from kgroup.wire.messages import (
    JoinGroupResponse,
    JoinGroupResponseMember,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kgroup.wire.schema import Message, decode, encode

SEED: Final = 20_250_102
MEMBERS, METADATA_SIZE = 1_000, 200
TOPICS, PARTITIONS, REPLICAS, BROKERS = 20, 500, 3, 9
ROUNDS, PROCESSES, IMPORTS = 9, 5, 15
SHARED: Final = 5  # the newest version that aiokafka defines of both
RESULT: Final = Path(__file__).parent / "results" / "codec.json"
IMPORTED: Final = {
    "nothing": "pass",
    "aiokafka": "import aiokafka",
    "kgroup": "import kgroup",
    "kgroup, its Consumer": "from kgroup import Consumer",
    "kgroup, every message": (
        "import kgroup.wire.frames\nfrom kgroup.wire import messages\n"
        "for name in dir(messages): getattr(messages, name)"
    ),
}


class Scenario(NamedTuple):
    """One message in both libraries; `plain` makes comparable values out of either."""

    message: Message
    peer: Any
    plain: Callable[[Any], Any]


# -- scenarios -----------------------------------------------------------------------------


def joined(*, ragged: bool) -> JoinGroupResponse:
    """A round of many members, with subscriptions of equal or of different lengths."""
    chance = random.Random(SEED)
    members = []
    for number in range(MEMBERS):
        size = chance.randrange(METADATA_SIZE // 2, METADATA_SIZE * 3 // 2)
        member_id = f"consumer-{number:04}-{chance.getrandbits(128):032x}"
        members.append(
            JoinGroupResponseMember(
                member_id=member_id + "x" * (chance.randrange(8) if ragged else 0),
                metadata=chance.randbytes(size if ragged else METADATA_SIZE),
            )
        )
    first = members[0].member_id
    return JoinGroupResponse(
        generation_id=7, protocol_name="range", leader=first, member_id=first,
        members=tuple(members),
    )  # fmt: skip


def described(*, out_of_sync: float) -> MetadataResponse:
    """A cluster of some size; a share of the partitions lacks a replica in sync."""
    chance = random.Random(SEED)

    def partition(index: int) -> MetadataResponsePartition:
        replicas = tuple((index + i) % BROKERS for i in range(REPLICAS))
        lacking = chance.random() < out_of_sync
        return MetadataResponsePartition(
            partition_index=index, leader_id=replicas[0], replica_nodes=replicas,
            isr_nodes=replicas[: REPLICAS - lacking],
        )  # fmt: skip

    def topic(number: int) -> MetadataResponseTopic:
        partitions = tuple(partition(index) for index in range(PARTITIONS))
        return MetadataResponseTopic(name=f"topic-{number}", partitions=partitions)

    brokers = tuple(
        MetadataResponseBroker(node_id=n, host=f"broker-{n}.example", port=9092, rack="a")
        for n in range(BROKERS)
    )
    topics = tuple(topic(number) for number in range(TOPICS))
    return MetadataResponse(brokers=brokers, cluster_id="c", controller_id=1, topics=topics)


def plain_join(answer: JoinGroupResponse | JoinGroupResponse_v5) -> list[object]:
    rows = [row if isinstance(row, tuple) else fields(row) for row in answer.members]
    return [answer.generation_id, rows]


def plain_metadata(answer: MetadataResponse | MetadataResponse_v5) -> list[object]:
    if not isinstance(answer, MetadataResponse):
        return [
            (name, [(p, leader, tuple(r), tuple(i)) for _, p, leader, r, i, _ in partitions])
            for _, name, _, partitions in answer.topics
        ]
    return [
        (
            topic.name,
            [
                (p.partition_index, p.leader_id, p.replica_nodes, p.isr_nodes)
                for p in topic.partitions
            ],
        )
        for topic in answer.topics
    ]


def fields(row: Message) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in row.FIELDS)


def scenarios() -> dict[str, Scenario]:
    """Every scenario, checked: both libraries write the same bytes and read the same content."""
    made = {
        "JoinGroup, members alike": (joined(ragged=False), JoinGroupResponse_v5, plain_join),
        "JoinGroup, members differ": (joined(ragged=True), JoinGroupResponse_v5, plain_join),
        "Metadata, all in sync": (described(out_of_sync=0), MetadataResponse_v5, plain_metadata),
        "Metadata, 5% lack a replica": (
            described(out_of_sync=0.05), MetadataResponse_v5, plain_metadata,
        ),
    }  # fmt: skip
    checked: dict[str, Scenario] = {}
    for name, (message, peer_class, plain) in made.items():
        data = encode(message, SHARED)
        peer = peer_class.decode(data)
        cls, newest = type(message), type(message).VERSIONS[-1]
        same = plain(peer) == plain(decode(cls, SHARED, data)) == plain(message)
        if not same or peer.encode() != data:
            raise SystemExit(f"{name}: the libraries do not agree")
        if decode(cls, newest, encode(message, newest)) != message:
            raise SystemExit(f"{name}: version {newest} does not come back as it was")
        checked[name] = Scenario(message, peer, plain)
    return checked


# -- measuring -----------------------------------------------------------------------------


def actions(scenario: Scenario) -> dict[str, Callable[[], object]]:
    """What is timed, by name."""
    message, peer = scenario.message, scenario.peer
    cls, newest = type(message), type(message).VERSIONS[-1]
    data, new_data = encode(message, SHARED), encode(message, newest)
    return {
        f"aiokafka decode v{SHARED}": lambda: type(peer).decode(data),
        f"kgroup decode v{SHARED}": lambda: decode(cls, SHARED, data),
        f"kgroup decode v{newest}": lambda: decode(cls, newest, new_data),
        f"aiokafka encode v{SHARED}": peer.encode,
        f"kgroup encode v{SHARED}": lambda: encode(message, SHARED),
        f"kgroup encode v{newest}": lambda: encode(message, newest),
    }


def measured() -> dict[str, dict[str, list[float]]]:
    """Samples of this process: scenario -> action -> CPU milliseconds, one per round."""
    samples: dict[str, dict[str, list[float]]] = {}
    for name, scenario in scenarios().items():
        todo = actions(scenario)
        rounds = [{what: timed(act) for what, act in todo.items()} for _ in range(ROUNDS + 1)]
        samples[name] = {what: [each[what] for each in rounds[1:]] for what in todo}
    return samples


def timed(act: Callable[[], object], repeats: int = 5) -> float:
    began = time.process_time_ns()
    for _ in range(repeats):
        act()
    return round((time.process_time_ns() - began) / 1e6 / repeats, 4)


def imports() -> dict[str, list[float]]:
    """Wall milliseconds of fresh interpreters, taking turns, byte code compiled beforehand."""
    with tempfile.TemporaryDirectory() as cache:
        settings = {**os.environ, "PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
        turns = [
            {name: started(code, settings) for name, code in IMPORTED.items()}
            for _ in range(IMPORTS + 1)
        ]
    return {name: [turn[name] for turn in turns[1:]] for name in IMPORTED}


def started(code: str, settings: dict[str, str]) -> float:
    began = time.perf_counter_ns()
    subprocess.run([sys.executable, "-c", code], check=True, env=settings)
    return round((time.perf_counter_ns() - began) / 1e6, 2)


# -- report --------------------------------------------------------------------------------


def report(processes: list[dict[str, dict[str, list[float]]]]) -> dict[str, Any]:
    starts = imports()
    base = median(starts["nothing"])
    medians = {
        scenario: {
            what: round(median(s for one in processes for s in one[scenario][what]), 4)
            for what in processes[0][scenario]
        }
        for scenario in processes[0]
    }
    for figures in medians.values():
        for what in ("decode", "encode"):
            peer = figures[f"aiokafka {what} v{SHARED}"]
            mine = {n: f for n, f in figures.items() if n.startswith(f"kgroup {what}")}
            figures.update({f"times faster, {n}": round(peer / f, 2) for n, f in mine.items()})
    return {
        "seed": SEED,
        "environment": environment("aiokafka"),
        "unit": "ms of CPU for a message, ms of wall time for an import",
        "medians": medians,
        "import medians": {n: round(median(s) - base, 1) for n, s in starts.items()},
        "samples": processes,
        "import samples": starts,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true", help=f"write {RESULT.name} as well")
    parser.add_argument("--one", action="store_true", help="samples of one process, to stdout")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured()))
        return
    command = [sys.executable, "-m", "benchmarks.codec", "--one"]
    runs = [subprocess.run(command, check=True, capture_output=True) for _ in range(PROCESSES)]
    text = json.dumps(report([json.loads(run.stdout) for run in runs]), indent=1)
    print(text)
    if options.save:
        RESULT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
