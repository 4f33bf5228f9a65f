"""What one group's member hears of a coordination partition."""

from itertools import islice

import pytest

from kgroup.marshal.events import KeyRead, LogRead
from kgroup.marshal.messages import Extension, Kind, Message, encode, write_extension
from kgroup.marshal.presence import PRESENCE_SUFFIX
from kgroup.marshal.rules import Verdict, WorldRules
from kgroup.marshal.view import LogRow, LogView
from kgroup.types import TopicPartition
from tests.marshal.logs import columns_of

START = 1_700_000_000
KEY = TopicPartition("t", 0)


class Story:
    """Rows of a log, and a view that reads them one by one."""

    def __init__(self) -> None:
        self.rows: list[LogRow] = []
        self.at = 0
        self.view = new_view()

    def say(
        self,
        kind: Kind,
        client: str = "A",
        tail: int = 0,
        *,
        topic: bytes = b"t",
        group: bytes = b"g",
        partition: int = 0,
        interval: int | None = None,
        epoch: int | None = None,
        instance: bytes = b"i",
    ) -> LogRead:
        time = START + self.at
        message = Message(kind, time, instance, client.encode(), group, topic, partition, tail)
        headers = tuple(write_extension(Extension(epoch, 1000, interval, b"n1")))
        row = (len(self.rows), time * 1000, None, encode(message), headers)
        self.rows.append(row)
        return self.view.read([row], len(self.rows))

    def shows(self, client: str, *, topic: str = "t", interval: int | None = None) -> LogRead:
        name = (topic + PRESENCE_SUFFIX).encode()
        return self.say(Kind.HEARTBEAT, client, topic=name, interval=interval)

    def leaves(self, client: str, instance: bytes = b"i") -> LogRead:
        name = ("t" + PRESENCE_SUFFIX).encode()
        return self.say(Kind.RELEASING_PARTITION, client, topic=name, instance=instance)


def new_view() -> LogView:
    return LogView(0, "g", WorldRules(append_time=True, complete=True))


def new_view_of(story: Story) -> LogRead:
    """Return what a reader of a whole story at once gets."""
    return new_view().read(story.rows, len(story.rows))


def until(seconds: int) -> int:
    return (START + seconds) * 1000


def test_a_record_about_a_key_is_reported_with_what_the_key_became() -> None:
    story = Story()
    (read,) = story.say(Kind.CLAIMING_PARTITION).reads
    assert (read.tp, read.kind, read.verdict) == (KEY, Kind.CLAIMING_PARTITION, Verdict.ACCEPTED)
    assert (read.offset, read.client_id, read.instance_id) == (0, b"A", b"i")
    assert (read.nonce, read.tail, read.standing.epoch) == (b"n1", 0, 0)


def test_a_standing_does_not_change_with_the_next_record() -> None:
    story = Story()
    (claim,) = story.say(Kind.CLAIMING_PARTITION).reads
    (beat,) = story.say(Kind.HEARTBEAT, tail=7, epoch=0).reads
    assert (claim.standing.offset, beat.standing.offset) == (None, 7)


def test_records_of_other_groups_move_the_position_and_the_time_only() -> None:
    story = Story()
    story.at = 5
    read = story.say(Kind.CLAIMING_PARTITION, group=b"other")
    assert (read.reads, read.presence, read.next_offset, read.time) == ((), {}, 1, until(5))


@pytest.mark.parametrize("value", [None, b"", b"garbage", b"x" * 100_000, b"Heartbeat/1/1/i/c/g"])
def test_what_is_no_message_is_counted_and_reported_of_no_client(value: bytes | None) -> None:
    view = new_view()
    read = view.read([(0, -1, None, value, ())], 1)
    assert (read.reads, read.next_offset) == ((), 1)
    assert view.world.rejects.total() == 1


def test_a_topic_that_is_no_text_is_no_topic() -> None:
    story = Story()
    assert story.say(Kind.CLAIMING_PARTITION, topic=b"\xff").reads == ()
    assert story.view.opened(frozenset({"t"}), 1).keys == {}


