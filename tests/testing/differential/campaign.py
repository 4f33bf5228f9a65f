"""Many scripts on one real broker, and what the core makes of each.

Decides: which runs count. One in which a step was late, or the broker took long over what the core
answers at once, was disturbed by the machine: it is discarded, counted, and the script run again.
What differs in the same way `PERSISTENT` times is no disturbance.
Never: judges while scripts run: that would make them late.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise

from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError
from kgroup.testing.kafka import RealKafka, create_topic
from kgroup.testing.kafka.ready import parse_bootstrap
from tests.testing.differential.explained import Verdict, judge
from tests.testing.differential.generator import generate
from tests.testing.differential.judging import Difference, reached
from tests.testing.differential.replay import Played, Turn, play
from tests.testing.differential.script import TOPICS, Script, Setting
from tests.testing.differential.session import LateError, run_script
from tests.testing.differential.trace import Trace

ATTEMPTS = 5
"""How often a script is run before it is given up as one this machine cannot do in time."""

PERSISTENT = 3

SLOW = 0.02
"""Seconds; an answer that takes so long may be to what was sent before it, or after."""

AT_ONCE = 0.001
"""Seconds; the core takes none, but the instants of a trace are rounded."""

EDGE = 0.005
"""Seconds around a timer's instant within which a broker may have been first, or the request."""

_SPREAD_MS = 500

Say = Callable[[str], None]


@dataclass(slots=True)
class Tally:
    """What a campaign has found.

    Args:
        scripts: that were judged.
        requests: of the actors in them, the observer's not counted.
        late: runs discarded because a step was late.
        stalled: runs discarded because the broker was.
        given_up: scripts that no attempt was in time for.
        differences: that nothing explains.
        explained: rule -> how many scripts.
        coverage: (phase, request, outcome) -> in how many scripts.
        traces: of the runs that count and do not differ.
    """

    scripts: int = 0
    requests: int = 0
    late: int = 0
    stalled: int = 0
    given_up: int = 0
    differences: list[Difference] = field(default_factory=list)
    explained: Counter[str] = field(default_factory=Counter)
    coverage: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    traces: list[Trace] = field(default_factory=list)

    def take(self, played: Played, verdict: Verdict) -> None:
        """Count one run."""
        self.scripts += 1
        self.requests += len(played.trace.script.steps)
        self.coverage.update(reached(played))
        self.explained.update({rule.name for rule in verdict.explained})
        if verdict.difference is not None:
            self.differences.append(verdict.difference)
        elif not verdict.explained:
            self.traces.append(played.trace)


@contextmanager
def broker_for(version: str, setting: Setting, say: Say) -> Iterator[tuple[str, int]]:
    """Have a broker with these settings, and the topics of the scripts; yield its address."""
    settings = {
        "group.initial.rebalance.delay.ms": str(round(setting.delay * 1000)),
        "group.min.session.timeout.ms": "1000",
        "offsets.topic.num.partitions": "4",
    }
    if setting.max_size is not None:
        settings["group.max.size"] = str(setting.max_size)
    with RealKafka.start(version, settings=settings, progress=say) as kafka:
        lay_topics(kafka)
        yield parse_bootstrap(kafka.bootstrap)[0]


def lay_topics(kafka: RealKafka) -> None:
    """Make the topics of the scripts where they are missing."""
    for topic in TOPICS:
        try:
            create_topic(kafka.bootstrap, topic, 2)
        except BrokerError as error:
            if error.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                raise


def draw_scripts(
    seeds: Iterable[int], setting: Setting, version: str, workers: int = 2
) -> list[Script]:
    """Draw one script per seed."""
    every = list(seeds)
    if len(every) < workers * 20:
        return [generate(seed, setting, version) for seed in every]
    count = len(every)
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(generate, every, [setting] * count, [version] * count, chunksize=10))


