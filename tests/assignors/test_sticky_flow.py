"""The flow of least cost and the pouring, each against a plain way to do the same."""

from heapq import heapify, heapreplace
from random import Random
from sys import maxsize

import networkx as nx
import pytest

from kgroup.assignors.sticky_flow import Flow
from kgroup.assignors.sticky_shares import pour


def drawn(seed):
    """A network of ten nodes: (tail, head, room, cost) of its arcs, and the excess of its nodes."""
    random = Random(seed)
    arcs = [
        (tail, head, random.randint(0, 4), random.choice((0, 0, 1, 1, 5, 20)))
        for tail in range(10)
        for head in range(10)
        if tail != head and random.random() < 0.5
    ]
    excess = [random.randint(-4, 4) for _ in range(9)]
    return arcs, [*excess, -sum(excess)]


def least(arcs, excess):
    """The least cost by network simplex, None if something has no way."""
    graph = nx.DiGraph()
    for node, left in enumerate(excess):
        graph.add_node(node, demand=-left)
    for tail, head, room, cost in arcs:
        graph.add_edge(tail, head, capacity=room, weight=cost)
    try:
        return nx.network_simplex(graph)[0]
    except nx.NetworkXUnfeasible:
        return None


def routed(arcs, excess, limit=maxsize):
    """Route; return the flow and what its arcs carry."""
    flow = Flow(len(excess))
    flow.excess[:] = excess
    joined = [flow.join(t, h, room=room, cost=cost) for t, h, room, cost in arcs]
    flow.route(limit)
    return flow, [flow.sent(arc) for arc in joined]


def check_flow(arcs, excess, flow, carried):
    left = list(excess)
    for (tail, head, room, _), amount in zip(arcs, carried, strict=True):
        assert 0 <= amount <= room
        left[tail] -= amount
        left[head] += amount
    assert left == flow.excess


def test_a_flow_costs_what_network_simplex_says():
    possible = 0
    for seed in range(150):
        arcs, excess = drawn(seed)
        flow, carried = routed(arcs, excess)
        check_flow(arcs, excess, flow, carried)
        best = least(arcs, excess)
        assert (best is None) == any(flow.excess)
        if best is not None:
            possible += 1
            assert sum(n * arc[3] for n, arc in zip(carried, arcs, strict=True)) == best
    assert possible > 30


def test_a_flow_that_forgets_costs_is_complete_all_the_same():
    for seed in range(50):
        arcs, excess = drawn(seed)
        flow, carried = routed(arcs, excess, limit=-1)
        check_flow(arcs, excess, flow, carried)
        assert (least(arcs, excess) is None) == any(flow.excess)


def test_nodes_without_a_way_are_not_reached():
    flow = Flow(4)
    flow.excess[:] = [2, 0, 3, -2]
    flow.join(0, 1)
    flow.join(1, 3)
    flow.route(maxsize)
    assert flow.excess == [0, 0, 3, 0]
    flow.excess[3] = -1
    flow.route(maxsize)
    assert flow.reached == [True, True, False, True]


@pytest.mark.parametrize("widths", [None, (1, 2, 3, 1)], ids=["narrow", "wide"])
def test_pouring_fills_the_lowest_first(widths):
    random = Random(1)
    for _ in range(300):
        loads = [random.randint(-5, 9) for _ in range(4)]
        amount = random.randint(0, 25)
        parts = pour(amount, loads, widths)
        wide = widths or (1, 1, 1, 1)
        heap = [(load // each, at) for at, (load, each) in enumerate(zip(loads, wide, strict=True))]
        heapify(heap)
        full = list(loads)
        for _ in range(amount):  # one by one, to the lowest
            at = heap[0][1]
            full[at] += 1
            heapreplace(heap, (full[at] // wide[at], at))
        floors = sorted(load // each for load, each in zip(full, wide, strict=True))
        ours = [load + part for load, part in zip(loads, parts, strict=True)]
        assert sum(parts) == amount
        assert min(parts) >= 0
        assert sorted(load // each for load, each in zip(ours, wide, strict=True)) == floors
