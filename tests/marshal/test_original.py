"""The tests of the original library that are about messages and the state they make.

Each has the original's name in its docstring. `GoWorld` has the original's rule and a reader's
clock; `Log` is read by our rules, which ask the log alone.
"""

import pytest

from kgroup.marshal.key_state import Key, KeyState
from kgroup.marshal.messages import (
    Extension,
    Kind,
    Message,
    Reject,
    decode,
    encode,
    write_extension,
)
from kgroup.marshal.rules import Compat, Verdict
from kgroup.marshal.standing import standing_of
from kgroup.types import TopicPartition
from tests.marshal.go_rule import GoClaim, GoWorld
from tests.marshal.logs import START, Log, Peer
from tests.marshal.room.room import Room
from tests.marshal.scenes import enter, room_of

US, OTHER = Peer("us", started=None), Peer("other", started=None)
IDS = b"ii", b"cl", b"gr", b"t", 3
EXAMPLES = {
    b"Heartbeat/4/2/ii/cl/gr/t/3/1": Message(Kind.HEARTBEAT, 2, *IDS, 1, version=4),
    b"ClaimingPartition/4/2/ii/cl/gr/t/3": Message(Kind.CLAIMING_PARTITION, 2, *IDS, version=4),
    b"ReleasingPartition/4/2/ii/cl/gr/t/3/7": Message(
        Kind.RELEASING_PARTITION, 2, *IDS, 7, version=4
    ),
    b"ClaimingMessages/4/2/ii/cl/gr/t/3/9": Message(Kind.CLAIMING_MESSAGES, 2, *IDS, 9, version=4),
    b"ReleaseGroup/4/2/ii/cl/gr//0/12": Message(
        Kind.RELEASE_GROUP, 2, b"ii", b"cl", b"gr", b"", 0, 12, version=4
    ),
}


@pytest.mark.parametrize("value", EXAMPLES)
def test_messages_are_written_as_the_original_writes_them(value: bytes) -> None:
    """TestMessageEncode."""
    assert encode(EXAMPLES[value]) == value


@pytest.mark.parametrize("value", EXAMPLES)
def test_every_field_of_a_message_is_read(value: bytes) -> None:
    """TestMessageDecode."""
    assert decode(value) == EXAMPLES[value]
    assert isinstance(decode(b"banana"), Reject)


def go_world(*messages: Message, now: int) -> GoClaim:
    world = GoWorld()
    for message in messages:
        world.apply(encode(message), now)
    return world.claims[b"gr", b"t", 3]


@pytest.mark.parametrize(
    ("now", "claimed"), [(0, False), (1, True), (62, True), (120, True), (121, False)]
)
def test_a_heartbeat_holds_for_two_minutes_of_the_readers_clock(now: int, claimed: bool) -> None:
    """TestClaimed; also the verdict on a sender whose clock is a second ahead."""
    assert go_world(Message(Kind.HEARTBEAT, 1, *IDS, 0), now=1).claimed(now) is claimed


@pytest.mark.parametrize(("waited", "owner"), [(0, "us"), (61, "us"), (119, "us"), (120, None)])
def test_a_heartbeat_holds_for_two_minutes_of_the_log(waited: int, owner: str | None) -> None:
    """TestClaimed, by our rules."""
    log = Log()
    log.beat(US, 0)
    log.wait(waited)
    assert log.owner == owner


def test_a_reported_standing_does_not_change_with_the_claim() -> None:
    """TestClaimNotMutable."""
    log = Log()
    log.beat(US, 3)
    standing = standing_of(log.state)
    log.beat(US, 9)
    assert (standing.offset, log.state.offset) == (3, 9)


def test_claims_of_another_group_are_not_ours() -> None:
    """TestClaimNotOurs."""
    log = Log()
    log.append(encode(Message(Kind.HEARTBEAT, START, b"i", b"us", b"elsewhere", b"t", 0, 5)))
    assert log.owner is None
    assert log.world.keys[Key(b"elsewhere", b"t", 0)].owned


def test_a_claim_of_a_free_key_is_reported_and_makes_an_owner() -> None:
    """TestClaimPartition."""
    log = Log()
    assert log.claim(US) is Verdict.ACCEPTED
    assert log.owner == "us"


