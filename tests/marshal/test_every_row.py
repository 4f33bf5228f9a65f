"""Every row of a key fires: in a few storms, or in a scene, where these hardly come to it."""

from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from kgroup.marshal.admission import ADMISSION_ROWS, AdmissionStage
from kgroup.marshal.events import KeyRead
from kgroup.marshal.key_rows import KEY_ROWS, KeyPhase
from kgroup.marshal.messages import Extension, Kind, Message, write_extension
from kgroup.marshal.rules import ClaimPolicy, Guarantee, Verdict
from kgroup.types import ChangeKind, Leave
from tests.marshal.room.node import Node
from tests.marshal.room.play import play
from tests.marshal.room.room import Fate, Room
from tests.marshal.scenes import IDLE, P0, enter, heard_of, room_of, written


def owning() -> tuple[Room, Node]:
    """Return a room with one member that owns its partition, and has no write under way."""
    room = room_of()
    node = enter(room, "a", IDLE)
    room.run(5)
    assert room.owner_of(P0) is node
    return room, node


def say(room: Room, kind: Kind, client: bytes, instance: bytes, epoch: int) -> KeyRead:
    """Append a message of anybody; return what it came to."""
    headers = tuple(write_extension(Extension(epoch, 1, 60, b"1")))
    time = int(room.log.clock(room.now))
    room.append(Message(kind, time, instance, client, b"g", b"t", 0, 0), headers)
    return room.log.facts[-1].read


def above_any(room: Room) -> int:
    """Return an epoch that is higher than any, and lies in the log: another group's message."""
    time = int(room.log.clock(room.now))
    room.append(Message(Kind.HEARTBEAT, time, b"i", b"b", b"h", b"t", 0, 0))
    return len(room.log.rows) - 1


def last_write_is_lost(room: Room, node: Node, mode: Leave) -> None:
    """Ask for the end; let nothing of its release, or last heartbeat, arrive at once."""
    room.fates += [Fate(())] * 3
    node.close(mode, 100.0, 200.0)
    room.run(1.0)
    room.fates.clear()
    assert node.member.life(P0).phase is KeyPhase.RELEASING


def test_the_last_heartbeat_of_a_member_that_remains_is_written_again_when_not_read_back() -> None:
    room, node = owning()
    count = len(written(room, Kind.HEARTBEAT, "a"))
    last_write_is_lost(room, node, Leave.REMAIN)
    room.run(28.0)
    assert len(written(room, Kind.HEARTBEAT, "a")) == count
    room.run(5.0)
    assert len(written(room, Kind.HEARTBEAT, "a")) == count + 1
    assert room.judge.rows["RELEASING+WRITE_LIMIT[REMAINS]"] == 1
    assert node.done_at is not None
    assert not [read for read in written(room, Kind.RELEASING_PARTITION) if read.tp == P0]


def test_what_another_takes_during_a_release_is_given_up_without_one() -> None:
    room, node = owning()
    last_write_is_lost(room, node, Leave.LEAVE)
    say(room, Kind.HEARTBEAT, b"b", b"i", above_any(room))
    room.run(1.0)
    assert room.judge.rows["RELEASING+TAKEN"] == 1
    assert node.done_at is not None
    assert heard_of(node, ChangeKind.REVOKED) == [P0]
    assert heard_of(node, ChangeKind.LOST) == []


@pytest.mark.parametrize("releasing", [False, True])
def test_a_member_whose_own_message_is_void_does_not_own(*, releasing: bool) -> None:
    """1. Somebody releases the key in this process's name; 2. what it writes next is void."""
    room, node = owning()
    if releasing:
        last_write_is_lost(room, node, Leave.REMAIN)
    epoch, instance = node.member.life(P0).epoch, node.settings.instance_id.encode()
    assert epoch is not None
    assert say(room, Kind.RELEASING_PARTITION, b"a", instance, epoch).verdict is Verdict.RELEASED
    row = "RELEASING+VOID" if releasing else "OWNED+VOID"
    assert not room.judge.rows[row]
    room.run(35.0)
    assert room.judge.rows[row] == 1
    assert heard_of(node, ChangeKind.REVOKED if releasing else ChangeKind.LOST) == [P0]
    assert (room.owner_of(P0) is node) is not releasing


# -- every row ---------------------------------------------------------------------------------


def arriving(phase: KeyPhase, *, answers: bool = True, **settings: object) -> tuple[Room, Node]:
    """Return a room whose one member has just come to a phase."""
    room = room_of()
    room.trouble.unanswered = 0.0 if answers else 1.0
    node = enter(room, "a", IDLE, **settings)
    for _ in range(10_000):
        if node.member.life(P0).phase is phase:
            return room, node
        room.run(0.0005)
    raise AssertionError("it never came to that")


def releasing(mode: Leave) -> tuple[Room, Node]:
    room, node = owning()
    last_write_is_lost(room, node, mode)
    return room, node


def released_by_itself(room: Room, node: Node) -> None:
    epoch = node.member.life(P0).epoch
    assert epoch is not None
    say(room, Kind.RELEASING_PARTITION, b"a", node.settings.instance_id.encode(), epoch)


def claimed_by_itself(room: Room, node: Node) -> None:
    say(room, Kind.CLAIMING_PARTITION, b"a", node.settings.instance_id.encode(), 0)


def taken(room: Room, _: Node) -> None:
    say(room, Kind.HEARTBEAT, b"b", b"i", above_any(room))


