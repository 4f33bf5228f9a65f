"""Stories of a log of claims: races, retries, late heartbeats, wrong clocks, and late readers.

Each has the number it has among the scenarios; those of whole members beside it are in
`test_scenarios`.
"""

import pytest

from kgroup.marshal.messages import Extension, Kind, write_extension
from kgroup.marshal.rules import Compat, Guarantee, Verdict, WorldRules
from kgroup.marshal.view import LogView
from kgroup.types import ChangeKind, Leave
from tests.marshal.logs import START, Log, Peer, columns_of
from tests.marshal.room.habits import Habits
from tests.marshal.room.node import Node
from tests.marshal.room.room import Fate, Room
from tests.marshal.scenes import P0, enter, heard_of, offsets_of, room_of, written

A, B, C = Peer("A"), Peer("B"), Peer("C")

HOUR = 3600


# -- two claims at once --------------------------------------------------------------------------


@pytest.mark.parametrize("readers", ["from the end", "record by record", "while catching up"])
def test_of_two_claims_in_one_batch_the_lower_offset_wins_for_every_reader(readers: str) -> None:
    """Scenario 2."""
    log = Log()
    for peer in (A, B):
        log.claim(peer)
    view = LogView(0, "g", WorldRules(append_time=True, complete=True))
    if readers == "while catching up":
        columns = columns_of(log.rows)
        view.catch_up(columns, columns.raw_rows())
    else:
        rows = [(at, stamp, None, value, (*headers,)) for at, stamp, value, headers in log.rows]
        pieces = [rows] if readers == "from the end" else [[row] for row in rows]
        reads = [one for piece in pieces for one in view.read(piece, piece[-1][0] + 1).reads]
        assert [one.verdict for one in reads] == [Verdict.ACCEPTED, Verdict.REFUSED]
    (state,) = view.world.keys.values()
    assert (state.client_id, state.epoch) == (b"A", 0)
    assert view.world.digest() == log.world.digest()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_loser_of_a_race_of_claims_hands_out_nothing_and_leaves_the_key_alone(
    seed: int,
) -> None:
    """Scenario 2: nobody has read of the other's claim when it writes its own."""
    room = room_of(seed=seed)
    room.fates = [Fate((2.0,))] * 6  # of their signs of presence and their claims
    nodes = [enter(room, name) for name in ("a", "b", "c")]
    room.run(60)
    raced = written(room, Kind.CLAIMING_PARTITION)
    assert [each.verdict for each in raced] == [Verdict.ACCEPTED, *[Verdict.REFUSED] * 2]
    (winner,) = (node for node in nodes if node.handed_out)
    assert raced[0].client_id == winner.settings.client_id.encode()
    room.run(240)
    assert len(written(room, Kind.CLAIMING_PARTITION)) == len(raced)
    assert [node for node in nodes if node.handed_out] == [winner]
    assert room.judge.broken == []


# -- everything twice ----------------------------------------------------------------------------

SAID = {
    Kind.CLAIMING_PARTITION: lambda log: log.claim(A),
    Kind.HEARTBEAT: lambda log: log.beat(A, 20),
    Kind.CLAIMING_MESSAGES: lambda log: log.probe(A, 30),
    Kind.RELEASING_PARTITION: lambda log: log.release(A, 25),
}


@pytest.mark.parametrize("kind", SAID)
def test_a_message_that_was_stored_twice_does_what_it_does_once(kind: Kind) -> None:
    """Scenario 3."""
    log = Log()
    if kind is not Kind.CLAIMING_PARTITION:
        log.claim(A)
        log.beat(A, 10)
    SAID[kind](log)
    once = repr(log.state)
    log.append(*log.rows[-1][2:])
    assert repr(log.state) == once
    log.wait(119)
    assert log.claim(B) is (
        Verdict.ACCEPTED if kind is Kind.RELEASING_PARTITION else Verdict.REFUSED
    )


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", Guarantee)
def test_a_member_all_of_whose_messages_are_stored_twice_does_what_it_does_once(
    guarantee: Guarantee,
) -> None:
    """Scenario 3: producer retries of claims, heartbeats, probes and releases."""
    once, twice = (a_life(guarantee, (0.005,) * times) for times in (1, 2))
    assert batches(twice[0]) == batches(once[0])
    assert [change.kind for change in twice[0].changes] == [ChangeKind.ASSIGNED, ChangeKind.REVOKED]
    states = [room.log.state(P0) for _, room in (once, twice)]
    assert [(s.owned, s.offset) for s in states] == [(False, offsets_of(once[0])[-1] + 1)] * 2
    facts = [len(room.log.facts) for _, room in (once, twice)]
    assert facts[1] == 2 * facts[0]
    assert twice[1].judge.broken == []


def a_life(guarantee: Guarantee, appended: tuple[float, ...]) -> tuple[Node, Room]:
    """Have a member come, read and leave; each of its messages is stored like this."""
    room = room_of()
    room.fates = [Fate(appended)] * 10_000
    node = enter(room, "a", guarantee=guarantee)
    room.run(300)
    node.close(Leave.LEAVE, 3.0, 5.0)
    room.run(10)
    return node, room


def batches(node: Node) -> list[tuple[float, int, int]]:
    """Return what was handed out without the claims, whose numbers are offsets in the log."""
    return [(at, begin, end) for at, _, begin, end in node.handed_out]


