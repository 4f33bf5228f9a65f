"""`kgroup consume`: print the records of topics, alone or as a member of a group.

Decides: the options and what they mean together, and how a run is ended from outside: Ctrl-C is
exit code 130 after an orderly close, a reader that went away (`| head`) is no error.
Never: reads a record itself; `kgroup.cli.consuming` does.
"""

import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import Annotated, Final

import anyio
import typer

from kgroup.cli.connecting import (
    Common,
    connected,
    consumer_config,
    options_of_file,
    unwrapped,
)
from kgroup.cli.consuming import (
    PLACE_FORMS,
    Plan,
    Wanted,
    consume,
    lies_before,
    make_plan,
    read_place,
)
from kgroup.cli.printing import Format, Gauge, Lines, StandardOutput
from kgroup.cli.verbs import one_of
from kgroup.config import ConsumerConfig
from kgroup.errors import ArgumentError
from kgroup.net.log_offsets import OffsetSpec
from kgroup.net.log_places import Place
from kgroup.values import dataclass

_RESET: Final = "auto_offset_reset"
_SIGNALLED: Final = 128
"""What a shell adds to the number of a signal."""


class Isolation(StrEnum):
    """Whether records of open and aborted transactions are seen."""

    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be read.

    Args:
        topics: their names.
        group: to join it and to commit what is printed; None reads alone.
        partitions: only these; without a group.
        start: where to begin, as typed; None for the default.
        until: where to end, as typed; None for the default.
        max_records: most records, None for no bound.
        follow: whether to wait for more at the end; None for the default.
        isolation: which records of transactions are seen.
        health_port: where supervisors ask how it is.
    """

    topics: Annotated[list[str], typer.Argument(metavar="TOPIC", help="Topics to read.")]
    group: Annotated[
        str | None, typer.Option(help="Join this group, and commit what was printed.")
    ] = None
    partitions: Annotated[
        list[int] | None,
        typer.Option("--partition", "-p", min=0, help="Only this one; may be repeated."),
    ] = None
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="PLACE",
            help=f"Where to begin: {PLACE_FORMS}. In a group only where nothing is committed. "
            "Default: latest, or earliest when the run has an end; in a group auto_offset_reset "
            "of the file, if it has one.",
        ),
    ] = None
    until: Annotated[
        str | None, typer.Option(metavar="PLACE", help="Where to end: the same forms.")
    ] = None
    max_records: Annotated[int | None, typer.Option("--max-records", "-n", min=1)] = None
    follow: Annotated[
        bool | None,
        typer.Option(
            "--follow/--no-follow",
            help="Wait for more (default without --until), or end where the logs end at the start.",
            show_default=False,
        ),
    ] = None
    isolation: Annotated[
        Isolation | None,
        typer.Option(parser=one_of(Isolation), help="Which records of transactions are seen."),
    ] = None
    health_port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Answer /live and /ready over HTTP at this port."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How records are shown.

    Args:
        key: what keys are taken for.
        value: what values are taken for.
        headers: whether headers are shown; lines of JSON always have them.
        values_only: whether nothing but values is shown.
    """

    key: Annotated[
        Format, typer.Option("--key-format", parser=one_of(Format), help="What keys are.")
    ] = Format.UTF8
    value: Annotated[
        Format, typer.Option("--value-format", parser=one_of(Format), help="What values are.")
    ] = Format.UTF8
    headers: Annotated[bool, typer.Option("--headers", help="Show headers.")] = False
    values_only: Annotated[bool, typer.Option("--values-only", help="Only the values.")] = False


def print_records(asked: Asked, shown: Shown, common: Common) -> None:
    """Print the records of topics: one line each, or JSON lines with --json.

    Values that are not what they are taken for are shown all the same.
    """
    wanted, config = wanted_by(asked, common, now=time.time())
    lines = Lines(
        key=shown.key,
        value=shown.value,
        headers=shown.headers,
        as_json=common.as_json,
        values_only=shown.values_only,
    )
    gauge = Gauge(sys.stderr, time.monotonic) if sys.stderr.isatty() else None
    run = _Invocation(asked, wanted, config, lines, StandardOutput(gauge), common.timeout)
    try:
        unwrapped(run.play)
    finally:
        if gauge is not None:
            gauge.end()
    if run.signalled is not None:
        raise typer.Exit(_SIGNALLED + run.signalled)


