"""What a member remembers is replaced whole, or not at all."""

from kgroup.membership.events import ListenerDone
from kgroup.types import Generation
from tests.membership.driver import Driven


def test_a_generation_is_replaced_whole() -> None:
    member = Driven().join("t-0")
    assert member.member.identity.generation == Generation(
        "g", 1, "m-1", None, "cooperative-sticky"
    )


def test_a_listener_that_returns_for_a_change_nobody_made_changes_nothing() -> None:
    member = Driven().join("t-0")
    before = member.member
    assert member.on(ListenerDone(99)) == ()
    assert member.member == before
