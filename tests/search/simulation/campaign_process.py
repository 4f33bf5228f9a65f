"""The processes of a campaign: each plays what it is given, none shares anything.

Decides: that each has a hash seed of its own, so that a result which depends on the order of a
hash shows; that Ctrl-C is for the first process alone, which ends the others.
Never: decides what is played.

`python -m tests.search.simulation.campaign_process pkg.module:play` is one of them: it reads
pickled tasks from standard input and writes pickled results to standard output.
"""

import logging
import os
import pickle
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from types import TracebackType
from typing import IO, Any, Final, NoReturn, Self, cast

from kgroup.errors import ArgumentError, IllegalStateError
from tests.search.simulation.campaign_chunk import (
    Check,
    Chunk,
    Play,
    Task,
    digests,
    play_chunk,
)

__all__ = ["Processes", "Result", "do", "load_play", "quieten", "serve"]

_MODULE: Final = "tests.search.simulation.campaign_process"

Result = Chunk | tuple[str, ...]
"""What comes of a task, or of a check."""


def load_play(name: str) -> Play:
    """Return a function by its name.

    Args:
        name: `pkg.module:function`.

    Raises:
        ArgumentError: there is none.
    """
    module, _, function = name.partition(":")
    try:
        return cast("Play", getattr(import_module(module), function))
    except (ImportError, AttributeError, ValueError) as error:
        raise ArgumentError("world", name, "pkg.module:function") from error


def quieten() -> None:
    """Keep what members log to themselves: ten thousand groups a minute would be heard."""
    logger = logging.getLogger("kgroup")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False


def do(task: Task | Check, play: Play) -> Result:
    """Do what a task asks for."""
    return play_chunk(task, play) if isinstance(task, Task) else digests(task, play)


# -- the first process -------------------------------------------------------------------------


class _Process:
    """One process.

    Args:
        world: name of the function that plays.
        hash_seed: of the process.
    """

    def __init__(self, world: str, hash_seed: int) -> None:
        environment = dict(os.environ)
        environment["PYTHONHASHSEED"] = str(hash_seed)
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-m", _MODULE, world],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            # Ctrl-C at a terminal is for whoever started it, who ends it: it may come while this
            # process is still importing.
            process_group=0,
        )
        self.busy: bool = False

    @property
    def results(self) -> IO[bytes]:
        """Where its results can be read."""
        assert self._process.stdout is not None
        return self._process.stdout

    def give(self, task: Task | Check) -> None:
        """Have it do something."""
        assert self._process.stdin is not None
        try:
            pickle.dump(task, self._process.stdin)
            self._process.stdin.flush()
        except BrokenPipeError:
            self._refuse()
        self.busy = True

    def take(self) -> Result:
        """Return what it has done, once it has.

        Raises:
            IllegalStateError: the process has ended.
        """
        try:
            result: Result = pickle.load(self.results)
        except (EOFError, pickle.UnpicklingError):
            self._refuse()
        self.busy = False
        return result

    def _refuse(self) -> NoReturn:
        code = self._process.wait()
        raise IllegalStateError(f"a process of the campaign has ended by itself (code {code})")

    def end(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                _close(pipe)


def _close(pipe: IO[bytes]) -> None:
    with suppress(BrokenPipeError):  # what was to be written there is for nobody any more
        pipe.close()


class Processes:
    """Some processes that play; a context, at whose end they are gone.

    Args:
        count: how many; at least 1.
        world: name of the function that plays.
        first_seed: hash seed of the first; the others follow.
    """

    def __init__(self, count: int, world: str, first_seed: int = 1) -> None:
        self._count = count
        self._world = world
        self._first_seed = first_seed
        self._processes: list[_Process] = []

    def __enter__(self) -> Self:
        try:
            for number in range(self._count):
                self._processes.append(_Process(self._world, self._first_seed + number))
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    @property
    def free(self) -> bool:
        """Whether one of them has nothing to do."""
        return any(not each.busy for each in self._processes)

    @property
    def busy(self) -> bool:
        """Whether one of them has something to do."""
        return any(each.busy for each in self._processes)

    def give(self, task: Task | Check) -> None:
        """Give a task to one that is free."""
        next(each for each in self._processes if not each.busy).give(task)

    def wait(self) -> Iterator[Result]:
        """Yield what is done, after having waited for the first."""
        with selectors.DefaultSelector() as selector:
            for each in self._processes:
                if each.busy:
                    selector.register(each.results, selectors.EVENT_READ, each)
            ready = selector.select()
        for key, _ in ready:
            yield key.data.take()

    def end(self) -> None:
        """End all of them."""
        for each in self._processes:
            each.end()
        self._processes.clear()


# -- the others --------------------------------------------------------------------------------


def serve(words: Sequence[str]) -> None:
    """Play what comes on standard input, until it ends.

    Args:
        words: the name of the function that plays.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    quieten()
    results = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What a run prints must not stand between results.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    play = load_play(words[0])
    while True:
        try:
            task: Any = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(do(task, play), results)
        results.flush()


if __name__ == "__main__":
    serve(sys.argv[1:])