def wanted_by(asked: Asked, common: Common, *, now: float) -> tuple[Wanted, ConsumerConfig]:
    """Return what the options and the file mean together, and the consumer's options.

    What the command line says goes before the file.

    Args:
        asked: the verb's own options.
        common: tells which file.
        now: seconds since the epoch.

    Raises:
        ArgumentError: see `wanted_of`.
        ConfigError: an option of the file cannot be used.
    """
    reset_is_given = _RESET in options_of_file(common)
    wanted = wanted_of(asked, now=now, reset_is_given=reset_is_given)
    options: dict[str, object] = {}
    if asked.start is not None or not reset_is_given:
        options[_RESET] = "latest" if wanted.start is OffsetSpec.LATEST else "earliest"
    if asked.isolation is not None:
        options["isolation_level"] = asked.isolation.value
    return wanted, consumer_config(common, group_id=asked.group, more=options)


def wanted_of(asked: Asked, *, now: float, reset_is_given: bool = False) -> Wanted:
    """Return what the options mean together.

    Args:
        asked: the options.
        now: seconds since the epoch.
        reset_is_given: whether the file has an `auto_offset_reset`, which a group heeds.

    Raises:
        ArgumentError: they do not go together, or a place has none of the forms.
    """
    if asked.group is not None and asked.partitions:
        raise ArgumentError("--partition", asked.partitions, "no --group beside it")
    if asked.until is not None and asked.follow:
        raise ArgumentError("--follow", True, "no --until: a run that follows has no end")
    follows = asked.until is None and asked.follow is not False
    start: Place | None
    if asked.start is not None:
        start = read_place("--from", asked.start, now=now)
    elif asked.group is not None and reset_is_given:
        start = None
    else:
        latest = follows and asked.max_records is None
        start = OffsetSpec.LATEST if latest else OffsetSpec.EARLIEST
    stop = None if follows else OffsetSpec.LATEST
    return _sound(
        asked,
        Wanted(
            topics=tuple(dict.fromkeys(asked.topics)),
            partitions=frozenset(asked.partitions) if asked.partitions else None,
            start=start,
            stop=stop if asked.until is None else read_place("--until", asked.until, now=now),
            max_records=asked.max_records,
            health_port=asked.health_port,
        ),
    )


def _sound(asked: Asked, wanted: Wanted) -> Wanted:
    """Refuse an end before the beginning; a group may have commits before both."""
    start, stop = wanted.start, wanted.stop
    if asked.group is None and start is not None and stop is not None and lies_before(stop, start):
        raise ArgumentError("--until", asked.until, f"a place behind --from {asked.start}")
    return wanted


def nothing_between(asked: Asked, plan: Plan) -> str | None:
    """Return what is said when the places leave nothing to read, None when they do.

    Two places need not show it before the logs were asked. Without a named place nothing is said,
    nor in a group, for its commits tell where it begins.
    """
    named = asked.start is not None or asked.until is not None
    if not named or asked.group is not None or not plan.is_empty:
        return None
    start, until = asked.start or "earliest", asked.until or "latest"
    return f"nothing lies between --from {start} and --until {until} in any partition"


@dataclass(slots=True)
class _Invocation:
    """One call of the verb.

    Args:
        asked: the words.
        wanted: what they mean.
        config: of the consumer.
        lines: makes lines.
        output: takes them.
        timeout: seconds each question may take.
    """

    asked: Asked
    wanted: Wanted
    config: ConsumerConfig
    lines: Lines
    output: StandardOutput
    timeout: float
    signalled: int | None = None

    async def play(self) -> None:
        """Read until it is over, or until a signal comes."""
        async with self._until_signalled(), connected(self.config) as cluster:
            plan = await make_plan(cluster, self.wanted, self.config, timeout=self.timeout)
            note = nothing_between(self.asked, plan)
            if note is not None:
                print(note, file=sys.stderr)
            await consume(cluster, self.wanted, self.config, plan, self.lines, self.output)

    @asynccontextmanager
    async def _until_signalled(self) -> AsyncIterator[None]:
        """Cancel the block when a signal comes; closing is shielded, and bounded."""
        async with anyio.create_task_group() as tasks:

            async def listen() -> None:
                with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                    async for number in signals:
                        self.signalled = int(number)
                        tasks.cancel_scope.cancel()
                        return

            tasks.start_soon(listen)
            yield
            tasks.cancel_scope.cancel()
