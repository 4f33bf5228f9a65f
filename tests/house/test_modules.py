"""Every module opens with its thesis, and what it offers stands in `__all__`."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((ROOT / "kgroup").rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def defined(tree: ast.Module) -> set[str]:
    """Public classes and functions that a module defines itself."""
    kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    named = (node.name for node in tree.body if isinstance(node, kinds))
    return {name for name in named if not name.startswith("_")}


def exported(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List() as listed):
                return [str(ast.literal_eval(element)) for element in listed.elts]
            case _:
                continue
    return None


def test_every_module_opens_with_a_docstring() -> None:
    silent = [name for name, tree in modules() if not ast.get_docstring(tree)]
    assert not silent


def test_a_module_with_public_names_says_which() -> None:
    silent = [name for name, tree in modules() if defined(tree) and exported(tree) is None]
    assert not silent, f"no __all__ (a plain list): {silent}"


def test_what_a_module_exports_it_names_once() -> None:
    doubled = {
        name: sorted(names)
        for name, tree in modules()
        if (names := exported(tree)) and len(set(names)) != len(names)
    }
    assert not doubled


def test_a_public_class_or_function_is_exported_or_private() -> None:
    forgotten = {
        name: sorted(left)
        for name, tree in modules()
        if (left := defined(tree) - set(exported(tree) or ()))
    }
    assert not forgotten, f"add to __all__ or give a leading underscore: {forgotten}"


def test_a_public_class_or_function_has_a_docstring() -> None:
    kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    silent = [
        f"{name}::{node.name}"
        for name, tree in modules()
        for node in tree.body
        if isinstance(node, kinds) and not node.name.startswith("_") and not ast.get_docstring(node)
    ]
    assert not silent


def test_the_docstring_of_a_package_names_each_of_its_files() -> None:
    unnamed = {
        folder.relative_to(ROOT).as_posix(): missing
        for folder in sorted({path.parent for path in (ROOT / "kgroup").rglob("*.py")})
        if folder != ROOT / "kgroup" and (missing := unmapped(folder))
    }
    assert not unnamed, "say which file answers which question"


def unmapped(folder: Path) -> list[str]:
    """Files that the docstring of their package leaves out; one file alone needs no map."""
    tree = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    told = ast.get_docstring(tree) or ""
    files = [path.stem for path in folder.glob("*.py") if not path.stem.startswith("__")]
    return [name for name in sorted(files) if len(files) > 1 and f"`{name}`" not in told]
