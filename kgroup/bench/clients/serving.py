"""The lines of a client's process: one job in, `ready` and `result` out.

Decides: the order of a job, and that a client is imported only after the job was read.
Never: judges what was found.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from kgroup.bench.clients.following import Following
from kgroup.bench.clients.measuring import Commits, Pass, mark, peak_memory

Job = dict[str, Any]


class Client(Protocol):
    """What a client can be asked to do; making it imports it."""

    packages: tuple[str, ...]

    def read(self, job: Job, run: Pass) -> None:
        """Read the topic to its end."""
        ...

    def commit(self, job: Job, commits: Commits) -> int:
        """Read and commit record after record; return what is committed at the end."""
        ...

    def members(self, job: Job, formed: Callable[[], None]) -> dict[str, Any]:
        """Start many members of one group, tell when it is formed, and let them wait."""
        ...

    def follow(self, job: Job, told: Following) -> None:
        """Be a member of a group, and tell what is delivered until it is over."""
        ...


def serve(make: Any) -> None:  # noqa: ANN401 - a callable that imports what it returns
    """Do the job of standard input.

    Args:
        make: imports and returns a `Client`, given the job.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # nobody's print may look like an answer

    turn = threading.Lock()

    def answer(kind: str, what: object) -> None:
        with turn:
            answers.write(json.dumps({kind: what}, separators=(",", ":")) + "\n")
            answers.flush()

    job = json.loads(sys.stdin.readline())
    told = Following(answer)
    threading.Thread(target=_listen, args=(told, answer), daemon=True).start()

    def work() -> dict[str, Any]:
        began = time.monotonic()
        client: Client = make(job)
        now = mark()
        answer("ready", {**now, "import_s": now["at"] - began})
        if job.get("hold"):
            told.go.wait()  # standard input ends, and this process with it, if nobody says so
        return _do(client, job, told, lambda: answer("formed", mark()))

    try:
        answer("result", _profiled(work) if job.get("profile") else work())
    except ImportError as error:
        answer("absent", str(error))
    except Exception as error:  # noqa: BLE001 - a client's failure is a result too
        answer("failed", f"{type(error).__name__}: {str(error)[:300]}")


def _listen(told: Following, answer: Callable[[str, object], None]) -> None:
    """Hear what else is said; nobody is there any more when standard input ends."""
    for line in sys.stdin:
        said = json.loads(line)
        if "mark" in said:
            answer("mark", mark())
        elif "go" in said:
            told.go.set()
        elif "stop" in said:
            told.over.set()
    os._exit(1)


def _do(client: Client, job: Job, told: Following, formed: Callable[[], None]) -> dict[str, Any]:
    match job["job"]:
        case "read":
            result = _read(client, job)
        case "commit":
            commits = Commits(job["commits"], job["warm_up"])
            result = commits.result(client.commit(job, commits))
        case "members":
            result = client.members(job, formed)
        case "follow":
            client.follow(job, told)
            result = told.result()
        case "assign" | "claim" as name if hasattr(client, name):
            result = getattr(client, name)(job)
        case other:
            raise ImportError(f"it has no job {other}")
    result["rss_bytes"] = peak_memory()
    return {**result, "compiled": _compiled(), "versions": _versions(client.packages)}


def _read(client: Client, job: Job) -> dict[str, Any]:
    passes = []
    for number in range(job["passes"]):
        run = Pass(f"{job['group']}-{number}", proof=job["proof"])
        client.read(job, run)
        passes.append(run.result())
    return {"passes": passes}


def _profiled(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Work under a profiler; add the functions that took the most time themselves."""
    import cProfile  # noqa: PLC0415 - rarely used, and its import would count
    import pstats  # noqa: PLC0415

    profiler = cProfile.Profile()
    result = profiler.runcall(work)
    stats: Any = pstats.Stats(profiler)
    # Time is read, since reading CPU would cost more than most calls; so waiting is left out.
    working = [item for item in stats.stats.items() if "select.epoll" not in item[0][2]]
    whole = sum(own for _, (_, _, own, _, _) in working)
    rows = sorted(working, key=lambda item: -item[1][2])[:15]
    result["profile"] = [
        {"function": _function(*place), "calls": calls, "share": round(own / whole, 4)}
        for place, (_, calls, own, _, _) in rows
    ]
    return result


def _function(file: str, line: int, name: str) -> str:
    """Name a function without the folders of this machine."""
    if file in {"~", ""}:
        return name.split(" at 0x", maxsplit=1)[0]
    parts = file.replace("\\", "/").split("/")
    for root in ("kgroup", "benchmarks", "site-packages"):
        if root in parts:
            return f"{'/'.join(parts[parts.index(root) :])}:{line} {name}"
    return f"{parts[-1]}:{line} {name}"


def _compiled() -> bool | None:
    """Return whether kgroup's compiled loops are in use, None for a client without."""
    loops = sys.modules.get("kgroup.wire.records.loops")
    return None if loops is None else bool(getattr(loops, "COMPILED", False))


def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    from importlib.metadata import version  # noqa: PLC0415 - slow, and not the client's

    return {name: version(name) for name in packages}
