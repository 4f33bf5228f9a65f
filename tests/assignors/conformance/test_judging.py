"""The kit's verdict on one answer and the leader's last look at it are of one mind."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.assignors import GroupAssignment, RebalanceProtocol, verify
from kgroup.assignors.conformance import checks_whole
from kgroup.assignors.conformance.drawing import Saying, groups
from kgroup.assignors.conformance.gallery import gallery
from kgroup.assignors.conformance.subject import Elsewhere, Offence, subject_of
from kgroup.errors import AssignorError
from kgroup.types import TopicPartition
from tests.assignors.conformance.wrong import Decent, divided
from tests.assignors.conformance.wrong_rounds import HandsOverAtOnce

DRAWN = groups(subject_of(HandsOverAtOnce), (Saying.TRUTH, Saying.ANYTHING))
WHOLE = ("sendable", "entries", "complete", "disjoint", "subscribers", "known")


class Answers(HandsOverAtOnce):
    """Returns what a test wants it to."""

    def __init__(self, answer):
        self.answer = answer

    def assign(self, group):
        return self.answer


def disturbed(group, how):
    """Return a decent answer with some mistake in it, or none."""
    given: dict[str, list[Any]] = {**divided(group)}
    first = min(given, default="")
    last = max(given, default="")
    withheld = {}
    match how:
        case 1 if given.get(first):
            given[last] = [*given[last], given[first][0]]
        case 2 if given.get(first):
            given[first].pop()
        case 3 if given.get(first):
            withheld[given[first].pop()] = first
        case 4:
            given["ghost"] = []
        case 5 if first:
            given[first].append(TopicPartition("t", 99))
        case 6 if first:
            del given[first]
        case 7 if len(given) > 1:
            given[first], given[last] = given[last], given[first]
        case 8 if given.get(first):
            given[first].append(str(given[first][0]))
    return GroupAssignment(given, withheld)


def offences(group, answer, names):
    subject = subject_of(Answers(answer))
    found = []
    for name in names:
        try:
            getattr(checks_whole, name)(subject, group)
        except Offence:
            found.append(name)
        except Elsewhere:
            pass
    return found


def refused(group, answer, protocol):
    try:
        verify(group, answer, assignor="decent", protocol=protocol)
    except (AssignorError, AttributeError, ValueError):
        return True
    return False


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(DRAWN.strategy, st.integers(0, 8))
def test_what_the_kit_finds_wrong_no_leader_sends_and_nothing_else_is_kept_back(data, how):
    group = DRAWN.make(data)
    answer = disturbed(group, how)
    for protocol, names in (
        (RebalanceProtocol.EAGER, WHOLE),
        (RebalanceProtocol.COOPERATIVE, (*WHOLE, "handover")),
    ):
        assert bool(offences(group, answer, names)) == refused(group, answer, protocol)


@pytest.mark.parametrize("name", gallery())
def test_nothing_is_wrong_with_a_decent_answer_for_an_odd_group(name):
    group = gallery()[name]
    assert not offences(group, Decent().assign(group), WHOLE)
