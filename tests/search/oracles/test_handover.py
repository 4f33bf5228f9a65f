import pytest

from kgroup.audit.oracles import judge
from kgroup.codes import ApiKey
from kgroup.journal import JoinIssued, OwnershipStep, Phase, StateChanged
from kgroup.membership.triggers import Trigger
from kgroup.types import Cause, ChangeKind, MemberState, RebalanceProtocol
from tests.audit.histories import COOPERATIVE, EAGER, History, one_member, tp
from tests.search.oracles.handover import JoinClaims

UNREADABLE = StateChanged(
    MemberState.SYNCING, MemberState.BACKING_OFF, Trigger.ASSIGNMENT_UNREADABLE.value
)


def rejoin_with(protocol: RebalanceProtocol, *owned: int) -> list[str]:
    history, member = one_member(0, 1, protocol=protocol)
    member.revoke(1)
    member.write(
        JoinIssued(
            member_id="m", generation_id=1, owned=tuple(tp(partition) for partition in owned)
        )
    )
    return [found.rule for found in judge([JoinClaims()], history.entries)]


def test_s4_an_eager_member_that_joins_before_it_gave_everything_back_is_found():
    assert rejoin_with(EAGER) == ["S4"]


def test_s4_a_cooperative_member_lists_what_it_holds():
    assert rejoin_with(COOPERATIVE, 0) == []


def test_s4_a_cooperative_member_that_hides_what_it_holds_is_found():
    assert rejoin_with(COOPERATIVE) == ["S4"]


def test_s9_after_a_loss_nothing_may_be_listed_and_no_generation_named():
    for generation, owned, expected in (
        (None, (), []),
        (1, (), ["S9"]),
        (None, (tp(0),), ["S9"]),
    ):
        history, member = one_member(0)
        member.lose(0)
        member.write(JoinIssued(member_id=None, generation_id=generation, owned=owned))
        assert [v.rule for v in judge([JoinClaims()], history.entries)] == expected


def join_as_one_who_lost(*, told: bool, delivers: bool) -> list[str]:
    history, member = one_member(0)
    member.write(JoinIssued(member_id="m", generation_id=None, owned=()))
    if delivers:
        member.deliver(0, 1)
    if told:
        member.lose(0)
    member.enter(2, 0)
    member.assign(0)
    return [found.rule for found in judge([JoinClaims()], history.entries)]


def test_s9_a_loss_may_be_told_right_after_the_join_that_follows_from_it():
    assert join_as_one_who_lost(told=True, delivers=False) == []


def test_s9_a_delivery_between_that_join_and_the_loss_is_found():
    assert join_as_one_who_lost(told=True, delivers=True) == ["S9"]


def test_s9_a_loss_that_is_never_told_is_found():
    assert join_as_one_who_lost(told=False, delivers=False) == ["S9"]


@pytest.mark.parametrize(
    ("again", "told", "expected"),
    [(False, 1, []), (True, 1, []), (True, 2, ["S9"])],
)
def test_s9_what_is_told_late_of_the_round_before_is_no_gain(
    again: bool, told: int, expected: list[str]
) -> None:
    # 1. on_revoked runs, and the next round goes on; 2. all is lost; 3. on_revoked returns, and
    # the member joins anew; 4. it is told what that round gave it, and then of the loss.
    history, member = one_member(0)
    claims = (member.claims[tp(0)],)
    member.write(JoinIssued(member_id=None, generation_id=None, owned=()))
    if again:
        member.enter(2, 0)
    member.generation = told
    member.change(ChangeKind.ASSIGNED, ())
    member.change(ChangeKind.LOST, claims)
    assert [found.rule for found in judge([JoinClaims()], history.entries)] == expected


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("over", [False, True])
def test_s4_a_join_waits_for_the_listener_that_gives_up_what_was_lost(begun: bool, over: bool):
    """It may even wait for its call, when the listener is slow to take something before."""
    history, member = one_member(0, protocol=EAGER)
    claims = (member.claims[tp(0)],)
    joined = JoinIssued(member_id=None, generation_id=None, owned=())
    if not begun and not over:
        member.write(joined)
    member.step(ChangeKind.REVOKED, Phase.BEGIN, claims)
    if begun and not over:
        member.write(joined)
    member.step(ChangeKind.REVOKED, Phase.END, claims)
    if over:
        member.write(joined)
    member.enter(2, 0)
    member.assign(0)
    found = judge([JoinClaims()], history.entries)
    assert [each.rule for each in found] == ([] if over else ["S4"])


