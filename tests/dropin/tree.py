"""A peer's source tree, held against the list before anything of it runs.

Decides: that a tree of another version, a file or a test that is no longer there, and a number of
tests other than the list's end the run: a count is worth nothing when nobody knows of what.
Never: imports anything of the tree.
"""

import ast
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.dropin.suite import Suite

_VERSION = re.compile(r"""^__version__ *= *["']([^"']+)["']""", re.MULTILINE)


class TreeError(ValueError):
    """A tree, or an installed peer, that the list does not hold for."""


def check_tree(suite: Suite, root: Path) -> str:
    """Return the version of a tree that the list holds for.

    Args:
        suite: the list.
        root: of the tree.

    Raises:
        TreeError: it is no tree of the peer, or of another version; a file or a test that the list
            names is not there; or there are more or fewer tests left than the list says.
    """
    found = tree_version(suite, root)
    if found not in suite.trees:
        raise TreeError(
            f"{root} is {suite.peer} {found}, and the list of tests holds for "
            f"{_either(suite.trees)}; get it by: {suite.obtain}"
        )
    left = 0
    for path, left_out in suite.files.items():
        tests = [*_tests(_source(root, path, suite))]
        vanished = sorted(left_out.keys() - set(tests))
        if vanished:
            raise TreeError(
                f"{suite.peer} {found}: {path} has no longer {', '.join(vanished)}, which the list "
                "leaves out; read what became of them and correct the list"
            )
        left += sum(test not in left_out for test in tests)
    if left != suite.portable:
        raise TreeError(
            f"{suite.peer} {found}: its files have {left} tests that are not left out, the list "
            f"says {suite.portable}; correct the list"
        )
    return found


def tree_version(suite: Suite, root: Path) -> str:
    """Return the version that a source tree says it has.

    Raises:
        TreeError: it is no tree of this peer.
    """
    path = root / suite.version_file
    said = _VERSION.search(path.read_text(encoding="utf-8")) if path.is_file() else None
    if said is None:
        raise TreeError(
            f"{root} is no source tree of {suite.peer}: {suite.version_file} is not there or says "
            f"no version; get one by: {suite.obtain}"
        )
    return said[1]


def installed_version(suite: Suite) -> str:
    """Return the version of the peer that is installed.

    Raises:
        TreeError: none is, or one that its tests are not run with.
    """
    wanted = f"pip install '{suite.peer}=={suite.installed[-1]}'"
    try:
        found = version(suite.peer)
    except PackageNotFoundError:
        raise TreeError(
            f"{suite.peer} is not installed; its tests send by its producer: {wanted}"
        ) from None
    if found not in suite.installed:
        raise TreeError(
            f"{suite.peer} {found} is installed, and the list of tests holds for "
            f"{_either(suite.installed)}: {wanted}"
        )
    return found


def _source(root: Path, path: str, suite: Suite) -> ast.Module:
    try:
        return ast.parse((root / path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TreeError(
            f"{root} has no {path}; a tree with its tests is had by: {suite.obtain}"
        ) from None


def _tests(module: ast.Module) -> Iterator[str]:
    """Yield the names of test functions, and of those that are methods of a class."""
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    for node in module.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        for one in inner:
            if isinstance(one, functions) and one.name.startswith("test"):
                yield one.name


def _either(versions: tuple[str, ...]) -> str:
    return " or ".join(versions)
