"""One client in this process: `python -m kgroup.bench.clients kgroup`.

Decides: which client a name stands for; it alone is imported.
"""

import sys
from importlib import import_module
from typing import Any, Final

from kgroup.bench.clients.serving import Client, serve

CLIENTS: Final[dict[str, tuple[str, tuple[Any, ...]]]] = {
    "kgroup": ("native.Native", ()),
    "marshal": ("claiming.Marshal", ()),
    "drop-in aiokafka": (
        "aiokafka_like.AiokafkaLike",
        ("kgroup.compat.aiokafka", ("kgroup", "aiokafka")),
    ),
    "aiokafka": ("aiokafka_like.AiokafkaLike", ("aiokafka", ("aiokafka",))),
    "drop-in kafka-python": (
        "kafka_python_like.KafkaPythonLike",
        ("kgroup.compat.kafka_python", ("kgroup", "kafka-python")),
    ),
    "kafka-python": ("kafka_python_like.KafkaPythonLike", ("kafka", ("kafka-python",))),
    "confluent": ("confluent.Confluent", ()),
}
"""Name -> file and class, what the class is told."""


def make(job: dict[str, Any]) -> Client:
    """Import the client that the command line names, and return it."""
    place, words = CLIENTS[sys.argv[1]]
    module, _, name = place.partition(".")
    found: Client = getattr(import_module(f"kgroup.bench.clients.{module}"), name)(*words, job)
    return found


if __name__ == "__main__":
    serve(make)