@pytest.mark.parametrize(("waited", "expected"), [(9.9, ["S4"]), (10.1, [])])
def test_s4_that_listener_is_waited_for_as_long_as_a_round_lasts(
    waited: float, expected: list[str]
) -> None:
    """The rebalance timeout of these members is 10 s."""
    history, member = one_member(0, protocol=COOPERATIVE)
    member.step(ChangeKind.REVOKED, Phase.BEGIN, (member.claims[tp(0)],))
    history.wait(waited)
    member.write(JoinIssued(member_id=None, generation_id=None, owned=()))
    assert [found.rule for found in judge([JoinClaims()], history.entries)] == expected


@pytest.mark.parametrize(
    ("began", "waited", "joins", "expected"),
    [
        ("before", 7.0, 1, []),
        ("before", 5.0, 1, ["S4"]),
        ("amid", 11.0, 1, []),
        ("never", 7.0, 1, ["S4"]),
        ("before", 7.0, 2, []),
        ("long ago", 7.0, 1, ["S4"]),
    ],
)
def test_s4_who_unsubscribes_waits_as_long_as_a_round_lasts_from_then_on(
    began: str, waited: float, joins: int, expected: list[str]
) -> None:
    # 1. the application unsubscribes with a batch in hand; 2. 4 s later the batch is done with, and
    # on_revoked runs; 3. the member leaves, and joins anew when 10 s have passed since 1 (KIP-62).
    history, member = one_member(0, protocol=COOPERATIVE)
    unsubscribed = StateChanged(MemberState.STABLE, MemberState.RELEASING, "unsubscribed")
    if began in ("before", "long ago"):
        member.write(unsubscribed)
    if began == "long ago":
        member.enter(2, 0)
    history.wait(4.0)
    member.step(ChangeKind.REVOKED, Phase.BEGIN, (member.claims[tp(0)],))
    if began == "amid":
        member.write(unsubscribed)
    history.wait(waited)
    for generation in range(3, 3 + joins):
        member.write(JoinIssued(member_id=None, generation_id=None, owned=()))
        member.enter(generation)
    assert [found.rule for found in judge([JoinClaims()], history.entries)] == expected


def test_s9_after_a_join_that_was_answered_the_generation_may_be_named_again():
    """A SyncGroup that is refused with REBALANCE_IN_PROGRESS sends the member round again."""
    for answered, expected in ((True, []), (False, ["S9"])):
        history, member = one_member(0)
        member.lose(0)
        member.write(JoinIssued(member_id="m", generation_id=None, owned=()))
        if answered:
            member.ask(ApiKey.JOIN_GROUP)
        member.write(JoinIssued(member_id="m", generation_id=2, owned=()))
        assert [v.rule for v in judge([JoinClaims()], history.entries)] == expected


def test_s9_a_loss_that_is_told_late_says_nothing_about_the_generation_after_it():
    # 1. everything is lost while the listener is busy; 2. the next generation is entered; 3. the
    # listener hears of the loss; 4. the member is given partitions, and lists them.
    for lost_in, expected in ((1, []), (2, ["S9"])):
        history, member = one_member(0)
        claims = (member.claims[tp(0)],)
        member.write(JoinIssued(member_id=None, generation_id=None, owned=()))
        member.enter(2, 0)
        member.generation = lost_in
        member.step(ChangeKind.LOST, Phase.BEGIN, claims)
        member.step(ChangeKind.LOST, Phase.END, claims)
        member.generation = 2
        member.assign(0)
        member.write(JoinIssued(member_id="m", generation_id=2, owned=(tp(0),)))
        assert [v.rule for v in judge([JoinClaims()], history.entries)] == expected


def test_s4_what_was_lost_before_the_generation_is_not_hidden_while_the_listener_is_busy():
    for lost, expected in ((True, []), (False, ["S4"])):
        history, member = one_member(0, 1)
        if lost:
            member.write(JoinIssued(member_id=None, generation_id=None, owned=()))
        member.enter(2, 0)
        member.write(JoinIssued(member_id="m", generation_id=2, owned=(tp(0),)))
        assert [v.rule for v in judge([JoinClaims()], history.entries)] == expected


