"""The engine of atheris, where that is installed: mutations that follow the coverage of kgroup.

Decides: nothing about findings; `loop.Judge` does. Atheris never returns, so the process ends here
once enough inputs were judged. Code that kgroup generates at run time is not instrumented.
"""

import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from tests.search.fuzz.loop import Finding, Score
    from tests.search.fuzz.target import Target

__all__ = ["fuzz", "instrumented", "is_installed"]

_LARGEST = 65_536


def is_installed() -> bool:
    """Tell whether atheris can be imported."""
    return importlib.util.find_spec("atheris") is not None


def instrumented() -> None:
    """Import the targets so that atheris sees which way kgroup goes; before anything else does."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["kgroup"]):
        importlib.import_module("tests.search.fuzz.targets")


def fuzz(
    target: "Target",
    count: int,
    seed: int,
    *,
    corpus: list[bytes],
    found: Callable[["Finding"], object],
    end: Callable[["Score"], int],
) -> NoReturn:
    """Judge `count` inputs, then end the process with the status that `end` returns.

    Args:
        target: what is fed.
        count: of inputs.
        seed: of atheris.
        corpus: more inputs to begin with.
        found: called with the first findings of each kind.
        end: called once, with what was done.
    """
    from tests.search.fuzz.loop import Judge, Score  # noqa: PLC0415 - only once kgroup is instrumented

    atheris: Any = importlib.import_module("atheris")
    score = Score(target.name, seed)
    judge = Judge(target, score, found).judge
    folder = TemporaryDirectory()
    began, began_processor = time.perf_counter(), time.process_time()

    def finish() -> NoReturn:
        score.seconds = time.perf_counter() - began
        score.processor = time.process_time() - began_processor
        status = end(score)
        folder.cleanup()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)

    def one(data: bytes) -> None:
        try:
            judge(data)
        except KeyboardInterrupt:
            finish()
        if score.inputs >= count:
            finish()

    for number, data in enumerate((*corpus, *target.corpus())):
        (Path(folder.name) / str(number)).write_bytes(data)
    options = [f"-seed={max(seed, 1)}", f"-max_len={_LARGEST}", "-handle_int=0", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *options, folder.name], one)
    atheris.Fuzz()
    finish()
