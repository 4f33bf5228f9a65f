"""The programs, manifests and option names of the how-to pages do what the pages say."""

import asyncio
import importlib.util
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from fastapi import Response

from kgroup import ConsumerConfig
from kgroup.codes import ErrorCode
from kgroup.testing import InProcessBroker
from kgroup.wire.messages import HeartbeatRequest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = DOCS / "examples"
PAGES = sorted(DOCS.glob("how-to/*.md"))
MANIFESTS = sorted(EXAMPLES.glob("kubernetes/*.yaml"))
KUBERNETES = "1.31"
PATIENCE = 20.0


# -- the service ---------------------------------------------------------------------------


def load_service() -> Any:
    path = EXAMPLES / "fastapi" / "service.py"
    spec = importlib.util.spec_from_file_location("service", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@asynccontextmanager
async def running(broker: InProcessBroker, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    """Run the service as a server does: start-up, requests and shut-down in tasks of their own."""
    service = load_service()
    with broker.serve() as served:
        monkeypatch.setenv("KGROUP_BOOTSTRAP", served.bootstrap)
        lifespan = service.app.router.lifespan_context(service.app)
        await asyncio.create_task(lifespan.__aenter__())
        yield service
        await asyncio.create_task(lifespan.__aexit__(None, None, None))


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await is_so():  # noqa: ASYNC110 - the service tells nobody
            await asyncio.sleep(0.02)


def full(count: int) -> InProcessBroker:
    broker = InProcessBroker(topics={"orders": 1})
    broker.partition("orders", 0).append(*(str(number) for number in range(count)))
    return broker


def run(play: Callable[[], Any]) -> None:
    asyncio.run(play())


def test_the_service_is_ready_reads_and_commits_when_it_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = full(30)

    async def play() -> None:
        async with running(broker, monkeypatch) as service:

            async def handled_all() -> bool:
                answer: dict[str, Any] = await service.live(Response())
                return bool(answer["handled"] == 30)

            await until(handled_all)
            answer = Response()
            assert (await service.ready(answer))["partitions"] == ["orders-0"]
            assert answer.status_code == 200

    run(play)
    assert sum(broker.group("billing").committed.values()) == 30


def test_the_service_says_that_only_a_new_process_helps_when_reading_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = full(1)
    monkeypatch.setenv("POD_NAME", "billing-0")

    async def play() -> None:
        async with running(broker, monkeypatch) as service:
            broker.answers.error(HeartbeatRequest, ErrorCode.FENCED_INSTANCE_ID)

            async def ended() -> bool:
                answer = Response()
                said = await service.live(answer)
                return answer.status_code == 503 and "billing-0" in said["error"]

            await until(ended)

    run(play)


# -- the manifests -------------------------------------------------------------------------


def documents(path: Path) -> list[Any]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_each_manifest_is_what_the_schema_of_kubernetes_wants(path: Path) -> None:
    for document in documents(path):
        kubernetes_validate.validate(document, KUBERNETES, strict=True)


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_probes_ask_paths_that_the_service_has_and_ending_has_time(path: Path) -> None:
    routes = {route.path for route in load_service().app.routes}
    pod = documents(path)[0]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    probes = [value for name, value in container.items() if name.endswith("Probe")]
    assert probes
    assert {probe["httpGet"]["path"] for probe in probes} <= routes
    assert pod["terminationGracePeriodSeconds"] > ConsumerConfig().session_timeout


# -- the words of the pages ----------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_option_that_a_page_names_is_one(page: Path) -> None:
    known = {each.name for each in fields(ConsumerConfig)}
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+)=(?!\.\.\.)", text))
    assert named <= known


QUOTED = re.compile(r"`([^`\n]+)`")
COMMANDS = ("kgroup ", "getent ")


def test_what_troubleshooting_quotes_is_what_kgroup_says() -> None:
    sources = "".join(
        " ".join(re.sub(r'"\s*f?"', "", path.read_text(encoding="utf-8")).split())
        for path in sorted(ROOT.glob("kgroup/**/*.py"))
    )
    text = (DOCS / "how-to" / "troubleshooting.md").read_text(encoding="utf-8")
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    quoted = [
        each for each in QUOTED.findall(text) if " " in each and not each.startswith(COMMANDS)
    ]
    pieces = [piece.strip(" :;") for each in quoted for piece in each.split("...")]
    missing = [piece for piece in pieces if piece.strip() and _made(piece) not in sources]
    assert not missing


def _made(piece: str) -> str:
    """Return the part of a quoted text that stands so in the code: without what is filled in."""
    return re.split(r"kafka-1|its value", piece)[0].strip()
