"""Assignors of aiokafka and kafka-python, of both packages' own and of their users."""

import logging
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.assignors import (
    AssignorError,
    GroupSubscription,
    LastAssignment,
    Member,
    RebalanceProtocol,
    UserDataAssignor,
    common_protocol,
    divide,
    resolve,
)
from kgroup.config import ConsumerConfig
from kgroup.errors import ConfigError
from kgroup.wire.user_data import decode_sticky_user_data
from tests.assignors.groups import group, groups, member, tp, tps
from tests.assignors.peers_packages import (
    AiokafkaRange,
    AiokafkaRobin,
    AiokafkaSticky,
    ConsumerProtocolAssignment,
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
    ConsumerProtocolSubscription,
    KafkaCooperative,
    KafkaRange,
    KafkaRobin,
    KafkaSticky,
    OfAiokafka,
    OfKafkaPython,
)

EAGER, COOPERATIVE = RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE

BUILT_IN = [
    AiokafkaRange,
    AiokafkaRobin,
    AiokafkaSticky,
    KafkaRange,
    KafkaRobin,
    KafkaSticky,
    KafkaCooperative,
]
ONE_OF_EACH = pytest.mark.parametrize(
    "peer", BUILT_IN, ids=lambda peer: f"{peer.__module__.partition('.')[0]}.{peer.__name__}"
)


