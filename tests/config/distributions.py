"""Distributions installed for one test: a module, and a `dist-info` with an entry point."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ASSIGNOR = """
from kgroup.assignors import RebalanceProtocol

class {class_name}:
    name = {name!r}
    supported_protocols = (RebalanceProtocol.EAGER,)

    def assign(self, group):
        draft = group.draft()
        for partition in group.partitions:
            draft.give(partition, to=group.subscribers(partition.topic)[0])
        return draft.freeze()
"""


class Distributions:
    """A folder of installed distributions, on the search path.

    Args:
        folder: where they are written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.modules: list[str] = []

    def install(self, distribution, version, name, *, code=None, target="Given"):
        """Install a distribution with one entry point and one module of its own.

        Args:
            code: of the module, None for an assignor of the entry point's name.
            target: what in the module the entry point names.
        """
        module = distribution.replace("-", "_").lower()
        if code is None:
            code = ASSIGNOR.format(class_name=target, name=name)
        (self._folder / f"{module}.py").write_text(code, encoding="utf-8")
        info = self._folder / f"{module}-{version}.dist-info"
        info.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
        (info / "METADATA").write_text(metadata, encoding="utf-8")
        entry = f"[kgroup.assignors]\n{name} = {module}:{target}\n"
        (info / "entry_points.txt").write_text(entry, encoding="utf-8")
        self.modules.append(module)


@pytest.fixture
def distributions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Distributions]:
    monkeypatch.syspath_prepend(tmp_path)
    made = Distributions(tmp_path)
    yield made
    for module in made.modules:
        sys.modules.pop(module, None)
