"""Measures, and writes one JSON file: `python -m benchmarks.marshal`, on a quiet machine.

Decides: the order, and what is asked of each figure. Takes about five minutes; a broker is started
unless KGROUP_BOOTSTRAP names one. `--only fold` needs none and takes half a minute.
Never: keeps a figure of somebody who read something wrong.
"""

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import anyio

from benchmarks.marshal.claims import at_most_once, claim_latencies, standing_cost
from benchmarks.marshal.fold import fold_rates
from benchmarks.marshal.logs import KEYS, MEMBERS, SEED, made
from benchmarks.marshal.report import GOALS, goals
from benchmarks.marshal.start_up import LOG, SETTINGS, fill, in_process, start_ups
from kgroup.bench.machine import environment
from kgroup.testing.kafka import RealKafka, create_topic
from tests.search.simulation.campaign import commit

RESULT: Final = Path(__file__).parents[1] / "results" / "marshal.json"
PARTS: Final = ("fold", "start-up", "claims", "standing", "once")


def with_broker(wanted: argparse.Namespace, document: dict[str, Any]) -> None:
    """Add what a broker is needed for."""
    log = made(wanted.messages, headers=True) if "start-up" in wanted.only else None
    if log is not None:
        with in_process(log).serve() as served:
            document["start-up"] = {
                "in process": start_ups(served.bootstrap, log, wanted.rounds, "in process")
            }
    with RealKafka.start() as kafka:
        document["broker"] = kafka.describe()
        if log is not None:
            create_topic(kafka.bootstrap, LOG, 1, settings=SETTINGS)
            anyio.run(fill, kafka.bootstrap, log)
            found = start_ups(kafka.bootstrap, log, wanted.rounds, "Kafka")
            document["start-up"]["Kafka"] = found
        if "claims" in wanted.only:
            document["claim latency"] = claim_latencies(kafka.bootstrap, wanted.claims)
        if "once" in wanted.only:
            document["at most once"] = at_most_once(kafka.bootstrap)
        if "standing" in wanted.only:
            document["standing claims"] = standing_cost(kafka.bootstrap, wanted.seconds)


def main(arguments: Sequence[str]) -> int:
    """Measure, and write one JSON file."""
    parser = argparse.ArgumentParser(prog="benchmarks.marshal", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--messages", type=int, default=1_000_000, help="of the start-up's log")
    parser.add_argument("--folded", type=int, default=100_000, help="messages folded in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--claims", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60.0, help="1,000 claims are looked at")
    parser.add_argument("--json", action="store_true", help="to the standard output, keep nothing")
    wanted = parser.parse_args(arguments)
    logging.getLogger("kgroup").setLevel(logging.ERROR)  # one broker is no place for claims
    document: dict[str, Any] = {
        "environment": environment("kgroup", "anyio", "crc32c"),
        "commit": commit(),
        "scenario": {
            "seed": SEED,
            "keys": KEYS,
            "members": MEMBERS,
            "messages folded": wanted.folded,
            "messages at start-up": wanted.messages,
        },
        "unit": "messages per second of processor time on one core; seconds of wall time",
        "goals": GOALS,
    }
    if "fold" in wanted.only:
        document["fold"] = fold_rates(wanted.folded, wanted.rounds)
    if set(wanted.only) - {"fold"}:
        with_broker(wanted, document)
    document["environment"]["load_average after"] = environment()["load_average"]
    document["reached"] = goals(document)
    text = f"{json.dumps(document, indent=1)}\n"
    if wanted.json:
        sys.stdout.write(text)
    else:
        RESULT.write_text(text, encoding="utf-8")
        print(json.dumps(document["reached"], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
