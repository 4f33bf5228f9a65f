"""The error of a member that has no assignor in common with its group (KIP-429)."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError
from kgroup.machine.wishes import Errand
from kgroup.membership.events import Answered, Raise
from kgroup.membership.group_description import OTHER_PROTOCOL, GroupInUse
from tests.membership.driver import Driven, join_answer, settings

CODE = ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def error_text(in_use: GroupInUse | None, *assignors: str) -> str:
    """Return what the error says when a group keeps a member with these assignors out."""
    member = Driven(settings(assignors=assignors or ("cooperative-sticky",)))
    member.subscribe()
    member.found()
    answer = join_answer(member.member, code=CODE)
    member.on(Answered(member.ticket(Errand.JOIN_GROUP), answer, in_use))
    (raised,) = member.did(Raise)
    assert isinstance(raised.error, BrokerError)
    assert raised.error.code == CODE
    return str(raised.error)


def test_both_sides_and_the_two_restarts_are_named() -> None:
    text = error_text(GroupInUse("consumer", "range", ("a", "b")))
    assert "group 'g'" in text
    assert "which offers ['cooperative-sticky']" in text
    assert "'range' is in use by 2 members (client ids: a, b)" in text
    assert "one by one with ['range', 'cooperative-sticky']" in text  # the old one first
    assert "one by one with ['cooperative-sticky']" in text


def test_members_of_one_name_are_counted_and_named_once() -> None:
    text = error_text(GroupInUse("consumer", "range", ("worker",) * 40))
    assert "40 members (client ids: worker)" in text


def test_a_single_member_is_one_member() -> None:
    assert "by 1 member (client ids: a)" in error_text(GroupInUse("consumer", "range", ("a",)))


def test_of_many_names_the_first_few_are_listed() -> None:
    text = error_text(GroupInUse("consumer", "range", tuple(f"c{n}" for n in range(9))))
    assert "9 members (client ids: c0, c1, c2, c3, c4, ...)" in text


def test_a_group_of_another_type_is_called_what_it_is() -> None:
    text = error_text(GroupInUse("connect", "sessioned", ("connect-1",)))
    assert "type 'connect'" in text
    assert "another group_id" in text
    assert "range" not in text


def test_a_group_of_the_next_protocol_is_called_what_it_is() -> None:
    text = error_text(OTHER_PROTOCOL)
    assert "KIP-848" in text
    assert "group_protocol='consumer'" in text
    assert "in common" not in text


@pytest.mark.parametrize("assignor", [None, "range"], ids=["none-yet", "one-of-ours"])
def test_without_a_name_to_add_only_the_members_are_named(assignor: str | None) -> None:
    text = error_text(GroupInUse("consumer", assignor, ("a", "b")), "cooperative-sticky", "range")
    assert "['cooperative-sticky', 'range']: 2 members (client ids: a, b)" in text
    assert "one by one" not in text


def test_what_cannot_be_known_is_not_claimed() -> None:
    text = error_text(None)
    assert "which offers ['cooperative-sticky']" in text
    assert "in use" not in text
    assert "another type" in text
