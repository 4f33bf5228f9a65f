"""From counts to partitions: which ones a member keeps, and which ones it takes.

Decides: among partitions that are alike, so that each topic is spread over many members: a member
that gives some up keeps low partition numbers, and members take in turn.
Never: gives a member more or less of a class than the shares say.
KIPs: 54.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, compress, pairwise

from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.sticky_census import Census
from kgroup.assignors.sticky_shares import Shares, Trade


def deal(
    group: GroupSubscription,
    census: Census,
    owned: Sequence[Sequence[int]],
    shares: Sequence[Shares],
) -> list[list[int]]:
    """Return, per member, its partitions by index, in order.

    Args:
        group: the group of the partitions.
        census: what is alike.
        owned: per member, the partitions it owns.
        shares: of all levels.
    """
    kept: dict[int, Mapping[int, int]] = {}
    for each in shares:
        kept.update(each.kept)
    numbers = group.partitions.partition_numbers()
    given = [_keep(census, numbers, mine, kept[member]) for member, mine in enumerate(owned)]
    trades = [trade for each in shares for trade in each.trades]
    for trade, goods in zip(trades, _goods(group, census, given, trades), strict=True):
        hands = _in_turn(goods, list(trade.takers.values()))
        for member, indices in zip(trade.takers, hands, strict=True):
            given[member] += indices
    for indices in given:
        indices.sort()
    return given


def _keep(
    census: Census, numbers: Sequence[int], owned: Sequence[int], kept: Mapping[int, int]
) -> list[int]:
    """Return what a member keeps: of each class its lowest partition numbers."""
    if sum(kept.values()) == len(owned):
        return list(owned)
    class_of, room = census.class_of, dict(kept)
    keeps: list[int] = []
    # indices are in the order of topics, and sorting is stable
    for index in sorted(sorted(owned), key=numbers.__getitem__):
        if room.get(class_of[index]):
            room[class_of[index]] -= 1
            keeps.append(index)
    return keeps


def _goods(
    group: GroupSubscription,
    census: Census,
    given: Sequence[Sequence[int]],
    trades: Sequence[Trade],
) -> list[list[int]]:
    """Return, per trade, the partitions that change hands in it, in order."""
    wanted: list[list[int]] = [[] for _ in census.totals]
    for place, trade in enumerate(trades):
        for number in trade.classes:
            wanted[number].append(place)
    goods: list[list[int]] = [[] for _ in trades]
    for number, indices in enumerate(_free(group, census, given)):
        parts = _in_turn(indices, [trades[place].classes[number] for place in wanted[number]])
        for place, part in zip(wanted[number], parts, strict=True):
            goods[place] += part
    for each in goods:
        each.sort()
    return goods


def _free(
    group: GroupSubscription, census: Census, given: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Return, per class, the partitions that no member has, in order."""
    unowned = bytearray(b"\1") * len(group.partitions)
    for index in chain.from_iterable(given):
        unowned[index] = 0
    free: list[list[int]] = [[] for _ in census.totals]
    class_of = census.class_of
    for index in compress(range(len(unowned)), unowned):
        free[class_of[index]].append(index)
    return free


def _in_turn(goods: Sequence[int], amounts: Sequence[int]) -> list[list[int]]:
    """Deal goods out, one by one in turn, first among those that get most."""
    hands: list[list[int]] = [[] for _ in amounts]
    at = 0
    for most, next_most in pairwise(sorted({0, *amounts}, reverse=True)):
        turn = [hand for hand, amount in enumerate(amounts) if amount >= most]
        block = goods[at : at + (most - next_most) * len(turn)]
        at += len(block)
        for place, hand in enumerate(turn):
            hands[hand] += block[place :: len(turn)]
    return hands