def cut_off(room: Room, node: Node) -> None:
    room.log.truncate(1)
    node.heard()


def closed(_: Room, node: Node) -> None:
    node.close(Leave.LEAVE, 100.0, 200.0)


def paused(room: Room, _: Node) -> None:
    room.pause_group(60)


def remaining_and_refused(room: Room, node: Node) -> None:
    room.fates += [Fate((), 0.2, maybe=False)] * 2
    node.close(Leave.REMAIN, 100.0, 200.0)


def leaving_and_refused(room: Room, node: Node) -> None:
    room.fates += [Fate((), 0.2, maybe=False)] * 2
    node.close(Leave.LEAVE, 100.0, 200.0)


def leaving_with_a_late_heartbeat(room: Room, node: Node) -> None:
    room.fates.append(Fate((1.0,)))
    node.commit({node.member.holdings.claims[0]: 3})
    room.run(0.3)
    node.close(Leave.LEAVE, 100.0, 200.0)


def next_is_lost(room: Room, _: Node) -> None:
    room.fates.append(Fate(()))


def nothing(room: Room, _: Node) -> None:
    room.run(90.0)


_P = KeyPhase
Begin = Callable[[], tuple[Room, Node]]
SCENES: Mapping[str, tuple[Begin, Callable[[Room, Node], None]]] = {
    "PAUSING+ACCEPTED": (
        lambda: arriving(_P.PAUSING, policy=ClaimPolicy.GRADUAL),
        claimed_by_itself,
    ),
    "PAUSING+LOG_LOST": (lambda: arriving(_P.PAUSING, policy=ClaimPolicy.GRADUAL), cut_off),
    "CLAIMING+LOG_LOST": (lambda: arriving(_P.CLAIMING), cut_off),
    "LOCATING+EXPIRED": (lambda: arriving(_P.LOCATING, answers=False), nothing),
    "LOCATING+LOCATED[UNWANTED]": (lambda: arriving(_P.LOCATING), closed),
    "LOCATING+UNLOCATED[UNWANTED]": (lambda: arriving(_P.LOCATING, answers=False), closed),
    "LOCATING+LOG_LOST": (lambda: arriving(_P.LOCATING, answers=False), cut_off),
    "CONFIRMING+COUNTED[UNWANTED]": (lambda: arriving(_P.CONFIRMING), paused),
    "CONFIRMING+LOG_LOST": (lambda: arriving(_P.CONFIRMING), cut_off),
    "CONFIRMING+WRITE_LIMIT": (lambda: arriving(_P.CLAIMING), next_is_lost),
    "CONFIRMING+TAKEN": (lambda: arriving(_P.CONFIRMING), taken),
    "CONFIRMING+VOID": (lambda: arriving(_P.CONFIRMING), released_by_itself),
    "OWNED+TAKEN": (owning, taken),
    "OWNED+VOID": (owning, released_by_itself),
    "RELEASING+COUNTED[RELEASES]": (owning, leaving_with_a_late_heartbeat),
    "RELEASING+WRITE_REFUSED": (owning, leaving_and_refused),
    "RELEASING+BEAT_DUE[REMAINS]": (owning, remaining_and_refused),
    "RELEASING+WRITE_LIMIT[REMAINS]": (lambda: releasing(Leave.REMAIN), nothing),
    "RELEASING+TAKEN": (lambda: releasing(Leave.LEAVE), taken),
    "RELEASING+VOID": (lambda: releasing(Leave.REMAIN), released_by_itself),
    "RELEASING+LOG_LOST": (lambda: releasing(Leave.LEAVE), cut_off),
}
"""Row -> how it begins, and what happens then."""

STORMS = (2, 50, 75, 111)
"""Seeds whose storms fire every other row between them."""


@pytest.mark.parametrize("row", SCENES)
def test_a_rare_row_fires_in_its_own_test(row: str) -> None:
    begin, happens = SCENES[row]
    room, node = begin()
    assert not room.judge.rows[row]
    happens(room, node)
    room.run(35.0)
    assert room.judge.rows[row]


REFUSED = (AdmissionStage.COMMITTING, AdmissionStage.OVER)


def test_a_batch_whose_partition_goes_while_it_is_committed_is_refused() -> None:
    room = room_of()
    room.rate = 10.0
    node = enter(room, "a", guarantee=Guarantee.AT_MOST_ONCE)
    room.run(12.0)
    room.trouble.unanswered = 1.0
    batches = len(node.handed_out)
    while (batch := node.member.life(P0).admission) is None or batch.stage is not REFUSED[0]:
        room.run(0.0005)
    closed(room, node)
    room.run(1.0)
    assert room.judge.batch_moves[REFUSED] == 1
    assert len(node.handed_out) == batches > 0


@pytest.mark.faults  # it takes long
@pytest.mark.slow
def test_every_other_row_and_every_move_of_a_batch_comes_in_a_storm() -> None:
    fired, moved = Counter[str](), Counter[tuple[AdmissionStage, AdmissionStage]]()
    for seed in STORMS:
        outcome = play(seed)
        fired += outcome.rows
        moved += outcome.batch_moves
    assert {str(row) for row in KEY_ROWS.rows} - fired.keys() <= SCENES.keys()
    assert {(row.at, row.to) for row in ADMISSION_ROWS.rows} - moved.keys() <= {REFUSED}
