"""Every module opens with its thesis; `__all__` lists what users import, underscores the rest."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
KINDS = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules() -> list[tuple[str, ast.Module]]:
    paths = sorted((ROOT / "kgroup").rglob("*.py"))
    return [
        (path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
        for path in paths
    ]


def defined(tree: ast.Module) -> set[str]:
    """Public classes and functions that a module defines itself."""
    named = (node.name for node in tree.body if isinstance(node, KINDS))
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


def test_a_module_exports_each_name_once() -> None:
    doubled = [
        name for name, tree in modules() if len(set(all_ := exported(tree) or ())) != len(all_)
    ]
    assert not doubled


def test_a_package_exports_what_it_defines_or_calls_it_private() -> None:
    forgotten = {
        name: sorted(left)
        for name, tree in modules()
        if exported(tree) is not None and (left := defined(tree) - set(exported(tree) or ()))
    }
    assert not forgotten, f"add to __all__ or give a leading underscore: {forgotten}"


def test_a_public_class_or_function_has_a_docstring() -> None:
    silent = [
        f"{name}::{node.name}"
        for name, tree in modules()
        for node in tree.body
        if isinstance(node, KINDS) and not node.name.startswith("_") and not ast.get_docstring(node)
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
    docstring = ast.get_docstring(tree) or ""
    files = [path.stem for path in folder.glob("*.py") if not path.stem.startswith("__")]
    return [name for name in sorted(files) if len(files) > 1 and f"`{name}`" not in docstring]