@pytest.fixture(autouse=True)
def quiet():
    """The peers log what their tests' authors wanted to know."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def held(names):
    return LastAssignment(tps(names))


def wrapped(peer):
    (assignor,) = resolve([peer])
    return assignor


def joined(assignor, topics, last, generation_id):
    """Describe the group as these members join: member id -> what it had last."""
    cooperative = common_protocol([assignor]) is COOPERATIVE
    members = tuple(
        Member(
            member_id=who,
            topics=frozenset(topics),
            owned=tuple(sorted(had or ())) if cooperative else (),
            generation_id=generation_id if had is not None else None,
            user_data=assignor.encode_user_data(
                LastAssignment(sorted(had or ())), None if had is None else generation_id
            ),
        )
        for who, had in last.items()
    )
    return GroupSubscription(members, group([member("m", " ".join(topics))], **topics).topics)


def divided(assignor, described):
    """Divide as the leader does, which looks at the result."""
    return divide(assignor, described, common_protocol([assignor]))


# -- their built-in assignors


@ONE_OF_EACH
def test_a_class_and_an_instance_are_both_taken(peer):
    by_class, by_instance = wrapped(peer), wrapped(peer())
    assert by_class.name == by_instance.name == peer.name
    assert isinstance(by_class, UserDataAssignor)
    described = joined(by_class, {"t": 5, "u": 2}, {"a": None, "b": None}, 1)
    assert divided(by_class, described) == divided(by_instance, described)


def test_the_protocols_are_those_they_tell():
    assert {peer: wrapped(peer).supported_protocols for peer in BUILT_IN} == {
        peer: (COOPERATIVE,) if peer is KafkaCooperative else (EAGER,) for peer in BUILT_IN
    }
    with pytest.raises(ConfigError, match="a rebalance protocol in common"):
        common_protocol(resolve([KafkaCooperative, "range"]))
    assert common_protocol(resolve([AiokafkaRange, KafkaSticky, "cooperative-sticky"])) is EAGER


def test_a_consumer_is_configured_with_them():
    config = ConsumerConfig(assignors=[AiokafkaSticky, KafkaRange, "roundrobin"])
    assert config.assignors == (AiokafkaSticky, KafkaRange, "roundrobin")
    with pytest.raises(ConfigError, match="each name only once"):
        ConsumerConfig(assignors=[AiokafkaRange, "range"])


@pytest.mark.slow
@ONE_OF_EACH
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_their_rounds_pass_the_leaders_look(peer, data):
    assignor = wrapped(peer)
    counts = data.draw(st.dictionaries(st.sampled_from("tuv"), st.integers(1, 6), min_size=1))
    last = {f"m{n}": None for n in range(data.draw(st.integers(1, 5)))}
    for generation_id in range(1, 5):
        described = joined(assignor, counts, last, generation_id - 1)
        assignment = divided(assignor, described)
        last = {who: assignment.of(who) for who in last}
        if data.draw(st.booleans()) and len(last) > 1:
            del last[data.draw(st.sampled_from(sorted(last)))]
        if data.draw(st.booleans()):
            last[f"n{generation_id}"] = None


@pytest.mark.slow
@ONE_OF_EACH
@settings(max_examples=50, deadline=None)
@given(groups())
def test_with_false_claims_their_result_is_sound_or_refused_by_name(peer, described):
    # False claims make aiokafka's sticky raise, unequal subscriptions kafka-python's round-robin.
    try:
        divided(wrapped(peer), described)
    except AssignorError as error:
        named = error.assignor
    else:
        named = peer.name
    assert named == peer.name


@pytest.mark.parametrize("peer", [AiokafkaSticky, KafkaSticky, KafkaCooperative])
def test_their_sticky_ones_keep_what_members_had(peer):
    assignor = wrapped(peer)
    first = divided(assignor, joined(assignor, {"t": 9}, dict.fromkeys("abc"), 1))
    last = {who: first.of(who) for who in "ab"}
    second = divided(assignor, joined(assignor, {"t": 9}, last, 1))
    assert all(set(first.of(who)) <= set(second.of(who)) for who in "ab")
    assert sorted(len(second.of(who)) for who in "ab") == [4, 5]


def test_their_cooperative_one_hands_over_in_two_rounds():
    assignor = wrapped(KafkaCooperative)
    first = divided(
        assignor, joined(assignor, {"t": 4}, {"a": tps("t-0 t-1 t-2 t-3"), "b": None}, 1)
    )
    assert len(first.of("a")) == 2
    assert first.of("b") == ()
    assert set(first.withheld) == set(tps("t-0 t-1 t-2 t-3")) - set(first.of("a"))
    last = {"a": first.of("a"), "b": ()}
    second = divided(assignor, joined(assignor, {"t": 4}, last, 2))
    assert len(second.of("b")) == 2
    assert not second.withheld


def test_their_cooperative_one_gives_nothing_away_that_a_newer_claim_holds():
    assignor = wrapped(KafkaCooperative)
    stale, newer = (
        Member(member_id=who, topics=frozenset("t"), owned=tps("t-0 t-1"), generation_id=since)
        for who, since in (("z", 4), ("a", 5))
    )
    described = GroupSubscription((stale, newer), group([member("m")], t=2).topics)
    assignment = divided(assignor, described)
    assert "t-0" not in {str(p) for p in assignment.of("z")}
    assert "t-1" not in {str(p) for p in assignment.of("z")}


def test_static_members_get_their_share_in_kafka_pythons_range():
    assignor = wrapped(KafkaRange)
    members = [
        member("1", group_instance_id="i2"),
        member("2"),
        member("3", group_instance_id="i1"),
        member("4"),
    ]
    assignment = divided(assignor, group(members, t=4))
    assert {len(assignment.of(who)) for who in "1234"} == {1}


# -- their memory


@pytest.fixture(autouse=True)
def memory_that_aiokafkas_own_consumers_left_is_gone(monkeypatch):
    monkeypatch.setattr(AiokafkaSticky, "member_assignment", None)
    monkeypatch.setattr(AiokafkaSticky, "generation", -1)


@pytest.mark.parametrize("peer", [AiokafkaSticky, AiokafkaSticky()], ids=["class", "instance"])
def test_nothing_stays_on_the_class_of_aiokafka(peer):
    assignor = wrapped(peer)
    read = decode_sticky_user_data(assignor.encode_user_data(held("t-0 t-1"), 7))
    assert (read.partitions, read.generation_id) == (tps("t-0 t-1"), 7)
    assert AiokafkaSticky.member_assignment is None
    assert AiokafkaSticky.generation == -1
    assert assignor.encode_user_data(LastAssignment(), None) is None


@pytest.mark.parametrize("peer", [AiokafkaSticky, KafkaSticky])
def test_two_consumers_of_a_process_do_not_share_a_memory(peer):
    one, two = wrapped(peer), wrapped(peer)
    ones, twos = (each.encode_user_data(held(f"t-{n}"), 3 + n) for n, each in enumerate((one, two)))
    assert one.encode_user_data(held("t-0"), 3) == ones != twos
    assert two.encode_user_data(LastAssignment(), None) is None


def test_an_instance_two_consumers_share_is_left_as_it_was():
    shared = KafkaSticky()
    made = {
        partition: wrapped(shared).encode_user_data(held(partition), 2)
        for partition in ("t-0", "t-1")
    }
    assert made["t-0"] != made["t-1"]
    assert shared.member_assignment is None
    assert shared.generation == -1


# -- assignors of their users


class FirstOfAiokafka(OfAiokafka):  # type: ignore[misc]  # without types
    """Everything to the member with the smallest number in its user data."""

    name = "first"
    last: ClassVar[list[object]] = []

    @classmethod
    def assign(cls, cluster, members):
        first = min(members, key=lambda who: (members[who].user_data, who))
        rows = [(t, sorted(cluster.partitions_for_topic(t))) for t in sorted(cluster.topics())]
        return {
            who: ConsumerProtocolMemberAssignment(
                0, rows if who == first else [], b"for " + who.encode()
            )
            for who in members
        }

    @classmethod
    def metadata(cls, topics):
        return ConsumerProtocolMemberMetadata(0, list(topics), b"%d" % len(cls.last))

    @classmethod
    def on_assignment(cls, assignment):
        cls.last = assignment.partitions()


class FirstOfKafkaPython(OfKafkaPython):  # type: ignore[misc]  # without types
    """The same, with its state on the instance."""

    name = "first"

    def __init__(self, prefix=b""):
        self.prefix = prefix
        self.last = []

    def assign(self, cluster, members):
        first = min(members, key=lambda each: (each.metadata.user_data, each.member_id)).member_id
        rows = [(t, sorted(cluster.partitions_for_topic(t))) for t in sorted(cluster.topics())]
        return {
            each.member_id: ConsumerProtocolAssignment(
                0, rows if each.member_id == first else [], b"for " + each.member_id.encode()
            )
            for each in members
        }

    def metadata(self, topics):
        return ConsumerProtocolSubscription(0, list(topics), self.prefix + b"%d" % len(self.last))

    def on_assignment(self, assignment, generation):
        self.last = assignment.partitions()


@pytest.mark.parametrize("peer", [FirstOfAiokafka, FirstOfKafkaPython, FirstOfKafkaPython()])
def test_an_assignor_of_a_user_of_theirs_works_unchanged(peer):
    assignor = wrapped(peer)
    described = joined(assignor, {"t": 2}, {"a": tps("t-0 t-1"), "b": ()}, 1)
    assert [m.user_data for m in described.members] == [b"2", b"0"]
    assignment = divided(assignor, described)
    assert assignment.partitions == {"a": (), "b": tps("t-0 t-1")}
    assert assignment.user_data == {"a": b"for a", "b": b"for b"}


def test_an_instance_keeps_what_it_was_made_with():
    assignor = wrapped(FirstOfKafkaPython(prefix=b"east-"))
    assert assignor.encode_user_data(held("t-0"), 1) == b"east-1"


class Wrong(FirstOfAiokafka):
    result: object = None

    @classmethod
    def assign(cls, cluster, members):
        return cls.result


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "assignor 'first' returned None, not a dict of assignments"),
        ({"a": [("t", [0])]}, "for 'a', not an assignment"),
        ({"a": ConsumerProtocolMemberAssignment(0, [("t", [9])], b"")}, "t-9"),
        ({"x": ConsumerProtocolMemberAssignment(0, [("t", [0])], b"")}, "'x'"),
        ({}, "'a'"),
        ({"a": ConsumerProtocolMemberAssignment(0, [], b"")}, "t-0"),
    ],
)
def test_a_wrong_result_is_refused_with_the_assignors_name(result, message):
    wrong = type("WrongOnce", (Wrong,), {"result": result})
    with pytest.raises(AssignorError, match=message) as raised:
        divided(wrapped(wrong), group([member("a")], t=1))
    assert raised.value.assignor == "first"


class Forgetful(KafkaCooperative):  # type: ignore[misc]  # without types
    def assign(self, cluster, members):
        return {each.member_id: ConsumerProtocolAssignment(1, [], b"") for each in members}


def test_a_cooperative_one_may_leave_out_only_what_a_member_holds():
    assignor = wrapped(Forgetful)
    held = member("a", owned="t-0", generation_id=1)
    assert assignor.assign(group([held], t=1)).withheld == {tp("t-0"): None}
    with pytest.raises(AssignorError, match="'cooperative-sticky' 1 partitions were given to nob"):
        assignor.assign(group([held], t=2))


class Curious(FirstOfAiokafka):
    @classmethod
    def assign(cls, cluster, members):
        return cluster.brokers()


def test_what_the_cluster_does_not_have_is_named_with_what_it_has():
    with pytest.raises(AttributeError, match=r"'brokers', only topics\(\) and partitions_for_top"):
        wrapped(Curious).assign(group([member("a")], t=1))


class Choosy(FirstOfKafkaPython):
    def __init__(self, rack):
        super().__init__(rack)


class Named(FirstOfKafkaPython):
    @property
    def name(self):  # type: ignore[override]  # as their base class has it
        return "by-" + "property"


def test_a_name_may_be_a_property():
    assert wrapped(Named).name == wrapped(Named()).name == "by-property"


@pytest.mark.parametrize(
    ("peer", "message"),
    [
        (Choosy, "an assignor that can be used .*missing 1 required positional argument: 'rack'"),
        (OfKafkaPython, "an assignor that can be used .*abstract"),
        (OfAiokafka, "it has the name <property"),
    ],
)
def test_a_class_that_cannot_be_used_is_refused_with_the_reason(peer, message):
    with pytest.raises(ConfigError, match=message):
        resolve([peer])


class Ours(FirstOfAiokafka):
    """An assignor of kgroup's that happens to have methods of these names."""

    supported_protocols = (EAGER,)


def test_an_assignor_of_ours_is_not_wrapped_for_the_names_of_its_methods():
    ours = Ours()
    assert wrapped(ours) is ours
