"""The owner of a key: the rules by which kgroup reads a log of claims."""

from collections.abc import Callable

import pytest

from kgroup.marshal.messages import Extension, Kind, Message, Reject, encode, write_extension
from kgroup.marshal.rules import Compat, Verdict
from tests.marshal.logs import START, Log, Peer

A, B = Peer("A"), Peer("B")
GO, GO_TOO = Peer("go", started=None), Peer("other", started=None)


def owned_by_a() -> Log:
    log = Log()
    log.claim(A)
    log.beat(A, 10)
    return log


# -- claims --------------------------------------------------------------------------------------


def test_the_first_claim_of_a_free_key_wins() -> None:
    log = Log()
    assert (log.claim(A), log.claim(B)) == (Verdict.ACCEPTED, Verdict.REFUSED)
    assert log.owner == "A"
    assert log.state.epoch == 0


def test_a_claim_that_was_written_twice_counts_once() -> None:
    log = Log()
    assert (log.claim(A), log.claim(A)) == (Verdict.ACCEPTED, Verdict.REFUSED)
    assert log.state.epoch == 0


@pytest.mark.parametrize(("silence", "then"), [(119, "A"), (120, "B"), (600, "B")])
def test_a_key_is_free_two_minutes_after_its_owners_last_heartbeat(silence: int, then: str) -> None:
    log = owned_by_a()
    log.wait(silence)
    log.claim(B)
    assert log.owner == then


def test_a_member_that_takes_a_key_over_begins_where_its_owner_was() -> None:
    log = owned_by_a()
    log.wait(120)
    log.claim(B)
    assert log.state.offset == 10


def test_shorter_interval_makes_a_shorter_time_to_live() -> None:
    hasty = Peer("A", interval=5)
    log = Log()
    log.claim(hasty)
    log.wait(9)
    assert log.claim(B) is Verdict.REFUSED
    log.wait(1)
    assert log.claim(B) is Verdict.ACCEPTED
    assert log.state.ttl == 120_000


def test_a_process_that_was_restarted_has_its_key_at_once_and_its_twin_is_fenced() -> None:
    log = owned_by_a()
    log.wait(1)
    again = Peer("A", "i2", started=1)
    assert log.claim(again) is Verdict.ACCEPTED
    assert log.state.epoch == 2
    assert log.beat(A, 99, epoch=0) is Verdict.VOID
    assert log.state.offset == 10


def test_a_twin_that_was_started_earlier_or_at_once_takes_nothing() -> None:
    log = owned_by_a()
    assert log.claim(Peer("A", "i2", started=0)) is Verdict.REFUSED
    assert log.claim(Peer("A", "i0", started=-5)) is Verdict.REFUSED
    assert log.claim(GO) is Verdict.REFUSED


# -- heartbeats ----------------------------------------------------------------------------------


def test_heartbeat_renews_the_claim_and_carries_the_position() -> None:
    log = owned_by_a()
    log.wait(119)
    assert log.beat(A, 20) is Verdict.RENEWED
    log.wait(119)
    assert log.owner == "A"
    assert log.state.offset == 20


def test_an_owner_that_was_taken_over_from_changes_nothing_by_a_late_heartbeat() -> None:
    log = owned_by_a()
    log.wait(120)
    log.claim(B)
    assert log.beat(A, 99, epoch=0) is Verdict.VOID
    assert (log.owner, log.state.offset) == ("B", 10)


def test_heartbeats_in_the_wrong_order_or_twice_do_not_take_the_position_back() -> None:
    log = owned_by_a()
    for offset in (30, 20, 30, 10):
        assert log.beat(A, offset) is Verdict.RENEWED
        assert log.state.offset == 30


def test_a_heartbeat_of_a_claim_that_was_not_read_is_believed() -> None:
    log = Log(complete=False, first=500)
    assert log.beat(B, 7, epoch=100) is Verdict.ADOPTED
    assert log.beat(A, 9, epoch=400) is Verdict.ADOPTED
    assert log.beat(B, 8, epoch=100) is Verdict.VOID
    assert (log.owner, log.state.offset) == ("A", 9)


