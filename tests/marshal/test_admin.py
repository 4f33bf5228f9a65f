"""Setting positions from outside, message by message, in a log that others write to as well."""

import pytest

from kgroup.marshal.admin import (
    Draft,
    KeyMove,
    Stage,
    draft_of,
    give_up,
    heard,
    was_committed,
)
from kgroup.marshal.key_state import Key
from kgroup.marshal.messages import Extension, Kind, Message, Reject, encode, write_extension
from kgroup.marshal.plan import coordination_partition
from kgroup.marshal.rules import Verdict, WorldRules
from kgroup.marshal.survey import (
    free_at,
    holders,
    mixed_keys,
    names_everywhere,
    pause_left,
    standings,
)
from kgroup.marshal.world import World
from kgroup.types import TopicPartition

T0 = TopicPartition("t", 0)
KEY = Key(b"g", b"t", 0)
START = 1_700_000_000


class Log:
    """A world that is written to by an administrator and by others."""

    def __init__(self, *, complete: bool = True) -> None:
        self.world = World(WorldRules(append_time=True, complete=complete))
        self.at = START

    def say(
        self, client: str, draft: Draft, *, started: int = 0, headers: bool = True
    ) -> tuple[Verdict | Reject, int]:
        offset = self.world.next_offset
        names = b"i1", client.encode(), b"g", b"t"
        message = Message(draft.kind, self.at, *names, 0, draft.tail)
        more = write_extension(Extension(draft.epoch, started)) if headers else ()
        return self.world.apply(offset, self.at * 1000, encode(message), more), offset

    @property
    def position(self) -> int | None:
        state = self.world.keys.get(KEY)
        return None if state is None or state.offset < 0 else state.offset

    def owned_by(self, client: str, tail: int) -> int:
        """Have somebody claim the key and beat once; return the epoch."""
        _, epoch = self.say(client, Draft(Kind.CLAIMING_PARTITION))
        self.say(client, Draft(Kind.HEARTBEAT, tail, epoch))
        return epoch


def write(log: Log, move: KeyMove) -> KeyMove:
    """Write what is next, and take in what came of it."""
    draft = draft_of(move)
    assert draft is not None
    verdict, offset = log.say("admin", draft)
    return heard(move, verdict, offset, log.position)


def test_a_key_goes_step_by_step_and_only_the_last_one_moves_it() -> None:
    log = Log()
    log.say("A", Draft(Kind.RELEASING_PARTITION, 7, log.owned_by("A", 7)))
    move = KeyMove(T0, 42)
    stages = [move.stage]
    for _ in range(2):
        move = write(log, move)
        assert log.position == 7
        stages.append(move.stage)
    move = write(log, was_committed(move, None))
    stages.append(move.stage)
    assert stages == [Stage.WAITING, Stage.CLAIMED, Stage.HELD, Stage.SET]
    assert (move.former, log.position, move.is_done) == (7, 42, True)


def test_a_key_that_somebody_has_stays_waiting() -> None:
    log = Log()
    log.owned_by("A", 7)
    assert write(log, KeyMove(T0, 42)).stage is Stage.WAITING


def test_a_key_without_a_position_gets_none_before_the_last_step() -> None:
    log = Log()
    move = write(log, KeyMove(T0, 42))
    assert (move.stage, draft_of(move), log.position) == (Stage.HELD, None, None)
    given_up = give_up(move, "no")
    assert (given_up.stage, draft_of(given_up)) == (Stage.KEPT, None)
    assert write(log, was_committed(move, None)).stage is Stage.SET
    assert log.position == 42


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_move_that_is_given_up_before_the_commit_leaves_the_key_where_it_was(steps: int) -> None:
    log = Log()
    log.say("A", Draft(Kind.RELEASING_PARTITION, 7, log.owned_by("A", 7)))
    move = KeyMove(T0, 42)
    for _ in range(steps):
        move = write(log, move)
    move = give_up(move, "no")
    if steps:
        move = write(log, move)
    assert (move.stage, move.reason, log.position) == (Stage.KEPT, "no", 7)
    assert not log.world.keys[KEY].owned


def test_after_the_commit_there_is_no_way_back() -> None:
    move = KeyMove(T0, 42, 7, Stage.COMMITTED, 3)
    assert give_up(move, "no") is move
    assert draft_of(move) == Draft(Kind.RELEASING_PARTITION, 42, 3)


