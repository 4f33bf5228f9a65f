"""Who had what, and what a rebalance changed, beside a reckoning by brute force."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.spark.coordination.schema import Row
from kgroup.wire.offsets_log import GroupKey, RecordType
from tests.spark.coordinator import Log, Rows, chosen, groups_of, recorded, silver_of

Assigned = Mapping[str, tuple[tuple[str, int], ...]]
MEMBERS = ("a", "b", "c")
PLACES = [("t", 0), ("t", 1), ("u", 0)]


@st.composite
def rounds(draw: st.DrawFn) -> list[tuple[int, Assigned] | None]:
    """Draw what a group did: generations, and now and then the end of the group."""
    found: list[tuple[int, Assigned] | None] = []
    number = 0
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.integers(0, 7)) == 0:
            found.append(None)
            number = 0
            continue
        number += draw(st.integers(1, 3))
        present = draw(st.sets(st.sampled_from(MEMBERS)))
        owners = [draw(st.sampled_from([*sorted(present), None])) for _ in PLACES]
        assigned = {
            member: tuple(place for place, owner in zip(PLACES, owners, strict=True)
                          if owner == member)
            for member in sorted(present)
        }  # fmt: skip
        found.append((number, assigned))
    return found


def played(story: list[tuple[int, Assigned] | None]) -> tuple[Log, Rows]:
    log = Log()
    for each in story:
        if each is None:
            log.say(GroupKey(RecordType.GROUP, "g"), None)
        else:
            log.generation(*each)
    return log, groups_of(silver_of(log.records))


def owner_at(rows: list[Row], place: tuple[str, int], offset: int) -> str | None:
    """Return the owner of a partition right behind a record, by the intervals."""
    found = [
        row["owner"]
        for row in rows
        if (row["topic"], row["partition"]) == place
        and row["from_offset"] <= offset
        and (row["to_offset"] is None or offset < row["to_offset"])
    ]
    assert len(found) < 2, "two owners"
    return found[0] if found else None


@settings(max_examples=150)
@given(rounds())
def test_at_each_record_the_owners_are_those_of_the_generation(
    story: list[tuple[int, Assigned] | None],
) -> None:
    _, gold = played(story)
    for offset, each in enumerate(story):
        owners = {} if each is None else {p: m for m, places in each[1].items() for p in places}
        for place in PLACES:
            assert owner_at(gold["ownership"], place, offset) == owners.get(place)


@settings(max_examples=150)
@given(rounds())
def test_a_partition_without_an_owner_is_unowned_as_long_as_it_is(
    story: list[tuple[int, Assigned] | None],
) -> None:
    _, gold = played(story)
    had: set[tuple[str, int]] = set()
    for offset, each in enumerate(story):
        owned = set() if each is None else {p for places in each[1].values() for p in places}
        had |= owned
        free = {
            (row["topic"], row["partition"])
            for row in gold["unowned"]
            if row["from_offset"] <= offset
            and (row["to_offset"] is None or offset < row["to_offset"])
        }
        assert free == had - owned


@settings(max_examples=150)
@given(rounds())
def test_a_rebalance_counts_what_changed(story: list[tuple[int, Assigned] | None]) -> None:
    _, gold = played(story)
    expected = []
    before: tuple[int, Assigned] | None = None
    for each in story:
        if each is None:
            before = None
            continue
        number, now = each
        was = {} if before is None else before[1]
        owned = {p: m for m, places in now.items() for p in places}
        held = {p: m for m, places in was.items() for p in places}
        if before is not None or now:
            sizes = [len(places) for places in now.values()]
            expected.append(
                {
                    "generation": number,
                    "members": len(now),
                    "joined": len(now.keys() - was.keys()),
                    "left": len(was.keys() - now.keys()),
                    "kept": sum(held.get(p) == m for p, m in owned.items()),
                    "moved": sum(p in held and held[p] != m for p, m in owned.items()),
                    "given": len(owned.keys() - held.keys()),
                    "taken": len(held.keys() - owned.keys()),
                    "spread": max(sizes) - min(sizes) if sizes else 0,
                    "skipped_generations": None if before is None else number - before[0] - 1,
                }
            )
        before = each
    names = list(expected[0]) if expected else []
    assert [{name: row[name] for name in names} for row in gold["rebalance"]] == expected


def test_an_owner_that_keeps_a_partition_has_it_in_one_period() -> None:
    _, gold = played([(1, {"a": (("t", 0),)}), (2, {"a": (("t", 0),), "b": (("t", 1),)}), (3, {})])
    rows = chosen(gold["ownership"], "owner", "epoch", "from_offset", "to_offset", "end_reason")
    assert rows == [("a", 1, 0, 2, "empty"), ("b", 2, 1, 2, "empty")]


def test_why_a_period_ended_is_told() -> None:
    place = ("t", 0)
    story = [
        (1, {"a": (place,), "b": ()}),
        (2, {"a": (), "b": (place,)}),
        (3, {"a": (place,)}),
        (4, {"a": (), "b": ()}),
        (5, {"a": (place,)}),
        None,
    ]
    _, gold = played(story)  # type: ignore[arg-type]
    assert chosen(gold["ownership"], "owner", "end_reason") == [
        ("a", "moved"),
        ("b", "left"),
        ("a", "revoked"),
        ("a", "removed"),
    ]


def test_a_static_member_is_the_same_under_another_id() -> None:
    log = Log()
    place = [("t", 0)]
    log.generation(1, {"m1": place}, instances={"m1": "i"})
    log.generation(1, {"m2": place}, instances={"m2": "i"})
    log.generation(2, {"m2": place, "m3": []}, instances={"m2": "i", "m3": "j"})
    gold = groups_of(silver_of(log.records))
    rows = chosen(gold["ownership"], "owner", "instance", "client", "end_reason")
    assert rows == [("m1", "i", "client-m1", "replaced"), ("m2", "i", "client-m2", None)]
    names = ("generation", "joined", "left", "kept", "leader_changed", "gap_ms")
    assert chosen(gold["rebalance"], *names) == [
        (1, 1, 0, 0, None, 400),
        (2, 1, 0, 1, False, 400),
    ]


def test_another_leader_is_told() -> None:
    _, gold = played([(1, {"a": (), "b": ()}), (2, {"b": ()})])
    assert chosen(gold["rebalance"], "leader_changed") == [(None,), (True,)]


def test_a_group_that_was_made_anew_begins_anew() -> None:
    _, gold = played([(9, {"a": ()}), (1, {"a": ()})])
    assert chosen(gold["rebalance"], "joined", "skipped_generations") == [(1, None), (1, None)]


# -- what real groups did --------------------------------------------------------------------------


def real() -> tuple[Rows, Rows]:
    silver = silver_of(recorded())
    return silver, groups_of(silver)


def of_group(rows: list[Row], group: str) -> list[Row]:
    return [row for row in rows if row["group"] == group]


def test_owners_in_real_groups_are_never_two() -> None:
    silver, gold = real()
    last = max(row["log_offset"] for row in silver["commit_log"]) + 200
    keys = {(row["group"], row["topic"], row["partition"]) for row in gold["ownership"]}
    assert len(keys) > 40
    for group, topic, partition in keys:
        rows = of_group(gold["ownership"], group)
        for offset in range(last):
            owner_at(rows, (topic, partition), offset)


def test_topics_of_kip_848_are_named_by_what_was_committed() -> None:
    _, gold = real()
    rows = of_group(gold["ownership"], "g11-next")
    assert {row["mode"] for row in rows} == {"848"}
    topics = {row["topic"] for row in rows}
    assert "g11.orders" in topics
    # Nobody committed anything of the third topic: its id is all that the log says.
    assert {topic for topic in topics if topic.startswith("<")} <= {"<zEn1gUsEQMCKyxJ9YNjLbg>"}


def test_a_static_member_of_kip_848_that_is_away_has_nothing() -> None:
    _, gold = real()
    rows = [row for row in of_group(gold["ownership"], "g11-next") if row["instance"]]
    assert "away" in {row["end_reason"] for row in rows}
    assert {row["instance"] for row in rows} == {"n-static"}


def test_rebalances_of_kip_848_are_those_of_its_targets() -> None:
    _, gold = real()
    rows = of_group(gold["rebalance"], "g11-next")
    names = ("generation", "members", "joined", "left", "skipped_generations")
    found = chosen(rows, *names)
    assert found[0] == (2, 1, 1, 0, None)
    assert found[1] == (3, 2, 1, 0, 0)
    assert found[2] == (4, 3, 1, 0, 0)
    assert found[3][:4] == (5, 2, 0, 1)


def test_a_group_that_was_upgraded_online_has_periods_of_both_kinds() -> None:
    _, gold = real()
    rows = sorted(of_group(gold["ownership"], "g11-upg"), key=lambda row: int(row["from_offset"]))
    assert [mode for mode, _ in _runs(rows)] == ["classic", "848", "classic"]
    assert all(row["to_ts"] is not None for row in rows)


def _runs(rows: list[Row]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for row in rows:
        if not found or found[-1][0] != row["mode"]:
            found.append((row["mode"], row))
    return found
