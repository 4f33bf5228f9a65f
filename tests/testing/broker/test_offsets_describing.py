"""DescribeGroups and ListGroups: what administrators see."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.wire.messages import ListGroupsRequest, ListGroupsResponse
from tests.testing.broker.committing import NEW, OLD, Cluster

KINDS = pytest.mark.parametrize("kind", [NEW, OLD])
NO_OPERATIONS = -(1 << 31)


# -- DescribeGroups --------------------------------------------------------------------------------


def test_from_version_6_on_an_unknown_group_is_an_error() -> None:
    described = Cluster().describe(version=6)
    assert described.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert (described.group_state, described.error_message) == ("Dead", "Group g not found.")


def test_operations_are_shown_when_asked_for() -> None:
    cluster = Cluster()
    cluster.commit()
    operations = cluster.describe(include_authorized_operations=True).authorized_operations
    bits = {bit for bit in range(31) if operations >> bit & 1}
    assert bits == {3, 6, 8, 10, 11}
    assert cluster.describe().authorized_operations == NO_OPERATIONS


def test_only_the_coordinator_describes_and_only_when_it_has_loaded() -> None:
    cluster = Cluster(nodes=2, settings=BrokerSettings(load_time=1.0))
    cluster.raw.run(1.0)
    cluster.commit()
    elsewhere = cluster.describe(node=3 - cluster.home())
    assert elsewhere.error_code == ErrorCode.NOT_COORDINATOR
    assert (elsewhere.group_state, elsewhere.members) == ("", ())
    cluster.move(cluster.home())
    assert cluster.describe().error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


# -- ListGroups ------------------------------------------------------------------------------------


def listed(answer: ListGroupsResponse) -> dict[str, tuple[str, str, str]]:
    return {
        group.group_id: (group.protocol_type, group.group_state, group.group_type)
        for group in answer.groups
    }


def populated(kind: CoordinatorKind = NEW, nodes: int = 1) -> Cluster:
    cluster = Cluster(kind, nodes, BrokerSettings(min_session_timeout=1.0, load_time=1.0))
    cluster.raw.run(1.0)
    cluster.commit(group_id="simple")
    cluster.stable(group_id="stable")
    cluster.leave(cluster.stable(group_id="empty"), group_id="empty")
    return cluster


def ask(
    cluster: Cluster, version: int, node: int = 1, **filters: tuple[str, ...]
) -> ListGroupsResponse:
    return cluster.raw.ask(node, ListGroupsRequest(**filters), version=version).now


@KINDS
@pytest.mark.parametrize("version", ListGroupsRequest.VERSIONS)
def test_all_groups_are_listed(kind: CoordinatorKind, version: int) -> None:
    assert listed(ask(populated(kind), version)) == {
        "simple": ("", "Empty", "classic"),
        "stable": ("consumer", "Stable", "classic"),
        "empty": ("consumer", "Empty", "classic"),
    }


@pytest.mark.parametrize(
    ("states", "groups"),
    [(("Stable",), {"stable"}), (("empty", "DEAD"), {"simple", "empty"}), (("Dead",), set())],
)
def test_a_filter_of_states_has_no_case(states: tuple[str, ...], groups: set[str]) -> None:
    assert set(listed(ask(populated(), 4, states_filter=states))) == groups


@pytest.mark.parametrize(("types", "count"), [(("Classic",), 3), (("consumer",), 0), (("x",), 0)])
def test_a_filter_of_types_has_no_case(types: tuple[str, ...], count: int) -> None:
    assert len(ask(populated(), 5, types_filter=types).groups) == count


def test_a_broker_lists_what_it_coordinates() -> None:
    cluster = populated(nodes=2)
    lists = [set(listed(ask(cluster, 5, node))) for node in (1, 2)]
    for group_id in ("simple", "stable", "empty"):
        assert group_id in lists[cluster.home(group_id) - 1]
    assert not lists[0] & lists[1]


@pytest.mark.parametrize("kind", [NEW, OLD])
def test_while_something_loads_old_coordinators_list_the_rest(kind: CoordinatorKind) -> None:
    cluster = populated(kind)
    cluster.move(1, "stable")
    answer = ask(cluster, 5)
    assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    rest = {each for each in ("simple", "empty") if not cluster.shard(each).loading}
    assert rest
    assert set(listed(answer)) == (rest if kind is OLD else set())