def test_a_commit_that_failed_is_reported_and_the_key_goes_back() -> None:
    held = KeyMove(T0, 42, 7, Stage.HELD, 3)
    move = was_committed(held, ValueError("no coordinator"))
    assert move.stage is Stage.RESTORING
    assert "not committed: no coordinator" in move.reason
    assert draft_of(move) == Draft(Kind.RELEASING_PARTITION, 7, 3)


def test_a_key_that_is_taken_amid_it_is_lost_and_not_moved() -> None:
    log = Log()
    log.say("A", Draft(Kind.RELEASING_PARTITION, 7, log.owned_by("A", 7)))
    move = write(log, write(log, KeyMove(T0, 42)))
    log.at += 130
    log.owned_by("B", 9)
    move = write(log, was_committed(move, None))
    assert move.stage is Stage.LOST
    assert "offset 42 is committed: do it again" in move.reason
    assert log.position == 9
    assert log.world.keys[KEY].client_id == b"B"


def test_a_member_of_the_original_library_that_takes_it_is_noticed_at_the_next_step() -> None:
    log = Log()
    move = write(log, KeyMove(T0, 42, 5))
    log.say("go", Draft(Kind.HEARTBEAT, 9), headers=False)
    assert write(log, move).stage is Stage.LOST
    assert log.position == 9


@pytest.mark.parametrize(
    ("stage", "ends"),
    [
        (Stage.WAITING, Stage.UNKNOWN),
        (Stage.CLAIMED, Stage.KEPT),
        (Stage.HELD, Stage.KEPT),
        (Stage.RESTORING, Stage.KEPT),
        (Stage.COMMITTED, Stage.UNKNOWN),
    ],
)
def test_what_was_not_read_back_is_said(stage: Stage, ends: Stage) -> None:
    move = heard(KeyMove(T0, 42, 7, stage, 3), None, -1, None)
    assert move.stage is ends
    assert "not read back" in move.reason
    assert move.is_done


def test_a_restored_key_keeps_the_reason_for_which_it_went_back() -> None:
    move = KeyMove(T0, 42, 7, Stage.RESTORING, 3, "no coordinator")
    assert heard(move, None, -1, None).reason.startswith("no coordinator; ")
    assert heard(move, Verdict.RELEASED, 9, 7).reason == "no coordinator"


# -- what is asked of a world ------------------------------------------------------------------


def test_holders_are_owners_whose_claims_last() -> None:
    log = Log()
    log.owned_by("A", 7)
    now = START * 1000
    (held,) = holders(log.world, "g", None, now + 119_999)
    assert (held.tp, held.client_id, held.until) == (T0, "A", now + 120_000)
    assert holders(log.world, "g", None, now + 120_000) == []
    assert holders(log.world, "g", [TopicPartition("t", 1)], now) == []
    assert holders(log.world, "h", None, now) == []


def test_a_key_nobody_spoke_of_is_free_at_once_only_where_all_is_known() -> None:
    log = Log(complete=False)
    other = Key(b"g", b"t", 1)
    log.owned_by("A", 7)
    assert free_at(log.world, other, complete=True) == 0
    assert free_at(log.world, other, complete=False) == (START + 120) * 1000
    assert free_at(log.world, KEY, complete=False) == (START + 120) * 1000


def test_members_of_the_original_library_count_for_ten_minutes_in_any_group() -> None:
    log = Log()
    log.say("go", Draft(Kind.CLAIMING_PARTITION), headers=False)
    (mixed,) = mixed_keys(log.world, START * 1000 + 599_999)
    assert (mixed.group, mixed.tp) == ("g", T0)
    assert mixed_keys(log.world, START * 1000 + 600_000) == []


def test_states_are_reported_of_one_group_or_of_all() -> None:
    log = Log()
    log.owned_by("A", 7)
    assert [key for key, _ in standings(log.world)] == [KEY]
    assert [key for key, _ in standings(log.world, "g")] == [KEY]
    assert list(standings(log.world, "h")) == []
    assert pause_left(None, 0) == 0.0


@pytest.mark.parametrize("partitions", [1, 3, 16, 50])
def test_there_are_names_for_every_coordination_partition(partitions: int) -> None:
    names = names_everywhere(partitions)
    assert {coordination_partition(name, partitions) for name in names} == set(range(partitions))
    assert len(names) == partitions
