"""Logs of the original library: its own rule gives its states, and ours differs where it says so.

The rule of the original is that of `go_rule`; ours that of `kgroup.marshal`, which asks no clock.
"""

import pytest

from kgroup.marshal.key_state import Key, KeyState
from kgroup.marshal.rules import WorldRules
from kgroup.marshal.world import World
from tests.marshal.go_rule import GoClaim, GoWorld
from tests.marshal.golden import SCENARIOS, LogRecord, Scenario, View

OTHER = {
    ("s05_garbled", 4): "an offset below 0 is not believed",
    ("s07_rules", 1): "a heartbeat of somebody who is not the owner, under the owner's epoch",
    ("s07_rules", 2): "a heartbeat under an epoch that its release has closed",
    ("s07_rules", 3): "a heartbeat is as old as the log says, not as its sender says",
    ("s07_rules", 4): "likewise: the key is not free for the claim that follows",
    ("s07_rules", 5): "likewise; the original's live and late readers do not agree either",
    ("s07_rules", 6): "a sender's clock that is ahead does not make its heartbeat stale",
    ("s07_rules", 7): "likewise, of a claim",
    ("s07_rules", 11): "a heartbeat is as old as the log says, not as its sender says",
}
"""(scenario, partition) -> why we conclude something else."""

BEHIND = 100
"""Offsets by which all but claims are moved on: the headers that were recorded name a claim at
offset 42, above any that the log has, and below what names it."""


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_originals_rule_gives_the_originals_states(name: str) -> None:
    scenario = Scenario.read(name)
    for view in scenario.views:
        world = GoWorld()
        for record in scenario.seen(view):
            world.apply(record.value, view.clock(record))
        for claim in view.claims:
            key = (claim["of_group"].encode(), claim["topic"].encode(), claim["partition"])
            assert _go(world.claims.get(key, GoClaim()), view) == _recorded(claim), (view, key)


@pytest.mark.parametrize("name", SCENARIOS)
def test_our_rules_differ_from_it_in_named_keys_only(name: str) -> None:
    scenario = Scenario.read(name)
    differing: set[tuple[str, int]] = set()
    for view in scenario.views:
        world = World(WorldRules(append_time=scenario.append_time, complete=True))
        for record in scenario.seen(view):
            at = record.offset if _claims(record) else record.offset + BEHIND
            world.apply(at, record.timestamp, record.value, record.headers)
        for claim in view.claims:
            key = Key(claim["of_group"].encode(), claim["topic"].encode(), claim["partition"])
            if _ours(world.keys.get(key, KeyState()), view) != _essence(claim):
                differing.add((name, key.partition))
    assert differing == {key for key in OTHER if key[0] == name}


def _claims(record: LogRecord) -> bool:
    return (record.value or b"").startswith(b"ClaimingPartition/")


def _text(word: bytes) -> str:
    return word.decode(errors="replace")


def _go(claim: GoClaim, view: View) -> dict[str, object]:
    return {
        "instance": _text(claim.instance),
        "client": _text(claim.client),
        "group": _text(claim.group),
        "last_heartbeat": claim.last_heartbeat,
        "last_release": claim.last_release,
        "current_offset": claim.current_offset,
        "claimed": claim.claimed(view.now),
    }


def _recorded(claim: dict[str, object]) -> dict[str, object]:
    key = ("of_group", "topic", "partition")
    return {name: value for name, value in claim.items() if name not in key}


def _ours(state: KeyState, view: View) -> tuple[object, ...]:
    owner = _text(state.instance_id), _text(state.client_id)
    return (*owner, max(state.offset, 0), state.owned_at(view.now * 1000))


def _essence(claim: dict[str, object]) -> tuple[object, ...]:
    return tuple(claim[name] for name in ("instance", "client", "current_offset", "claimed"))
