import pytest

from kgroup.audit.oracles import Balanced
from kgroup.codes import ApiKey
from kgroup.journal import MemberStopped, RoundFailed
from kgroup.types import TopicPartition
from tests.audit.oracles.logs import T0, T1, T2, Log, given
from tests.search.oracles.rounds import RoundRules

THREE = {"t": 3}
COOPERATIVE = "cooperative-sticky"


def rules(log: Log) -> list[str]:
    return log.rules(RoundRules(THREE))


def failed(generation: int) -> RoundFailed:
    return RoundFailed(
        generation_id=generation, protocol_name="range", reason="it raised", retry_after=1.0
    )


def test_s10_a_round_that_gives_every_partition_once_is_fine():
    log = Log()
    log.round([given("a", T0, T1), given("b", T2)])
    assert rules(log) == []


def test_s10_a_partition_given_twice_is_found():
    log = Log()
    log.round([given("a", T0, T1), given("b", T1, T2)])
    assert rules(log) == ["S10"]


def test_s10_a_topic_that_the_member_does_not_subscribe_to_is_found():
    log = Log()
    log.round([given("a", T0, T1, T2), given("b", TopicPartition("u", 0))])
    assert log.rules(RoundRules({"t": 3, "u": 1})) == ["S10"]


def test_s10_a_partition_that_never_existed_is_found():
    log = Log()
    log.round([given("a", T0, T1, T2, TopicPartition("t", 3))])
    assert rules(log) == ["S10"]


def test_s10_a_partition_of_a_topic_that_was_deleted_since_is_no_invention():
    log, partitions = Log(), {"t": 3}
    oracle = RoundRules(partitions)
    log.round([given("a", T0, T1, T2)])
    partitions.clear()
    assert log.rules(oracle) == []


def test_s10_a_partition_of_a_topic_that_grew_and_was_deleted_between_rounds_is_no_invention():
    log, partitions = Log(), {"t": 2}
    oracle = RoundRules(partitions)
    partitions["t"] = 3
    log.fault("ADD_PARTITIONS")
    assert log.rules(oracle) == []
    partitions.clear()
    log.fault("DELETE_TOPIC")
    log.round([given("a", T0, T1, T2)])
    assert log.rules(oracle) == []
    log.round([given("a", T0, T1, T2, TopicPartition("t", 3))])
    assert log.rules(oracle) == ["S10"]


def test_s10_without_counts_nothing_is_said_about_what_exists():
    log = Log()
    log.round([given("a", TopicPartition("t", 99))])
    assert log.rules(RoundRules()) == []


def test_s10_a_leader_that_could_not_assign_but_sends_an_assignment_is_found():
    log = Log()
    log.write(failed(4))
    log.sent(ApiKey.SYNC_GROUP, generation=4, assignments=2)
    assert rules(log) == ["S10"]


def test_s10_a_leader_that_joins_again_after_it_failed_is_fine():
    log = Log()
    log.write(failed(4))
    log.sent(ApiKey.HEARTBEAT, generation=4)
    log.issue()
    log.sent(ApiKey.SYNC_GROUP, generation=5, assignments=2)
    assert rules(log) == []


def test_s1_an_eager_round_that_leaves_a_partition_out_is_found():
    log = Log()
    log.round([given("a", T0), given("b", T1)])
    assert rules(log) == ["S1"]


def test_s1_a_cooperative_round_may_hold_a_partition_back():
    log = Log()
    log.round([given("a", T0, owned=(T0,)), given("b", T1)], COOPERATIVE)
    assert rules(log) == []


def test_s1_partitions_that_were_added_later_may_be_left_out():
    log, partitions = Log(), {"t": 2}
    oracle = RoundRules(partitions)
    partitions["t"] = 3
    log.round([given("a", T0, T1)])
    assert log.rules(oracle) == []


