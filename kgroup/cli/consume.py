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
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

import anyio
import typer

from kgroup.cli.connecting import Common, connected, consumer_config, unwrapped
from kgroup.cli.consuming import Wanted, consume, make_plan
from kgroup.cli.formats import Format
from kgroup.cli.places import PLACE_FORMS, read_place
from kgroup.cli.printing import Gauge, Lines, StandardOutput
from kgroup.config import ConsumerConfig
from kgroup.errors import ArgumentError
from kgroup.net.log_offsets import OffsetSpec

__all__ = ["Asked", "Isolation", "Shown", "print_records", "wanted_of"]

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
            "Default: latest, or earliest when the run has an end.",
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
        Isolation | None, typer.Option(help="Which records of transactions are seen.")
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

    key: Annotated[Format, typer.Option("--key-format", help="What keys are.")] = Format.UTF8
    value: Annotated[Format, typer.Option("--value-format", help="What values are.")] = Format.UTF8
    headers: Annotated[bool, typer.Option("--headers", help="Show headers.")] = False
    values_only: Annotated[bool, typer.Option("--values-only", help="Only the values.")] = False


def print_records(asked: Asked, shown: Shown, common: Common) -> None:
    """Print the records of topics: one line each, or JSON lines with --json.

    Values that are not what they are taken for are shown all the same.
    """
    wanted = wanted_of(asked, now=time.time())
    config = _config(asked, wanted, common)
    lines = Lines(
        key=shown.key,
        value=shown.value,
        headers=shown.headers,
        as_json=common.as_json,
        values_only=shown.values_only,
    )
    gauge = Gauge(sys.stderr, time.monotonic) if sys.stderr.isatty() else None
    run = _Invocation(wanted, config, lines, StandardOutput(gauge), common.timeout)
    try:
        unwrapped(run.play)
    finally:
        if gauge is not None:
            gauge.end()
    if run.signalled is not None:
        raise typer.Exit(_SIGNALLED + run.signalled)


def wanted_of(asked: Asked, *, now: float) -> Wanted:
    """Return what the options mean together.

    Args:
        asked: the options.
        now: seconds since the epoch.

    Raises:
        ArgumentError: they do not go together, or a place has none of the forms.
    """
    if asked.group is not None and asked.partitions:
        raise ArgumentError("--partition", asked.partitions, "no --group beside it")
    if asked.until is not None and asked.follow:
        raise ArgumentError("--follow", True, "no --until: a run that follows has no end")
    follows = asked.until is None and asked.follow is not False
    default = OffsetSpec.LATEST if follows and asked.max_records is None else OffsetSpec.EARLIEST
    start = default if asked.start is None else read_place("--from", asked.start, now=now)
    stop = None if follows else OffsetSpec.LATEST
    return Wanted(
        topics=tuple(dict.fromkeys(asked.topics)),
        partitions=frozenset(asked.partitions) if asked.partitions else None,
        start=start,
        stop=stop if asked.until is None else read_place("--until", asked.until, now=now),
        max_records=asked.max_records,
    )


def _config(asked: Asked, wanted: Wanted, common: Common) -> ConsumerConfig:
    """Return the consumer's options; the command line goes before the file."""
    latest = wanted.start is OffsetSpec.LATEST
    options: dict[str, object] = {"auto_offset_reset": "latest" if latest else "earliest"}
    if asked.isolation is not None:
        options["isolation_level"] = asked.isolation.value
    return consumer_config(common, group_id=asked.group, more=options)


@dataclass(slots=True)
class _Invocation:
    """One call of the verb.

    Args:
        wanted: what to read.
        config: of the consumer.
        lines: makes lines.
        output: takes them.
        timeout: seconds each question may take.
    """

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
