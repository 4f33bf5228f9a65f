"""How large the house is: `python -m tests.house.figures` prints it, `make lint` too.

Decides: what is counted: lines and files of each room of kgroup, Python lines of the repository,
and import circles, among files and among rooms. Imports for type checkers alone count as well.
Never: judges; `test_figures` does.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from networkx import DiGraph, strongly_connected_components

_ROOT: Final = Path(__file__).parents[2]
_PACKAGE: Final = _ROOT / "kgroup"
_FOLDERS: Final = ("kgroup", "tests", "benchmarks", "docs")

Imports = Mapping[str, frozenset[str]]


def rooms() -> dict[str, tuple[int, int]]:
    """Return room of kgroup -> (lines, files)."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in _sources(_PACKAGE):
        room = path.relative_to(_PACKAGE).parts[0].removesuffix(".py")
        lines[room] += _lines(path)
        files[room] += 1
    return {room: (lines[room], files[room]) for room in sorted(lines, key=lambda r: -lines[r])}


def total() -> int:
    """Return the Python lines of the whole repository."""
    return sum(_lines(path) for folder in _FOLDERS for path in _sources(_ROOT / folder))


def circles(of_rooms: bool = False) -> list[list[str]]:
    """Return the circles of imports within kgroup.

    Args:
        of_rooms: among rooms instead of files.
    """
    graph: DiGraph = DiGraph()
    for module, imported in _imports().items():
        pairs = ((_room(module), _room(each)) if of_rooms else (module, each) for each in imported)
        graph.add_edges_from((one, other) for one, other in pairs if one != other)
    return sorted(sorted(found) for found in strongly_connected_components(graph) if len(found) > 1)


def _room(module: str) -> str:
    return ".".join(module.split(".")[:2])


def _imports() -> Imports:
    paths = {_name(path): path for path in _sources(_PACKAGE)}
    return {
        # The package itself loads names when they are first used, from every room.
        name: frozenset({*_imported(path, paths)} & paths.keys() if name != "kgroup" else ())
        for name, path in paths.items()
    }


def _imported(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield module if module in known else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _name(path: Path) -> str:
    parts = path.relative_to(_ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def _sources(folder: Path) -> Iterable[Path]:
    return sorted(folder.rglob("*.py"))


def _lines(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def main() -> None:
    """Print the figures."""
    found = rooms()
    for room, (lines, files) in found.items():
        print(f"  {room:<12} {lines:>7,} lines {files:>4} files")
    lines, files = (sum(each[part] for each in found.values()) for part in (0, 1))
    print(f"  kgroup       {lines:>7,} lines {files:>4} files")
    print(f"  repository   {total():>7,} lines of Python")
    print(f"  circles of imports: {len(circles())} of files, {len(circles(True))} of rooms")


if __name__ == "__main__":
    main()