@pytest.mark.parametrize(
    ("unreadable", "told", "expected"),
    [(True, True, []), (False, True, ["S4"]), (True, False, ["S9"])],
)
def test_s4_who_cannot_read_what_it_was_assigned_has_lost_what_its_listener_hears_of_later(
    unreadable: bool, told: bool, expected: list[str]
) -> None:
    """1. The listener is slow to give t-1 up, in generation 1; 2. what generation 2 assigns cannot
    be read: t-0 is lost; 3. the listener returns, and JoinGroup names generation 2, of which the
    member has nothing; 4. the listener hears of the loss."""
    history, member = one_member(0, 1, protocol=COOPERATIVE)
    held = member.claims[tp(0)]
    member.step(ChangeKind.REVOKED, Phase.BEGIN, (member.claims[tp(1)],))
    if unreadable:
        member.write(UNREADABLE)
    member.step(ChangeKind.REVOKED, Phase.END, (member.claims[tp(1)],))
    member.write(JoinIssued(member_id="m", generation_id=2, owned=()))
    if told:
        member.step(ChangeKind.LOST, Phase.BEGIN, (held,))
    else:
        member.deliver(0, 1)
    assert [found.rule for found in judge([JoinClaims()], history.entries)] == expected


@pytest.mark.parametrize(("returned", "expected"), [(True, []), (False, ["S4"])])
def test_s4_who_cannot_read_what_it_was_assigned_waits_for_the_listener_that_gives_up(
    returned: bool, expected: list[str]
) -> None:
    history, member = one_member(0, protocol=COOPERATIVE)
    claims = (member.claims[tp(0)],)
    member.step(ChangeKind.REVOKED, Phase.BEGIN, claims)
    member.write(UNREADABLE)
    if returned:
        member.step(ChangeKind.REVOKED, Phase.END, claims)
    member.write(JoinIssued(member_id="m", generation_id=2, owned=()))
    assert [found.rule for found in judge([JoinClaims()], history.entries)] == expected


@pytest.mark.parametrize(("owned", "expected"), [((), []), ((0,), ["S4"]), ((0, 1), ["S4", "S4"])])
def test_s4_who_cannot_read_what_it_was_assigned_lists_nothing_with_the_next_join(
    owned: tuple[int, ...], expected: list[str]
) -> None:
    # Who lists something has not lost all: the next JoinGroup must list the same.
    history, member = one_member(0, 1, protocol=COOPERATIVE)
    member.write(UNREADABLE)
    listed = tuple(tp(partition) for partition in owned)
    member.write(JoinIssued(member_id="m", generation_id=2, owned=listed))
    if len(owned) != 1:
        member.write(JoinIssued(member_id="m", generation_id=2, owned=()))
    assert [found.rule for found in judge([JoinClaims()], history.entries)] == expected


@pytest.mark.parametrize("joins", [0, 1])
def test_s4_what_was_assigned_after_an_unreadable_round_is_listed(joins: int) -> None:
    history, member = one_member(0, protocol=COOPERATIVE)
    member.write(UNREADABLE)
    for _ in range(joins):
        member.write(JoinIssued(member_id="m", generation_id=2, owned=()))
    member.lose(0)
    member.enter(3, 0)
    member.assign(0)
    member.write(JoinIssued(member_id="m", generation_id=3, owned=()))
    assert [found.rule for found in judge([JoinClaims()], history.entries)] == ["S4"]


@pytest.mark.parametrize(
    ("member_id", "cause", "expected"),
    [("m", "", ["S9"]), ("older", "", []), ("m", Cause.ASSIGNED.value, [])],
)
def test_s9_a_loss_is_one_of_the_newest_generation_by_its_member_id_and_its_cause(
    member_id: str, cause: str, expected: list[str]
) -> None:
    history, member = one_member(0)
    lost = OwnershipStep(
        kind=ChangeKind.LOST,
        phase=Phase.BEGIN,
        claims=(member.claims[tp(0)],),
        member_id=member.member_id if member_id == "m" else member_id,
        generation_id=member.generation,
        cause=cause,
        serial=member.changes + 1,
    )
    member.write(lost)
    member.write(JoinIssued(member_id="m", generation_id=member.generation, owned=()))
    assert [found.rule for found in judge([JoinClaims()], history.entries)] == expected


