"""The pure parts: pauses, version choice, throttle, layouts, refresh times, verdicts."""

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError, UnauthorizedError, UnsupportedVersionError
from kgroup.machine.backoff import Backoff
from kgroup.machine.reactions import Reaction, reaction
from kgroup.net.layouts import ceiling, fit, unify
from kgroup.net.metadata import Lack
from kgroup.net.refresh import RefreshPlan
from kgroup.net.settings import NetSettings
from kgroup.net.verdict import Verdict, refusal, verdict
from kgroup.net.versions import (
    MAX_THROTTLE,
    BrokerVersions,
    VersionRange,
    next_handshake_version,
    throttle_of,
)
from kgroup.wire.messages import (
    ApiVersion,
    ApiVersionsRequest,
    ConsumerGroupHeartbeatRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
    FetchRequest,
    FetchTopic,
    HeartbeatRequest,
    HeartbeatResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponseTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from tests.net.stage import BEAT

ID = b"1" * 16
DICE = random.Random(1)


class Middle:
    """Dice that always show the middle."""

    def uniform(self, a: float, b: float, /) -> float:
        return (a + b) / 2

    def getrandbits(self, k: int, /) -> int:
        return 0


# -- backoff -------------------------------------------------------------------------------------


def test_the_pause_doubles_up_to_its_cap() -> None:
    backoff = Backoff(0.1, 1.0)
    pauses = []
    for _ in range(6):
        pauses.append(backoff.pause())
        backoff = backoff.failed()
    assert pauses == pytest.approx([0, 0.1, 0.2, 0.4, 0.8, 1.0])


def test_a_success_begins_anew() -> None:
    assert Backoff(0.1, 1.0).failed().failed().reset().pause() == 0


@given(failures=st.integers(1, 10**9), chance=st.floats(0, 1))
def test_jitter_stays_within_its_share(failures: int, chance: float) -> None:
    pause = Backoff(0.1, 1.0, jitter=0.2, failures=failures).pause(chance)
    assert 0.08 <= pause <= 1.2


# -- versions ------------------------------------------------------------------------------------


def offered(*rows: tuple[int, int, int]) -> BrokerVersions:
    return BrokerVersions.read(
        ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in rows
    )


def test_the_highest_common_version_is_chosen() -> None:
    assert offered((12, 0, 3)).choose(HeartbeatRequest) == 3
    assert offered((12, 2, 99)).choose(HeartbeatRequest) == 4
    assert offered((12, 0, 3)).choose(HeartbeatRequest, at_most=1) == 1


def test_no_common_version_names_both_ranges() -> None:
    with pytest.raises(UnsupportedVersionError, match="broker speaks 7-9, kgroup speaks 0-4"):
        offered((12, 7, 9)).choose(HeartbeatRequest)
    with pytest.raises(UnsupportedVersionError, match="does not offer it, kgroup speaks 0-4"):
        offered((11, 0, 9)).choose(HeartbeatRequest)


def test_turned_negative_unknown_and_repeated_ranges_are_skipped() -> None:
    rows = ((12, 3, 1), (12, -1, 4), (12, 0, 2), (12, 0, 4), (9_999, 0, 1))
    assert offered(*rows).ranges == {ApiKey.HEARTBEAT: VersionRange(0, 2)}


def test_a_hundred_thousand_keys_cost_no_memory() -> None:
    rows = ((key % 30_000, 0, 1) for key in range(100_000))
    assert len(offered(*rows).ranges) <= len(ApiKey)


SPOKEN = ApiVersionsRequest.VERSIONS
UNSUPPORTED = ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("asked", "code", "rows", "expected"),
    [
        (4, 0, ((12, 0, 4),), None),
        (4, UNSUPPORTED, ((18, 0, 3),), 3),
        (4, UNSUPPORTED, (), 0),
        (3, UNSUPPORTED, ((18, 0, 99),), 2),
        (4, 0, (), 0),
    ],
)
def test_the_handshake_goes_down_to_what_the_broker_speaks(
    asked: int, code: int, rows: tuple[tuple[int, int, int], ...], expected: int | None
) -> None:
    assert next_handshake_version(asked, code, offered(*rows), SPOKEN) == expected


def test_the_handshake_ends_at_version_0() -> None:
    with pytest.raises(UnsupportedVersionError, match="the lowest there is"):
        next_handshake_version(0, UNSUPPORTED, offered(), SPOKEN)
    with pytest.raises(BrokerError, match="INVALID_REQUEST"):
        next_handshake_version(4, ErrorCode.INVALID_REQUEST, offered(), SPOKEN)


@given(asked=st.integers(-(2**31), 2**31 - 1), version=st.integers(0, 4))
def test_a_throttle_is_bounded_and_begins_with_its_version(asked: int, version: int) -> None:
    seconds = throttle_of(BEAT, version, HeartbeatResponse(throttle_time_ms=asked))
    assert 0 <= seconds <= MAX_THROTTLE
    assert version >= 2 or not seconds


