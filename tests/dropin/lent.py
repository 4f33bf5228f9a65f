"""What a peer's suite asks of an environment, lent to it for one run.

Decides: options of plug-ins that are not installed, modules that a tree lacks, environment
variables; each is given back at the end.
Never: stands in for anything that is there.
"""

import importlib.util
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest


def lend_plugin_words(
    parser: pytest.Parser, plugin: str, options: Mapping[str, str], settings: Mapping[str, str]
) -> None:
    """Make options and settings of a pytest plug-in known that is not installed.

    A suite's configuration names them, and pytest refuses what it does not know.

    Args:
        parser: of the run.
        plugin: module of the plug-in.
        options: of the command line -> what it is for.
        settings: of the configuration file -> what it is for.
    """
    if importlib.util.find_spec(plugin) is not None:
        return
    group = parser.getgroup("drop-in")
    for name, purpose in options.items():
        group.addoption(name, help=f"ignored: {purpose}")
    for name, purpose in settings.items():
        parser.addini(name, f"ignored: {purpose}")


def lend_variables(undo: ExitStack, values: Mapping[str, str]) -> None:
    """Set environment variables until the run ends; those that are set already stay."""
    for name, value in values.items():
        if name not in os.environ:
            os.environ[name] = value
            undo.callback(os.environ.pop, name, None)


def lend_module(undo: ExitStack, module: ModuleType) -> None:
    """Have a module found by its name until the run ends."""
    before = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module

    def back() -> None:
        if before is None:
            sys.modules.pop(module.__name__, None)
        else:
            sys.modules[module.__name__] = before

    undo.callback(back)


def yield_name(undo: ExitStack, package: str, tree: Path) -> None:
    """Let a tree's own package be found where one of ours has the same name.

    Modules of ours that are loaded stay loaded, and are found under their full names.

    Args:
        undo: takes the name back.
        package: the name, `tests` for one.
        tree: the peer's source tree.
    """
    ours = sys.modules.get(package)
    if ours is not None and (tree / package).is_dir():
        del sys.modules[package]
        undo.callback(sys.modules.__setitem__, package, ours)


def lend_docker(undo: ExitStack) -> None:
    """Lend what aiokafka's conftest names of the Docker library, where that is not installed."""
    if importlib.util.find_spec("docker") is not None:
        return
    module = ModuleType("docker")
    containers = SimpleNamespace(Container=object)
    module.models = SimpleNamespace(containers=containers)  # type: ignore[attr-defined]
    lend_module(undo, module)


def lend_test_package(undo: ExitStack, folder: Path) -> None:
    """Lend what the released archive of kafka-python leaves out of its tests.

    Its tests import `test.testutil` and `test.service`; the archive has no `test/__init__.py`, so
    that Python's own package of that name would be found, and no `test/service.py`.

    Args:
        undo: gives it back.
        folder: of the tests.
    """
    if not (folder / "__init__.py").is_file():
        package = ModuleType("test")
        package.__path__ = [str(folder)]
        lend_module(undo, package)
    if not (folder / "service.py").is_file():
        service = ModuleType("test.service")
        service.ExternalService = _ExternalService  # type: ignore[attr-defined]
        service.SpawnedService = None  # type: ignore[attr-defined]
        lend_module(undo, service)


class _ExternalService:
    """A server that somebody else runs, as kafka-python's fixtures name it."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port

    def open(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def dump_logs(self) -> None:
        """Do nothing."""
