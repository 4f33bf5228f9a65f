"""S4 and S9: a process that wakes beyond its lease hears what was answered meanwhile."""

import pytest

from kgroup.audit.oracles import judge
from kgroup.codes import ApiKey
from kgroup.journal import AnswerReceived, JoinIssued, Phase
from kgroup.types import ChangeKind
from tests.audit.histories import COOPERATIVE, History, Writer, one_member, tp
from tests.search.oracles.handover import JoinClaims


def joins(member: Writer, generation: int, *owned: int) -> None:
    listed = tuple(tp(partition) for partition in owned)
    member.write(JoinIssued(member_id="m", generation_id=generation, owned=listed))
    member.send(ApiKey.JOIN_GROUP)


def woken(*, error: int = 0) -> tuple[History, Writer]:
    """Have a member of generation 1 join, stand still, and hear an answer of generation 3."""
    history, member = one_member(0, protocol=COOPERATIVE)
    joins(member, 1, 0)
    member.write(
        AnswerReceived(
            connection=1,
            correlation_id=member.correlation,
            api=ApiKey.JOIN_GROUP,
            version=4,
            error=error,
            generation_id=-1 if error else 3,
        )
    )
    return history, member


def rules(history: History) -> list[str]:
    return [found.rule for found in judge([JoinClaims()], history.entries)]


def lose(member: Writer, generation: int) -> None:
    member.generation = generation
    member.step(ChangeKind.LOST, Phase.BEGIN, (member.claims[tp(0)],))


@pytest.mark.parametrize(
    ("lost_in", "error", "named", "owned", "expected"),
    [
        (1, 0, 3, (), []),
        (3, 0, 3, (), ["S9"]),
        (1, 0, 1, (), ["S9"]),
        (1, 27, 3, (), ["S9"]),
        (1, 0, 3, (0,), ["S9"]),
    ],
    ids=["before", "of the one that was joined", "named", "not joined", "listed"],
)
def test_s9_a_generation_may_be_named_that_was_joined_when_the_one_before_was_lost(
    lost_in: int, error: int, named: int, owned: tuple[int, ...], expected: list[str]
) -> None:
    # 1. JoinGroup is out, and the process stands still; 2. it wakes beyond its lease: generation 1
    # is lost, and JoinGroup's answer heard, of generation 3; 3. the listener hears of the loss;
    # 4. SyncGroup is told to join anew.
    history, member = woken(error=error)
    lose(member, lost_in)
    joins(member, named, *owned)
    assert rules(history) == expected


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("lost before", []),
        ("lost since", ["S4"]),
        ("revoked", ["S4"]),
        ("delivered", ["S4"]),
        ("nothing", ["S4"]),
        ("stopped", []),
        ("another stopped", ["S4"]),
        ("killed", []),
        ("another killed", ["S4"]),
        ("delivered, and stopped", ["S4"]),
    ],
)
def test_s4_what_was_lost_before_the_generation_that_was_joined_is_not_listed_though_not_told_yet(
    then: str, expected: list[str]
) -> None:
    # As above, but the listener is busy: it hears of the loss after the next JoinGroup; or never,
    # if its member fails, or is closed or killed, and the listener broken off.
    history, member = woken()
    other = history.member("b")
    other.start()
    joins(member, 3)
    match then:
        case "lost before" | "lost since":
            lose(member, 1 if then == "lost before" else 3)
        case "revoked":
            member.step(ChangeKind.REVOKED, Phase.BEGIN, (member.claims[tp(0)],))
        case "delivered" | "delivered, and stopped":
            member.positions[tp(0)] = 0
            member.deliver(0, 1)
        case _:
            pass
    if then.endswith("stopped"):
        (other if then.startswith("another") else member).stop(left=False)
    if then.endswith("killed"):
        history.fault("SIGKILL", "b" if then.startswith("another") else "a")
    assert rules(history) == expected


@pytest.mark.parametrize(("error", "named"), [(27, 3), (0, 1)])
def test_s4_who_has_joined_no_later_generation_lists_what_it_has(error: int, named: int) -> None:
    history, member = woken(error=error)
    joins(member, named)
    lose(member, 1)
    assert rules(history)[0] == "S4"
