"""What importing the library may load: its users pay for it at every start."""

import json
import subprocess
import sys

HEAVY = frozenset(
    {
        "IPython",
        "confluent_kafka",
        "cryptography",
        "hypothesis",
        "hdrh",
        "kgroup.bench",
        "kgroup.cli",
        "kgroup.demo",
        "kgroup.testing",
        "markdown_it",
        "matplotlib",
        "numpy",
        "pandas",
        "pyarrow",
        "pygments",
        "pyspark",
        "pytest",
        "rich",
        "testcontainers",
        "trio",
        "trustme",
        "typer",
    }
)

LOADED_BY_EACH = """
import sys, json
loaded = {}
for name in sys.argv[1:]:
    __import__(name)
    loaded[name] = sorted(sys.modules)
print(json.dumps(loaded))
"""


def test_importing_the_library_or_a_facade_loads_nothing_heavy() -> None:
    names = [
        "kgroup",
        "kgroup.consumer.api",
        "kgroup.compat.aiokafka",
        "kgroup.compat.kafka_python",
    ]
    done = subprocess.run(
        [sys.executable, "-c", LOADED_BY_EACH, *names], capture_output=True, text=True, check=True
    )
    loaded = {name: set(modules) for name, modules in json.loads(done.stdout).items()}
    assert {name: loaded[name] & HEAVY for name in names} == {name: set() for name in names}
    rooms = {name for name in loaded["kgroup"] if name.startswith("kgroup.")}
    assert rooms == set(), "a name is loaded when it is first used"


CONSUMER = "from kgroup import Consumer; import json, sys; print(json.dumps(sorted(sys.modules)))"
NOT_RUN = (
    "aiokafka",
    "kafka",
    "kgroup.admin",
    "kgroup.audit",
    "kgroup.backends.consumer_group",
    "kgroup.backends.marshal",
    "kgroup.compat",
    "kgroup.net.group_description",
    "kgroup.net.producer",
    "kgroup.sync",
    *HEAVY,
)
"""What a consumer of a classic group never runs; packages with all that is in them."""
NAMES_OF_OPTIONS = {"kgroup.marshal", "kgroup.marshal.rules"}
OTHER_SETTINGS = {"kgroup.consumer_group", "kgroup.consumer_group.settings"}
"""The words that options take, and nothing that uses them."""


def test_importing_the_consumer_loads_nothing_that_a_classic_group_does_not_run() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CONSUMER], capture_output=True, text=True, check=True
    )
    loaded = set(json.loads(done.stdout))
    unused = {name for name in loaded if any(f"{name}.".startswith(f"{no}.") for no in NOT_RUN)}
    assert unused == set()
    assert {name for name in loaded if name.startswith("kgroup.marshal")} == NAMES_OF_OPTIONS
    of_848 = {name for name in loaded if name.startswith("kgroup.consumer_group")}
    assert of_848 == OTHER_SETTINGS
