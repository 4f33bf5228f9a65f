"""The leader's pure part: members that cannot be read, what is remembered, assignors that fail."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from kgroup.assignors import (
    BUILT_IN,
    USER_DATA_LIMIT,
    GroupAssignment,
    GroupSubscription,
    LastAssignment,
    Member,
    PartitionRacks,
    RebalanceProtocol,
    SentAssignment,
    describe_group,
    divide,
    read_members,
)
from kgroup.errors import AssignmentError, AssignorError
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    encode_assignment,
    encode_subscription,
)

COOPERATIVE, EAGER = RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER
TOPICS = {"t": dict.fromkeys(range(4), PartitionRacks())}


def tps(*numbers: int) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition("t", number) for number in numbers)


def given(*numbers: int) -> bytes:
    return encode_assignment(MemberAssignment(tps(*numbers)))


def asks(**fields: Any) -> bytes:
    return encode_subscription(MemberSubscription(**{"topics": ("t",), **fields}))


def member(member_id: str, instance: str | None = None, unreadable: str | None = None) -> Member:
    return Member(
        member_id=member_id,
        group_instance_id=instance,
        topics=frozenset(() if unreadable else ("t",)),
        unreadable=unreadable,
    )


def sent(*members: Member, before: Any = None, **to: bytes) -> SentAssignment:
    everyone = {each.member_id: to.get(each.member_id, given()) for each in members}
    return SentAssignment.of(7, members, everyone, before)


# -- what was sent ------------------------------------------------------------------------------


def test_what_a_member_was_given_is_remembered_by_its_member_id() -> None:
    known = sent(member("a"), member("b"), a=given(1, 2))
    assert tuple(known.of_member("a", None).partitions) == tps(1, 2)
    assert tuple(known.of_member("b", None).partitions) == ()


def test_a_member_that_was_not_there_was_given_nothing() -> None:
    assert tuple(sent(member("a"), a=given(1)).of_member("new", None).partitions) == ()


def test_a_static_member_is_known_by_its_instance_id_under_whatever_member_id() -> None:
    known = sent(member("a-1", "a"), **{"a-1": given(1)})
    assert tuple(known.of_member("a-2", "a").partitions) == tps(1)
    assert tuple(known.of_member("a-1", None).partitions) == ()


def test_an_instance_id_is_not_taken_for_a_member_id() -> None:
    known = sent(member("x", "a"), member("a"), x=given(1), a=given(2))
    assert tuple(known.of_member("a", None).partitions) == tps(2)
    assert tuple(known.of_member("other", "a").partitions) == tps(1)


def test_what_is_withheld_from_its_owner_is_remembered_until_the_next_round() -> None:
    """It may never hear that it is to hand it back, and be unreadable when it joins again."""
    owner = replace(member("a"), owned=tps(1, 2))
    everyone = {"a": given(1), "b": given()}
    known = SentAssignment.of(7, [owner, member("b")], everyone, None, tps(2, 3))
    assert tuple(known.of_member("a", None).partitions) == tps(1, 2)
    assert tuple(known.of_member("b", None).partitions) == ()


def test_an_unreadable_member_is_remembered_as_it_was_before() -> None:
    """It is sent nothing, but it may not have handed back what it had."""
    first = sent(member("a"), a=given(1, 2))
    second = sent(member("a", unreadable="garbage"), before=first)
    third = sent(member("a", unreadable="garbage"), before=second)
    assert tuple(third.of_member("a", None).partitions) == tps(1, 2)


def test_an_unreadable_newcomer_is_remembered_as_having_nothing() -> None:
    known = sent(member("a", unreadable="garbage"), before=sent(member("b")))
    assert tuple(known.of_member("a", None).partitions) == ()


# -- members that cannot be read ----------------------------------------------------------------


def test_an_unreadable_cooperative_member_claims_what_it_was_last_given() -> None:
    known = sent(member("bad"), bad=given(1, 3))
    (read,) = read_members([("bad", None, b"\x00")], COOPERATIVE, known)
    assert tuple(read.owned) == tps(1, 3)
    assert read.generation_id == 7
    assert read.topics == frozenset()
    assert read.unreadable is not None


def test_an_eager_one_claims_nothing_whatever_is_known() -> None:
    known = sent(member("bad"), bad=given(1, 3))
    (read,) = read_members([("bad", None, b"\x00")], EAGER, known)
    assert tuple(read.owned) == ()
    assert read.generation_id is None


def test_without_knowledge_the_round_fails_with_the_way_out() -> None:
    with pytest.raises(AssignmentError, match=r"'bad' \(instance 'i'\) .* stop that member"):
        read_members([("bad", "i", b"\x00")], COOPERATIVE)


@pytest.mark.parametrize("name", ["cooperative-sticky"])
def test_what_an_unreadable_member_claims_is_withheld(name: str) -> None:
    known = sent(member("bad"), bad=given(1, 3))
    joined = [("bad", None, b"\x00"), ("good", None, asks(owned=tps(0), generation_id=7))]
    group = describe_group(joined, TOPICS, COOPERATIVE, sent=known)
    assignment = divide(BUILT_IN[name], group, COOPERATIVE)
    assert tuple(assignment.of("good")) == tps(0, 2)
    assert tuple(assignment.of("bad")) == ()
    assert dict(assignment.withheld) == dict.fromkeys(tps(1, 3), "good")


@pytest.mark.slow
def test_a_million_topics_that_do_not_exist_are_read_and_skipped() -> None:
    names = ("t", *(f"missing-{number}" for number in range(1_000_000)))
    joined = [("greedy", None, asks(topics=names)), ("m", None, asks())]
    group = describe_group(joined, TOPICS, COOPERATIVE)
    assert list(group.topics) == ["t"]
    assignment = divide(BUILT_IN["cooperative-sticky"], group, COOPERATIVE)
    assert [len(assignment.of(each.member_id)) for each in group.members] == [2, 2]


def test_the_leaders_clock_is_part_of_the_description() -> None:
    assert describe_group([("m", None, asks())], TOPICS, EAGER, now=1.7e9).now == 1.7e9


# -- assignors that fail ------------------------------------------------------------------------


class Outside:
    """An assignor from outside; it raises or returns what it is made with."""

    name = "outside"
    supported_protocols = (COOPERATIVE, EAGER)

    def __init__(self, made: Any) -> None:
        self._made = made

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        del group
        if isinstance(self._made, BaseException):
            raise self._made
        made: GroupAssignment = self._made
        return made


def divided(made: Any) -> GroupAssignment:
    return divide(Outside(made), GroupSubscription((member("m"),), TOPICS), EAGER)


@pytest.mark.parametrize("error", [ValueError("no"), StopIteration(1), RecursionError("deep")])
def test_what_an_assignor_raises_is_the_cause_of_an_error_with_its_name(error: Exception) -> None:
    with pytest.raises(AssignorError) as raised:
        divided(error)
    assert raised.value.assignor == "outside"
    assert raised.value.offences == (f"raised {error!r}",)
    assert raised.value.__cause__ is error


def test_an_assignors_own_refusal_is_an_error_with_its_name_too() -> None:
    with pytest.raises(AssignorError, match="raised AssignmentError"):
        divided(AssignmentError("no zone has a member"))


def test_an_error_it_made_itself_is_left_as_it_is() -> None:
    own = AssignorError("outside", ["cannot see zone b"])
    with pytest.raises(AssignorError) as raised:
        divided(own)
    assert raised.value is own


def test_an_endless_text_is_cut() -> None:
    with pytest.raises(AssignorError) as raised:
        divided(ValueError("x" * 1_000_000))
    assert len(str(raised.value)) < 2_000


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), SystemExit(1)])
def test_an_interrupt_is_not_taken_for_a_failure(interrupt: BaseException) -> None:
    with pytest.raises(type(interrupt)):
        divided(interrupt)


@pytest.mark.parametrize("rubbish", [7, [None], [("t",)], ["t-0"], [(1, "t")]])
def test_rubbish_in_place_of_partitions_is_an_error_with_its_name(rubbish: Any) -> None:
    with pytest.raises(AssignorError, match="assignor 'outside' "):
        divided(GroupAssignment({"m": rubbish}))


def test_partitions_that_can_be_read_only_once_are_not_sent_as_none_at_all() -> None:
    """Checked, a generator is used up: written after that, it gives its member nothing."""
    once: Any = (tp for tp in tps(0, 1, 2, 3))
    with pytest.raises(AssignorError, match="'outside' gave 'm' partitions in a generator, which"):
        divided(GroupAssignment({"m": once}))


@pytest.mark.parametrize("kind", [tuple, list, set])
def test_partitions_may_come_in_whatever_can_be_read_again(kind: Any) -> None:
    divided(GroupAssignment({"m": kind(tps(0, 1, 2, 3))}))


def test_user_data_that_no_coordinator_would_keep_is_an_error_with_its_name() -> None:
    too_long = GroupAssignment({"m": tps(0, 1, 2, 3)}, user_data={"m": bytes(USER_DATA_LIMIT + 1)})
    with pytest.raises(AssignorError, match="has 1048577 bytes for 'm'; a member may have 1048576"):
        divided(too_long)


def test_a_good_assignment_is_returned_as_it_is() -> None:
    good = GroupAssignment(MappingProxyType({"m": tps(0, 1, 2, 3)}))
    assert divided(good) is good


# -- what a member is shown ---------------------------------------------------------------------


def test_a_last_assignment_is_the_tuple_of_its_partitions_with_user_data() -> None:
    last = LastAssignment(tps(0, 1), b"memory")
    assert last == tps(0, 1)
    assert last.user_data == b"memory"
    assert LastAssignment() == ()
    assert LastAssignment().user_data is None
    assert "memory" in repr(last)