# -- late heartbeats -----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_release_waits_for_the_heartbeat_that_is_under_way() -> None:
    """Scenario 6: a member's own release never overtakes its heartbeat, so the key stays free."""
    room = room_of()
    node = enter(room, "a")
    room.run(60)
    room.fates = [Fate((5.0,))]
    while room.fates:
        room.run(0.01)
    node.close(Leave.LEAVE, 10.0, 20.0)
    room.run(4)
    assert written(room, Kind.RELEASING_PARTITION) == []
    room.run(60)
    facts = [fact.read for fact in room.log.facts if fact.read.tp == P0]
    assert [(each.kind, each.verdict) for each in facts[-2:]] == [
        (Kind.HEARTBEAT, Verdict.RENEWED),
        (Kind.RELEASING_PARTITION, Verdict.RELEASED),
    ]
    assert not room.log.state(P0).owned
    assert room.judge.broken == []


def test_a_member_knows_its_own_messages_also_where_nobodys_headers_count() -> None:
    """Else it would wait for ever to read back what it wrote, and own nothing."""
    log = Log()
    log.append(
        b"ClaimingPartition/1/%d/i1/A/g/t/0" % START,
        write_extension(Extension(None, START * 1000, 60, b"17")),
    )
    (row,) = log.rows
    view = LogView(0, "g", WorldRules(append_time=True, complete=True, compat=Compat.GO))
    (read,) = view.read([(*row[:2], None, row[2], (*row[3],))], 1).reads
    assert (read.verdict, read.nonce) == (Verdict.ACCEPTED, b"17")


# -- clocks --------------------------------------------------------------------------------------

AHEAD = [HOUR, -HOUR]


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", Guarantee)
@pytest.mark.parametrize("skew", AHEAD)
def test_by_the_brokers_time_a_wrong_clock_changes_nothing_at_all(
    skew: int, guarantee: Guarantee
) -> None:
    """Scenario 7: an hour off, and a jump to the other side in the middle."""

    def life(skew: int) -> tuple[object, ...]:
        room = room_of(2)
        nodes = [
            enter(room, "a", Habits(skew=skew), guarantee=guarantee),
            enter(room, "b", guarantee=guarantee),
        ]
        room.run(150)
        nodes[0].gets(skew=-skew)
        room.run(200)
        assert room.judge.broken == []
        return tuple((node.handed_out, node.changes) for node in nodes)

    assert life(skew) == life(0)


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", Guarantee)
def test_by_the_senders_time_a_clock_that_jumps_ahead_takes_what_somebody_has(
    guarantee: Guarantee,
) -> None:
    """Scenario 7: the owner is fenced when it reads of the claim. At most once nothing comes twice,
    at least once what was not confirmed does."""
    room = room_of(append_time=False)
    victim = enter(room, "a", guarantee=guarantee)
    room.run(60)
    other = enter(room, "b", guarantee=guarantee)
    room.run(30)
    room.judge.loose_until = room.now + 2000
    logged = room.log.state(P0).offset
    other.gets(skew=HOUR)
    before = len(written(room, Kind.CLAIMING_PARTITION, "b"))
    while len(written(room, Kind.CLAIMING_PARTITION, "b")) == before:
        room.run(0.01)
        logged = room.log.state(P0).offset
    room.run(victim.habits.read_delay + 0.002)
    read_at = room.now
    room.run(120)
    assert heard_of(victim, ChangeKind.LOST) == [P0]
    assert victim.handed_out[-1][0] <= read_at
    assert offsets_of(other)[0] == logged
    twice = set(offsets_of(victim)) & set(offsets_of(other))
    once = guarantee is Guarantee.AT_MOST_ONCE
    assert twice == (set() if once else {*range(logged, offsets_of(victim)[-1] + 1)})
    assert not [each for each in room.judge.broken if "twice" in each or "skipped" in each]


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", Guarantee)
def test_by_the_senders_time_a_clock_that_falls_back_loses_its_own_claims(
    guarantee: Guarantee,
) -> None:
    """Scenario 7."""
    room = room_of(append_time=False)
    victim = enter(room, "a", guarantee=guarantee)
    room.run(60)
    other = enter(room, "b", guarantee=guarantee)
    room.run(30)
    room.judge.loose_until = room.now + 2000
    victim.gets(skew=-HOUR)
    room.run(300)
    assert heard_of(victim, ChangeKind.LOST) == [P0]
    assert room.owner_of(P0) is other
    assert not [each for each in room.judge.broken if "twice" in each or "skipped" in each]


# -- late readers --------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [120, 240, HOUR])
@pytest.mark.parametrize("zombie_first", [True, False])
def test_a_late_reader_never_takes_a_live_key_while_a_zombie_writes(
    window: int, zombie_first: bool
) -> None:
    """Scenario 22: 1. A is taken over from; 2. it goes on writing; 3. a reader knows only the last
    minutes of the log, or its last hour."""
    zombie, owner = 100, 400
    log = Log(complete=False, first=500)
    for at in range(0, window + 1200, 20):
        says = [(A, 7, zombie), (B, at, owner)]
        for peer, offset, epoch in says if zombie_first else reversed(says):
            log.beat(peer, offset, epoch)
        if at >= window:
            assert log.claim(C) is Verdict.REFUSED
            assert log.owner == "B"
        log.wait(20)
    assert log.state.offset == window + 1180


@pytest.mark.parametrize(("silence", "then"), [(119, Verdict.REFUSED), (120, Verdict.ACCEPTED)])
@pytest.mark.parametrize("window", [120, 240, HOUR])
def test_a_late_reader_waits_for_the_end_of_a_zombie_and_no_longer(
    window: int, silence: int, then: Verdict
) -> None:
    """Scenario 22: the owner is dead, and what a reader sees of the zombie it must believe."""
    log = Log(complete=False, first=500)
    for _ in range(window // 20):
        log.wait(20)
        log.beat(A, 7, 100)
    log.wait(silence)
    assert log.claim(C) is then
