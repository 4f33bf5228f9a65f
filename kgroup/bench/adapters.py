"""Clients as adapters: processes that speak JSON lines, ours and anybody's.

Decides: which adapters come with kgroup, what starts each, and why one is absent.
Never: imports a client; its process does.

An adapter of one's own is a command: `--adapter NAME='node my_adapter.js'`. What it is told and
what it answers stands in `kgroup.bench.clients`.
"""

import importlib.util
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from kgroup.bench.cells import KIP848, program_of
from kgroup.bench.processes import java_command, java_tools, python_command
from kgroup.errors import ArgumentError

MODULES: Final[Mapping[str, str]] = {
    "kgroup": "kgroup",
    "marshal": "kgroup",
    "drop-in aiokafka": "aiokafka",
    "drop-in kafka-python": "kafka",
    "aiokafka": "aiokafka",
    "kafka-python": "kafka",
    "confluent": "confluent_kafka",
    f"kgroup{KIP848}": "kgroup",
    f"confluent{KIP848}": "confluent_kafka",
}
"""Adapter in Python -> what has to be installed."""
PACKAGES: Final[Mapping[str, str]] = {
    "kafka": "kafka-python",
    "confluent_kafka": "confluent-kafka",
}
JAVA: Final = ("java", f"java{KIP848}")
BUILT_IN: Final = (*MODULES, *JAVA)

Command = Sequence[str] | str
"""What starts an adapter; as a text: why nothing does."""


class Adapters:
    """The adapters of one run.

    Args:
        own: name -> command of those that do not come with kgroup.
    """

    def __init__(self, own: Mapping[str, Sequence[str]] | None = None) -> None:
        self._own = dict(own or {})
        self._java: Command | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All there are, absent ones too."""
        return (*BUILT_IN, *self._own)

    def absent(self, name: str) -> str:
        """Return why an adapter is absent, "" when it is here; nothing is compiled for that."""
        if name in self._own:
            return ""
        if name in JAVA:
            tools = java_tools()
            return tools if isinstance(tools, str) else ""
        module = MODULES[name]
        if importlib.util.find_spec(module) is not None:
            return ""
        package = PACKAGES.get(module, module)
        return f"{package} is not installed: pip install {package}"

    def command(self, name: str) -> Command:
        """Return what starts an adapter, or why it is absent."""
        if name in self._own:
            return self._own[name]
        if name in JAVA:
            if self._java is None:
                self._java = java_command()
            return self._java
        return self.absent(name) or python_command(program_of(name))

    def check(self, names: Sequence[str]) -> None:
        """Refuse a name that no adapter has.

        Raises:
            ArgumentError: it names those there are.
        """
        for name in names:
            if name not in self.names:
                raise ArgumentError("--clients", name, f"some of {', '.join(self.names)}")


def read_own(texts: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return name -> command of adapters as a command line has them: `NAME=COMMAND`.

    Raises:
        ArgumentError: there is no such name and command, or the name is taken.
    """
    found: dict[str, Sequence[str]] = {}
    for text in texts:
        name, equals, command = text.partition("=")
        words = shlex.split(command)
        if not equals or not name.strip() or not words or name.strip() in BUILT_IN:
            raise ArgumentError("--adapter", text, "NAME=COMMAND, with a name of its own")
        found[name.strip()] = words
    return found
