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
        "kgroup.cli",
        "kgroup.demo",
        "kgroup.testing",
        "markdown_it",
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
