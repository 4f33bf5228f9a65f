"""Nothing grows beyond what a reader holds in mind: files, functions, signatures, nesting."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("kgroup", "tests", "benchmarks")

FILE_LINES = 400
FUNCTION_LINES = 40
PARAMETERS = 6
NESTING = 3

# The only places that may be larger: "path" or "path::function" -> the reason.
LARGER_FILES: dict[str, str] = {
    "kgroup/consumer/api.py": "every call of the consumer, in the order of the reference",
    "kgroup/sync/api.py": "the blocking twin of each call, in the same order",
    "kgroup/config/consumer_config.py": "every option and its default, Marshal's too",
}
LONGER_FUNCTIONS: dict[str, str] = {}
WIDER_SIGNATURES: dict[str, str] = {
    "kgroup/testing/kafka/local.py::start_local": "each says one thing about one cluster",
    "kgroup/processing/processor.py::__init__": "each is one choice, in one line",
}
DEEPER_FUNCTIONS: dict[str, str] = {}

Function = ast.FunctionDef | ast.AsyncFunctionDef
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)


def sources() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted((ROOT / folder).rglob("*.py"))


def short(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> Iterator[tuple[str, Function]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield f"{short(path)}::{node.name}", node


def length(function: Function) -> int:
    """Lines of code from `def` on, without the docstring."""
    assert function.end_lineno is not None
    documented = ast.get_docstring(function, clean=False) is not None
    doc = function.body[0] if documented else None
    doc_lines = 0 if doc is None else (doc.end_lineno or doc.lineno) - doc.lineno + 1
    return function.end_lineno - function.lineno + 1 - doc_lines


def parameters(function: Function) -> int:
    """Parameters a caller has to think of; `self` and `cls` are not."""
    named = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    if named and named[0] in {"self", "cls"}:
        named = named[1:]
    return len(named) + len(function.args.kwonlyargs)


def depth(node: ast.AST, level: int = 0) -> int:
    """Deepest nesting of blocks; `elif` is no deeper than its `if`, a nested `def` starts anew."""
    deepest = level
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.Lambda | ast.ClassDef):
            continue
        chained = isinstance(node, ast.If) and isinstance(child, ast.If) and child in node.orelse
        inner = level + 1 if isinstance(child, BLOCKS) and not chained else level
        deepest = max(deepest, depth(child, inner))
    return deepest


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    long = {
        short(path): lines
        for path in sources()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > FILE_LINES
        and short(path) not in LARGER_FILES
    }
    assert not long, f"more than {FILE_LINES} lines: split by thesis {long}"


def test_no_function_is_longer_than_a_screen() -> None:
    long = {
        name: lines
        for path in sources()
        for name, function in functions(path)
        if (lines := length(function)) > FUNCTION_LINES and name not in LONGER_FUNCTIONS
    }
    assert not long, f"more than {FUNCTION_LINES} lines without the docstring: {long}"


def test_no_signature_is_wider_than_six_parameters() -> None:
    wide = {
        name: count
        for path in sources()
        if not short(path).startswith("tests/")
        for name, function in functions(path)
        if (count := parameters(function)) > PARAMETERS and name not in WIDER_SIGNATURES
    }
    assert not wide, f"more than {PARAMETERS} parameters: {wide}"


def test_no_function_nests_deeper_than_three_blocks() -> None:
    deep = {
        name: level
        for path in sources()
        for name, function in functions(path)
        if (level := depth(function)) > NESTING and name not in DEEPER_FUNCTIONS
    }
    assert not deep, f"more than {NESTING} blocks deep: {deep}"


def test_an_exception_names_something_that_exists() -> None:
    known = {name for path in sources() for name, _ in functions(path)}
    known |= {short(path) for path in sources()}
    listed = {*LARGER_FILES, *LONGER_FUNCTIONS, *WIDER_SIGNATURES, *DEEPER_FUNCTIONS}
    assert listed <= known, "take these exceptions out"
