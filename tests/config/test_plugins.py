"""Assignors that other distributions install, from what Python finds on its path."""

import sys

import pytest

from kgroup.assignors import BUILT_IN, RebalanceProtocol
from kgroup.config import ConsumerConfig
from kgroup.config.plugins import found_assignors
from kgroup.errors import ConfigError
from tests.config.distributions import ASSIGNOR, distributions

__all__ = ["distributions"]


def refusal(*chosen):
    with pytest.raises(ConfigError) as raised:
        ConsumerConfig(assignors=chosen)
    return str(raised.value)


def chosen(*names):
    return ConsumerConfig(assignors=names, group_id="g").membership().assignors


def found(name):
    return [each for each in found_assignors() if each.name == name]


def test_an_installed_assignor_is_chosen_by_its_name(distributions):
    distributions.install("kgroup-zone", "1.2", "zone")
    (zone,) = chosen("zone")
    assert zone.name == "zone"
    (listed,) = found("zone")
    assert (listed.origin, listed.problem) == ("kgroup-zone 1.2", None)
    assert listed.protocols == (RebalanceProtocol.EAGER,)


@pytest.mark.parametrize(
    "code",
    [
        ASSIGNOR.format(class_name="Class", name="zone") + "Given = Class()\n",
        ASSIGNOR.format(class_name="Class", name="zone") + "def Given():\n    return Class()\n",
        """
class Given:
    name = "zone"
    def assign(self, cluster, members): ...
    def metadata(self, topics): ...
    def on_assignment(self, assignment): ...
""",
    ],
    ids=["instance", "function", "an aiokafka class"],
)
def test_an_entry_point_may_name_an_instance_a_function_or_another_clients_class(
    distributions, code
):
    distributions.install("kgroup-zone", "1.2", "zone", code=code)
    assert [each.name for each in chosen("zone")] == ["zone"]


def test_the_built_in_assignors_are_found_first():
    listed = found_assignors()[: len(BUILT_IN)]
    assert {(each.name, each.origin, each.problem) for each in listed} == {
        (name, "built in", None) for name in BUILT_IN
    }
    assert [each.assignor for each in listed] == list(BUILT_IN.values())


def test_an_unknown_name_is_refused_with_all_that_were_found_and_the_nearest(distributions):
    distributions.install("kgroup-zone", "1.2", "zone")
    message = refusal("zones")
    assert "got 'zones'" in message
    assert "'range' (built in), 'roundrobin' (built in), 'sticky' (built in)" in message
    assert "'zone' (kgroup-zone 1.2)" in message
    assert message.endswith("did you mean 'zone'?")


def test_a_name_of_two_distributions_is_refused_with_both(distributions):
    distributions.install("kgroup-zone", "1.2", "zone")
    distributions.install("other-zone", "0.3", "zone")
    message = refusal("zone")
    assert "zone (kgroup-zone 1.2) and zone (other-zone 0.3)" in message
    assert "uninstall one of them, or give an instance" in message
    problems = {each.origin: each.problem for each in found("zone")}
    assert problems["kgroup-zone 1.2"] == "has a name that is also taken by: other-zone 0.3"
    assert problems["other-zone 0.3"] == "has a name that is also taken by: kgroup-zone 1.2"


def test_a_plug_in_with_a_built_in_name_is_refused_with_both(distributions):
    distributions.install("eager-beaver", "6.6", "range")
    message = refusal("range", "sticky")
    assert "range (built in) and range (eager-beaver 6.6)" in message
    assert chosen("sticky") == (BUILT_IN["sticky"],)
    assert [each.problem is None for each in found("range")] == [False, False]


BROKEN = {
    "that raises": ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
    "that needs something": ("import kgroup_that_is_not_there", "ModuleNotFoundError: No module"),
    "without the object": ("", "AttributeError: module 'broken' has no attribute 'Given'"),
    "that cannot be made": (
        "class Given:\n    def __init__(self, size): ...",
        "TypeError: Given.__init__() missing 1 required positional argument: 'size'",
    ),
    "that is something else": ("Given = object()", "has no name and no supported_protocols"),
    "that has half of it": (
        "class Given:\n    name = 'broken'\n    def assign(self, group): ...",
        "what broken:Given gives has no supported_protocols",
    ),
    "with words for protocols": (
        ASSIGNOR.format(class_name="Given", name="broken").replace("RebalanceProtocol.EAGER", "5"),
        "it takes a tuple of RebalanceProtocol",
    ),
    "with another name": (
        ASSIGNOR.format(class_name="Given", name="brokn"),
        "calls itself 'brokn', and its entry point 'broken'",
    ),
    "with no name": (
        ASSIGNOR.format(class_name="Given", name=""),
        "has the name ''; it takes a string",
    ),
    "with an assign that is none": (
        ASSIGNOR.format(class_name="Given", name="broken") + "    assign = 5\n",
        "has an assign that cannot be called",
    ),
}


@pytest.mark.parametrize(("code", "problem"), BROKEN.values(), ids=BROKEN)
def test_a_broken_plug_in_fails_only_a_caller_that_asks_for_it(distributions, code, problem):
    distributions.install("broken", "0.1", "broken", code=code)
    distributions.install("kgroup-zone", "1.2", "zone")
    message = refusal("zone", "broken")
    assert "got 'broken', expected a plug-in that works, but that of broken 0.1 " in message
    assert problem in message
    assert [each.name for each in chosen("zone", "range")] == ["zone", "range"]
    (listed,) = found("broken")
    assert listed.assignor is None
    assert listed.protocols == ()
    assert problem in (listed.problem or "")
    assert problem in refusal("unheard-of")


def test_a_plug_in_with_a_built_in_name_fails_no_consumer_that_names_others(distributions):
    distributions.install("kgroup-near", "1.0", "range")
    assert ConsumerConfig.of({"assignors": ["sticky"]}).assignors == ("sticky",)
    with pytest.raises(ConfigError, match="a name of one assignor"):
        ConsumerConfig.of({})  # by default it asks for `range`


def test_a_plug_in_nobody_asks_for_is_not_imported(distributions):
    distributions.install("kgroup-zone", "1.2", "zone")
    chosen("range")
    assert "kgroup_zone" not in sys.modules
    chosen("zone")
    assert "kgroup_zone" in sys.modules


@pytest.mark.parametrize("odd", [b"/folder", None, 7.5, [], "a\0b", "\ud800"], ids=ascii)
def test_a_search_path_with_something_odd_on_it_fails_nobody(distributions, monkeypatch, odd):
    """What is found before it can be imported; `importlib.metadata` fails at the whole path."""
    distributions.install("kgroup-zone", "1.2", "zone")
    monkeypatch.setattr(sys, "path", [*sys.path, odd])
    (zone,) = chosen("zone")
    assert zone.name == "zone"
    (listed,) = found("zone")
    assert (listed.origin, listed.problem) == ("kgroup-zone 1.2", None)