# -- layouts -------------------------------------------------------------------------------------


def test_a_request_in_the_newest_version_is_sent_as_it_is() -> None:
    assert fit(BEAT, 4) is BEAT


def test_a_single_leaver_fits_an_old_broker() -> None:
    request = LeaveGroupRequest(group_id="g", members=(MemberIdentity(member_id="m"),))
    assert fit(request, 2) == LeaveGroupRequest(group_id="g", member_id="m")
    assert fit(request, 3) is request


def test_an_old_broker_cannot_evict_by_instance() -> None:
    evicted = MemberIdentity(member_id="", group_instance_id="i")
    with pytest.raises(UnsupportedVersionError, match="cannot name a group instance"):
        fit(LeaveGroupRequest(group_id="g", members=(evicted,)), 2)


def test_a_broker_that_makes_member_ids_itself_is_not_asked() -> None:
    beat = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=0)
    with pytest.raises(UnsupportedVersionError, match="make member ids"):
        fit(beat, 0)
    assert fit(beat, 1) is beat


def test_an_old_answer_about_a_leaver_becomes_its_row() -> None:
    request = LeaveGroupRequest(group_id="g", members=(MemberIdentity(member_id="m"),))
    unknown = unify(request, 2, LeaveGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
    assert (unknown.error_code, unknown.members[0].error_code) == (0, ErrorCode.UNKNOWN_MEMBER_ID)
    moved = unify(request, 2, LeaveGroupResponse(error_code=ErrorCode.NOT_COORDINATOR))
    assert (moved.error_code, moved.members) == (ErrorCode.NOT_COORDINATOR, ())


def offset_fetch(topic_id: bytes = ID) -> OffsetFetchRequest:
    row = OffsetFetchRequestTopics(name="t", topic_id=topic_id, partition_indexes=(0,))
    return OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id="g", topics=(row,)),))


def test_offsets_of_one_group_fit_an_old_broker_and_come_back_by_group() -> None:
    request = offset_fetch()
    old = fit(request, 7)
    assert isinstance(old, OffsetFetchRequest)
    assert old.topics
    assert (old.group_id, old.topics[0].name, old.groups) == ("g", "t", ())
    partition = OffsetFetchResponsePartition(partition_index=0, committed_offset=7, metadata="")
    topic = OffsetFetchResponseTopic(name="t", partitions=(partition,))
    answer = unify(request, 7, OffsetFetchResponse(topics=(topic,)))
    assert answer.groups[0].topics[0].partitions[0].committed_offset == 7


def test_topic_ids_of_an_answer_come_back_with_names() -> None:
    row = OffsetCommitRequestTopic(name="t", topic_id=ID, partitions=())
    request = OffsetCommitRequest(group_id="g", topics=(row,))
    by_id = OffsetCommitResponse(topics=(OffsetCommitResponseTopic(topic_id=ID, partitions=()),))
    assert unify(request, 10, by_id).topics[0].name == "t"


def test_a_topic_without_an_id_is_named_in_an_older_version() -> None:
    nameless: dict[str, Any] = {"max_wait_ms": 1, "min_bytes": 1}
    known = FetchRequest(topics=(FetchTopic(topic="t", topic_id=ID, partitions=()),), **nameless)
    unknown = FetchRequest(topics=(FetchTopic(topic="t", partitions=()),), **nameless)
    assert (ceiling(known), ceiling(unknown)) == (None, 12)
    assert (ceiling(offset_fetch()), ceiling(offset_fetch(bytes(16)))) == (None, 9)
    assert ceiling(BEAT) is None


def test_topics_are_deleted_by_name_on_an_old_broker() -> None:
    state = DeleteTopicState(name="t", topic_id=bytes(16))
    old = fit(DeleteTopicsRequest(topics=(state,), timeout_ms=1), 5)
    assert isinstance(old, DeleteTopicsRequest)
    assert (old.topic_names, old.topics) == (("t",), ())


# -- refresh times -------------------------------------------------------------------------------


def plan() -> RefreshPlan:
    return RefreshPlan(NetSettings(bootstrap=()), Middle())


def test_nothing_is_due_before_anybody_asks() -> None:
    fresh = plan()
    assert fresh.due_at() == math.inf
    fresh.ask()
    assert fresh.due_at() == -math.inf


def test_a_complete_answer_is_good_until_it_is_old() -> None:
    known = plan()
    known.succeeded(100.0, changed=True, lack=Lack.NOTHING)
    assert known.due_at() == pytest.approx(400.0)


def test_failures_grow_the_pause_to_its_cap() -> None:
    failing = plan()
    for _ in range(20):
        failing.failed(0.0)
    assert failing.due_at() == pytest.approx(1.0)


def test_asking_does_not_shorten_the_pause_after_a_failure() -> None:
    failing = plan()
    failing.failed(0.0)
    failing.ask()
    assert failing.due_at() == pytest.approx(0.1)