def test_a_heartbeat_of_the_original_library_takes_the_key_and_fences_its_owner() -> None:
    log = owned_by_a()
    assert log.beat(GO, 3) is Verdict.ADOPTED
    assert (log.owner, log.state.offset, log.state.epoch) == ("go", 3, 2)
    assert log.beat(A, 11, epoch=0) is Verdict.VOID
    assert log.beat(GO_TOO, 2) is Verdict.ADOPTED
    assert log.owner == "other"


def test_an_owner_of_the_original_library_may_go_back() -> None:
    log = Log()
    log.claim(GO)
    log.beat(GO, 10)
    assert log.beat(GO, 4) is Verdict.RENEWED
    assert log.state.offset == 4


def test_a_key_is_mixed_for_ten_minutes_after_a_peer_without_headers() -> None:
    log = owned_by_a()
    assert log.state.mixed_until == -1
    log.beat(GO, 3)
    assert log.state.mixed_until == (START + 600) * 1000


def test_strictly_nobody_but_the_owner_has_a_heartbeat_count() -> None:
    log = Log(compat=Compat.STRICT)
    log.claim(A)
    log.beat(A, 10)
    assert log.beat(GO, 3) is Verdict.VOID
    assert log.owner == "A"


def test_strictly_an_owner_of_the_original_library_keeps_what_it_claimed() -> None:
    log = Log(compat=Compat.STRICT)
    log.claim(GO)
    assert log.beat(GO, 3) is Verdict.RENEWED
    assert log.beat(GO_TOO, 5) is Verdict.VOID


def test_where_all_are_of_the_original_library_headers_say_nothing() -> None:
    log = Log(compat=Compat.GO)
    log.claim(A)
    assert log.beat(B, 5, epoch=0) is Verdict.ADOPTED
    assert log.owner == "B"


# -- releases and probes -------------------------------------------------------------------------


def test_a_release_frees_the_key_and_keeps_the_position() -> None:
    log = owned_by_a()
    assert log.release(A, 15) is Verdict.RELEASED
    assert (log.owner, log.state.offset) == (None, 15)
    assert log.claim(B) is Verdict.ACCEPTED


def test_a_heartbeat_that_its_own_release_has_overtaken_does_not_bring_the_key_back() -> None:
    log = owned_by_a()
    log.release(A, 15)
    assert log.beat(A, 12, epoch=0) is Verdict.VOID
    assert (log.owner, log.state.offset) == (None, 15)


def test_a_second_release_of_the_owner_moves_the_position() -> None:
    log = owned_by_a()
    log.release(A, 15)
    assert log.release(A, 4) is Verdict.RELEASED
    assert log.state.offset == 4


@pytest.mark.parametrize("peer", [B, Peer("A", "i2"), Peer("B", "i1"), GO])
def test_nobody_but_the_owner_releases_a_key(peer: Peer) -> None:
    log = owned_by_a()
    assert log.release(peer, 0) is Verdict.VOID
    assert (log.owner, log.state.offset) == ("A", 10)


def test_a_release_under_an_earlier_epoch_is_void() -> None:
    log = owned_by_a()
    log.wait(120)
    log.claim(A)
    assert log.state.epoch == 2
    assert log.release(A, 0, epoch=0) is Verdict.VOID
    assert log.owner == "A"


def test_a_probe_shows_the_owner_of_the_key_and_changes_nothing() -> None:
    log = owned_by_a()
    before = log.state
    assert (log.probe(A, 20), log.probe(B, 20)) == (Verdict.PROBED, Verdict.VOID)
    log.append(b"banana")
    assert log.probe(A, 20, epoch=2) is Verdict.VOID
    assert (log.state, log.state.offset) == (before, 10)


# -- pauses --------------------------------------------------------------------------------------


