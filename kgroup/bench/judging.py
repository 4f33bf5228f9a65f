"""Whether a client did what it was asked to do, before anything is said of its speed (pure).

Decides: what is wrong with sums of records, commits, shares and claims of a group, by what brokers
say where they know it; and that an assignment gives every partition to one member, but for one that
a member still there has to hand back first.
Never: trusts a client's word that it is done, or balanced, or sticky.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kgroup.bench.cells import Cell, Plan, Size
from kgroup.errors import ArgumentError

WARM_UP: Final = {"java": 2000}
"""Commits that go before the measured ones; 200 where nothing is said."""

Given = Mapping[str, Sequence[int]]
"""Member -> numbers of its partitions."""


def warm_up_of(client: str) -> int:
    """Return how many commits go before the measured ones."""
    return WARM_UP.get(client, 200)


def group_size(cell: Cell, plan: Plan) -> Size:
    """Return how large the group of a cell is."""
    return cell.size or Size(plan.members, plan.member_partitions)


def fault(
    cell: Cell,
    plan: Plan,
    sample: dict[str, Any],
    expected: Mapping[str, int],
    *,
    proof: bool,
) -> str:
    """Return what is wrong with what an adapter did, "" when nothing is.

    Args:
        cell: what it was asked to do.
        plan: how much of it.
        sample: its answer; how good an assignment is, is added to it.
        expected: sums of the records it had to read.
        proof: whether it has to have added up everything.
    """
    result = sample["result"]
    if cell.pure and result["compiled"]:
        return "the compiled module is in use in spite of KGROUP_PURE=1"
    match cell.job:
        case "read" | "start":
            seen = (each["seen"] for each in result["passes"])
            return "; ".join(filter(None, (wrong(each, expected, proof=proof) for each in seen)))
        case "commit":
            return _commits(sample, plan.commits, plan.commits + warm_up_of(cell.client))
        case "claim":
            made = len(result["claims_s"])
            return "" if made == plan.claims else f"{made} claims were made, not {plan.claims}"
        case "members" | "scale":
            return _shared(sample["shares"], group_size(cell, plan))
        case "assign":
            return _assigned(sample, group_size(cell, plan))
    return ""


def _commits(sample: Mapping[str, Any], asked: int, end: int) -> str:
    """Return what is wrong with commits, by what the coordinator has stored."""
    found, made, told = sample["committed"], sample["commits"], sample["result"]["commits"]
    if found != end:
        return f"the coordinator has committed {found}, not {end}"
    if made is not None and made < end:
        return f"the coordinator has stored {made} commits, not {end}"
    return "" if told == asked else f"{told} commits were measured, not {asked}"


def _shared(shares: Sequence[Sequence[int]], size: Size) -> str:
    """Return what is wrong with who holds what, by the coordinator's word."""
    held = sorted(partition for share in shares for partition in share)
    if held != [*range(size.partitions)]:
        return f"{len({*held})} partitions are held, not {size.partitions}"
    return "" if len(shares) == size.members else f"{len(shares)} members, not {size.members}"


def _assigned(sample: dict[str, Any], size: Size) -> str:
    result = sample["result"]
    try:
        sample["judged"] = judged(result, size.members, size.partitions)
    except ArgumentError as error:
        return str(error)
    for part in ("first", "again"):
        del result[part]["given"]  # nobody looks at a large group's again
    return ""


def wrong(found: Mapping[str, int | None], expected: Mapping[str, int], *, proof: bool) -> str:
    """Return what is wrong with the sums of a reader, "" when nothing is.

    Args:
        found: its sums, None for what it did not add up.
        expected: those of what was written.
        proof: whether it has to have added up everything.
    """
    must = {"records", "offset_sum", *(expected if proof else ())}
    faults = [
        f"{name} is {found.get(name)}, not {number}"
        for name, number in expected.items()
        if found.get(name) != number and (found.get(name) is not None or name in must)
    ]
    return "; ".join(faults)


def judged(result: Mapping[str, Any], members: int, partitions: int) -> dict[str, int]:
    """Return how good two assignments are: of a new group, and when its last member has left.

    `apart` is how many partitions the largest share of the second has more than the smallest,
    `moved` how many were taken from a member that is still there.

    Args:
        result: of the job `assign`.
        members: of the new group.
        partitions: of its topic.

    Raises:
        ArgumentError: a result is no assignment.
    """
    first, again = result["first"]["given"], result["again"]["given"]
    owners = _owners("first", first, members, partitions, {})
    *_, left = first
    stay = {number: member for number, member in owners.items() if member != left}
    later = _owners("again", again, members - 1, partitions, stay)
    if left in again:
        raise ArgumentError("again", left, "only members that are still there")
    sizes = [len(numbers) for numbers in again.values()]
    moved = sum(later.get(number) != member for number, member in stay.items())
    return {"apart": max(sizes) - min(sizes), "moved": moved}


def _owners(
    name: str, given: Given, members: int, partitions: int, held: Mapping[int, str]
) -> dict[int, str]:
    """Return partition -> member.

    Raises:
        ArgumentError: a partition is given twice, or does not exist, or is given to nobody
            though nobody has to hand it back.
    """
    if len(given) != members:
        raise ArgumentError(name, f"{len(given)} members", f"all {members}")
    owners: dict[int, str] = {}
    for member, numbers in given.items():
        for number in numbers:
            if number in owners or not 0 <= number < partitions:
                raise ArgumentError(name, f"partition {number}", "each partition there is, once")
            owners[number] = member
    for number in range(partitions):
        if number not in owners and number not in held:
            raise ArgumentError(name, f"partition {number} for nobody", "a member for each")
    return owners
