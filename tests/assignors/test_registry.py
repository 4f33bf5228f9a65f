"""Names, instances, and the protocol that several assignors have in common."""

from itertools import product

import pytest

from kgroup.assignors import (
    BUILT_IN,
    GroupAssignment,
    RangeAssignor,
    RebalanceProtocol,
    common_protocol,
    resolve,
)
from kgroup.assignors.registry import FoundAssignor
from kgroup.errors import ConfigError

EAGER, COOPERATIVE = RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE


class Named:
    """An assignor of any name and protocols, which gives nothing."""

    def __init__(self, name, *protocols):
        self.name = name
        self.supported_protocols = protocols or (EAGER,)

    def assign(self, group):
        return GroupAssignment({})


class Waiting(Named):
    async def assign(self, group):
        return GroupAssignment({})


ZONE = Named("zone")
INSTALLED = (FoundAssignor("zone", "kgroup-zone 1.2", ZONE), FoundAssignor("near", "near 3.0"))


def test_names_and_instances_resolve_in_the_order_of_preference():
    mine = Named("mine")
    assert resolve(["cooperative-sticky", mine, "zone"], INSTALLED) == (
        BUILT_IN["cooperative-sticky"],
        mine,
        ZONE,
    )


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (["stiky"], r"'roundrobin' \(built in\), 'sticky' \(built in\), 'zone' .*did you mean 'st"),
        ([], "a list of 'cooperative-sticky'"),
        ("range", "a list of"),
        ([Named], r"but it is a class; give an instance, Named\(\)"),
        ([object()], r"but it has no name and no supported_protocols and no assign\(group\)"),
        ([Named("")], "but it has the name ''"),
        ([Named("a\ud800")], "but it has the name"),
        ([Named("x" * 40_000)], "it takes a string of 1 to 32767 bytes"),
        ([Named("zone", "eager")], "it takes a tuple of RebalanceProtocol"),
        ([Waiting("zone")], "but it has an async assign; it takes plain functions"),
    ],
)
def test_a_choice_that_cannot_be_used_is_refused_with_the_reason(chosen, message):
    with pytest.raises(ConfigError, match=message):
        resolve(chosen, INSTALLED)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (["range", "range"], r"range \(built in\) and range \(built in\)"),
        (["zone", Named("zone")], r"zone \(kgroup-zone 1.2\) and <.*Named object"),
        ([Named("zone"), Named("zone")], "<.*Named object .* and <.*Named object"),
    ],
)
def test_two_choices_of_one_name_are_refused_with_both(chosen, message):
    with pytest.raises(ConfigError, match=f"each name only once, but it is {message}"):
        resolve(chosen, INSTALLED)


def test_an_instance_may_stand_in_for_a_built_in_assignor():
    mine = RangeAssignor()
    assert resolve([mine, "sticky"]) == (mine, BUILT_IN["sticky"])


def test_the_built_in_assignors_cannot_be_changed():
    with pytest.raises(TypeError):
        BUILT_IN["range"] = ZONE  # type: ignore[index]  # what is being tested


# -- the negotiated protocol

SETS = [(EAGER,), (COOPERATIVE,), (EAGER, COOPERATIVE), (COOPERATIVE, EAGER)]


def javas_rule(supported):
    """Return the highest id of those that all support, None for a refusal.

    This is what ConsumerCoordinator's constructor does: retainAll over the assignors, sort, last.
    """
    common = [p for p in supported[0] if all(p in each for each in supported)]
    ids = {EAGER: 0, COOPERATIVE: 1}
    return max(common, key=ids.__getitem__, default=None)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_protocol_is_the_one_java_negotiates(count):
    for supported in product(SETS, repeat=count):
        offered = [Named(f"a{n}", *protocols) for n, protocols in enumerate(supported)]
        expected = javas_rule(supported)
        if expected is not None:
            assert common_protocol(offered) is expected, supported
            continue
        with pytest.raises(ConfigError, match="a rebalance protocol in common"):
            common_protocol(offered)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["cooperative-sticky"], COOPERATIVE),
        (["cooperative-sticky", "range"], EAGER),
        (["range", "cooperative-sticky"], EAGER),
        (["sticky"], EAGER),
        (["range"], EAGER),
        (["roundrobin", "sticky"], EAGER),
    ],
)
def test_the_built_in_ones_negotiate_as_javas_do(names, expected):
    assert common_protocol(resolve(names)) is expected


def test_without_assignors_there_is_no_protocol():
    with pytest.raises(ConfigError, match="at least one"):
        common_protocol([])