def test_a_paused_group_lets_only_its_admin_claim() -> None:
    log, admin = Log(), Peer("admin")
    assert log.pause(admin, 900) is Verdict.PAUSED
    assert (log.claim(A), log.claim(admin)) == (Verdict.REFUSED, Verdict.ACCEPTED)


@pytest.mark.parametrize(("seconds", "waited"), [(60, 60), (-5, 0), (10**9, 3000)])
def test_a_pause_ends_by_the_time_of_the_log_and_within_the_hour_that_is_read(
    seconds: int, waited: int
) -> None:
    log = Log()
    log.pause(Peer("admin"), seconds)
    if waited:
        log.wait(waited - 1)
        assert log.claim(A) is Verdict.REFUSED
        log.wait(1)
    assert log.claim(A) is Verdict.ACCEPTED


def test_the_last_pause_counts_also_when_it_ends_earlier() -> None:
    log, admin = Log(), Peer("admin")
    log.pause(admin, 900)
    log.pause(admin, 0)
    assert log.world.pause_of(b"g") is None
    assert log.claim(A) is Verdict.ACCEPTED


def test_where_a_pause_was_ended_is_known_also_when_one_stands_behind_it() -> None:
    log, admin = Log(), Peer("admin")
    log.pause(admin, 900)
    assert log.world.pause_ended_at(b"g") == -1
    log.pause(B, 0)
    log.pause(admin, 900)
    assert log.world.pause_of(b"g") is not None
    assert (log.world.pause_ended_at(b"g"), log.world.pause_ended_at(b"other")) == (1, -1)


# -- reading from the middle ---------------------------------------------------------------------


def test_a_reader_from_the_middle_gives_a_key_away_only_after_two_minutes_of_silence() -> None:
    log = Log(complete=False, first=500)
    assert log.claim(B) is Verdict.REFUSED
    log.wait(119)
    assert log.claim(B, partition=1) is Verdict.REFUSED
    log.wait(1)
    assert log.claim(B, partition=2) is Verdict.ACCEPTED
    assert log.claim(B) is Verdict.ACCEPTED


def test_a_reader_from_the_middle_never_takes_from_an_owner_that_beats() -> None:
    log = Log(complete=False, first=500)
    for _ in range(10):
        log.wait(60)
        log.beat(A, 10, epoch=3)
        assert log.claim(B) is Verdict.REFUSED
    assert log.owner == "A"


# -- time ----------------------------------------------------------------------------------------


def test_a_senders_clock_means_nothing_where_the_broker_says_the_time() -> None:
    log = Log()
    log.claim(A, late=-3600)
    log.beat(A, 10, late=3600)
    log.wait(119)
    assert log.claim(B, late=-3600) is Verdict.REFUSED


def test_brokers_clock_that_goes_back_ends_no_claim() -> None:
    log = owned_by_a()
    log.wait(-50)
    log.beat(A, 11)
    log.wait(50 + 119)
    assert log.claim(B) is Verdict.REFUSED


def test_without_the_brokers_time_the_senders_counts() -> None:
    log = Log(append_time=False)
    log.claim(A)
    log.beat(A, 10)
    assert log.claim(B, late=-119) is Verdict.REFUSED
    assert log.claim(B, late=-120) is Verdict.ACCEPTED


# -- nonsense ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, Reject.NULL),
        (b"\xff" * 1_000_000, Reject.TOO_LONG),
        (b"Heartbeat/1/%d/i/c/g/t/-1/7" % START, Reject.PARTITION_RANGE),
        (b"Heartbeat/1/%d/i/c/g/t/2147483647/7" % START, Reject.PARTITION_RANGE),
        (b"Heartbeat/1/%d/i/c/g/t/0/-1" % START, Reject.OFFSET_RANGE),
        (b"Heartbeat/1/0/i/c/g/t/0/7", Reject.TIME_RANGE),
        (b"Heartbeat/1/9223372036854775807/i/c/g/t/0/7", Reject.TIME_RANGE),
    ],
)
def test_nonsense_is_counted_and_changes_nothing(value: bytes | None, why: Reject) -> None:
    log = owned_by_a()
    before = {key: repr(state) for key, state in log.world.keys.items()}
    assert log.append(value) is why
    assert {key: repr(state) for key, state in log.world.keys.items()} == before
    assert log.world.rejects == {why: 1}
    assert log.world.next_offset == len(log.rows)


