"""OffsetCommit: who may commit what, and what is answered otherwise."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.types import TopicPartition
from kgroup.wire.messages import HeartbeatRequest, OffsetCommitRequest
from tests.testing.broker.committing import NEW, OLD, Cluster, Membership
from tests.testing.broker.offset_rows import offsets_of

UNKNOWN_MEMBER = ErrorCode.UNKNOWN_MEMBER_ID
ILLEGAL_GENERATION = ErrorCode.ILLEGAL_GENERATION
GHOST = "ghost"


def committed(cluster: Cluster, group_id: str = "g") -> dict[TopicPartition, int]:
    offsets = cluster.shard(group_id).offsets.of(group_id)
    return {partition: commit.offset for partition, commit in offsets.items()}


# -- groups that do not exist ----------------------------------------------------------------------


@pytest.mark.parametrize("version", OffsetCommitRequest.VERSIONS)
def test_a_commit_without_membership_makes_a_simple_group(version: int) -> None:
    cluster = Cluster()
    assert cluster.commit({("t", 0): 7}, version=version) == {("t", 0): 0}
    assert committed(cluster) == {("t", 0): 7}
    described = cluster.describe()
    assert (described.group_state, described.protocol_type) == ("Empty", "")


def test_a_commit_without_generation_is_accepted_with_any_member_id() -> None:
    assert Cluster().code(Membership(GHOST)) == 0


@pytest.mark.parametrize("version", [2, 5, 8])
def test_a_generation_in_no_group_is_illegal_before_version_9(version: int) -> None:
    assert Cluster().code(Membership("x", 1), version=version) == ILLEGAL_GENERATION


@pytest.mark.parametrize(
    ("kind", "code"), [(NEW, ErrorCode.GROUP_ID_NOT_FOUND), (OLD, ILLEGAL_GENERATION)]
)
def test_from_version_9_on_new_coordinators_find_no_group_for_a_generation(
    kind: CoordinatorKind, code: ErrorCode
) -> None:
    cluster = Cluster(kind)
    assert cluster.code(Membership("x", 0), version=9) == code
    assert cluster.group() is None


def test_the_empty_group_id_is_a_group_like_any_other() -> None:
    cluster = Cluster()
    assert cluster.code(group_id="") == 0
    assert cluster.offset(group_id="") == 5
    assert cluster.code(Membership("x", 1), group_id="") == UNKNOWN_MEMBER


# -- who commits -----------------------------------------------------------------------------------


def test_a_member_of_a_stable_group_commits() -> None:
    cluster = Cluster()
    assert cluster.code(cluster.stable()) == 0
    assert cluster.offset() == 5


@pytest.mark.parametrize("phase", ["Stable", "CompletingRebalance", "PreparingRebalance"])
def test_with_members_instance_comes_before_member_before_generation(phase: str) -> None:
    cluster = Cluster()
    member = in_phase(cluster, phase)
    generation = member.generation_id
    own = member.member_id
    assert cluster.describe().group_state == phase
    assert cluster.code(Membership(own, generation + 1)) == ILLEGAL_GENERATION
    assert cluster.code(Membership(own, generation - 1)) == ILLEGAL_GENERATION
    assert cluster.code(Membership(own)) == ILLEGAL_GENERATION
    assert cluster.code(Membership(GHOST, generation)) == UNKNOWN_MEMBER
    assert cluster.code(Membership(GHOST, 99)) == UNKNOWN_MEMBER
    assert cluster.code(Membership("", generation)) == UNKNOWN_MEMBER
    assert cluster.code(Membership()) == UNKNOWN_MEMBER
    assert cluster.code(Membership(own, 99, "nobody")) == UNKNOWN_MEMBER


def in_phase(cluster: Cluster, phase: str) -> Membership:
    member = cluster.stable()
    if phase == "Stable":
        return member
    cluster.join("B")
    if phase == "PreparingRebalance":
        return member
    return cluster.membership(cluster.join("A", member_id=member.member_id))


def test_a_fenced_instance_is_told_so_before_its_generation_is_looked_at() -> None:
    cluster = Cluster()
    before = cluster.stable(group_instance_id="i")
    after = cluster.membership(cluster.join(group_instance_id="i"))
    fenced = Membership(before.member_id, 99, "i")
    assert cluster.code(fenced) == ErrorCode.FENCED_INSTANCE_ID
    assert cluster.code(Membership(before.member_id, before.generation_id)) == UNKNOWN_MEMBER
    assert cluster.code(Membership(instance_id="i")) == ErrorCode.FENCED_INSTANCE_ID
    assert cluster.code(after) == 0


def test_members_commit_while_a_round_is_being_prepared() -> None:
    cluster = Cluster()
    assert cluster.code(in_phase(cluster, "PreparingRebalance")) == 0


def test_a_newcomer_commits_with_the_group_s_generation_before_its_first() -> None:
    cluster = Cluster()
    generation = in_phase(cluster, "PreparingRebalance").generation_id
    newcomer = next(each for each in present(cluster) if each.startswith("B-"))
    assert cluster.code(Membership(newcomer, generation)) == 0


def present(cluster: Cluster) -> list[str]:
    group = cluster.group()
    assert group is not None
    return [*group.members]


def test_a_right_commit_is_a_rebalance_while_the_leader_is_awaited() -> None:
    cluster = Cluster()
    member = in_phase(cluster, "CompletingRebalance")
    assert cluster.code(member) == ErrorCode.REBALANCE_IN_PROGRESS
    assert cluster.offset() == -1


def test_during_the_initial_delay_a_member_commits_in_generation_0() -> None:
    cluster = Cluster(settings=BrokerSettings(min_session_timeout=1.0, initial_rebalance_delay=3.0))
    cluster.join()
    (member_id,) = present(cluster)
    assert cluster.code(Membership(member_id, 0)) == 0


def test_an_empty_group_takes_commits_without_generation_only() -> None:
    cluster = Cluster()
    member = cluster.stable()
    cluster.leave(member)
    generation = member.generation_id
    assert cluster.describe().group_state == "Empty"
    assert cluster.code(member) == UNKNOWN_MEMBER
    assert cluster.code(Membership(member.member_id, generation + 1)) == UNKNOWN_MEMBER
    assert cluster.code(Membership("", generation)) == UNKNOWN_MEMBER
    assert cluster.code(Membership(member.member_id)) == 0
    assert cluster.code() == 0


def test_a_pending_id_is_no_member() -> None:
    cluster = Cluster()
    pending = cluster.ask_to_join().now.member_id
    assert cluster.describe().group_state == "Empty"
    assert cluster.code(Membership(pending, 0)) == UNKNOWN_MEMBER


# -- sessions --------------------------------------------------------------------------------------


def alive(cluster: Cluster, member: Membership) -> bool:
    request = HeartbeatRequest(
        group_id="g", generation_id=member.generation_id, member_id=member.member_id
    )
    return cluster.raw.ask(cluster.home(), request).now.error_code == 0


def test_an_accepted_commit_renews_the_session() -> None:
    cluster = Cluster()
    member = cluster.stable(session=2.0)
    for _ in range(3):
        cluster.raw.run(1.5)
        assert cluster.code(member) == 0
    assert alive(cluster, member)


def test_a_commit_during_a_round_renews_the_session_too() -> None:
    cluster = Cluster()
    member = cluster.stable(session=2.0)
    cluster.join("B")
    cluster.raw.run(1.5)
    assert cluster.code(member) == 0
    cluster.raw.run(1.0)
    assert member.member_id in present(cluster)


@pytest.mark.parametrize("fault", ["generation", "topic"])
def test_a_refused_commit_renews_nothing(fault: str) -> None:
    cluster = Cluster()
    member = cluster.stable(session=2.0)
    cluster.raw.run(1.5)
    if fault == "topic":
        assert cluster.commit({("none", 0): 1}, member) == {("none", 0): 3}
    else:
        assert cluster.code(Membership(member.member_id, 99)) == ILLEGAL_GENERATION
    cluster.raw.run(1.0)
    assert not alive(cluster, member)


# -- what is committed -----------------------------------------------------------------------------


def test_offsets_go_back_and_below_zero() -> None:
    cluster = Cluster()
    for offset in (100, 50, -1, -5):
        assert cluster.commit({("t", 0): offset}) == {("t", 0): 0}
        assert cluster.offset() == offset


def test_null_metadata_reads_back_as_empty_and_an_unknown_epoch_as_minus_one() -> None:
    cluster = Cluster()
    cluster.commit({("t", 0): 1}, metadata=None)
    cluster.commit({("t", 1): 1}, leader_epoch=7, metadata="text")
    rows = {
        each.partition_index: (each.metadata, each.committed_leader_epoch)
        for each in cluster.fetch(("t", 0), ("t", 1)).groups[0].topics[0].partitions
    }
    assert rows == {0: ("", -1), 1: ("text", 7)}
    offsets = cluster.shard().offsets.of("g")
    assert [commit.leader_epoch for commit in offsets.values()] == [None, 7]


@pytest.mark.parametrize(("text", "code"), [("m" * 4096, 0), ("m" * 4097, 12), ("😀" * 2049, 12)])
def test_metadata_has_a_limit_that_counts_as_java_does(text: str, code: int) -> None:
    cluster = Cluster()
    member = cluster.stable()
    assert cluster.code(member, metadata=text) == code
    assert cluster.offset() == (-1 if code else 5)
    assert cluster.code(Membership(GHOST, 1), metadata=text) == UNKNOWN_MEMBER


def test_unknown_partitions_are_refused_one_by_one_and_listed_first() -> None:
    cluster = Cluster()
    wanted = {("t", 0): 1, ("t", 99): 1, ("none", 0): 1, ("u", 0): 1}
    codes = cluster.commit(wanted)
    assert [*codes.items()] == [
        (("t", 99), 3),
        (("t", 0), 0),
        (("none", 0), 3),
        (("u", 0), 0),
    ]


def test_an_unknown_topic_is_told_to_ghosts_too_and_by_any_broker() -> None:
    cluster = Cluster(nodes=2)
    elsewhere = 3 - cluster.home()
    ghost = Membership(GHOST, 1)
    assert cluster.commit({("none", 0): 1}, ghost) == {("none", 0): 3}
    assert cluster.commit({("none", 0): 1}, ghost, node=elsewhere) == {("none", 0): 3}


def test_topics_are_named_by_id_from_version_10_on() -> None:
    cluster = Cluster()
    assert cluster.commit({("t", 1): 3, ("t", 9): 3}, version=10) == {("t", 9): 3, ("t", 1): 0}
    assert cluster.commit({("none", 0): 3}, version=10) == {("?", 0): ErrorCode.UNKNOWN_TOPIC_ID}
    assert offsets_of(cluster.fetch()) == {("t", 1): (3, 0)}


def test_a_commit_of_nothing_is_answered_with_nothing() -> None:
    assert Cluster().commit({}, Membership(GHOST, 99)) == {}


# -- places ----------------------------------------------------------------------------------------


def test_a_broker_that_has_not_the_group_is_no_coordinator() -> None:
    cluster = Cluster(nodes=2)
    assert cluster.code(node=3 - cluster.home()) == ErrorCode.NOT_COORDINATOR


def test_while_loading_commits_are_refused_and_afterwards_offsets_are_there() -> None:
    settings = BrokerSettings(min_session_timeout=1.0, load_time=2.0)
    cluster = Cluster(nodes=2, settings=settings)
    cluster.raw.run(2.0)
    member = cluster.stable()
    cluster.commit({("t", 0): 11}, member)
    cluster.move(3 - cluster.home())
    assert cluster.code(member) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    cluster.raw.run(2.0)
    assert cluster.offset() == 11
    assert cluster.code(member) == 0


def test_a_simple_group_is_there_after_a_move() -> None:
    cluster = Cluster(nodes=2)
    cluster.commit({("t", 0): 11})
    cluster.move(3 - cluster.home())
    assert cluster.describe().group_state == "Empty"
    assert cluster.offset() == 11
