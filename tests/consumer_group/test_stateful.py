"""No run that Hypothesis chooses event by event hands out what was not acknowledged, or was lost.

What it chooses: time, answers that are late, lost, told twice, errors or nonsense, processes that
stand still, connections that are cut, a coordinator that moves or expels, an application that
dawdles, subscribes anew or closes. What must hold is in `world`.
"""

import pytest
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kgroup.codes import ErrorCode
from kgroup.consumer_group.events import Answered, Send, TopicsNamed
from kgroup.machine.reactions import Reaction
from kgroup.machine.wishes import CloseRequested, CommitRejected, Polled, Unsubscribed
from kgroup.types import Claim, Leave
from kgroup.wire.messages import (
    ConsumerGroupHeartbeatAssignment,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatTopicPartitions,
)
from tests.consumer_group.driver import IDS, NAMES, SESSION
from tests.consumer_group.model import refused
from tests.consumer_group.world import TOPICS, Life, World
from tests.search.simulation.stateful.hunting import hunt

_MOST = 5
_POLLS = 25.0
"""The longest an application may go without polling: time that passes may end that, too."""

PASSING = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.UNRELEASED_INSTANCE_ID,
)
LOSING = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH
ENDING = (
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.UNSUPPORTED_ASSIGNOR,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.INVALID_REGULAR_EXPRESSION,
)
COMMITS = (
    (Reaction.RENEW_EPOCH, ErrorCode.STALE_MEMBER_EPOCH),
    (Reaction.LOSE_MEMBER, ErrorCode.UNKNOWN_MEMBER_ID),
    (Reaction.FIND_COORDINATOR, ErrorCode.NOT_COORDINATOR),
    (Reaction.UNAUTHORIZED, ErrorCode.GROUP_AUTHORIZATION_FAILED),
)

_which = st.integers(0, _MOST - 1)
_moments = st.sampled_from((0.1, 0.5, 1.0, 2.0, 3.5))
_spans = st.sampled_from((SESSION / 2, SESSION - 0.5, SESSION + 0.5, 16.0, _POLLS + 1))


class Anything(World):
    """A world in which nothing happens by chance."""

    def __init__(self) -> None:
        super().__init__(0)
        self.lives = [Life(name, max_poll_interval=_POLLS) for name in ("a", "b", "c")]
        self.cut: set[str] = set()
        self.told: list[tuple[Life, Answered]] = []
        for life in self.lives:
            life.subscribe("t", "u")

    def arrives(self, life: Life) -> bool:
        return self.peaceful or life.name not in self.cut

    def error(self, life: Life, code: ErrorCode) -> None:
        """Answer what a member awaits with an error; the coordinator may have heard it."""
        self.answer(life, refused(code))

    def answer(self, life: Life, response: ConsumerGroupHeartbeatResponse) -> None:
        """Answer the heartbeat that a member awaits in another way than the coordinator."""
        self.take_requests()
        awaited = life.member.heartbeat
        if awaited is None:
            return
        life.inbox[:] = [each for each in life.inbox if each[0].ticket != awaited]
        life.on(Answered(awaited, response))