@pytest.mark.parametrize("odd", [0, 1, 9_999_999_999, 2**40])
def test_a_first_record_with_an_odd_time_hides_nobody(odd: int) -> None:
    """What the original writes has no timestamp, so nothing speaks for the time in it."""
    log = Log(append_time=False)
    assert log.append(b"Heartbeat/1/%d/i/c/g/t/0/7" % odd) is Reject.TIME_RANGE
    log.wait(60)
    assert log.claim(GO) is Verdict.ACCEPTED
    assert log.beat(GO, 3) is Verdict.RENEWED
    assert log.claim(A) is Verdict.REFUSED
    assert log.owner == "go"


@pytest.mark.parametrize(
    "header", [("kg-epoch", b"x"), ("kg-epoch", b"-1"), ("kg-hi", b"0"), ("kg-hi", b"61")]
)
def test_a_header_that_is_nonsense_makes_the_record_nonsense(header: tuple[str, bytes]) -> None:
    log = owned_by_a()
    value = b"Heartbeat/1/%d/i1/A/g/t/0/20" % START
    assert log.append(value, [("kg-v", b"1"), header]) is Reject.HEADER
    assert log.state.offset == 10


@pytest.mark.parametrize("say", [Log.beat, Log.release, Log.probe])
@pytest.mark.parametrize("ahead", [0, 1, 10**6])
def test_a_claim_that_does_not_stand_before_is_not_believed(
    say: Callable[[Log, Peer, int, int], Verdict | Reject], ahead: int
) -> None:
    """1. The log loses its tail, and a claim with it; 2. the claimant goes on."""
    log = owned_by_a()
    before = repr(log.state)
    for peer in (B, A):
        assert say(log, peer, 20, len(log.rows) + ahead) is Reject.EPOCH_RANGE
    assert repr(log.state) == before
    assert log.world.rejects == {Reject.EPOCH_RANGE: 2}


def test_the_claim_right_before_a_message_is_believed() -> None:
    log = Log(complete=False, first=500)
    assert log.beat(B, 7, epoch=499) is Verdict.ADOPTED
    assert log.beat(A, 8, epoch=500) is Verdict.ADOPTED


def test_a_claim_is_under_no_epoch_whatever_it_says() -> None:
    log, words = Log(), write_extension(Extension(10**6, START * 1000))
    assert log.append(b"ClaimingPartition/1/%d/i1/A/g/t/0" % START, words) is Verdict.ACCEPTED
    assert log.state.epoch == 0


# -- the log alone -------------------------------------------------------------------------------


def test_equal_logs_give_equal_worlds() -> None:
    log = owned_by_a()
    log.release(A, 15)
    log.pause(B, 60)
    log.beat(GO, 3)
    log.append(b"banana")
    again = Log()
    for row in log.rows:
        again.world.apply(*row)
    assert again.world.digest() == log.world.digest()
    log.beat(GO, 4)
    assert again.world.digest() != log.world.digest()


def test_digest_of_a_log_is_the_same_in_every_version() -> None:
    log = owned_by_a()
    log.beat(A, 7)
    log.pause(B, 60)
    log.append(encode(Message(Kind.HEARTBEAT, START, b"i", b"c", b"g", b"t~members", 0, 0)))
    log.world.presences.skip(b"g", b"t", b"c", START * 1000)
    assert log.world.digest() == (
        "7d1719f780448558b1632c707df8f9f3ebcca439c2bce2f2689c6c94868fe2b1"
    )
