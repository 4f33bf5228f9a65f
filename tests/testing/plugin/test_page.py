"""The page "Test your consumer": each block of it is a part of an example, or runs by itself."""

import inspect
import re
import textwrap
from typing import Any

import pytest

from kgroup.testing import InProcessBroker
from kgroup.testing.broker.handles import NodeHandle, PartitionHandle
from kgroup.testing.broker.handles_group import GroupHandle
from kgroup.testing.broker.server.faults import Answers
from tests.typing.checkers import ROOT

PAGE = (ROOT / "docs" / "test-your-consumer.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "docs" / "examples" / "testing"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
SHOWN = "\n".join(path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.py")))
CALLS = re.findall(r"`(broker|group|partition|node|answers)\.(?!instance)(\w+)", PAGE)
OBJECTS: dict[str, type[Any]] = {
    "broker": InProcessBroker,
    "group": GroupHandle,
    "partition": PartitionHandle,
    "node": NodeHandle,
    "answers": Answers,
}


def parts(block: str) -> list[str]:
    """Split a block where the page leaves something out or goes on elsewhere in the file."""
    return [part.strip("\n") for part in re.split(r"\n\n\n|\n *\.\.\.\n", block) if part.strip()]


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_block_is_part_of_an_example_or_runs_by_itself(block: str) -> None:
    if all(part in SHOWN for part in parts(block)):
        return
    names: dict[str, Any] = {}
    exec(textwrap.dedent(block), names)
    assert names


def test_every_call_that_the_page_names_exists() -> None:
    assert len(CALLS) > 30
    missing = [
        f"{kind}.{name}"
        for kind, name in CALLS
        if not (hasattr(OBJECTS[kind], name) or name in inspect.get_annotations(OBJECTS[kind]))
    ]
    assert not missing


def test_every_call_of_a_broker_and_its_parts_is_on_the_page() -> None:
    shown = {f"{kind}.{name}" for kind, name in CALLS}
    public = {
        f"{kind}.{name}"
        for kind, owner in OBJECTS.items()
        for name, _ in inspect.getmembers(owner, callable)
        if not name.startswith("_")
    }
    assert public - shown <= {"answers.after", "answers.before"}  # those are for the switchboard