class ConsumerGroupMachine(RuleBasedStateMachine):
    """Members of one group, their application, the network, and a coordinator that errs."""

    def __init__(self) -> None:
        super().__init__()
        self.world = Anything()
        self.over: dict[str, int] = {}

    def life(self, number: int) -> Life:
        found = self.world.lives[number % len(self.world.lives)]
        note(f"{found.name}: {found.member.state.name} {sorted(map(str, found.owned()))}")
        return found

    @initialize(times=st.integers(0, 12), dawdles=st.booleans())
    def the_group_forms(self, times: int, dawdles: bool) -> None:
        self.world.work(times, dawdles=dawdles)

    # -- time ----------------------------------------------------------------------------------

    @rule(seconds=_moments)
    def a_moment_passes(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    @rule(times=st.integers(1, 14), every=st.sampled_from((0.5, 2.0)), dawdles=st.booleans())
    def the_network_is_well_for_a_while(self, times: int, every: float, dawdles: bool) -> None:
        self.world.work(times, every=every, dawdles=dawdles)

    @rule(seconds=_spans)
    def much_time_passes(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    @rule(number=_which, stands=st.booleans())
    def a_process_stands_still_or_wakes(self, number: int, stands: bool) -> None:
        self.life(number).frozen = stands

    # -- the network ---------------------------------------------------------------------------

    @rule(number=_which)
    def an_answer_comes(self, number: int) -> None:
        life = self.life(number)
        if life.frozen:
            return
        self.world.take_requests()
        first = life.inbox[0] if life.inbox else None
        if first is not None and first[1] is not None:
            self.world.told.append((life, Answered(first[0].ticket, first[1])))
        self.world.deliver(life)

    @rule(number=_which)
    def a_connection_is_lost(self, number: int) -> None:
        self.world.lose(self.life(number))

    @rule(number=_which, cut=st.booleans())
    def requests_are_lost_or_arrive_again(self, number: int, cut: bool) -> None:
        name = self.life(number).name
        (self.world.cut.add if cut else self.world.cut.discard)(name)

    @precondition(lambda self: self.world.told)
    @rule(which=st.integers(0, 50))
    def an_answer_comes_once_more(self, which: int) -> None:
        life, answer = self.world.told[which % len(self.world.told)]
        before = life.delivering()
        life.on(answer)
        assert life.delivering() <= before, "an answer that was told twice gives something"

    # -- the application -----------------------------------------------------------------------

    @rule(number=_which)
    def some_batches_are_let_go(self, number: int) -> None:
        self.world.drain(self.life(number))

    @rule(number=_which)
    def the_listener_returns(self, number: int) -> None:
        self.world.return_from_listener(self.life(number))

    @rule(number=_which)
    def it_polls(self, number: int) -> None:
        self.life(number).on(Polled())

    @rule(number=_which, topics=st.sampled_from(TOPICS))
    def it_subscribes(self, number: int, topics: tuple[str, ...]) -> None:
        self.life(number).subscribe(*topics)

    @rule(number=_which)
    def it_unsubscribes(self, number: int) -> None:
        self.life(number).on(Unsubscribed())

    @rule(number=_which, mode=st.sampled_from(Leave), seconds=_moments)
    def it_closes(self, number: int, mode: Leave, seconds: float) -> None:
        life, now = self.life(number), self.world.now
        if life.member.wishes.closing is None:
            life.on(CloseRequested(mode, "", now + seconds, now + 2 * seconds))

    @precondition(lambda self: len(self.world.lives) < _MOST)
    @rule()
    def another_one_comes(self) -> None:
        life = Life(f"more-{len(self.world.lives)}", max_poll_interval=_POLLS)
        life.now = self.world.now
        self.world.lives.append(life)
        life.on(Polled())
        life.subscribe("t", "u")

    # -- the coordinator -----------------------------------------------------------------------

    @rule(number=_which)
    def an_administrator_expels_it(self, number: int) -> None:
        life = self.life(number)
        if life.member.heartbeat is None or life.frozen:
            return  # it may own what others have until it hears so: then that is not ours to judge
        if life.name in self.world.coordinator.members:
            self.world.coordinator.expel(life.name)
        self._lost_by(life, ErrorCode.UNKNOWN_MEMBER_ID)

    @rule(number=_which, code=st.sampled_from(PASSING))
    def an_error_passes(self, number: int, code: ErrorCode) -> None:
        self.world.error(self.life(number), code)

    @rule(number=_which, code=st.sampled_from(LOSING))
    def its_epoch_is_refused(self, number: int, code: ErrorCode) -> None:
        self._lost_by(self.life(number), code)

    @rule(number=_which, code=st.sampled_from(ENDING))
    def it_is_refused_for_good(self, number: int, code: ErrorCode) -> None:
        life = self.life(number)
        if life.member.heartbeat is not None and not life.frozen:
            self._lost_by(life, code)

    @rule(number=_which, rejected=st.sampled_from(COMMITS))
    def a_commit_is_refused(self, number: int, rejected: tuple[Reaction, ErrorCode]) -> None:
        life, (reaction, code) = self.life(number), rejected
        generation = life.member.identity.generation
        if generation is not None:
            life.on(CommitRejected(reaction, generation, code))

    @rule(number=_which, wrong=st.sampled_from(("epoch", "older", "member", "partition")))
    def an_answer_makes_no_sense(self, number: int, wrong: str) -> None:
        life = self.life(number)
        before = life.delivering()
        self.world.answer(life, nonsense(life, wrong))
        assert life.delivering() <= before, "nonsense gives something"

    @rule(number=_which, known=st.sampled_from(({}, {IDS["t"]: "t"}, NAMES)))
    def names_of_topics_come_and_go(self, number: int, known: dict[bytes, str]) -> None:
        self.life(number).on(TopicsNamed(known))

    @rule()
    def the_coordinator_moves(self) -> None:
        for life in self.world.lives:
            self.world.lose(life)
        self.world.coordinator.begin_sessions(self.world.now)

    # -- what must hold ------------------------------------------------------------------------

    def _lost_by(self, life: Life, code: ErrorCode) -> None:
        """Refuse what a member awaits: nothing that it had is handed out ever again."""
        awaits = life.member.heartbeat is not None
        before: frozenset[Claim] = frozenset(life.member.holdings.claims)
        self.world.error(life, code)
        if awaits:
            assert not before & frozenset(life.member.holdings.claims), f"kept after {code.name}"

    @invariant()
    def nobody_hands_out_what_is_not_his(self) -> None:
        self.world.look()

    @invariant()
    def who_is_out_says_nothing_more(self) -> None:
        for life in self.world.lives:
            if life.ended:
                sent = len(life.did(Send))
                assert self.over.setdefault(life.name, sent) == sent, f"{life.name} goes on"

    def teardown(self) -> None:
        self.world.at_peace()


def nonsense(life: Life, wrong: str) -> ConsumerGroupHeartbeatResponse:
    """Return an answer that no coordinator gives."""
    epoch, member_id, assigned = life.member.identity.epoch + 1, life.name, None
    match wrong:
        case "epoch":
            epoch = -1
        case "older":
            epoch -= 2
        case "member":
            member_id = "somebody else"
        case _:
            row = ConsumerGroupHeartbeatTopicPartitions(topic_id=IDS["t"], partitions=(0, -1))
            assigned = ConsumerGroupHeartbeatAssignment(topic_partitions=(row,))
    return ConsumerGroupHeartbeatResponse(
        member_id=member_id,
        member_epoch=epoch,
        heartbeat_interval_ms=1000,
        assignment=assigned,
    )


def test_nothing_is_handed_out_unacknowledged_or_after_a_loss() -> None:
    hunt(ConsumerGroupMachine, 60)


@pytest.mark.search
@pytest.mark.parametrize("chance", range(2))
def test_nothing_is_handed_out_unacknowledged_or_after_a_loss_in_many_runs(chance: int) -> None:
    hunt(ConsumerGroupMachine, 400, chance=chance, shrinks=False)
