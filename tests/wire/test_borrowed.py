"""aiokafka's protocol types are there, and aiokafka's client is not, until somebody imports it."""

import subprocess
import sys
from pathlib import Path

import pytest

import kgroup.wire.frames

FILE = str(Path(kgroup.wire.frames.__file__).with_name("borrowed.py"))
SHOW = "import sys; print(sorted(n for n in sys.modules if n.partition('.')[0] == 'aiokafka'))"


def run(program: str, *flags: str) -> str:
    found = subprocess.run([sys.executable, *flags, "-c", program], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


@pytest.mark.parametrize(
    "module", ["kgroup", "kgroup.consumer", "kgroup.sync", "kgroup.wire.frames"]
)
def test_importing_kgroup_imports_nothing_of_aiokafka(module: str) -> None:
    assert run(f"import {module}; {SHOW}") == "[]"


FIRST = "import kgroup.wire.frames\n"
THEN = "import aiokafka, aiokafka.protocol.types as theirs\n"


@pytest.mark.parametrize("imports", [FIRST + THEN, THEN + FIRST], ids=["before", "after"])
def test_an_application_that_imports_aiokafka_gets_it_whole(imports: str) -> None:
    program = (
        f"{imports}"
        "from kgroup.wire.borrowed import types\n"
        "print(aiokafka.AIOKafkaConsumer.__module__, theirs.__name__, types is theirs)"
    )
    assert run(program) == "aiokafka.consumer.consumer aiokafka.protocol.types False"


def test_an_aiokafka_that_is_missing_is_named() -> None:
    program = (
        "from importlib.util import spec_from_file_location, module_from_spec\n"
        f"spec = spec_from_file_location('borrowed', {FILE!r})\n"
        "try:\n"
        "    spec.loader.exec_module(module_from_spec(spec))\n"
        "except ImportError as error:\n"
        "    print(error)"
    )
    assert "pip install 'aiokafka>=0.13'" in run(program, "-S", "-E")