def test_s4_what_is_told_late_of_a_generation_before_the_loss_is_not_hidden():
    """1. Two rounds are entered while the listener is busy, and all is lost; 2. a third is; 3. the
    listener hears of the loss of the first, and that the second added t-1; 4. it joins once more,
    before the listener hears of that loss, too."""
    for late, expected in ((True, []), (False, ["S4"])):
        history, member = one_member(0)
        member.enter(2, 0, 1)
        member.write(JoinIssued(member_id="m", generation_id=None, owned=()))
        member.generation = 1
        member.lose(0)
        if not late:
            member.enter(3, 1)
        member.generation = 2 if late else 3
        member.assign(1)
        if late:
            member.enter(3)
        member.write(JoinIssued(member_id="m", generation_id=3, owned=()))
        assert [v.rule for v in judge([JoinClaims()], history.entries)] == expected


@pytest.mark.parametrize(
    ("answered", "again", "told", "expected"),
    [
        (True, 1, 1, []),
        (True, 2, 1, []),
        (False, None, 1, ["S9"]),
        (True, 1, 2, ["S9"]),
    ],
)
def test_s9_a_loss_that_was_made_good_before_the_listener_heard_of_it_says_nothing(
    answered: bool, again: int | None, told: int, expected: list[str]
) -> None:
    """1. A lease ends while the listener is busy; 2. JoinGroup says that all is lost, and its
    answer gives the same generation again, or the next one; 3. the listener hears of the loss;
    4. another round begins. A second loss is one of what was given since."""
    history, member = one_member(0)
    claims = (member.claims[tp(0)],)
    member.write(JoinIssued(member_id="m", generation_id=None, owned=()))
    if answered:
        member.ask(ApiKey.JOIN_GROUP)
    if again == 1:
        member.enter(1, 0)
    for _ in range(told):
        member.step(ChangeKind.LOST, Phase.BEGIN, claims)
        member.step(ChangeKind.LOST, Phase.END, claims)
    member.write(JoinIssued(member_id="m", generation_id=again or 1, owned=()))
    assert [found.rule for found in judge([JoinClaims()], history.entries)] == expected


@pytest.mark.parametrize("joins", [1, 2])
def test_s9_who_asks_twice_before_it_is_answered_has_lost_one_generation(joins: int) -> None:
    """1. All is lost while the listener is busy; 2. JoinGroup says so, and once more to the next
    coordinator; 3. the same generation is given again; 4. the listener hears of the loss; 5. that
    generation is lost, too, and the next JoinGroup claims what was in it."""
    history, member = one_member(0)
    claims = (member.claims[tp(0)],)
    for _ in range(joins):
        member.write(JoinIssued(member_id="m", generation_id=None, owned=()))
    member.ask(ApiKey.JOIN_GROUP)
    member.enter(1, 0)
    for _ in range(2):
        member.step(ChangeKind.LOST, Phase.BEGIN, claims)
        member.step(ChangeKind.LOST, Phase.END, claims)
    member.write(JoinIssued(member_id="m", generation_id=1, owned=(tp(0),)))
    assert [found.rule for found in judge([JoinClaims()], history.entries)] == ["S9"]


@pytest.mark.parametrize(("delivers", "expected"), [(True, ["S9"]), (False, [])])
def test_s9_who_is_given_records_again_has_heard_of_what_was_lost_before(
    delivers: bool, expected: list[str]
) -> None:
    """1. A generation is lost before the listener has heard of it, so there is no loss to tell;
    2. the same one is given again; 3. records come; 4. it is lost."""
    history = History()
    member = history.member("a")
    member.start()
    member.join(1, 0)
    member.write(JoinIssued(member_id="m", generation_id=None, owned=()))
    member.ask(ApiKey.JOIN_GROUP)
    member.enter(1, 0)
    member.assign(0, offset=0)
    if delivers:
        member.deliver(0, 5)
    member.change(ChangeKind.LOST, (member.claims[tp(0)],))
    member.write(JoinIssued(member_id="m", generation_id=1, owned=(tp(0),)))
    assert [found.rule for found in judge([JoinClaims()], history.entries)] == expected
