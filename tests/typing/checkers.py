"""The two type checkers, run on files as their users run them.

Decides: how each is called, and that only what it says about the files asked for counts: what is
wrong elsewhere in the project is for `make lint` to say.
Never: reaches for the network; both come whole from the lock.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
_SCRIPTS: Final = Path(sys.executable).parent
_SAID: Final = re.compile(r"(?P<file>.*?):(?P<line>\d+): error: (?P<text>.*)")


def mypy(files: Iterable[Path]) -> list[str]:
    """Return the errors of mypy, strict, as `file:line: text`."""
    asked = {path.resolve() for path in files}
    output = _run([sys.executable, "-m", "mypy", "--no-pretty", *map(str, sorted(asked))])
    found = map(_SAID.match, output.splitlines())
    said = [(ROOT / each["file"], f"{each['line']}: {each['text']}") for each in found if each]
    assert said or "no issues found" in output, output
    # What it remembers of a file like this one may name the folder in which that one was.
    names = {path.name for path in asked}
    return [f"{path.name}:{text}" for path, text in said if path.name in names]


def pyright(files: Iterable[Path]) -> list[str]:
    """Return the errors of pyright, strict, as `file:line: rule: text`."""
    found = json.loads(_pyright("--outputjson", *map(str, files)))
    assert found["summary"]["filesAnalyzed"], found
    return [_line(each) for each in found["generalDiagnostics"] if each["severity"] == "error"]


def unfinished_types(package: str) -> Mapping[str, str]:
    """Return the names of a package that another checker would have to guess the type of.

    Returns:
        Qualified name -> what is missing, "" where something it refers to is unfinished.
    """
    found = json.loads(_pyright("--verifytypes", package, "--ignoreexternal", "--outputjson"))
    symbols = found["typeCompleteness"]["symbols"]
    assert symbols, found
    return {
        each["name"]: "; ".join(said["message"] for said in each["diagnostics"])
        for each in symbols
        if not each["isTypeKnown"] or each["isTypeAmbiguous"]
    }


def _line(said: Mapping[str, Any]) -> str:
    name, line = Path(said["file"]).name, said["range"]["start"]["line"] + 1
    return f"{name}:{line}: {said.get('rule', 'error')}: {said['message']}"


def _pyright(*arguments: str) -> str:
    return _run([str(_SCRIPTS / "basedpyright"), *arguments])


def _run(command: list[str]) -> str:
    # The checkers look for installed packages beside the first `python` of the path, and do not
    # follow the finder of an editable install.
    path = os.pathsep.join((str(_SCRIPTS), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, check=False, text=True
    )
    assert done.returncode in (0, 1), done.stderr or done.stdout
    return done.stdout
