"""Both type checkers take every documented use and refuse every wrong one."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.house import migrating
from tests.house.api import exported
from tests.house.porting import programs
from tests.typing.checkers import ROOT, mypy, pyright, unfinished_types

USES, WRONG = (Path(__file__).with_name(name) for name in ("uses.py", "wrong.py"))
MARKED = re.compile(r"# type: ignore\[[\w\-, ]+\]  # pyright: ignore\[\w+(, \w+)*\]")

pytestmark = pytest.mark.slow

Checker = Callable[[Iterable[Path]], list[str]]
both = pytest.mark.parametrize("checker", [mypy, pyright])


@both
def test_every_documented_use_is_taken(checker: Checker) -> None:
    assert not checker([USES])


@both
def test_every_wrong_use_is_refused_with_the_error_written_beside_it(checker: Checker) -> None:
    assert not checker([WRONG]), "an unused comment means: this wrong use is accepted now"


@both
def test_without_its_comments_every_wrong_use_is_an_error(checker: Checker, tmp_path: Path) -> None:
    text = WRONG.read_text(encoding="utf-8")
    marked = {number for number, line in enumerate(text.splitlines(), 1) if MARKED.search(line)}
    bare = tmp_path / "bare.py"
    bare.write_text(MARKED.sub("", text), encoding="utf-8")
    assert {int(error.split(":")[1]) for error in checker([bare])} == marked


@both
def test_the_programs_of_the_pages_on_porting_are_taken(checker: Checker, tmp_path: Path) -> None:
    files = []
    afters = [after for _, after in programs().values()]
    afters += [after for _, after in migrating.programs().values() if "aiokafka" not in after]
    for number, after in enumerate(afters):
        files.append(tmp_path / f"program_{number}.py")
        files[-1].write_text(after, encoding="utf-8")
    assert len(files) == 10
    assert not checker(files)


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "kgroup" / "py.typed").is_file()


def test_no_public_name_leaves_its_type_to_be_guessed() -> None:
    unfinished = unfinished_types("kgroup")
    public = {f"{package}.{name}" for package, names in exported().items() for name in names}
    causes = {name: why for name, why in unfinished.items() if why}
    assert not public & unfinished.keys(), f"annotate what these depend on: {causes}"
