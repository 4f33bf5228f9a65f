"""What a listener of aiokafka hears of our changes, in its order and shape."""

import logging
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.structs import TopicPartition as TheirPartition

from kgroup import Cause, ChangeKind, Claim, OwnershipChange, TopicPartition
from kgroup.compat.aiokafka.listeners import AdaptedListener, adapted

pytestmark = pytest.mark.anyio

A, B = Claim(TopicPartition("t", 0), 1), Claim(TopicPartition("t", 1), 2)
THEIR_A, THEIR_B = TheirPartition("t", 0), TheirPartition("t", 1)

Heard = list[tuple[str, Any]]


class Plain(ConsumerRebalanceListener):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.heard: Heard = []

    def on_partitions_revoked(self, revoked: Any) -> Any:
        self.heard.append(("revoked", revoked))

    def on_partitions_assigned(self, assigned: Any) -> Any:
        self.heard.append(("assigned", assigned))


class Awaited(ConsumerRebalanceListener):
    """The same, and takes its time."""

    def __init__(self) -> None:
        self.heard: Heard = []

    async def on_partitions_revoked(self, revoked: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        self.heard.append(("revoked", revoked))

    async def on_partitions_assigned(self, assigned: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        self.heard.append(("assigned", assigned))


class Losing(Plain):
    """Tells revoked and lost apart, as in Java."""

    async def on_partitions_lost(self, lost: Any) -> None:
        await anyio.lowlevel.checkpoint()
        self.heard.append(("lost", lost))


class Failing(Plain):
    """Raises whenever it is called."""

    def on_partitions_revoked(self, revoked: Any) -> Any:
        super().on_partitions_revoked(revoked)
        raise ValueError("store closed")

    async def on_partitions_assigned(self, assigned: Any) -> Any:
        super().on_partitions_assigned(assigned)
        raise ValueError("store closed")


def change(
    kind: ChangeKind,
    *,
    added: tuple[Claim, ...] = (),
    kept: tuple[Claim, ...] = (),
    removed: tuple[Claim, ...] = (),
    cause: Cause = Cause.GROUP_REBALANCED,
) -> OwnershipChange:
    return OwnershipChange(kind, added, kept, removed, cause, None, 1)


def wrapped(listener: object) -> AdaptedListener:
    found = adapted(listener)
    assert found is not None
    return found


async def assign(listener: AdaptedListener, *added: Claim, kept: tuple[Claim, ...] = ()) -> None:
    await listener.on_assigned(None, change(ChangeKind.ASSIGNED, added=added, kept=kept))


async def revoke(
    listener: AdaptedListener, *removed: Claim, cause: Cause = Cause.GROUP_REBALANCED
) -> None:
    await listener.on_revoked(None, change(ChangeKind.REVOKED, removed=removed, cause=cause))


async def lose(
    listener: AdaptedListener, *removed: Claim, cause: Cause = Cause.SESSION_EXPIRED
) -> None:
    await listener.on_lost(None, change(ChangeKind.LOST, removed=removed, cause=cause))


@pytest.mark.parametrize("kind", [Plain, Awaited])
async def test_plain_and_awaited_callbacks_hear_sets_of_aiokafkas_partitions(
    kind: type[Plain | Awaited],
) -> None:
    listener = kind()
    await assign(wrapped(listener), A, B)
    await revoke(wrapped(listener), A)
    expected: Heard = [("revoked", set()), ("assigned", {THEIR_A, THEIR_B}), ("revoked", {THEIR_A})]
    assert listener.heard == expected
    reported = [tp for _, tps in listener.heard for tp in tps]
    assert all(isinstance(tp, TheirPartition) for tp in reported)
    assert all(type(tps) is set for _, tps in listener.heard)


async def test_each_assignment_follows_exactly_one_revocation() -> None:
    listener = Plain()
    theirs = wrapped(listener)
    await assign(theirs)
    await assign(theirs, A)
    await revoke(theirs, A)
    await assign(theirs, B)
    assert [name for name, _ in listener.heard] == ["revoked", "assigned"] * 3
    assert [tps for name, tps in listener.heard if name == "revoked"] == [set(), set(), {THEIR_A}]


async def test_a_listener_gets_the_whole_assignment_and_not_only_what_was_added() -> None:
    listener = Plain()
    await assign(wrapped(listener), B, kept=(A,))
    assert listener.heard[-1] == ("assigned", {THEIR_A, THEIR_B})


@pytest.mark.parametrize("cause", [Cause.CLOSING, Cause.UNSUBSCRIBED])
async def test_the_listener_hears_nothing_of_a_stop_or_an_unsubscribe(cause: Cause) -> None:
    listener = Losing()
    theirs = wrapped(listener)
    await assign(theirs, A)
    del listener.heard[:]
    await revoke(theirs, A, cause=cause)
    await lose(theirs, A, cause=cause)
    assert listener.heard == []


async def test_a_loss_is_a_revocation_for_a_listener_without_on_partitions_lost() -> None:
    listener = Plain()
    theirs = wrapped(listener)
    await assign(theirs, A)
    await lose(theirs, A)
    await assign(theirs, B)
    assert listener.heard[2:] == [("revoked", {THEIR_A}), ("assigned", {THEIR_B})]


async def test_a_loss_is_a_loss_for_a_listener_with_on_partitions_lost() -> None:
    listener = Losing()
    theirs = wrapped(listener)
    await assign(theirs, A)
    await lose(theirs, A)
    await assign(theirs, B)
    assert listener.heard[2:] == [("lost", {THEIR_A}), ("assigned", {THEIR_B})]


async def test_what_a_callback_raises_is_logged_and_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    listener = Failing()
    with caplog.at_level(logging.ERROR):
        await assign(wrapped(listener), A)
    assert [name for name, _ in listener.heard] == ["revoked", "assigned"]
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [
        "on_partitions_revoked of the listener failed",
        "on_partitions_assigned of the listener failed",
    ]
    assert "store closed" in caplog.text


async def test_a_callback_that_is_cancelled_is_not_silenced() -> None:
    class Hanging(Plain):
        async def on_partitions_assigned(self, assigned: Any) -> Any:
            await anyio.sleep_forever()

    with anyio.move_on_after(0.01) as scope:
        await assign(wrapped(Hanging()), A)
    assert scope.cancelled_caught


def test_none_is_no_listener() -> None:
    assert adapted(None) is None


@pytest.mark.parametrize(
    "given", [object(), Plain, lambda: None], ids=["object", "class", "function"]
)
def test_what_is_no_listener_of_aiokafka_is_refused(given: object) -> None:
    with pytest.raises(TypeError, match="instance of ConsumerRebalanceListener"):
        adapted(given)