def test_claims_of_an_owned_key_leave_it_where_it_is() -> None:
    """TestReclaimPartition."""
    log = Log()
    log.beat(US, 0)
    assert (log.claim(OTHER), log.claim(US)) == (Verdict.REFUSED, Verdict.REFUSED)
    assert log.owner == "us"


def test_only_its_owner_releases_a_key() -> None:
    """TestReleaseClaim."""
    log = Log()
    log.beat(US, 3)
    assert log.release(OTHER, 5) is Verdict.VOID
    assert log.release(US, 7) is Verdict.RELEASED
    assert (log.owner, log.state.offset) == (None, 7)
    assert log.state.released_at == START * 1000


def test_a_heartbeat_of_another_hands_the_key_over() -> None:
    """TestClaimHandoff; strictly, nobody without headers takes what is owned."""
    log, strict = Log(), Log(compat=Compat.STRICT)
    for each in (log, strict):
        each.claim(US)
        each.beat(OTHER, 10)
    assert (log.owner, strict.owner) == ("other", "us")


def test_a_heartbeat_makes_its_own_partition_known_and_no_other() -> None:
    """TestPartitionExtend; a number costs no memory for those below it."""
    log = Log()
    log.append(encode(Message(Kind.HEARTBEAT, START, b"i", b"us", b"g", b"t", 4, 5)))
    assert list(log.world.keys) == [Key(b"g", b"t", 4)]
    assert log.key(0) == KeyState()


def test_a_key_that_was_released_tells_where_its_owner_stopped() -> None:
    """The end of TestPartitionLifecycleIntegration."""
    log = Log()
    log.claim(US)
    log.beat(US, 10)
    log.release(US, 20)
    assert (log.owner, log.state.client_id, log.state.offset) == (None, b"us", 20)


def test_a_key_is_ours_in_our_group_for_that_key_and_until_it_is_released() -> None:
    """TestGetTopicState."""
    log = Log()
    log.claim(US)
    assert log.owner == "us"
    assert not log.key(1).owned
    assert Key(b"elsewhere", b"t", 0) not in log.world.keys
    log.release(US, 5)
    assert log.owner is None


def test_what_was_given_back_for_another_is_left_to_it_for_half_a_minute() -> None:
    """TestUnhealthyReclaim: a minute there, by the releaser's clock. 1. One has all three; 2.
    a second one shows itself, and claims nothing; 3. the first gives one back for its share, and
    leaves it alone until the second counts for what it has."""
    room = room_of(3)
    enter(room, "a")
    room.run(60)
    headers = tuple(write_extension(Extension(None, START)))
    for _ in range(15):
        time = int(room.log.clock(room.now))
        room.append(Message(Kind.HEARTBEAT, time, b"i", b"y", b"g", b"t~members", 0, 0), headers)
        room.run(10)
    ((tp, released_at),) = said_at(room, Kind.RELEASING_PARTITION).items()
    assert 30 <= said_at(room, Kind.CLAIMING_PARTITION)[tp] - released_at < 40
    assert room.owner_of(tp) is not None


def said_at(room: Room, kind: Kind) -> dict[TopicPartition, float]:
    """Return when that was last said of each partition."""
    return {fact.read.tp: fact.at for fact in room.log.facts if fact.read.kind is kind}


@pytest.mark.parametrize(
    ("behind", "owner"), [(-1, b"us"), (119, b"us"), (120, b"us"), (121, b"us")]
)
def test_a_clock_that_is_wrong_costs_nobody_a_key(behind: int, owner: bytes) -> None:
    """Claims and heartbeats of a peer ahead or behind, by the broker's time (scenario 8)."""
    log = Log()
    log.claim(US, late=behind)
    log.beat(US, 1, late=behind)
    assert log.claim(OTHER) is Verdict.REFUSED
    assert log.state.client_id == owner


@pytest.mark.parametrize(
    ("behind", "winner"), [(-1, b"b"), (0, b"a"), (119, b"a"), (120, b"b"), (121, b"b")]
)
def test_the_original_gives_the_key_of_a_peer_whose_clock_is_wrong_away(
    behind: int, winner: bytes
) -> None:
    """The reference verdicts of scenario 8, by the original's rule."""
    a = Message(Kind.HEARTBEAT, START - behind, b"i", b"a", b"gr", b"t", 3, 1)
    b = Message(Kind.CLAIMING_PARTITION, START, b"i", b"b", b"gr", b"t", 3)
    assert go_world(a, b, now=START).client == winner
