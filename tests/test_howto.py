"""The programs, manifests and option names of the tutorial and how-to pages do what those say."""

import asyncio
import importlib.util
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
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
MOST_SECONDS = 60.0


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


def full(count: int, topic: str = "orders") -> InProcessBroker:
    broker = InProcessBroker(topics={topic: 1})
    broker.partition(topic, 0).append(*(str(number) for number in range(count)))
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


def test_the_service_is_not_ready_when_its_own_work_has_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def play() -> None:
        async with running(full(1), monkeypatch) as service:

            async def answers(code: int) -> bool:
                answer = Response()
                await service.ready(answer)
                return answer.status_code == code

            await until(lambda: answers(200))
            service.app.state.reading.cancel()
            await asyncio.wait([service.app.state.reading])
            assert await answers(503)

    run(play)


# -- programs of their own -----------------------------------------------------------------


@contextmanager
def program(*command: str, cwd: Path, bootstrap: str) -> Iterator[subprocess.Popen[str]]:
    """Run Python beside this process; it is killed when it has not ended in time."""
    process = subprocess.Popen(
        [sys.executable, "-u", *command],
        cwd=cwd,
        env={**os.environ, "KGROUP_BOOTSTRAP": bootstrap},
        stdout=subprocess.PIPE,
        text=True,
    )
    guard = threading.Timer(MOST_SECONDS, process.kill)
    guard.start()
    try:
        with process:
            yield process
    finally:
        guard.cancel()
        process.kill()


def said(process: subprocess.Popen[str], words: str) -> str:
    """Return the next line that has these words; what else is printed before it is passed over."""
    assert process.stdout is not None
    return next(line for line in process.stdout if words in line)


def test_the_worker_of_the_tutorial_says_what_it_gets_reads_and_gives_back(tmp_path: Path) -> None:
    broker = full(30, "payments")
    worker = EXAMPLES / "tutorial" / "worker.py"
    with (
        broker.serve() as served,
        program(str(worker), "anna", cwd=tmp_path, bootstrap=served.bootstrap) as process,
    ):
        assert "payments-0 (" in said(process, "anna: gets")
        assert said(process, "records of") == "anna: 30 records of payments-0\n"
        process.send_signal(signal.SIGINT)
        assert "(the consumer is closing)" in said(process, "anna: gives back")
        assert process.wait() == 0
    assert (tmp_path / "anna.jsonl").is_file()
    assert sum(broker.group("accounting").committed.values()) == 30


def test_the_script_for_kubernetes_commits_and_ends_well_at_sigterm(tmp_path: Path) -> None:
    broker = full(30)
    page = (DOCS / "how-to" / "kubernetes.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```python\n(import asyncio\n.*?)```", page, re.DOTALL)
    with broker.serve() as served:
        options = f'bootstrap_servers="{served.bootstrap}", auto_offset_reset="earliest"'
        whole = script.replace('group_id="billing"', f'group_id="billing", {options}')
        with program("-c", whole, cwd=tmp_path, bootstrap=served.bootstrap) as process:
            assert said(process, "30") == "30\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0
    assert sum(broker.group("billing").committed.values()) == 30


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
