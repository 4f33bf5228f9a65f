"""What counts as leaning on the original, and what does not."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.dropin.guard import Guard, holdings
from tests.dropin.suite import Suite, read_suite

AS_KGROUP = """
__name__ = "kgroup.compat.leaning"
from peerlib.client import Client


def build():
    return Client()


def call(function):
    return function()


class Own(Client):
    pass
"""


@pytest.fixture
def suite(tree: Path) -> Suite:
    return read_suite(tree / "list.toml")


@pytest.fixture
def guard(suite: Suite) -> Iterator[Guard]:
    # This file stands for the tree: what is built here, tests build.
    watching = Guard(suite, Path(__file__))
    watching.watch()
    yield watching
    watching.release()


@pytest.fixture
def leaning(site: Path) -> ModuleType:
    (site / "leaning.py").write_text(AS_KGROUP, encoding="utf-8")
    import leaning as found  # type: ignore[import-not-found]  # noqa: PLC0415 - written just now

    assert isinstance(found, ModuleType)
    return found


def test_kgroup_builds_no_client_of_the_peer(guard: Guard, leaning: ModuleType) -> None:
    leaning.build()
    assert guard.seen == ["peerlib.client.Client was built, by kgroup.compat.leaning, line 7"]


def test_no_class_of_kgroup_is_made_from_one_of_the_peer(guard: Guard, leaning: ModuleType) -> None:
    leaning.Own()
    expected = "peerlib.client.Client was built, by the class kgroup.compat.leaning.Own"
    assert guard.seen == [expected]


def test_tests_build_clients_as_they_like_also_when_kgroup_calls_them(
    guard: Guard, leaning: ModuleType
) -> None:
    from peerlib.client import Client  # type: ignore[import-not-found]  # noqa: PLC0415

    assert Client().open
    leaning.call(lambda: Client())
    assert guard.seen == []


def test_nobody_builds_the_original(guard: Guard, site: Path) -> None:
    from peerlib.consumer import (  # type: ignore[import-not-found]  # noqa: PLC0415
        Consumer,
    )

    assert Consumer("t").name() == "original"
    assert guard.seen == ["peerlib.consumer.Consumer was built"]


def test_after_the_release_nothing_is_noted(guard: Guard, leaning: ModuleType) -> None:
    guard.release()
    leaning.build()
    assert guard.seen == []


def test_no_module_of_kgroup_holds_a_class_of_the_peer(suite: Suite, leaning: ModuleType) -> None:
    foreign = ModuleType("somebody.elses")
    vars(foreign)["Client"] = leaning.Client
    assert holdings(suite, [leaning, foreign]) == [
        "kgroup.compat.leaning.Client is peerlib.client.Client",
        "kgroup.compat.leaning.Own is made from peerlib.client.Client",
    ]
