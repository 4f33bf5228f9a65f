"""Faults that drawn logs and rooms do not show: the tests that are about each find it.

A drawn log never loses its tail, and members take any number of partitions, unless limits are
asked for. So faults of limits, and of messages that name a claim that does not stand before them,
are planted here, one fault in one process, and the named test has to fail in it; a room whose
members have limits shows most faults of limits, too.
"""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.search.mutants.mutant import Change

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FAILED = 1
"""The exit code of a run in which a test has failed: nothing else counts as found."""


class Planted(NamedTuple):
    """One fault, and the test that has to find it.

    Args:
        name: what is wrong, as a sentence.
        module: of kgroup.marshal.
        change: its place.
        test: below `tests/marshal`.
        room: seed of a short storm of members with limits that shows it, None where none does.
    """

    name: str
    module: str
    change: Change
    test: str
    room: int | None = None


_FAR_EPOCH = "test_world.py::test_a_claim_that_does_not_stand_before_is_not_believed"
_DIVIDED = "test_limits.py::test_members_without_a_limit_divide_what_limited_members_leave"

PLANTED = (
    Planted(
        "a claim that does not stand before a message is believed",
        "world",
        Change(" and _names_what_is_to_come(message, peer, offset)", " and False"),
        _FAR_EPOCH,
    ),
    Planted(
        "a message names its own place as its claim, and is believed",
        "world",
        Change("peer.epoch >= offset and not claims", "peer.epoch > offset and not claims"),
        _FAR_EPOCH,
    ),
    Planted(
        "a claim is refused for the epoch it says, though it is under none",
        "world",
        Change("peer.epoch >= offset and not claims", "peer.epoch >= offset"),
        "test_world.py::test_a_claim_is_under_no_epoch_whatever_it_says",
    ),
    Planted(
        "the claim right before a message is not believed",
        "world",
        Change("peer.epoch >= offset and not claims", "peer.epoch >= offset - 1 and not claims"),
        "test_world.py::test_the_claim_right_before_a_message_is_believed",
    ),
    Planted(
        "how much a sign says that its sender takes is not read",
        "presence",
        Change("most = None if peer is None else peer.most", "most = None"),
        "test_limits.py::test_a_member_says_how_much_it_takes_when_it_comes",
        room=1,
    ),
    Planted(
        "what a member leaves is not divided by the others",
        "shares",
        Change("left, sharing = left - limit, sharing - 1", "left = left - limit"),
        _DIVIDED,
        room=1,
    ),
    Planted(
        "a member that takes less is no member",
        "shares",
        Change("left, sharing = left - limit, sharing - 1", "sharing = sharing - 1"),
        _DIVIDED,
    ),
    Planted(
        "a member claims more than it takes",
        "shares",
        Change("highest if most is None else min(highest, most)", "highest"),
        "test_limits.py::test_nobody_should_have_more_than_it_takes",
    ),
    Planted(
        "max_claims is counted for each topic by itself",
        "shares",
        Change("    return max(most - sum(", "    return max(most - 0 * sum("),
        "test_limits.py::test_what_a_member_has_of_one_topic_it_does_not_take_of_another",
        room=1,
    ),
    Planted(
        "a member does not say how much it takes",
        "showing",
        Change("_write(turn, Kind.HEARTBEAT, topic, most)", "_write(turn, Kind.HEARTBEAT, topic)"),
        "test_limits.py::test_a_member_says_how_much_it_takes_when_it_comes",
        room=1,
    ),
    Planted(
        "a sign says how much its sender takes with the next one only",
        "showing",
        Change("        elif limits[topic] != most:\n", "        elif most is NotImplemented:\n"),
        "test_limits.py::test_a_member_that_has_its_most_elsewhere_says_so_within_seconds",
    ),
)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda each: each.name.replace(" ", "-"))
def test_a_planted_rule_is_found_by_the_test_that_is_about_it(
    planted: Planted,
) -> None:
    # What rewrites assertions would load the module past the fault: kgroup brings a plug-in.
    words = ["-qx", "--assert=plain", "-p", "no:cacheprovider", f"tests/marshal/{planted.test}"]
    ran = run_with(planted, f"import pytest\nended = pytest.main({words!r})\n")
    assert ran.returncode == FAILED, ran.stdout + ran.stderr
    assert "AssertionError" in ran.stdout, ran.stdout


@pytest.mark.parametrize(
    "planted",
    [planted for planted in PLANTED if planted.room is not None],
    ids=lambda each: each.name.replace(" ", "-"),
)
def test_a_fault_of_limits_is_found_by_a_room_whose_members_have_them(planted: Planted) -> None:
    words = f"play({planted.room}, brief=True, limited=True).broken"
    ran = run_with(planted, f"from tests.marshal.room.play import play\nended = bool({words})\n")
    assert (ran.returncode, ran.stderr) == (FAILED, ""), ran.stdout + ran.stderr


def run_with(planted: Planted, script: str) -> subprocess.CompletedProcess[str]:
    """Run what leaves its exit code in `ended`, in a process that has the fault."""
    module, change = f"kgroup.marshal.{planted.module}", planted.change
    script = (
        "import sys\n"
        "from tests.search.mutants import patching\n"
        f"patching.install({module!r}, [({change.old!r}, {change.new!r})])\n"
        f"{script}"
        f"assert patching.installed({module!r})\n"
        "sys.exit(ended)\n"
    )
    return subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
