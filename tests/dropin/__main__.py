"""`make dropin`: the tests of both peers, one run of pytest for each.

Decides: words and exit codes: 0 every portable test that ran passed, 1 one failed or could not be
run, 2 wrong arguments or a tree that does not fit, 130 stopped.
Never: runs the two in one process: each replaces, watches and waits in its own.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.dropin.run import DEFAULT_LIMIT
from tests.dropin.suite import LISTS, Suite, read_suite
from tests.dropin.tree import TreeError, check_tree, installed_version


@dataclass(frozen=True, slots=True)
class _Peer:
    """One of the two: its plug-in, its list, and the make variable of its tree."""

    plugin: str
    suite: Suite
    variable: str


def peers() -> tuple[_Peer, _Peer]:
    """Return aiokafka's and kafka-python's suite, with the plug-in that runs each."""
    names = ("aiokafka", "kafka_python")
    first, second = (
        _Peer(
            f"tests.dropin.{name}_plugin",
            read_suite(LISTS / f"{name}.toml"),
            f"{name.upper()}_SRC",
        )
        for name in names
    )
    return first, second


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests of the peers whose trees are given.

    Args:
        arguments: of the command line; None = those of the process.

    Returns:
        The exit code.
    """
    options, rest = _parser().parse_known_args(arguments)
    trees = (options.aiokafka, options.kafka_python)
    given = [
        (peer, Path(tree).resolve()) for peer, tree in zip(peers(), trees, strict=True) if tree
    ]
    try:
        _check(given)
    except TreeError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    try:
        with tempfile.TemporaryDirectory(prefix="kgroup-dropin-") as folder:
            words = [*_words(options), *rest]
            results = [
                _run(peer, tree, words, Path(folder, peer.suite.peer)) for peer, tree in given
            ]
    except KeyboardInterrupt:
        return 130
    return _conclude(results, options.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.dropin",
        description="Run the peers' own tests with kgroup in place of their consumers.",
        epilog="Further arguments go to pytest.",
    )
    parser.add_argument("--aiokafka", metavar="FOLDER", help="a source tree of aiokafka")
    parser.add_argument("--kafka-python", metavar="FOLDER", help="a source tree of kafka-python")
    parser.add_argument(
        "--class", dest="cls", default="facade", help="facade, original or package.module:Name"
    )
    parser.add_argument("--limit", type=float, default=DEFAULT_LIMIT, help="seconds for a test")
    parser.add_argument("--json", metavar="FILE", help="write the outcome of both there")
    return parser


def _words(options: argparse.Namespace) -> list[str]:
    return ["--dropin-class", options.cls, "--dropin-limit", str(options.limit)]


def _check(given: list[tuple[_Peer, Path]]) -> None:
    if not given:
        ways = "\n".join(f"  {peer.variable}=FOLDER: {peer.suite.obtain}" for peer in peers())
        raise TreeError(f"no source tree is given; make dropin wants at least one of\n{ways}")
    for peer, tree in given:
        check_tree(peer.suite, tree)
        installed_version(peer.suite)


def _run(peer: _Peer, tree: Path, words: list[str], file: Path) -> tuple[int, dict[str, object]]:
    """Run one suite in its tree; return pytest's exit code and what the plug-in wrote."""
    # -P: the peer that is installed is tested, not the source beside its tests.
    command = [sys.executable, "-P", "-m", "pytest", "-p", peer.plugin, "-p", "no:cacheprovider"]
    here = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
    ran = subprocess.run(
        [*command, "--dropin-json", str(file), *words],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    if not file.is_file():
        return ran.returncode or 1, {"peer": peer.suite.peer}
    outcome: dict[str, object] = json.loads(file.read_text(encoding="utf-8"))
    return ran.returncode, outcome


def _conclude(results: list[tuple[int, dict[str, object]]], file: str | None) -> int:
    outcomes = [outcome for _, outcome in results]
    if file:
        Path(file).write_text(json.dumps(outcomes, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write("\n")
    for code, outcome in results:
        sys.stdout.write(f"{_line(code, outcome)}\n")
    return int(any(code for code, _ in results))


def _line(code: int, outcome: dict[str, object]) -> str:
    match outcome.get("portable"):
        case {"passed": passed, "of": of}:
            leans = ", leans on the original" if outcome["leans_on_the_original"] else ""
            which = f"{outcome['peer']} {outcome['tree']}, {outcome['class']}"
            return f"{which}: portable: {passed} of {of}{leans}"
        case _:
            return f"{outcome['peer']}: pytest ended with {code} before anything was counted"


if __name__ == "__main__":
    sys.exit(main())
