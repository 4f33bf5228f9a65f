"""User data that was seen in a live group goes to the assignor it was made for, and to no other."""

from typing import ClassVar

from kgroup.assignors.api import LastAssignment
from kgroup.assignors.simulator import (
    Join,
    Scenario,
    SimulatedMember,
    SimulatedTopic,
    assumed,
    play,
    read_scenario,
)
from kgroup.types import TopicPartition
from tests.assignors.simulator.stage import COOPERATIVE_STICKY, STICKY, Notebook, group_of

T0 = TopicPartition("t", 0)


class Capacity(Notebook):
    """Sends the same bytes whatever it owns."""

    name: ClassVar[str] = "capacity"

    def encode_user_data(
        self,
        owned: LastAssignment,
        generation_id: int | None,
    ) -> bytes | None:
        return b"mine"


class Diary(Notebook):
    """Sends what it owns."""

    name: ClassVar[str] = "diary"

    def encode_user_data(
        self,
        owned: LastAssignment,
        generation_id: int | None,
    ) -> bytes | None:
        return str(len(owned)).encode()


def seen_of(name: str | None, assigned: bytes | None = None) -> Scenario:
    """Return a group of one member, as it was seen while an assignor was in use."""
    one = SimulatedMember(
        member_id="a",
        topics=frozenset({"t"}),
        owned=(T0,),
        user_data=b"seen",
        assigned_user_data=assigned,
    )
    return Scenario({"t": SimulatedTopic(1)}, (one,), (Join(user_data=b"new"),), assignor=name)


def sent(scenario: Scenario, assignor: Notebook) -> dict[str, bytes | None]:
    """Return what the members sent in the last round."""
    list(play(scenario, assignor))
    return {name: data for name, (data, _) in assignor.seen[-1].items()}


def test_the_assignor_that_was_in_use_gets_what_was_seen() -> None:
    assert sent(seen_of("capacity"), Capacity()) == {"a": b"seen", "new-001": b"new"}


def test_another_assignor_gets_what_it_would_encode() -> None:
    assert sent(seen_of("diary"), Capacity()) == {"a": b"mine", "new-001": b"mine"}


def test_sticky_assignors_get_their_own_claims_and_not_what_another_was_sent() -> None:
    for assignor in (STICKY, COOPERATIVE_STICKY):
        assert [outcome.moves for outcome in play(seen_of("capacity"), assignor)] == [0, 0]


def test_an_assignor_that_encodes_nothing_gets_what_it_gave_last() -> None:
    first, *_ = play(seen_of("notebook", b"given"), notebook := Notebook())
    assert first.rounds == 1
    assert notebook.seen[0] == {"a": (b"given", 1)}


def test_an_assignor_that_encodes_nothing_and_gave_nothing_gets_what_was_seen() -> None:
    list(play(seen_of("notebook"), notebook := Notebook()))
    assert notebook.seen[0] == {"a": (b"seen", 1)}


def test_what_another_assignor_gave_is_not_sent_back_to_this_one() -> None:
    list(play(seen_of("capacity", b"given"), notebook := Notebook()))
    assert notebook.seen[0] == {"a": (None, 1)}


# -- what is not known ---------------------------------------------------------------------------


def test_user_data_for_an_assignor_not_in_use_is_said_to_be_unknown() -> None:
    note = assumed(seen_of("range"), Capacity())
    assert note is not None
    assert "'range'" in note
    assert "each is taken to send what capacity encodes here" in note


def test_user_data_that_depends_on_what_is_owned_is_said_to_be_a_round_old() -> None:
    note = assumed(seen_of("diary"), Diary())
    assert note == "diary encodes what a member owns; members send what they sent last"


def test_nothing_is_assumed_where_all_is_known() -> None:
    assert assumed(seen_of("capacity"), Capacity()) is None
    assert assumed(seen_of("range"), STICKY) is None
    assert assumed(seen_of("range"), Notebook()) is None
    assert assumed(group_of(1), Capacity()) is None


def test_what_a_new_member_sends_is_said_to_be_this_process_s_own() -> None:
    group = Scenario({"t": SimulatedTopic(1)}, events=(Join(),), assignor="capacity")
    assert assumed(group, Capacity()) == "new members are taken to send what capacity encodes here"


def test_a_description_names_the_assignor_that_was_in_use() -> None:
    assert read_scenario('{"topics": {}, "assignor": "weighted"}').assignor == "weighted"