def test_asking_again_and_again_for_nothing_new_slows_down() -> None:
    idle, now = plan(), 0.0
    for _ in range(20):
        idle.ask()
        now = max(now, idle.due_at())
        idle.began()
        idle.succeeded(now, changed=False, lack=Lack.NOTHING)
    idle.ask()
    assert idle.due_at() - now == pytest.approx(1.0)


def test_a_first_look_at_something_is_no_retry_and_waits_a_second_at_most() -> None:
    slow = RefreshPlan(NetSettings((), retry_backoff=30.0, retry_backoff_max=30.0), Middle())
    slow.succeeded(0.0, changed=True, lack=Lack.NOTHING)
    slow.ask()
    assert slow.due_at() == pytest.approx(30.0)
    slow.began()
    slow.look(5.0)
    slow.succeeded(5.1, changed=True, lack=Lack.NOTHING)  # the answer of one that began before
    assert slow.due_at() == pytest.approx(6.2)
    slow.began()
    slow.ask()
    assert slow.due_at() == pytest.approx(35.1)


def test_many_first_looks_keep_the_pace_of_two_refreshes() -> None:
    busy, now = plan(), 0.0
    for _ in range(20):
        busy.look(now)
        now = max(now, busy.due_at())
        busy.began()
        busy.succeeded(now, changed=False, lack=Lack.NOTHING)
    busy.look(now)
    assert busy.due_at() - now == pytest.approx(1.0)


def gaps_while(lack: Lack, answers: int) -> list[float]:
    """Return the pauses between so many answers that all show the same lack."""
    waiting, now, gaps = plan(), 0.0, []
    waiting.succeeded(now, changed=True, lack=lack)
    for _ in range(answers):
        gaps.append(waiting.due_at() - now)
        now = waiting.due_at()
        waiting.began()
        waiting.succeeded(now, changed=False, lack=lack)
    return gaps


def test_a_missing_leader_is_asked_for_often_however_long_it_takes() -> None:
    assert max(gaps_while(Lack.LEADER, 200)) == pytest.approx(5.0)


def test_a_missing_topic_is_asked_for_often_at_first_and_then_ever_more_seldom() -> None:
    gaps = gaps_while(Lack.TOPIC, 200)
    waited = 0.0
    for gap in gaps:
        assert gap <= max(5.0, 0.1 * waited + 1e-9)
        waited += gap
    assert gaps[:4] == pytest.approx([0.1, 0.2, 0.4, 0.8])
    assert gaps[-1] == pytest.approx(300.0)


def test_news_make_a_missing_topic_asked_for_often_again() -> None:
    waiting = plan()
    for now in range(0, 5000, 5):
        waiting.succeeded(float(now), changed=False, lack=Lack.TOPIC)
    waiting.succeeded(5000.0, changed=True, lack=Lack.TOPIC)
    assert waiting.due_at() <= 5000.2


# -- verdicts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("api", "code", "expected"),
    [
        (ApiKey.LIST_OFFSETS, 0, Verdict.DONE),
        (ApiKey.LIST_OFFSETS, ErrorCode.NOT_LEADER_OR_FOLLOWER, Verdict.ELSEWHERE),
        (ApiKey.LIST_OFFSETS, ErrorCode.TOPIC_AUTHORIZATION_FAILED, Verdict.REFUSED),
        (ApiKey.METADATA, ErrorCode.REPLICA_NOT_AVAILABLE, Verdict.DONE),
        (ApiKey.METADATA, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, Verdict.ELSEWHERE),
        (ApiKey.CREATE_TOPICS, ErrorCode.NOT_CONTROLLER, Verdict.ELSEWHERE),
        (ApiKey.DESCRIBE_GROUPS, ErrorCode.NOT_COORDINATOR, Verdict.ELSEWHERE),
        (ApiKey.DESCRIBE_GROUPS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Verdict.AGAIN),
        (ApiKey.PRODUCE, ErrorCode.UNKNOWN_SERVER_ERROR, Verdict.AGAIN),
        (ApiKey.LEAVE_GROUP, ErrorCode.UNKNOWN_MEMBER_ID, Verdict.REFUSED),
        (ApiKey.PRODUCE, 32_000, Verdict.REFUSED),
    ],
)
def test_an_error_code_has_one_verdict(api: ApiKey, code: int, expected: Verdict) -> None:
    assert verdict(api, code) is expected


@pytest.mark.parametrize("api", ApiKey)
def test_a_verdict_never_contradicts_the_table(api: ApiKey) -> None:
    good = {Reaction.SUCCEED, Reaction.IGNORE}
    again = {Reaction.RETRY, Reaction.RETRY_BOUNDED}
    for code in range(-2, 140):
        expected, found = reaction(api, code), verdict(api, code)
        assert (found is Verdict.DONE) == (expected in good)
        assert (found is Verdict.AGAIN) == (expected in again)


def test_a_refusal_of_permission_names_what_was_refused() -> None:
    error = refusal(ApiKey.METADATA, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ("orders",))
    assert isinstance(error, UnauthorizedError)
    assert error.resources == ("orders",)
    assert "orders" in str(error)
