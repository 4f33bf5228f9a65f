"""How a cluster is set up and provoked: what is taken, and what is refused with a reason."""

from collections.abc import Callable
from typing import Any

import pytest

from kgroup.testing import InProcessBroker
from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.wire.messages import HeartbeatRequest


@pytest.mark.parametrize(
    ("release", "chosen", "old"),
    [
        ("3.9.1", None, True),
        ("4.3.1", None, False),
        ("3.9.1", "new", False),
        ("4.3.1", "old", True),
        ("4.3.1", CoordinatorKind.OLD, True),
    ],
)
def test_the_coordinators_rules_are_those_of_the_release_or_chosen(
    release: str, chosen: Any, old: bool
) -> None:
    broker = InProcessBroker(release=release, coordinator=chosen)
    assert broker.core.context.is_old is old


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"nodes": 0}, "at least one broker"),
        ({"racks": ("a", "b")}, r"racks=\('a', 'b'\): one text or None for each of 1 broker"),
        ({"racks": "a"}, "racks='a'"),
        ({"coordinator": "classic"}, "'classic' is not a valid CoordinatorKind"),
        ({"topics": {"my orders": 1}}, "'my orders' contains one or more characters"),
        ({"topics": {"": 1}}, "empty string"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        InProcessBroker(**options)


@pytest.mark.parametrize(
    ("provoke", "reason"),
    [
        (lambda answers: answers.delay(HeartbeatRequest, -1), "late by -1 s"),
        (lambda answers: answers.cut(HeartbeatRequest, after=-1), "after=-1"),
        (lambda answers: answers.lose(HeartbeatRequest, times=0), "times=0"),
    ],
)
def test_a_rule_that_could_not_act_is_refused(
    provoke: Callable[[Any], object], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        provoke(InProcessBroker().answers)


def test_a_record_of_numbers_is_refused() -> None:
    with pytest.raises(TypeError, match="text, bytes or None, not 5"):
        InProcessBroker(topics={"orders": 1}).partition("orders").append(5)  # type: ignore[arg-type]
