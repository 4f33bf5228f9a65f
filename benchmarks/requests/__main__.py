"""`python -m benchmarks.requests`: what members ask brokers for while nothing happens to a group.

Decides: that heartbeats come each 3 s, in a group of KIP-848 each 5 s, as they do by default; and
commits each second. A group that loses a record has no figures.
Never: measures time; a broker that logs each request is slower.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from benchmarks.requests.counting import LOGGING, MARGIN, counted
from benchmarks.requests.page import RESULT
from kgroup.bench.adapters import Adapters
from kgroup.bench.brokers import Brokers
from kgroup.bench.cells import Cell, GroupPlan
from kgroup.bench.groups import Ground, GroupRun
from kgroup.bench.machine import environment
from kgroup.testing.kafka import RealKafka
from kgroup.testing.kafka.jars import DEFAULT_VERSION
from kgroup.testing.kafka.local import LocalKafka, start_local
from kgroup.testing.kafka.supply import find_program

_LEVELS: Final = {
    "kgroup": "cooperative-sticky",
    "kgroup@kip848": "uniform",
    "aiokafka": "range",
    "confluent": "cooperative-sticky",
    "confluent@kip848": "uniform",
    "java": "cooperative-sticky",
    "java@kip848": "uniform",
    "kafka-python": "cooperative-sticky",
}
"""Client -> assignor."""
_BY_DEFAULT: Final = {
    "group.consumer.heartbeat.interval.ms": "5000",
    "group.consumer.session.timeout.ms": "45000",
    "group.consumer.max.heartbeat.interval.ms": "15000",
    "group.consumer.max.session.timeout.ms": "60000",
}
"""Kafka's; brokers that kgroup starts are quicker."""
_SETTLES: Final = 10.0


def main() -> int:
    """Measure, print a line for each client, and write JSON; 1 when a client had trouble."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.requests", description=__doc__)
    parser.add_argument("clients", nargs="*", default=[*_LEVELS], help="all by default")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", type=Path, default=RESULT, metavar="FILE")
    options = parser.parse_args()
    plan = GroupPlan(
        rate=12,
        batch=1,
        session_timeout=45.0,
        heartbeat_interval=3.0,
        before=_SETTLES + options.seconds + MARGIN,
    )
    program = find_program(DEFAULT_VERSION, progress=print)
    program = replace(program, jvm=(*program.jvm, LOGGING))
    kafka = start_local(program, DEFAULT_VERSION, 1, settings=_BY_DEFAULT, progress=print)
    with RealKafka(kafka) as closing:
        rows = list(_rows(kafka, Brokers(closing), plan, options.seconds, options.clients))
        document = {
            **environment("kgroup", "aiokafka", "confluent-kafka", "kafka-python"),
            "broker": kafka.describe().rpartition(", ")[0],
            "members": plan.members,
            "partitions": plan.partitions,
            "rate": plan.rate,
            "seconds": options.seconds,
            "clients": rows,
        }
    options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 1 if any("trouble" in row for row in rows) else 0


def _rows(
    kafka: LocalKafka, brokers: Brokers, plan: GroupPlan, seconds: float, clients: Sequence[str]
) -> Iterator[dict[str, Any]]:
    adapters, log = Adapters(), kafka.log_file(kafka.nodes[0])
    for number, client in enumerate(clients):
        command = adapters.command(client)
        if isinstance(command, str):
            yield {"client": client, "trouble": command}
            continue
        ground = Ground(
            bootstrap=kafka.bootstrap,
            topic=f"requests-{number}",
            group=f"requests-{number}",
            python=sys.executable,
            brokers=brokers,
        )
        size = log.stat().st_size
        cell = Cell(job="latency", client=client, level=_LEVELS[client])
        answer = GroupRun(cell, plan, ground, command).run()
        if answer.status != "result":
            yield {"client": client, "trouble": answer.reason or answer.status}
            continue
        with log.open(encoding="utf-8", errors="replace") as lines:
            lines.seek(size)
            asked = counted(lines, seconds)
        yield _told({"client": client, "requests": dict(sorted(asked.items()))}, plan, seconds)


def _told(row: dict[str, Any], plan: GroupPlan, seconds: float) -> dict[str, Any]:
    each = {api: n / plan.members / seconds * 60 for api, n in row["requests"].items()}
    words = ", ".join(f"{api} {n:.1f}" for api, n in each.items())
    print(f"{row['client']}: requests of a member and minute: {words}", flush=True)
    return row


if __name__ == "__main__":
    sys.exit(main())
