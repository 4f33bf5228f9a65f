"""The embedded consumer protocol, against bytes made by Java and against damage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.errors import DecodeError, LocalProtocolError, UnsupportedVersionError
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kgroup.wire.user_data import (
    decode_cooperative_user_data,
    decode_sticky_user_data,
    encode_cooperative_user_data,
    encode_sticky_user_data,
)
from tests.vectors import load

V3 = bytes.fromhex(
    "000300000002000161000162ffffffff0000000200016100000002000000000000000200016200000001000000"
    "010000000700027231"
)


def tps(pairs):
    return tuple(TopicPartition(topic, partition) for topic, partition in pairs)


def data_or_none(text):
    return None if text is None else bytes.fromhex(text)


def as_subscription(fields):
    return MemberSubscription(
        topics=tuple(fields["topics"]),
        owned=tps(fields["owned"]),
        generation_id=fields["generation"],
        rack=fields["rack"],
        user_data=data_or_none(fields["user_data_hex"]),
    )


def as_assignment(fields):
    return MemberAssignment(tps(fields["partitions"]), data_or_none(fields["user_data_hex"]))


def subscription_fields(subscription):
    return {
        "topics": list(subscription.topics),
        "owned": [list(tp) for tp in subscription.owned],
        "generation": subscription.generation_id,
        "rack": subscription.rack,
        "user_data_hex": None if subscription.user_data is None else subscription.user_data.hex(),
    }


def test_subscriptions_are_those_of_java_both_ways():
    for line in load("consumer_protocol/subscription"):
        written = encode_subscription(as_subscription(line["input"]), line["version"])
        assert written.hex() == line["hex"]
        read = decode_subscription(written)
        assert subscription_fields(read) == line["decoded"]
        assert read.version == line["version"]


def test_assignments_are_those_of_java_both_ways():
    for line in load("consumer_protocol/assignment"):
        written = encode_assignment(as_assignment(line["input"]), line["version"])
        assert written.hex() == line["hex"]
        assert decode_assignment(written) == as_assignment(line["decoded"])


READ_ON_PURPOSE = {
    ("subscription", "v1 that lacks owned_partitions (old clients)"),
    ("assignment", "empty"),
}


@pytest.mark.parametrize(
    "line",
    load("consumer_protocol/decode_odd"),
    ids=lambda line: f"{line['kind']}: {line['comment']}",
)
def test_odd_bytes_are_read_as_java_reads_them_or_refused(line):
    data = bytes.fromhex(line["hex"])
    decode = decode_subscription if line["kind"] == "subscription" else decode_assignment
    if (line["kind"], line["comment"]) in READ_ON_PURPOSE:
        decode(data)
    elif "error" in line:
        with pytest.raises(DecodeError):
            decode(data)
    elif line["kind"] == "subscription":
        assert subscription_fields(decode_subscription(data)) == line["decoded"]
    else:
        assert decode_assignment(data) == as_assignment(line["decoded"])


def test_a_version_1_without_owned_partitions_is_read_as_version_0():
    read = decode_subscription(bytes.fromhex("000100000002000161000162ffffffff"))
    assert read == MemberSubscription(topics=("a", "b"), version=0)


def test_an_assignment_without_bytes_holds_nothing():
    assert decode_assignment(b"") == MemberAssignment()


def test_user_data_is_written_as_java_writes_it():
    for line in load("consumer_protocol/user_data"):
        generation = line["input"].get("generation")
        if line["format"] == "cooperative":
            assert encode_cooperative_user_data(generation).hex() == line["hex"]
        elif "hex" in line:
            rows = tps((topic, number) for topic, numbers in line["rows"] for number in numbers)
            assert encode_sticky_user_data(rows, generation).hex() == line["hex"]


def test_user_data_is_read_as_java_reads_it():
    for line in load("consumer_protocol/user_data"):
        if "hex" not in line:
            continue
        data, generation = bytes.fromhex(line["hex"]), line["input"].get("generation")
        if line["format"] == "cooperative":
            assert decode_cooperative_user_data(data) == generation
            continue
        read = decode_sticky_user_data(data)
        assert sorted(read.partitions) == sorted(tps(line["input"]["partitions"]))
        assert read.generation_id == generation


def test_sticky_user_data_without_a_generation_is_written_as_version_0():
    written = encode_sticky_user_data(tps([["a", 0], ["a", 2]]), None)
    assert written.hex() == "00000001000161000000020000000000000002"


@pytest.mark.parametrize("size", range(2, len(V3)))
def test_a_subscription_cut_off_anywhere_is_refused(size):
    with pytest.raises(DecodeError):
        decode_subscription(V3[:size])


@pytest.mark.parametrize("size", [0, 1])
def test_a_subscription_without_a_version_is_refused(size):
    with pytest.raises(DecodeError, match="consumer protocol subscription"):
        decode_subscription(V3[:size])


def test_a_count_larger_than_the_bytes_left_is_refused_before_anything_is_allocated():
    with pytest.raises(DecodeError, match="array of 2147483647 elements"):
        decode_subscription(bytes.fromhex("00037fffffff"))


@given(st.binary(max_size=200))
def test_garbage_is_read_or_refused_with_a_decode_error(data):
    for decode in (
        decode_subscription,
        decode_assignment,
        decode_sticky_user_data,
        decode_cooperative_user_data,
    ):
        try:
            decode(data)
        except DecodeError as error:
            assert error.reason  # noqa: PT017


@given(st.integers(0, len(V3) - 1), st.integers(0, 255))
def test_one_wrong_byte_is_read_or_refused_with_a_decode_error(position, byte):
    damaged = V3[:position] + bytes([byte]) + V3[position + 1 :]
    try:
        read = decode_subscription(damaged)
    except DecodeError:
        return
    assert isinstance(read, MemberSubscription)


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
partitions = st.lists(
    st.builds(TopicPartition, names, st.integers(0, 2**31 - 1)), max_size=12, unique=True
).map(tuple)
subscriptions = st.builds(
    MemberSubscription,
    topics=st.lists(names, max_size=6).map(tuple),
    owned=partitions,
    generation_id=st.none() | st.integers(0, 2**31 - 1),
    rack=st.none() | names.filter(bool),
    user_data=st.none() | st.binary(max_size=20),
)


@pytest.mark.slow
@given(subscriptions)
def test_a_subscription_survives_the_wire(subscription):
    read = decode_subscription(encode_subscription(subscription))
    assert sorted(read.topics) == sorted(subscription.topics)
    assert sorted(read.owned) == sorted(subscription.owned)
    assert read.generation_id == subscription.generation_id
    assert read.rack == subscription.rack
    assert read.user_data == subscription.user_data


@given(subscriptions, st.randoms(use_true_random=False))
def test_the_order_of_topics_and_partitions_does_not_change_the_bytes(subscription, random):
    topics, owned = list(subscription.topics), list(subscription.owned)
    random.shuffle(topics)
    random.shuffle(owned)
    shuffled = MemberSubscription(
        topics=tuple(topics),
        owned=tuple(owned),
        generation_id=subscription.generation_id,
        rack=subscription.rack,
        user_data=subscription.user_data,
    )
    assert encode_subscription(shuffled) == encode_subscription(subscription)


@pytest.mark.parametrize("version", [-1, 4])
def test_a_version_we_do_not_know_is_not_written(version):
    with pytest.raises(UnsupportedVersionError, match=f"version {version}"):
        encode_subscription(MemberSubscription(topics=("t",)), version)
    with pytest.raises(UnsupportedVersionError, match=f"version {version}"):
        encode_assignment(MemberAssignment(), version)


@pytest.mark.parametrize(
    "subscription",
    [
        MemberSubscription(topics=("x" * 32768,)),
        MemberSubscription(topics=("\ud800",)),
        MemberSubscription(topics=("t",), owned=(TopicPartition("t", 2**31),)),
        MemberSubscription(topics=("t",), generation_id=2**31),
    ],
    ids=["long name", "lone surrogate", "large partition", "large generation"],
)
def test_what_does_not_fit_its_field_is_not_written(subscription):
    with pytest.raises(LocalProtocolError, match="consumer protocol subscription"):
        encode_subscription(subscription)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("ffff" + "00000000", "null where null is not allowed"),
        ("8000" + "00000000", "null where null is not allowed"),
        ("7fff" + "74" + "000000", "string of 32767 bytes, with 4 bytes left"),
        ("0001" + "74" + "ffffffff", "an array of -1 elements"),
        ("0001" + "74" + "7fffffff", "an array of 2147483647 elements, with 0 bytes left"),
        ("0001" + "74" + "00000002" + "00000001", "an array of 2 elements, with 4 bytes left"),
        ("0001" + "74" + "000000", "int32 of 4 bytes, with 3 bytes left"),
    ],
)
def test_a_row_of_partitions_that_does_not_fit_says_what_is_wrong(row, message):
    blob = bytes.fromhex("0001" + "00000000" + "ffffffff" + "00000001" + row)
    with pytest.raises(DecodeError, match=message):
        decode_subscription(blob)


def test_members_read_with_one_dictionary_share_the_strings_of_topic_names():
    blob = encode_subscription(
        MemberSubscription(topics=("orders", "bad"), owned=tps([("orders", 0), ("other", 1)]))
    ).replace(b"bad", b"\xffad")
    names: dict[bytes, str] = {}
    one, two = (decode_subscription(blob, names) for _ in range(2))
    assert one == two == decode_subscription(blob)
    topics = [[*each.topics, *(tp.topic for tp in each.owned)] for each in (one, two)]
    assert all(mine is yours for mine, yours in zip(*topics, strict=True))
    assert topics[0] == ["bad".replace("b", "\ufffd"), "orders", "orders", "other"]


@pytest.mark.parametrize("partitions", ["a0", "a0 a1 b7", "b2 a1 b0", ""])
def test_an_assignment_written_with_one_dictionary_has_the_same_bytes(partitions):
    assignment = MemberAssignment(tps((name[0], int(name[1:])) for name in partitions.split()))
    names: dict[str, bytes] = {}
    written = [encode_assignment(assignment, names=names) for _ in range(2)]
    assert written == [encode_assignment(assignment)] * 2