def compare(
    address: tuple[str, int],
    version: str,
    scripts: Sequence[Script],
    *,
    concurrency: int,
    say: Say,
) -> Tally:
    """Run scripts until each has been judged, or given up.

    Args:
        address: of the real broker.
        version: of Kafka.
        scripts: for its settings.
        concurrency: how many at once.
        say: called with a line of text at each step.
    """
    tally = Tally()
    seen: Counter[tuple[Script, str]] = Counter()
    left = list(scripts)
    for attempt in range(ATTEMPTS):
        # What the machine was too slow for is tried again with less at a time.
        at_once = max(concurrency >> attempt, 8)
        traces = run_scripts(address, version, left, concurrency=at_once, say=say)
        tally.late += len(left) - len(traces)
        done = {played.trace.script for played in _play_all(traces) if _counts(played, tally, seen)}
        left = [script for script in left if script not in done]
        if not left:
            break
        say(f"{len(left)} script(s) were disturbed by the machine; once more")
    tally.given_up = len(left)
    return tally


def _counts(played: Played, tally: Tally, seen: Counter[tuple[Script, str]]) -> bool:
    """Judge a run; False = it was disturbed and has to be done again.

    Args:
        played: the run.
        tally: takes it in.
        seen: how often a script has differed in the same way while it was disturbed.
    """
    verdict = judge(played)
    if verdict.difference is not None and is_disturbed(played, verdict.difference):
        same = played.trace.script, verdict.difference.signature
        seen[same] += 1
        if seen[same] < PERSISTENT:
            tally.stalled += 1
            return False
    tally.take(played, verdict)
    return True


def run_scripts(
    address: tuple[str, int],
    version: str,
    scripts: Sequence[Script],
    *,
    concurrency: int,
    say: Say,
) -> list[Trace]:
    """Run each script once, many at a time; return the traces of those that were in time."""
    return asyncio.run(_run_all(address, version, scripts, concurrency, say))


async def _run_all(
    address: tuple[str, int],
    version: str,
    scripts: Sequence[Script],
    concurrency: int,
    say: Say,
) -> list[Trace]:
    traces: list[Trace] = []
    room = asyncio.Semaphore(concurrency)
    over = 0

    async def run(script: Script) -> None:
        nonlocal over
        async with room:
            # Not all in step: their requests would come in bursts.
            await asyncio.sleep(secrets.randbelow(_SPREAD_MS) / 1000)
            group_id = f"d{script.seed}-{secrets.token_hex(3)}"
            with suppress(LateError):
                traces.append(await run_script(address, script, version, group_id))
            over += 1
            if over % 100 == 0:
                say(f"{over} of {len(scripts)} scripts have run")

    async with asyncio.TaskGroup() as tasks:
        for script in scripts:
            tasks.create_task(run(script))
    return sorted(traces, key=lambda trace: trace.script.seed)


def _play_all(traces: Sequence[Trace]) -> Iterable[Played]:
    if len(traces) < 40:
        return map(play, traces)
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(play, traces, chunksize=10))


def is_disturbed(played: Played, difference: Difference) -> bool:
    """Say whether the broker was slow before a difference, so that it proves nothing.

    What the core answers at once must have been answered before the next request was sent: in
    which order the two were served is not known otherwise.
    """
    if difference.what in {"late", "early"}:
        return True
    end = difference.turn.real.answered_at or difference.turn.real.sent_at
    answered, core = difference.turn.real.answered_at, difference.turn.answered_at
    if answered is not None and core is not None and answered - core > SLOW:
        return True
    if any(_released_at(turn, difference.turn.real.sent_at) for turn in played.turns):
        return True
    for turn, following in pairwise(played.turns):
        answered, core, sent = turn.real.answered_at, turn.answered_at, turn.real.sent_at
        if answered is None or core is None or sent > end:
            continue
        if core - sent < AT_ONCE and answered > following.real.sent_at:
            return True
    return False


def _released_at(turn: Turn, instant: float) -> bool:
    """Tell whether a timer let a parked request go at an instant: which was first is chance."""
    core, sent = turn.answered_at, turn.real.sent_at
    return core is not None and core - sent > AT_ONCE and abs(core - instant) < EDGE
