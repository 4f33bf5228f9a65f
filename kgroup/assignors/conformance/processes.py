"""Two other processes are asked, with fixed seeds of the hash of strings: do they agree?

Decides: how a process is started in which sets and `hash()` come out otherwise. It is what
happens when another member leads: nothing within one process can show it, since the hash of a
string is fixed for its life.
Never: runs unless the kit is run; waits forever. This is the one place below the IO line that
starts a process.
"""

import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kgroup.assignors.conformance.paste import group_as_code, two_answers
from kgroup.assignors.conformance.stranger import Packed
from kgroup.assignors.conformance.subject import Elsewhere, Essence, Offence, Subject
from kgroup.assignors.group import GroupSubscription

_HASH_SEEDS: Final = ("1", "2")
_TIMEOUT: Final = 120.0

# The seed is read when Python starts, so a first process only sets it and becomes the second.
_FIRST: Final = """
import os, subprocess, sys
seed, second = sys.argv[1:]
run = [sys.executable, "-c", second]
changed = {**os.environ, "PYTHONHASHSEED": seed}
if os.name == "posix":
    os.execve(run[0], run, changed)
sys.exit(subprocess.call(run, env=changed))
"""
_SECOND: Final = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from kgroup.assignors.conformance.stranger import answer_all
answer_all()
"""


def anywhere(subject: Subject, groups: Sequence[GroupSubscription]) -> None:
    """Judge whether processes that differ in the hash of strings give the same answers.

    Raises:
        Offence: they do not; it names the smallest group that shows it.
        Elsewhere: the assignor cannot be made in another process.
    """
    asked = [_packed(group) for group in groups]
    try:
        sent = b"".join(pickle.dumps(each) for each in (sys.path, subject.given, asked))
    except Exception as error:  # foreign code; anything may keep an object from being pickled
        raise Elsewhere(
            f"another process cannot be asked: {error}; an assignor of a class at the top of a "
            "module that can be imported can be"
        ) from error
    first, second = (_answers(sent, hash_seed) for hash_seed in _HASH_SEEDS)
    differing = [
        (group, one, two)
        for group, one, two in zip(groups, first, second, strict=True)
        if one is not None and two is not None and one != two
    ]
    if differing:
        group, one, two = min(differing, key=lambda each: len(group_as_code(each[0])))
        raise Offence(
            "two processes answer differently: it depends on the order of a set or on hash(), "
            "which differ from process to process",
            f"{group_as_code(group)}\n" + two_answers(one, two, "one process", "another"),
        )


def _packed(group: GroupSubscription) -> Packed:
    members = tuple(replace(member, owned=tuple(member.owned)) for member in group.members)
    topics = {topic: dict(racks) for topic, racks in group.topics.items()}
    return Packed(members, topics, group.now)


def _answers(sent: bytes, hash_seed: str) -> list[Essence | None]:
    """Have a process answer.

    Raises:
        Elsewhere: it cannot, or not in time.
    """
    try:
        ended = subprocess.run(  # noqa: S603 - this very Python, and the code above
            [sys.executable, "-c", _FIRST, hash_seed, _SECOND],
            input=sent,
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Elsewhere(f"another process did not answer within {_TIMEOUT:g} s") from error
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise Elsewhere(f"another process could not be asked: {said[-1]}")
    answers: list[Essence | None] = pickle.loads(ended.stdout)  # noqa: S301 - from our own process
    return answers
