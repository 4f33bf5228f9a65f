"""The event log of a KIP-848 group says what `docs/consumer-group-log.md` shows, line by line."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from kgroup.cli import main
from kgroup.codes import ApiKey
from kgroup.consumer import Consumer
from kgroup.journal import (
    AnswerReceived,
    Entry,
    Event,
    GenerationEntered,
    OwnershipStep,
    Phase,
    RequestSent,
    StateChanged,
    read_entries,
)
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from tests.consumer.entered import Bytes, config_for
from tests.consumer.ground import dial_of, ground
from tests.contracts.application import until

PAGE = Path(__file__).parents[2] / "docs" / "consumer-group-log.md"


def blocks() -> list[list[str]]:
    """Return the lines of each block of text on the page."""
    parts = PAGE.read_text("utf-8").split("```text\n")[1:]
    return [part.partition("\n```")[0].splitlines() for part in parts]


class Crew:
    """Members in tasks of their own, each with a log."""

    def __init__(self, broker: InProcessBroker, folder: Path) -> None:
        self.broker, self.folder = broker, folder
        self.members: dict[str, Consumer[Bytes, Bytes]] = {}

    async def read(self, name: str) -> None:
        ports = virtual_ports(dial_of(self.broker), seed=len(self.members))
        config = config_for(
            self.broker,
            group_protocol="consumer",
            client_id=name,
            journal=self.folder / f"{name}.jsonl",
            ports=ports,
        )
        async with Consumer("t", config=config) as member:
            self.members[name] = member
            async for _ in member.batches():
                pass

    async def shares(self, **counts: int) -> None:
        def is_so() -> bool:
            return counts == {
                name: len(each.assignment())
                for name, each in self.members.items()
                if name in counts
            }

        await until(is_so, 60.0, f"they have {counts}")


async def live(folder: Path) -> None:
    """Have a second member come, be expelled, come back, and leave."""
    broker = ground(t=4)
    crew = Crew(broker, folder)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(crew.read, "one")
        await crew.shares(one=4)
        tasks.start_soon(crew.read, "two")
        await crew.shares(one=2, two=2)
        broker.group("g").expire("two")
        await crew.shares(one=4)
        await crew.shares(one=2, two=2)
        await crew.members["two"].close()
        await crew.shares(one=4)
        await crew.members["one"].close()


def told(log: Path, since: float, before: float) -> list[str]:
    """Return what the page shows of a log, between two instants."""
    entries = read_entries(log.read_text("utf-8").splitlines(), log.name)
    return [
        f"{entry.at:5.1f}  {text}"
        for entry in entries
        if isinstance(entry, Entry) and since <= entry.at < before
        for text in shown(entry.event)
    ]


def shown(event: Event) -> Iterator[str]:
    """Yield what a reader of the page looks at, as the page has it."""
    match event:
        case RequestSent(api=ApiKey.CONSUMER_GROUP_HEARTBEAT, generation_id=epoch):
            yield f"tx          epoch {epoch}"
        case AnswerReceived(api=ApiKey.CONSUMER_GROUP_HEARTBEAT, error=error) if error:
            yield f"rx          error {error}"
        case AnswerReceived(api=ApiKey.CONSUMER_GROUP_HEARTBEAT, generation_id=epoch):
            yield f"rx          epoch {epoch}"
        case StateChanged(before=before, after=after, cause=cause):
            yield f"state       {before.value} to {after.value}: {cause}"
        case GenerationEntered(generation_id=epoch, assignment=given):
            yield f"generation  epoch {epoch}: {', '.join(map(str, given)) or 'nothing'}"
        case OwnershipStep(phase=Phase.END, claims=claims, kind=kind, cause=cause) if claims:
            listed = ", ".join(str(claim.tp) for claim in claims)
            yield f"ownership   {kind.value} {listed}: {cause}"
        case _:
            return


async def test_the_page_shows_what_members_log_and_what_an_audit_says_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await live(tmp_path)
    gives_up, takes, loses, rebalances = blocks()
    assert told(tmp_path / "one.jsonl", 4.9, 5.1) == gives_up
    assert told(tmp_path / "two.jsonl", 5.2, 5.5) == takes
    assert told(tmp_path / "two.jsonl", 10.2, 10.5) == loses
    assert main(["audit", str(tmp_path / "*.jsonl")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("  at ")][1:3] == rebalances
    assert lines[-1].startswith("CLEAN")