def test_all_keys_of_the_group_are_reported_when_the_log_is_open() -> None:
    story = Story()
    story.say(Kind.CLAIMING_PARTITION)
    story.say(Kind.CLAIMING_PARTITION, group=b"other")
    story.say(Kind.CLAIMING_PARTITION, "B", topic=b"u", partition=3)
    opened = story.view.opened(frozenset({"t"}), 3)
    assert set(opened.keys) == {KEY, TopicPartition("u", 3)}
    assert (opened.next_offset, opened.append_time, opened.complete) == (3, True, True)
    assert (opened.time, opened.since) == (until(0), until(0))


# -- presence ------------------------------------------------------------------------------------


def test_a_member_that_shows_itself_is_present_for_two_of_its_intervals() -> None:
    story = Story()
    assert story.shows("A").presence == {"t": {b"A": until(120)}}
    assert story.shows("B", interval=10).presence["t"] == {b"A": until(120), b"B": until(20)}
    story.at = 20
    assert story.shows("A").presence["t"] == {b"A": until(140)}


def test_a_sign_of_presence_makes_no_key() -> None:
    story = Story()
    assert story.shows("A").reads == ()
    assert (story.view.world.keys, story.view.opened(frozenset(), 1).keys) == ({}, {})


def test_a_sign_is_taken_back_by_the_process_that_gave_it() -> None:
    story = Story()
    story.shows("A")
    assert story.leaves("A", b"twin").presence == {"t": {b"A": until(120)}}
    assert story.leaves("A").presence == {}


def test_owner_counts_as_present_until_its_claim_expires() -> None:
    story = Story()
    read = story.say(Kind.CLAIMING_PARTITION, interval=10)
    assert read.presence == {"t": {b"A": until(20)}}
    story.at = 15
    read = story.say(Kind.HEARTBEAT, tail=1, epoch=0)
    assert read.presence == {"t": {b"A": until(35)}}


def test_a_member_without_a_key_is_present_only_when_it_shows_itself() -> None:
    story = Story()
    story.say(Kind.CLAIMING_PARTITION)
    story.say(Kind.CLAIMING_PARTITION, partition=1)
    read = story.say(Kind.RELEASING_PARTITION, epoch=0)
    assert read.presence == {"t": {b"A": until(120)}}
    assert story.say(Kind.RELEASING_PARTITION, epoch=1, partition=1).presence == {}
    assert story.shows("A").presence == {"t": {b"A": until(120)}}


def test_while_nobody_comes_or_goes_the_same_object_is_returned() -> None:
    story = Story()
    first = story.shows("A").presence
    assert story.say(Kind.CLAIMING_PARTITION, group=b"other").presence is first


def test_signs_that_are_over_are_forgotten() -> None:
    story = Story()
    for number in range(3000):
        story.at = number
        story.shows(f"member-{number}", interval=10)
    kept = story.view.world.presences.known(until(3000))
    assert len(list(kept)) < 25
    assert len(repr(vars(story.view.world))) < 30_000


def short_of_one() -> Story:
    """Return a story in which B leaves what A has released to A, which has more."""
    story = Story()
    story.shows("A")
    story.shows("B")
    for number in (0, 1):
        epoch = len(story.rows)
        story.say(Kind.CLAIMING_PARTITION, partition=number)
        story.say(Kind.HEARTBEAT, epoch=epoch, partition=number)
    story.say(Kind.RELEASING_PARTITION, epoch=epoch, partition=1)
    return story


@pytest.mark.parametrize(("seconds", "passed"), [(29, -1), (30, until(630))])
def test_member_that_takes_no_free_key_for_half_a_minute_is_skipped(
    seconds: int, passed: int
) -> None:
    story = short_of_one()
    story.at += seconds
    waits = story.say(Kind.CLAIMING_PARTITION, partition=1).waits["t"]
    assert (waits[b"A"].skipped_until, waits[b"B"].skipped_until) == (-1, passed)


def skipped() -> Story:
    """Return that story with B skipped."""
    story = short_of_one()
    story.at += 30
    story.say(Kind.CLAIMING_PARTITION, partition=1)
    return story


def test_member_with_as_many_keys_as_the_claimant_is_not_skipped() -> None:
    story = short_of_one()
    story.say(Kind.CLAIMING_PARTITION, "B", partition=2)
    story.say(Kind.HEARTBEAT, "B", epoch=7, partition=2)
    story.at += 40
    waits = story.say(Kind.CLAIMING_PARTITION, partition=1).waits["t"]
    assert waits[b"B"].skipped_until == -1


