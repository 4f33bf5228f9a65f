"""Rules of groups that were read in Kafka's sources: in the process as on real brokers.

Recorded conversations hold most rules; these hold what none of them shows.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.mint import bucket_order, trie_order
from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.testing.kafka import RealKafka
from kgroup.testing.kafka.ready import parse_bootstrap
from kgroup.testing.kafka.topics import create_topic
from kgroup.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
)
from tests.real.closing import Closing, topics_made
from tests.real.fetch_scripts import SCRIPTS, Script
from tests.real.fetch_talk import Talk as FetchTalk
from tests.real.fetch_worlds import CoreWorld, RealWorld
from tests.real.group_sides import PATIENCE, InProcess, Reply, Side, real_side
from tests.real.record_logs import said_by
from tests.testing.broker.talks.gallery import CONVERSATIONS as LOG_TALKS
from tests.testing.broker.talks.recorded import RELEASES as RECORDED
from tests.testing.broker.talks.recorded import recorded
from tests.testing.broker.talks.talk import Talk, pure
from tests.testing.differential.campaign import compare, draw_scripts, lay_topics
from tests.testing.differential.planning import SETTINGS
from tests.testing.differential.report import describe

RELEASES = pytest.mark.parametrize(
    ("kafka", "kind"),
    [("4.3.1", CoordinatorKind.NEW), ("3.9.1", CoordinatorKind.OLD)],
    indirect=["kafka"],
)
TYPE = "rules"
PARKED = "parked"
GROUPS = count()

TIES = (
    ("alpha", "beta"),
    ("gamma", "delta"),
    ("mine", "yours"),
    ("fair", "quick"),
    ("near", "far"),
    ("one", "two"),
    ("by-rack", "by-lag"),
    ("blue", "green"),
)
"""Names for which the first and the last bucket of Java and Scala's trie do not all agree.