def test_s5_a_partition_that_its_owner_keeps_is_fine():
    log = Log()
    members = [
        given("a", T0, owned=(T0, T1), generation=3),
        given("b", T2, owned=(T2,), generation=3),
    ]
    log.round(members, COOPERATIVE)
    assert rules(log) == []


def test_s5_a_partition_added_while_another_owns_it_is_found():
    log = Log()
    members = [given("a", T0, owned=(T0, T1), generation=3), given("b", T1, T2)]
    log.round(members, COOPERATIVE)
    assert rules(log) == ["S5"]


def test_s5_a_claim_of_an_older_generation_holds_nothing_back():
    log = Log()
    members = [
        given("a", T0, owned=(T0, T1), generation=2),
        given("b", T1, T2, owned=(T2,), generation=3),
    ]
    log.round(members, COOPERATIVE)
    assert rules(log) == []


def test_s5_an_eager_round_may_move_anything():
    log = Log()
    log.round([given("a", T0, owned=(T0, T1), generation=3), given("b", T1, T2)], "range")
    assert rules(log) == []


U0, U1, U2 = (TopicPartition("u", number) for number in range(3))
BOTH = ("t", "u")

EVEN = [
    ("range", [given("a", T0, T1, U0, U1, topics=BOTH), given("b", T2, U2, topics=BOTH)]),
    ("roundrobin", [given("a", T0, T2), given("b", T1)]),
    ("roundrobin", [given("a", T0, T1, T2), given("b", U0, topics=("u",))]),
    ("sticky", [given("a", T0, T1, T2), given("b", U0, topics=("u",))]),
    (COOPERATIVE, [given("a", T0, T1), given("b", T2)]),
    ("an assignor of one's own", [given("a", T0, T1, T2), given("b")]),
]

UNEVEN = [
    ("range", [given("a", T0, T1, T2), given("b")]),
    ("roundrobin", [given("a", T0, T1, T2), given("b")]),
    ("sticky", [given("a", T0, T1, T2), given("b", U0, topics=BOTH)]),
    (COOPERATIVE, [given("a", T0, T1), given("b", T2), given("c", topics=("u",)), given("d")]),
]


@pytest.mark.parametrize(("protocol", "members"), EVEN)
def test_k3_what_an_assignor_calls_balanced_is_fine(protocol, members):
    log = Log()
    log.round(members, protocol)
    assert log.rules(Balanced()) == []


@pytest.mark.parametrize(("protocol", "members"), UNEVEN)
def test_k3_what_an_assignor_does_not_call_balanced_is_found(protocol, members):
    log = Log()
    log.round(members, protocol)
    assert set(log.rules(Balanced())) == {"K3"}


def test_k3_only_the_last_round_counts():
    log = Log()
    log.round([given("a", T0, T1, T2), given("b")], "sticky")
    log.round([given("a", T0, T1), given("b", T2)], "sticky", 2)
    assert log.rules(Balanced()) == []


def test_k3_a_group_that_has_not_come_to_rest_is_not_judged():
    log = Log()
    log.round([given("a", T0, T1, T2), given("b")], "sticky")
    assert log.rules(Balanced(5.0, ends_at=log.now + 4.0)) == []
    assert log.rules(Balanced(5.0, ends_at=log.now + 6.0)) == ["K3"]


def test_k3_a_group_that_nobody_is_left_of_never_came_to_rest():
    # 1. a cooperative round takes partitions away; 2. everybody dies or closes before the next.
    for survivor, expected in ((False, []), (True, ["K3"])):
        log = Log()
        log.start(member="a")
        log.start(member="b")
        log.round([given("a", T0, T1), given("b")], COOPERATIVE)
        log.fault("KILL", "a")
        if not survivor:
            log.write(MemberStopped("closed"), member="b")
        assert log.rules(Balanced()) == expected


def test_k3_without_subscriptions_nothing_is_judged():
    log = Log()
    log.round([given("a", T0, T1, T2, topics=()), given("b")], "sticky")
    assert log.rules(Balanced()) == []