def test_skipped_member_is_waited_for_again_once_it_begins_with_a_key() -> None:
    story = skipped()
    epoch = len(story.rows)
    claimed = story.say(Kind.CLAIMING_PARTITION, "B", partition=5)
    begun = story.say(Kind.HEARTBEAT, "B", epoch=epoch, partition=5)
    assert claimed.waits["t"][b"B"].skipped_until == until(630)
    assert begun.waits["t"][b"B"].skipped_until == -1


def test_a_claim_in_vain_says_that_its_sender_takes_part() -> None:
    story = skipped()
    assert story.say(Kind.CLAIMING_PARTITION, "B").waits["t"][b"B"].skipped_until == -1


def test_a_claim_in_vain_says_nothing_of_a_member_that_claimed_and_did_not_begin() -> None:
    story = skipped()
    story.say(Kind.CLAIMING_PARTITION, "B", partition=5)
    assert story.say(Kind.CLAIMING_PARTITION, "B").waits["t"][b"B"].skipped_until == until(630)


def test_member_that_starts_again_is_not_skipped_any_more() -> None:
    story = skipped()
    name = ("t" + PRESENCE_SUFFIX).encode()
    anew = story.say(Kind.HEARTBEAT, "B", topic=name, instance=b"j")
    assert anew.waits["t"][b"B"].skipped_until == -1


def test_a_claim_that_comes_to_nothing_leaves_a_key_as_long_without_anybody_as_it_was() -> None:
    story = short_of_one()
    since = story.view.world.time
    story.at += 5
    story.say(Kind.CLAIMING_PARTITION, "B", partition=1)
    story.at += 150
    read = story.say(Kind.CLAIMING_PARTITION, partition=1).reads[0]
    assert (read.verdict, read.standing.idle_since) == (Verdict.ACCEPTED, since)


# -- equal logs ----------------------------------------------------------------------------------


def long_story() -> Story:
    story = Story()
    clients = ("A", "B", "C")
    for number in range(400):
        story.at += 7
        client = clients[number % 3]
        match number % 7:
            case 0 | 4:
                story.say(Kind.CLAIMING_PARTITION, client, partition=number % 5)
            case 1 | 5:
                story.say(Kind.HEARTBEAT, client, number, partition=number % 5)
            case 2:
                story.say(Kind.RELEASING_PARTITION, client, number, partition=number % 5)
            case 3:
                story.shows(client, interval=1 + number % 60)
            case _:
                story.leaves(client)
    return story


@pytest.mark.parametrize("size", [1, 2, 9, 400])
def test_pieces_of_any_size_come_to_the_same(size: int) -> None:
    story, view = long_story(), new_view()
    rows = iter(story.rows)
    reads: list[KeyRead] = []
    while piece := list(islice(rows, size)):
        last = view.read(piece, piece[-1][0] + 1)
        reads += last.reads
    whole = new_view().read(story.rows, 400)
    assert (tuple(reads), last.presence) == (whole.reads, whole.presence)
    assert last.waits == whole.waits
    assert view.world.digest() == story.view.world.digest()


def test_what_a_sign_said_is_over_with_it_though_its_sender_owns_something() -> None:
    """1. It shows itself, and claims; 2. its claim lasts longer; 3. others write on."""
    story = Story()
    story.shows("A", interval=10)
    story.say(Kind.CLAIMING_PARTITION)
    story.at = 30
    read = story.say(Kind.HEARTBEAT, group=b"other")
    assert list(read.presence["t"]) == [b"A"]
    assert read.waits == new_view_of(story).waits == {"t": {}}


@pytest.mark.slow
def test_presence_follows_from_the_records_however_they_were_read() -> None:
    story, view = long_story(), new_view()
    columns = columns_of([(*row[:2], *row[3:]) for row in story.rows])
    for row in story.rows:
        read = view.read([row], row[0] + 1)
        fresh = new_view()
        fresh.catch_up(columns, islice(columns.raw_rows(), row[0] + 1))
        opened = fresh.opened(frozenset(), 0)
        assert (read.presence, read.waits) == (opened.presence, opened.waits), row


def test_signs_are_part_of_the_digest() -> None:
    one, other = Story(), Story()
    one.shows("A")
    other.shows("B")
    assert one.view.world.digest() != other.view.world.digest()