No two share a bucket: of such, Java takes the one that the first member in hash order votes for.
"""


@dataclass(slots=True)
class Speaker:
    """A member, on a connection of its own."""

    side: Side
    group_id: str
    name: str
    instance: str | None = None
    offers: tuple[str, ...] = ("x",)
    rebalance: float = 10.0
    session: float = 20.0
    member_id: str = ""
    generation: int = -1
    protocol: str | None = None

    def join(self) -> Reply:
        """Send JoinGroup."""
        rows = tuple(JoinGroupRequestProtocol(name=each, metadata=b"") for each in self.offers)
        request = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=int(self.session * 1000),
            rebalance_timeout_ms=int(self.rebalance * 1000),
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type=TYPE,
            protocols=rows,
        )
        return self.side.ask(self.name, request)

    def take_id(self) -> None:
        """Take the id that the broker hands out."""
        answer = self.join()(PATIENCE)
        assert answer is not None
        assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
        self.member_id = answer.member_id

    def adopt(self, join: Reply) -> None:
        """Take what a good answer says."""
        answer = join(PATIENCE)
        assert answer is not None
        assert answer.error_code == ErrorCode.NONE
        self.member_id, self.generation = answer.member_id, answer.generation_id
        self.protocol = answer.protocol_name

    def sync(self) -> Reply:
        """Send SyncGroup without assignments."""
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type=TYPE,
            protocol_name=self.protocol,
            assignments=(),
        )
        return self.side.ask(self.name, request)

    def beat(self) -> object:
        """Send a heartbeat and return its code."""
        request = HeartbeatRequest(
            group_id=self.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
        )
        return code(self.side.ask(f"{self.name} beating", request))

    def leave(self, *others: "Speaker") -> object:
        """Leave together with others, and return the codes."""
        rows = tuple(MemberIdentity(member_id=each.member_id) for each in (self, *others))
        request = LeaveGroupRequest(group_id=self.group_id, members=rows)
        answer = self.side.ask(f"{self.name} leaving", request)(PATIENCE)
        assert answer is not None
        return [int(row.error_code) for row in answer.members]


def code(reply: Reply) -> object:
    """Return what an answer says; that it is parked is an answer too."""
    answer = reply(0.0)
    return PARKED if answer is None else int(answer.error_code)


def lone(side: Side, group_id: str, **habits: object) -> Speaker:
    """Bring the only member of a Stable group."""
    speaker = Speaker(side, group_id, "A", **habits)  # type: ignore[arg-type]  # any of its fields
    if speaker.instance is None:
        speaker.take_id()
    speaker.adopt(speaker.join())
    speaker.sync()
    return speaker


def accept(leader: Speaker, *others: Speaker) -> None:
    """Let others join a group whose leader joins again; no member has synced then."""
    for each in others:
        if each.instance is None:
            each.take_id()
    joins = [each.join() for each in others]
    leader.adopt(leader.join())
    for each, join in zip(others, joins, strict=True):
        each.adopt(join)


def a_pending_id_leaves(side: Side, group_id: str) -> list[object]:
    a, b = lone(side, group_id), Speaker(side, group_id, "B")
    b.take_id()
    return [b.leave(), a.beat()]


def a_pending_id_claims_an_instance(side: Side, group_id: str) -> list[object]:
    a = Speaker(side, group_id, "A")
    a.take_id()
    a.instance = "i"
    return [code(a.join())]


def two_leave_together(side: Side, group_id: str) -> list[object]:
    a = lone(side, group_id)
    b, c = Speaker(side, group_id, "B"), Speaker(side, group_id, "C")
    accept(a, b, c)
    waiting = c.sync()
    said = [code(waiting), b.leave(c)]
    side.wait(0.3)
    return [*said, code(waiting), a.beat()]


def a_static_member_restarts_unsynced(side: Side, group_id: str) -> list[object]:
    a = lone(side, group_id, rebalance=2.0)
    b = Speaker(side, group_id, "B", instance="i", rebalance=2.0)
    accept(a, b)
    a.sync()
    b.member_id = ""
    b.adopt(b.join())
    said = [code(b.sync()), a.beat(), b.beat()]
    side.wait(2.5)
    return [*said, a.beat(), b.beat()]


def a_static_newcomer_restarts_while_parked(side: Side, group_id: str) -> list[object]:
    lone(side, group_id)
    b = Speaker(side, group_id, "B", instance="i", session=2.0)
    first = b.join()
    again = Speaker(side, group_id, "B again", instance="i", session=2.0).join()
    side.wait(3.0)
    return [code(first), code(again)]


def all_leave_but_a_pending_id(side: Side, group_id: str) -> list[object]:
    a, b = lone(side, group_id), Speaker(side, group_id, "B")
    b.take_id()
    said = [a.leave()]
    side.wait(0.5)
    join = b.join()
    b.adopt(join)
    return [*said, code(join), b.generation]


CONVERSATIONS: tuple[Callable[[Side, str], list[object]], ...] = (
    a_pending_id_leaves,
    a_pending_id_claims_an_instance,
    two_leave_together,
    a_static_member_restarts_unsynced,
    a_static_newcomer_restarts_while_parked,
    all_leave_but_a_pending_id,
)


def vote(side: Side, tie: tuple[str, str], group_id: str) -> str | None:
    """Let two members of a group vote for either; return what is chosen."""
    first = lone(side, group_id, offers=tie)
    accept(first, Speaker(side, group_id, "B", offers=tie[::-1]))
    return first.protocol


@pytest.mark.real
@pytest.mark.no_stand_in("it is compared with a real one")
@RELEASES
@pytest.mark.parametrize("conversation", CONVERSATIONS)
def test_a_group_answers_as_with_a_real_broker(
    kafka: RealKafka, kind: CoordinatorKind, conversation: Callable[[Side, str], list[object]]
) -> None:
    group_id = f"rules-{next(GROUPS)}"
    with real_side(kafka.bootstrap) as real:
        expected = conversation(real, group_id)
    assert conversation(InProcess.of(kind), group_id) == expected


@pytest.mark.real
@pytest.mark.no_stand_in("it is compared with a real one")
@RELEASES
def test_a_tie_is_decided_as_by_a_real_broker(kafka: RealKafka, kind: CoordinatorKind) -> None:
    run = next(GROUPS)
    with real_side(kafka.bootstrap) as real:
        expected = {tie: vote(real, tie, f"votes-{run}-{'-'.join(tie)}") for tie in TIES}
    ours = InProcess.of(kind)
    assert {tie: vote(ours, tie, "-".join(tie)) for tie in TIES} == expected


@pytest.mark.real
@pytest.mark.no_stand_in("it is compared with a real one")
def test_the_ties_tell_the_orders_apart() -> None:
    java = [bucket_order(tie) for tie in TIES]
    scala = [trie_order(tie)[0] for tie in TIES]
    assert scala not in ([each[0] for each in java], [each[-1] for each in java])
    assert [each[0] for each in java] != [min(tie) for tie in TIES] != scala


# -- inprocess logs -------------------------------------------------------------------------------
#
# An in-process broker answers about logs and transactions what real brokers answer.
#
# The same requests go to both: Produce, ListOffsets, OffsetForLeaderEpoch, DeleteRecords,
# InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn and, to see what is stored, Fetch.


@pytest.mark.real
@pytest.mark.no_stand_in("it is compared with a real one")
@pytest.mark.parametrize("conversation", LOG_TALKS)
@pytest.mark.parametrize("kafka", RECORDED, indirect=True)
def test_a_conversation_goes_as_with_a_real_broker(kafka: RealKafka, conversation: str) -> None:
    release = kafka.version or ""
    expected = said_by(kafka, release, conversation)
    found = Talk(pure(release), release.startswith("4"), "x")
    LOG_TALKS[conversation](found)

    assert found.said == expected
    assert recorded(release, conversation) == expected


# -- inprocess fetching ---------------------------------------------------------------------------
#
# The in-process broker answers Fetch as real brokers do: the same raw requests to both.
#
# What one broker cannot show is in `tests/testing/broker/test_fetching*.py` alone: followers,
# moves of leaders, epochs that part.


@pytest.mark.real
@pytest.mark.no_stand_in("it is compared with a real one")
@pytest.mark.parametrize("kafka", ["4.3.1", "3.9.1"], indirect=True)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_the_same_requests_get_the_same_answers(kafka: RealKafka, script: Script) -> None:
    core = FetchTalk(CoreWorld())
    script(core)
    with ExitStack() as stack:
        real = FetchTalk(RealWorld(kafka, stack))
        script(real)
    assert core.seen.lines == real.seen.lines
    assert len(core.seen.lines) >= 5


# -- closed connections ---------------------------------------------------------------------------
#
# What is done of a connection that its client has closed: on real brokers and in the process.


NAMES = count()
KINDS = pytest.mark.parametrize(
    ("closing", "parked", "served"),
    [
        (Closing.READ_ALL, 1, 1),
        (Closing.READ_ALL, 2, 0),
        (Closing.UNREAD, 1, 0),
        (Closing.RESET, 1, 0),
    ],
)


def served_by(bootstrap: str, empty: str, closing: Closing, parked: int) -> int:
    names = [f"behind-{next(NAMES)}" for _ in range(3)]
    made = topics_made(parse_bootstrap(bootstrap)[0], empty, names, closing, parked)
    assert made == names[: len(made)]
    return len(made)


@pytest.mark.slow
@KINDS
def test_in_process_one_request_behind_a_parked_one_is_served_after_a_close(
    closing: Closing, parked: int, served: int
) -> None:
    broker = InProcessBroker()
    broker.create_topic("empty", 1)
    with broker.serve():
        assert served_by(broker.bootstrap_servers, "empty", closing, parked) == served


@pytest.mark.real
@pytest.mark.no_stand_in("it is compared with a real one")
@pytest.mark.parametrize("kafka", ["4.3.1", "3.9.1"], indirect=True)
@KINDS
def test_one_request_behind_a_parked_one_is_served_after_a_close(
    kafka: RealKafka, closing: Closing, parked: int, served: int
) -> None:
    empty = f"empty-{next(NAMES)}"
    create_topic(kafka.bootstrap, empty, 1)
    assert served_by(kafka.bootstrap, empty, closing, parked) == served


# -- differential ---------------------------------------------------------------------------------
#
# Random scripts: a real broker and the in-process one answer every request alike.
#
# The seeds are fixed, and not those of the ledger; `make differential` takes any others.


SEED = 5000
COUNT = 60
AT_ONCE = 30


@pytest.mark.real
@pytest.mark.faults
@pytest.mark.no_stand_in("it is compared with a real one")
@pytest.mark.parametrize("kafka", ["3.9.1", "4.3.1"], indirect=True)
def test_the_core_answers_random_scripts_as_a_real_broker_does(kafka: RealKafka) -> None:
    assert kafka.version is not None
    lay_topics(kafka)
    scripts = draw_scripts(range(SEED, SEED + COUNT), SETTINGS[0], kafka.version)
    address = parse_bootstrap(kafka.bootstrap)[0]
    lines: list[str] = []
    tally = compare(address, kafka.version, scripts, concurrency=AT_ONCE, say=lines.append)
    found = "\n\n".join(describe(each) for each in tally.differences)
    assert not found, found
    assert tally.scripts > COUNT / 2, f"this machine was too slow: {lines}"
